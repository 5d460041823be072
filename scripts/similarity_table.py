"""Write docs/results/task-similarity.md: task similarity, ours beside the paper's.

Run from anywhere: python scripts/similarity_table.py
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from guidefbo.core.arrays import Points
from guidefbo.core.designs import sobol
from guidefbo.core.streams import Purpose, Streams
from guidefbo.metrics.similarity import task_similarity
from guidefbo.problems.catalog import PROBLEMS, make_problem
from guidefbo.problems.heterogeneity import LEVELS
from guidefbo.reports.paper import paper_tables

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
NUM_PROBES = 4096
NUM_REALISATIONS = 10
CELL_TOLERANCE = 0.03
OVERALL_TOLERANCE = 0.01

Table = dict[str, list[float]]


def main() -> int:
    """Compute, write, and return 0 if every figure is within its tolerance."""
    paper = read_paper()
    ours = measure()
    verdict = judge(ours, paper)
    text = render(ours, paper, verdict)
    (RESULTS / "task-similarity.md").write_text(text, encoding="utf-8")
    print(verdict)
    return 0 if verdict.startswith("Holds") else 1


def read_paper() -> Table:
    """Return the paper's rows, one figure per level."""
    rows: Mapping[str, Mapping[str, float]] = paper_tables()["task_similarity"]
    return {
        name: [row[f"level{level}"] for level in LEVELS] for name, row in rows.items()
    }


def measure() -> Table:
    """Return our rows, with the overall one last."""
    probes = sobol(NUM_PROBES, 10, Streams(0).at(Purpose.CANDIDATES))
    table: Table = {}
    started = time.monotonic()
    for number, name in enumerate(PROBLEMS, start=1):
        table[name] = [similarity(name, level, probes) for level in LEVELS]
        if time.monotonic() - started > 2.0:
            report_progress(number, name)
    table["overall"] = np.mean(list(table.values()), axis=0).tolist()
    return table


def similarity(name: str, level: int, probes: Points) -> float:
    """Return one cell: the mean over the realisations."""
    cells = []
    for seed in range(NUM_REALISATIONS):
        problem = make_problem(name, level=level, streams=Streams(seed))
        values = np.stack([task.evaluate(probes) for task in problem.tasks])
        cells.append(task_similarity(values))
    return float(np.mean(cells))


def report_progress(number: int, name: str) -> None:
    """Say how far the work is, on one line of the terminal."""
    end = "\n" if number == len(PROBLEMS) else "\r"
    line = f"{number}/{len(PROBLEMS)} functions, last {name}"
    print(f"{line:<60}", end=end, file=sys.stderr, flush=True)


def judge(ours: Table, paper: Table) -> str:
    """Return the verdict as one sentence."""
    gaps = {
        name: max(abs(a - b) for a, b in zip(ours[name], paper[name], strict=True))
        for name in ours
    }
    overall = gaps.pop("overall")
    worst = max(gaps, key=gaps.__getitem__)
    holds = gaps[worst] <= CELL_TOLERANCE and overall <= OVERALL_TOLERANCE
    return (
        f"{'Holds' if holds else 'Does not hold'}: the largest difference of a cell is "
        f"{gaps[worst]:.3f} ({worst}; allowed {CELL_TOLERANCE}), of the overall row "
        f"{overall:.4f} (allowed {OVERALL_TOLERANCE})."
    )


def render(ours: Table, paper: Table, verdict: str) -> str:
    """Return the page."""
    head = "".join(f" Level {n}: ours | paper | difference |" for n in LEVELS)
    lines = [f"| function |{head}", "|---|" + "---:|" * (3 * len(LEVELS))]
    for name, row in ours.items():
        cells = "".join(
            f" {a:z.3f} | {b:z.3f} | {a - b:+z.3f} |"
            for a, b in zip(row, paper[name], strict=True)
        )
        lines.append(f"| {name} |{cells}")
    return "\n".join([*INTRODUCTION, *lines, "", verdict, ""])


INTRODUCTION = (
    "# Task similarity",
    "",
    "Mean pairwise Spearman correlation between the noise-free objectives of 16",
    f"agents in 10 dimensions, over {NUM_PROBES} scrambled Sobol points, averaged over",
    f"{NUM_REALISATIONS} task realisations (seeds 0 to {NUM_REALISATIONS - 1}).",
    "The paper's figures are those of its task-similarity table, kept in",
    "`guidefbo.reports`. The two differ by chance: the random shifts and rotations",
    "are not the same.",
    "",
    "Rebuild with `python scripts/similarity_table.py`.",
    "",
)


if __name__ == "__main__":
    sys.exit(main())

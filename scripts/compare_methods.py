"""Run every method at Level 2, rank them, and put the ranks beside the paper's.

    python scripts/compare_methods.py [--seeds 0,1] [--jobs 2] [--table-only]
        [--records DIR] [--out DIR] [--toy]

12 functions x seeds x the twelve methods and the control, same tasks and same initial
points for all (FTS-DE has a design of its own). Finished runs are kept in the records
folder, their final regrets in docs/results/methods.json, and neither is run again; so a
later call adds seeds. The table goes to docs/results/methods.md. `--toy` runs two
functions at a size that takes seconds; give it folders of its own.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from guidefbo.core.files import write_atomically
from guidefbo.experiments.commit import STAMP, UNKNOWN, stamp, with_commit
from guidefbo.methods.registry import find_method
from guidefbo.metrics.ranks import average_ranks
from guidefbo.problems.library import PROBLEMS
from guidefbo.reports.paper import METHODS, paper_tables
from guidefbo.simulation.simulate import run
from guidefbo.simulation.spec import RunSpec

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
LEVEL = 2
CONTROL = "placebo-ucb"
FAR = 3.0
"""Places between our rank and the paper's that the document has to explain."""
NOTES = RESULTS / "methods-notes.md"
"""What people have to say about the differences; put under the table."""
TOY: dict[str, Any] = {
    "dim": 2,
    "num_agents": 2,
    "num_initial": 3,
    "num_rounds": 1,
    "settings": {"num_paths": 20, "num_features": 32, "num_candidates": 50},
}
"""Fields of a run that takes a moment and measures nothing; a method takes those of
the settings that it has."""
TOY_PROBLEMS = ("sphere", "ackley")
Finals = dict[str, dict[str, dict[str, float]]]
"""method -> function -> seed -> final mean simple regret."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--records", type=Path, default=ROOT / "build" / "methods")
    parser.add_argument("--seeds", default="0,1", help="seeds, with commas")
    parser.add_argument(
        "--table-only", action="store_true", help="rewrite the table from the figures"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    arguments = parser.parse_args()
    problems = TOY_PROBLEMS if arguments.toy else tuple(PROBLEMS)
    figures = arguments.out / "methods.json"
    table = arguments.out / "methods.md"
    finals: Finals = {}
    stamps: list[str] = []
    if figures.exists():
        finals = json.loads(figures.read_text(encoding="utf-8"))
        stamps += STAMP.findall(table.read_text(encoding="utf-8"))
    if not arguments.table_only:
        arguments.records.mkdir(parents=True, exist_ok=True)
        seeds, fields = arguments.seeds.split(","), TOY if arguments.toy else {}
        cases = list(product(seeds, problems, (*METHODS, CONTROL)))
        commits = run_all(finals, cases, fields, arguments.records, arguments.jobs)
        stamps += [stamp(*commits)] if commits else []
        figures.write_text(json.dumps(finals, indent=1) + "\n", encoding="utf-8")
    paper = paper_tables()
    text = render(finals, paper, problems, list(dict.fromkeys(stamps)))
    table.write_text(text, encoding="utf-8")
    print(text.split("## ")[1])
    return 0


def run_all(
    finals: Finals,
    cases: list[tuple[str, str, str]],
    fields: dict[str, Any],
    records: Path,
    jobs: int,
) -> set[str]:
    """Run what is missing, add it to the finals and return the commits of the runs.

    Args:
        finals: Regrets, added to.
        cases: Seed, function and method. Seeds outermost: an interrupted study holds
            whole tables of the first seeds.
        fields: Of every run, beside those.
        records: Where finished runs are kept.
        jobs: Worker processes.
    """
    cases = [
        (seed, name, method)
        for seed, name, method in cases
        if seed not in finals.get(method, {}).get(name, {})
    ]
    commits: set[str] = set()
    with ProcessPoolExecutor(jobs) as pool:
        futures = {
            pool.submit(final_regret, records, fields, method, name, int(seed)): case
            for case in cases
            for seed, name, method in [case]
        }
        for number, future in enumerate(as_completed(futures), start=1):
            seed, name, method = futures[future]
            row = finals.setdefault(method, {}).setdefault(name, {})
            row[seed], commit = future.result()
            commits.add(commit)
            print(f"\r{number}/{len(cases)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return commits


def final_regret(
    records: Path, fields: dict[str, Any], method: str, name: str, seed: int
) -> tuple[float, str]:
    path = records / f"{method}-{name}-level{LEVEL}-seed{seed}.json"
    if not path.exists():
        known = find_method(method).run_settings
        given = fields.get("settings", {})
        settings = {k: v for k, v in given.items() if k in known}
        fields = {**fields, "settings": settings}
        spec = RunSpec(problem=name, level=LEVEL, method=method, seed=seed, **fields)
        write_atomically(path, json.dumps(with_commit(run(spec).to_record())))
    record = json.loads(path.read_text(encoding="utf-8"))
    commit = record["environment"].get("commit", UNKNOWN)
    return record["mean_simple_regret"][-1], commit


def render(
    finals: Finals,
    paper: dict[str, dict],
    problems: tuple[str, ...],
    stamps: list[str],
) -> str:
    """Return the document: ranks first, then every number."""
    ours = mean_table(finals, METHODS, problems)
    ranks = dict(zip(METHODS, average_ranks(ours), strict=True))
    theirs = paper["average_rank"][f"level{LEVEL}"]
    with_control = average_ranks(mean_table(finals, (*METHODS, CONTROL), problems))
    lines = [
        "# The compared methods at Level 2",
        "",
        "Written by `python scripts/compare_methods.py`. 16 agents, 30 + 50 "
        "evaluations, d = 10, noise 0.1 in scaled units, default settings (beta = 4 "
        "for the whole UCB family); mean over seeds "
        f"{', '.join(finals[CONTROL]['ackley'])}. Ranks within each function, ties "
        "averaged, over the twelve methods; the paper's are over ten repetitions.",
        "",
        *stamps,
        "",
        "## Average ranks",
        "",
        "| method | rank | paper's rank | places apart | rank with the control |",
        "|---|---|---|---|---|",
    ]
    for k, method in sorted(enumerate(METHODS), key=lambda pair: ranks[pair[1]]):
        apart = ranks[method] - theirs[method]
        mark = " **far**" if abs(apart) > FAR else ""
        lines.append(
            f"| {method} | {ranks[method]:.2f} | {theirs[method]:.2f} | "
            f"{apart:+.2f}{mark} | {with_control[k]:.2f} |"
        )
    lines.append(f"| {CONTROL} (control) | - | - | - | {with_control[-1]:.2f} |")
    if NOTES.exists():
        lines += ["", NOTES.read_text(encoding="utf-8").rstrip()]
    lines += [
        "",
        "## Final mean simple regret",
        "",
        *regret_table(finals, paper, problems),
    ]
    return "\n".join(lines) + "\n"


def mean_table(
    finals: Finals, methods: tuple[str, ...], problems: tuple[str, ...]
) -> np.ndarray:
    return np.array(
        [
            [np.mean(list(finals[m][name].values())) for m in methods]
            for name in problems
        ]
    )


def regret_table(
    finals: Finals, paper: dict[str, dict], problems: tuple[str, ...]
) -> list[str]:
    names = (*METHODS, CONTROL)
    lines = [
        "Ours above, with half the range over the seeds; the paper's below.",
        "",
        "| function | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for name in problems:
        ours = [with_spread(finals[method][name]) for method in names]
        target = paper["final_regret"][f"level{LEVEL}"][name]
        theirs = [f"{target[m]:.4g}" if m in target else "-" for m in names]
        lines.append(f"| {name} | " + " | ".join(ours) + " |")
        lines.append("| *paper* | " + " | ".join(theirs) + " |")
    return lines


def with_spread(by_seed: dict[str, float]) -> str:
    values = list(by_seed.values())
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{np.mean(values):.4g} ± {0.5 * (max(values) - min(values)):.2g}"


if __name__ == "__main__":
    sys.exit(main())

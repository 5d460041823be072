"""Hold the runs of two studies against each other, run by run.

    python scripts/compare_runs.py OLD NEW --method guide-ucb [--write FILE.md]

OLD and NEW are folders or packs. Runs with equal problem, level, method, settings and
seed are paired. Of each pair the ratio of the final mean simple regrets is taken; the
table gives its geometric mean by level and the standard error of its logarithm.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from guidefbo.core.files import write_atomically
from guidefbo.experiments.commit import stamp
from guidefbo.experiments.results import StudyResults, read_study

Finals = dict[tuple[int, str], float]
"""Final regret by level and whatever else tells runs apart."""


def finals(study: StudyResults, method: str) -> Finals:
    found: Finals = {}
    for row in study.rows:
        outcome = study.outcomes.get(row.key)
        if row.spec.get("method") == method and outcome is not None:
            rest = {k: v for k, v in row.spec.items() if k != "level"}
            found[row.spec["level"], json.dumps(rest, sort_keys=True)] = outcome.final
    return found


def report(old: Finals, new: Finals, method: str) -> str:
    pairs = sorted(old.keys() & new.keys())
    levels = sorted({level for level, _ in pairs})
    lines = [
        f"# Final regret of {method}, new runs over old runs",
        "",
        f"{len(pairs)} pairs of runs of equal problem, level and seed. Geometric mean "
        "of the ratio, and the standard error of its logarithm.",
        "",
        "| level | pairs | new / old | standard error | higher in |",
        "|---|---|---|---|---|",
    ]
    for name, kept in [
        *((str(level), [p for p in pairs if p[0] == level]) for level in levels),
        ("all", pairs),
    ]:
        x = np.log([new[p] / old[p] for p in kept])
        error = x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else float("nan")
        lines.append(
            f"| {name} | {len(kept)} | {np.exp(x.mean()):.3f} | {error:.3f} | "
            f"{int((x > 0).sum())} |"
        )
    return "\n".join([*lines, "", stamp(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--method", default="guide-ucb")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    old, new = (
        finals(read_study(path), given.method) for path in (given.old, given.new)
    )
    if not old.keys() & new.keys():
        raise SystemExit(
            f"No run of {given.method} is in both. Name two studies that share runs."
        )
    text = report(old, new, given.method)
    print(text)
    if given.write is not None:
        write_atomically(given.write, text)


if __name__ == "__main__":
    main()

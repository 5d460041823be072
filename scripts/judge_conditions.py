"""Say what `shape` gains with other sites, dimensions, noise and fewer exchanges.

    python scripts/judge_conditions.py [PACK] [--out DIR]

Reads the pack of the study `shape-conditions`, docs/results/shape-conditions/
runs.json.gz, and writes judgement.md beside it, or where told. Nothing is run here.

Ratios are of final mean simple regrets, same function and seed: geometric means over
seeds, then over functions, with the standard error over functions of the mean
logarithm. A rival works alone, so that runs with few exchanges are compared with its
runs under the usual condition.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guidefbo.experiments.results import read_study
from judge_shape import Ratios, means_of, num_seeds, shown

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT / "docs" / "results" / "shape-conditions" / "runs.json.gz"
PAIRS = (("shape-ucb", "ucb"), ("shape-ucb", "trend-ucb"), ("trend-ucb", "ucb"))
EXCHANGING = ("shape-ucb",)
"""Of these methods, those whose runs depend on how often sites exchange."""

Condition = tuple[int, int, float, int]
"""Sites, dimensions, noise, rounds from one exchange to the next."""
USUAL: Condition = (16, 10, 0.1, 1)
Finals = Mapping[tuple[Condition, str, str], Mapping[int, float]]
"""By condition, method and function: the final regrets by seed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=Path, nargs="?", default=PACK)
    parser.add_argument("--out", type=Path, help="folder; the pack's own by default")
    given = parser.parse_args()
    text = "\n".join(judgement(read_finals(given.pack))) + "\n"
    out = given.out or given.pack.parent
    (out / "judgement.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def read_finals(pack: Path) -> Finals:
    """Return the final regret of every finished run of the study."""
    results = read_study(pack)
    finals: dict[tuple[Condition, str, str], dict[int, float]] = {}
    for row in results.rows:
        outcome = results.outcomes.get(row.key)
        if outcome is None or outcome.curve is None:
            continue
        spec = row.spec
        every = spec.get("exchange_interval", 1)
        condition = (spec["num_agents"], spec["dim"], spec["noise"], every)
        cell = finals.setdefault((condition, spec["method"], spec["problem"]), {})
        cell[spec["seed"]] = float(outcome.curve[-1])
    return finals


def judgement(finals: Finals) -> list[str]:
    """Return the lines of the document."""
    seeds = sorted({seed for by_seed in finals.values() for seed in by_seed})
    functions = sorted({problem for _, _, problem in finals})
    lines = [
        "# Shape under other conditions",
        "",
        "Written by `python scripts/judge_conditions.py` from the runs of the study "
        f"`shape-conditions`: seeds {', '.join(map(str, seeds))}, Level 2 off the "
        f"centre of the box (common shift 0.3), functions {', '.join(functions)}. "
        "Final regret over that of a rival, paired by function and seed, geometric "
        "means; in brackets the logarithm with its standard error over functions. In "
        "bold what differs from the usual condition. An exchange every 50 rounds is a "
        "single one, after the initial design.",
        "",
        "| sites | dimensions | noise | an exchange every | seeds | "
        + " | ".join(f"`{one}` over `{other}`" for one, other in PAIRS)
        + " |",
        "|---:|---:|---:|---:|---:|" + "---:|" * len(PAIRS),
    ]
    for condition in sorted({condition for condition, _, _ in finals}, key=order):
        tables = [log_ratios(finals, condition, *pair) for pair in PAIRS]
        if not all(tables):
            continue
        words = [
            f"{value:g}" if value == usual else f"**{value:g}**"
            for value, usual in zip(condition, USUAL, strict=True)
        ]
        cells = [
            f"{shown(means_of(t))}, lower on {int((means_of(t) < 0.0).sum())} of "
            f"{len(t)}"
            for t in tables
        ]
        count = min(map(num_seeds, tables))
        lines.append("| " + " | ".join([*words, str(count), *cells]) + " |")
    return lines


def order(condition: Condition) -> tuple[bool, bool, bool, Condition]:
    """Put other sites first, then other dimensions, other noise, fewer exchanges."""
    differs = [a != b for a, b in zip(condition, USUAL, strict=True)]
    return differs[3], differs[2], differs[1], condition


def log_ratios(finals: Finals, at: Condition, one: str, other: str) -> Ratios:
    """Return log ratios of final regrets by function, one a seed that both have."""
    ratios: dict[str, NDArray[np.float64]] = {}
    alone = (*at[:3], USUAL[3])
    for problem in sorted({problem for _, _, problem in finals}):
        a, b = (
            finals.get((at if name in EXCHANGING else alone, name, problem), {})
            for name in (one, other)
        )
        seeds = sorted(set(a) & set(b))
        if seeds:
            ratios[problem] = np.array([np.log(a[s] / b[s]) for s in seeds])
    return ratios


if __name__ == "__main__":
    sys.exit(main())

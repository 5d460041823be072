"""Hold the runs of the study `shape-hostile` against the goals of the strategy.

    python scripts/judge_hostile.py [PACK] [--out DIR] [--default robust]

Reads the pack, docs/results/shape-hostile/runs.json.gz, and writes judgement.md beside
it, or where told. Nothing is run here.

Hostile packets: what all queries cost, the cumulative regret, over that of the same
models with nothing taken from the others, same function, level and seed; geometric
means over seeds, then over functions. Liars: the gain is by how much the logarithm of
the final regret lies below that of the same models alone; what four liars among sixteen
sites leave of it is their gain over that of honest sites. Regrets with liars are those
of the twelve honest sites. Regrets are against the best points inside the box.
"""

import argparse
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guidefbo.experiments.results import read_study
from judge_shape import LEVELS, Ratios, means_of, num_seeds, shown, worse_than_alone

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT / "docs" / "results" / "shape-hostile" / "runs.json.gz"
ALONE, HONEST, PLAIN = "own", "shape", "ucb"
HOSTILE = ("random", "reversed", "sharp", "adaptive")
LIARS = ("corner", "drift", "respond", "hide", "hide-closer")
POOLINGS = ("robust", "screened")
"""What the server does about liars; the first was the default of the study's runs."""
MOST_COST, LEAST_LEFT = 1.10, 0.70
"""What was aimed at: the largest cost of hostile packets, the least share of the gain
that liars leave."""


class Run(NamedTuple):
    """What a run came to."""

    final: float
    """Final mean simple regret."""
    cumulative: float
    """Mean regret of all queries."""


Runs = Mapping[tuple[str, int, str], Mapping[int, Run]]
"""By variant, level and function: the runs by seed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=Path, nargs="?", default=PACK)
    parser.add_argument("--out", type=Path, help="folder; the pack's own by default")
    parser.add_argument(
        "--default",
        choices=POOLINGS,
        default=POOLINGS[0],
        help="pooling of the variants that name none, at the time of the runs",
    )
    given = parser.parse_args()
    runs, study = read_runs(given.pack), given.pack.parent.name
    text = "\n".join(judgement(runs, study, given.default)) + "\n"
    out = given.out or given.pack.parent
    (out / "judgement.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def read_runs(pack: Path) -> Runs:
    """Return the end of every finished run of the study."""
    results = read_study(pack)
    runs: dict[tuple[str, int, str], dict[int, Run]] = {}
    for row in results.rows:
        outcome = results.outcomes.get(row.key)
        if outcome is None or row.variant is None:
            continue
        simple, total = outcome.curve_inbox, outcome.curve_cumulative
        if simple is None or total is None:
            continue
        cell = runs.setdefault(
            (row.variant, row.spec["level"], row.spec["problem"]), {}
        )
        cell[row.spec["seed"]] = Run(float(simple[-1]), float(total[-1]))
    return runs


def log_ratios(
    runs: Runs, one: str, other: str, level: int, field: str, also: str | None = None
) -> Ratios:
    """Return log ratios of a field, by function, one a seed that both have.

    Args:
        runs: Those of the study.
        one: Variant above.
        other: Variant below.
        level: Of the tasks.
        field: Of a run.
        also: A variant that must have the seed too; None: none must.
    """
    ratios: dict[str, NDArray[np.float64]] = {}
    for problem in sorted({problem for _, _, problem in runs}):
        a = runs.get((one, level, problem), {})
        b = runs.get((other, level, problem), {})
        c = runs.get((also or one, level, problem), {})
        seeds = sorted(set(a) & set(b) & set(c))
        if seeds:
            ratios[problem] = np.array(
                [np.log(getattr(a[s], field) / getattr(b[s], field)) for s in seeds]
            )
    return ratios


def judgement(runs: Runs, study: str, default: str = POOLINGS[0]) -> list[str]:
    """Return the lines of the document on the runs of a study."""
    seeds = sorted({seed for by_seed in runs.values() for seed in by_seed})
    return [
        "# Shape among liars and under hostile packets, judged",
        "",
        "Written by `python scripts/judge_hostile.py` from the runs of the study "
        f"`{study}`: seeds {', '.join(map(str, seeds))}, tasks off the centre of "
        "the box (common shift 0.3), noise 0.1, regrets against the best points inside "
        "the box. Paired by function and seed, geometric means; in brackets the "
        "logarithm with its standard error over functions.",
        "",
        "## Hostile packets to every site",
        "",
        f"Over `{ALONE}`: the same models with nothing taken from the others. "
        f"`{HONEST}` has honest packets.",
        "",
        *of_packets(runs),
        "",
        "## Four liars among sixteen sites",
        "",
        f"Final regret over `{ALONE}`, and the share of the gain of honest sites that "
        "is left.",
        "",
        *of_liars(runs, default),
    ]


def of_packets(runs: Runs) -> list[str]:
    """Return what every kind of packet costs."""
    lines = [
        "| level | packets | seeds | cumulative regret | dearest function | worse by "
        "the test | final regret | aimed at | met |",
        "|---|---|---:|---:|---|---|---:|---:|---|",
    ]
    for level in LEVELS:
        for variant in (HONEST, *HOSTILE):
            total = log_ratios(runs, variant, ALONE, level, "cumulative")
            final = log_ratios(runs, variant, ALONE, level, "final")
            if not total:
                continue
            means = means_of(total)
            worst = int(np.argmax(means))
            worse = worse_than_alone(total)
            is_met = np.exp(means.mean()) <= MOST_COST
            goal = (f"{MOST_COST:g}", "yes" if is_met else "**no**")
            lines.append(
                f"| {level} | {variant} | {num_seeds(total)} | {shown(means)} | "
                f"{list(total)[worst]} {np.exp(means[worst]):.2f} | "
                f"{'-' if worse is None else worse or 'none'} | "
                f"{shown(means_of(final))} | "
                + " | ".join(goal if variant in HOSTILE else ("", ""))
                + " |"
            )
    return lines


def of_liars(runs: Runs, default: str) -> list[str]:
    """Return what liars leave of the gain.

    Args:
        runs: Those of the study.
        default: Pooling of the variants that name none.
    """
    lines = [
        "| level | pooling | the liars | seeds | final regret | without liars | "
        "left of the gain | aimed at | met |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
    ]
    poolings = sorted(POOLINGS, key=lambda pooling: pooling != default)
    for level, pooling, name in product(LEVELS, poolings, LIARS):
        prefix, sincere = ("", HONEST)
        if pooling != default:
            prefix, sincere = f"{pooling}-", pooling
        liars = f"{prefix}{name}"
        lied = log_ratios(runs, liars, ALONE, level, "final", also=sincere)
        same = log_ratios(runs, sincere, ALONE, level, "final", also=liars)
        if lied:
            seeds = num_seeds(lied)
            left = float(means_of(lied).mean() / means_of(same).mean())
            lines.append(
                f"| {level} | {pooling} | {name} | {seeds} | {shown(means_of(lied))} | "
                f"{shown(means_of(same))} | {left:.0%} | {LEAST_LEFT:.0%} | "
                f"{'yes' if left >= LEAST_LEFT else '**no**'} |"
            )
    return lines


if __name__ == "__main__":
    sys.exit(main())

"""Hold every final regret of the main study against the paper's, cell by cell.

    python scripts/paper_cells.py [docs/results/main/runs.json.gz] [--out DIR]

Reads the pack and writes cells.md beside it, or where told. Nothing is run here.

A cell is a method on a function at a level. Its ratio is our mean final regret over
the paper's, both against the maximum of the base function; a cell is within a factor f
where the ratio lies between 1 / f and f. Of plain `ucb` at the paper's beta the regrets
are read from docs/results/faithfulness.json.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from guidefbo.experiments.results import read_study
from guidefbo.metrics.ranks import average_ranks
from guidefbo.reports.formats import factor, number
from guidefbo.reports.frame import View, lay_out
from guidefbo.reports.paper import BETA_REMARK, METHODS, published_rank
from guidefbo.reports.sections.regret import papers_regret

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
PACK = RESULTS / "main" / "runs.json.gz"
TRIALS = RESULTS / "tried" / "runs.json.gz"
LEVELS = (1, 2, 3)
FACTORS = (1.25, 1.5, 2.0)
FAR = 1.5
"""A cell that is further off is listed."""
ASSUMPTIONS = "../../assumptions.md"
COMPARED = f"{ASSUMPTIONS}#the-compared-methods"
BOTH_BETAS = "../faithfulness.md"


KNOWN = {
    "ts": "The paper's column picks among 1000 Sobol points: `ts-grid` here "
    f"([A18]({ASSUMPTIONS}), [B6]({COMPARED})).",
    "ucb": "The paper's column has beta 2, ours 4; both were run "
    f"([both betas]({BOTH_BETAS})).",
    "fts": f"The paper's column is presumably `fts-as-run` ([B1]({COMPARED})).",
    "fts-de": f"The paper's column is presumably `fts-de-as-run` ([B9]({COMPARED})).",
    "cgp-ts": f"The paper's column is presumably `cgp-ts-grid` ([B5, B6]({COMPARED})).",
    "guide-ts": "Tried on a grid as well, `guide-ts-grid`.",
    "guide-ucb": "Tried: plain UCB's beta of the paper, exact paths instead of random "
    "features, a harder search (1000 points, 40 starts, 100 iterations).",
    "guide-nei": "The authors' GUIDE estimates noisy EI by Monte Carlo, ours has a "
    f"closed form with 20 fantasies ([A15]({ASSUMPTIONS})). Tried: 160 fantasies, a "
    "harder search.",
    "nei": "Tried: 160 fantasies, and hyperparameters by likelihood alone.",
}
"""What differs from the paper's column, or was tried, by method."""
TRIED = {
    "ts": {"ts-grid": "on a grid"},
    "fts": {"fts-as-run": "as run for the paper"},
    "fts-de": {"fts-de-as-run": "as run for the paper"},
    "cgp-ts": {"cgp-ts-grid": "on a grid"},
    "guide-ts": {"guide-ts-grid": "on a grid"},
    "guide-ucb": {
        "guide-ucb-beta-2": "beta 2",
        "guide-ucb-exact": "exact paths",
        "guide-ucb-harder": "harder search",
    },
    "guide-nei": {
        "guide-nei-fantasies": "160 fantasies",
        "guide-nei-harder": "harder search",
    },
    "nei": {"nei-fantasies": "160 fantasies", "nei-likelihood": "no priors"},
}
"""Variants of the study `tried`, by method, and what is different in them."""
UNKNOWN = "not tried"


class Cell(NamedTuple):
    """A method on a function at a level: our final regrets and the paper's."""

    method: str
    level: int
    problem: str
    finals: Mapping[int, float]
    """By seed."""
    starts: Mapping[int, float]
    """Regrets after the initial design, before any method acts, by seed."""
    paper: float

    @property
    def mean(self) -> float:
        """Ours."""
        return float(np.mean(list(self.finals.values())))

    @property
    def ratio(self) -> float:
        """Ours over the paper's."""
        return self.mean / self.paper

    def is_within(self, most: float) -> bool:
        """Whether ours is at most so many times the paper's, or the other way round."""
        return is_within(self.ratio, most)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pack", type=Path, nargs="?", default=PACK)
    parser.add_argument("--out", type=Path, help="folder; the pack's own by default")
    given = parser.parse_args()
    text = "\n".join(page(read_cells(given.pack))) + "\n"
    out = given.out or given.pack.parent
    (out / "cells.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def read_cells(pack: Path) -> list[Cell]:
    """Return the cells that both have, by method, level and function."""
    frame = lay_out(read_study(pack))
    found: list[Cell] = []
    for conditions in frame.conditions:
        view = View(frame, conditions, is_papers=True)
        for who in view.contenders:
            for problem in view.problems:
                paper = papers_regret(conditions, problem, who)
                curves = {
                    int(str(seed)): curve
                    for seed, curve in view.curves(problem, who).items()
                }
                if paper is not None and curves:
                    found.append(
                        Cell(
                            method=who.method,
                            level=int(str(conditions.level)),
                            problem=problem,
                            finals={s: float(c[-1]) for s, c in curves.items()},
                            starts={s: float(c[0]) for s, c in curves.items()},
                            paper=paper,
                        )
                    )
    return sorted(found, key=lambda cell: (METHODS.index(cell.method), cell.level))


def page(cells: Sequence[Cell]) -> list[str]:
    """Return the lines of the document."""
    far = [cell for cell in cells if not cell.is_within(FAR)]
    counts = ", ".join(f"{num_within(cells, f)} within {f:g}" for f in FACTORS)
    by_method = [
        f"{sum(cell.method == method for cell in far)} of `{method}`"
        for method in METHODS
        if any(cell.method == method for cell in far)
    ]
    return [
        "# The paper's cells, one by one",
        "",
        f"**Of {len(cells)} final regrets, as multiples of the paper's or the other "
        f"way round: {counts}.** Outside {FAR:g} are {len(far)}: "
        f"{', '.join(by_method)}.",
        "",
        "Written by `python scripts/paper_cells.py` from the runs of the "
        "[main study](report.md). A cell is a method on a function at a level; its "
        "ratio is our mean final regret over the paper's, which is a mean of ten "
        f"repetitions. {seeds_of(cells)}",
        "",
        f"{BETA_REMARK} So the column `ucb` compares two settings; at the paper's beta "
        f"all cells of `ucb` {beta_2_of(cells)} ([both betas]({BOTH_BETAS})).",
        "",
        single_runs(cells),
        "",
        "## How many cells are near",
        "",
        *counts_table(cells),
        "",
        f"## Cells outside {FAR:g} times",
        "",
        "One thing was changed at a time and the cell run again (the study "
        f"[tried](../tried/report.md), seed {', '.join(map(str, tried_seeds()))}): "
        "the last column has the regret of these seeds over the paper's, unchanged "
        f"and with the change, bold where that is within {FAR:g}. {explained(far)}",
        "",
        *(f"- `{method}`: {known}" for method, known in KNOWN.items()),
        "",
        "| method | level | function | ours | seeds | paper | ours / paper | tried |",
        "|---|---:|---|---:|---:|---:|---:|---|",
        *map(far_row, far),
        "",
        *ranks_table(cells),
        *(line for level in LEVELS for line in ratios_table(cells, level)),
    ]


def seeds_of(cells: Sequence[Cell]) -> str:
    methods_of: dict[int, list[str]] = {}
    for method in METHODS:
        numbers = {len(cell.finals) for cell in cells if cell.method == method}
        for num in numbers:
            methods_of.setdefault(num, []).append(f"`{method}`")
    told = [
        f"{num} seed{'s' if num > 1 else ''} of {', '.join(methods)}"
        for num, methods in sorted(methods_of.items(), reverse=True)
    ]
    return f"We ran {'; '.join(told)}."


def beta_2_of(cells: Sequence[Cell]) -> str:
    ratios = [
        at_papers_beta(cell.level, cell.problem) / cell.paper
        for cell in cells
        if cell.method == "ucb"
    ]
    num = sum(is_within(ratio, FAR) for ratio in ratios)
    told = "are" if num == len(ratios) else f"but {len(ratios) - num} are"
    return f"{told} within {FAR:g} times"


def single_runs(cells: Sequence[Cell]) -> str:
    """Return how far single runs are off where there are several."""
    ratios = [
        final / cell.paper
        for cell in cells
        for final in cell.finals.values()
        if len(cell.finals) > 1
    ]
    several = [cell for cell in cells if len(cell.finals) > 1]
    num = sum(is_within(ratio, FAR) for ratio in ratios)
    num_means = num_within(several, FAR)
    widest = max(several, key=lambda cell: spread(cell.starts))
    starts = ", ".join(f"{number(v)} (seed {k})" for k, v in widest.starts.items())
    return (
        f"How much one seed says: of the {len(ratios)} single runs of the methods with "
        f"several seeds {num} ({num / len(ratios):.0%}) are within {FAR:g} times, of "
        f"their {len(several)} means {num_means} ({num_means / len(several):.0%}). "
        "Tasks differ from seed to seed before any method acts: most on "
        f"{widest.problem} at Level {widest.level}, where `{widest.method}` has a "
        f"regret of {starts} after the initial design."
    )


def spread(values: Mapping[int, float]) -> float:
    """Return the largest over the smallest."""
    return max(values.values()) / min(values.values())


def counts_table(cells: Sequence[Cell]) -> list[str]:
    within = ", ".join(f"{most:g}" for most in FACTORS)
    lines = [
        f"Cells within {within} times the paper's, of how many.",
        "",
        "| method | seeds | Level 1 | Level 2 | Level 3 | all levels |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for method in METHODS:
        lines.append(
            counts_row(f"`{method}`", [c for c in cells if c.method == method])
        )
    for several, name in ((True, "several seeds"), (False, "one seed")):
        chosen = [c for c in cells if (len(c.finals) > 1) == several]
        if 0 < len(chosen) < len(cells):
            lines.append(counts_row(f"all with {name}", chosen))
    return [*lines, counts_row("**all**", cells)]


def counts_row(name: str, cells: Sequence[Cell]) -> str:
    seeds = sorted({len(cell.finals) for cell in cells})
    told = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    groups = [[c for c in cells if c.level == level] for level in LEVELS]
    shown = [
        f"{', '.join(str(num_within(group, most)) for most in FACTORS)} of {len(group)}"
        for group in (*groups, cells)
    ]
    return f"| {name} | {told} | {' | '.join(shown)} |"


def far_row(cell: Cell) -> str:
    return (
        f"| `{cell.method}` | {cell.level} | {cell.problem} | {number(cell.mean)} | "
        f"{len(cell.finals)} | {number(cell.paper)} | {factor(cell.ratio)} | "
        f"{shown_trials(cell)} |"
    )


def what_was_tried(cell: Cell) -> dict[str, float]:
    """Return the regret over the paper's with each change, by what was changed."""
    if cell.method == "ucb":
        return {"beta 2": at_papers_beta(cell.level, cell.problem) / cell.paper}
    found = {
        words: tried_finals().get((variant, cell.level, cell.problem), [])
        for variant, words in TRIED.get(cell.method, {}).items()
    }
    return {
        words: float(np.mean(finals)) / cell.paper
        for words, finals in found.items()
        if finals
    }


def explained(far: Sequence[Cell]) -> str:
    """Return how many cells some change brings near."""
    tried = [cell for cell in far if what_was_tried(cell)]
    num = sum(
        not is_within(unchanged(cell), FAR)
        and any(is_within(ratio, FAR) for ratio in what_was_tried(cell).values())
        for cell in tried
    )
    return (
        f"Of the {len(far)} cells {len(tried)} were tried, and of these a change "
        f"brings {num} within {FAR:g}; of the others the reason is not known."
    )


def shown_trials(cell: Cell) -> str:
    trials = [
        f"{words} {text if not is_within(ratio, FAR) else f'**{text}**'}"
        for words, ratio in what_was_tried(cell).items()
        for text in [factor(ratio)]
    ]
    if not trials or cell.method == "ucb":
        return ", ".join(trials) or UNKNOWN
    return f"unchanged {factor(unchanged(cell))}, {', '.join(trials)}"


def unchanged(cell: Cell) -> float:
    """Return our regret of the seeds that were tried over the paper's."""
    seeds = cell.finals if cell.method == "ucb" else tried_seeds()
    return float(np.mean([cell.finals[seed] for seed in seeds])) / cell.paper


@cache
def tried_finals() -> dict[tuple[str, int, str], list[float]]:
    """Return final regrets of the study `tried`, by variant, level and function."""
    found: dict[tuple[str, int, str], list[float]] = {}
    study = read_study(TRIALS)
    for row in study.rows:
        outcome = study.outcomes.get(row.key)
        if outcome is not None and outcome.curve is not None:
            cell = (str(row.variant), int(row.spec["level"]), str(row.spec["problem"]))
            found.setdefault(cell, []).append(float(outcome.curve[-1]))
    return found


def tried_seeds() -> list[int]:
    study = read_study(TRIALS)
    rows = [row for row in study.rows if row.key in study.outcomes]
    return sorted({int(row.spec["seed"]) for row in rows})


def ranks_table(cells: Sequence[Cell]) -> list[str]:
    """Return average ranks by the seeds that all methods have."""
    seeds = [s for s in cells[0].finals if all(s in c.finals for c in cells)]
    ranks: dict[int, list[float]] = {}
    for level in LEVELS:
        there = {(c.problem, c.method): c for c in cells if c.level == level}
        problems = dict.fromkeys(problem for problem, _ in there)
        regrets = [
            [np.mean([there[p, m].finals[s] for s in seeds]) for m in METHODS]
            for p in problems
        ]
        ranks[level] = average_ranks(np.array(regrets)).tolist()
    lines = [
        "## Average ranks with the seeds that all methods have",
        "",
        "The ranks of the [report](report.md#average-ranks) are of means over all "
        "seeds of each method. Here all methods have the same tasks: seeds "
        f"{', '.join(map(str, sorted(seeds)))}. In brackets the paper's ranks.",
        "",
        "| method | Level 1 | Level 2 | Level 3 |",
        "|---|---:|---:|---:|",
    ]
    for k, method in enumerate(METHODS):
        shown = [
            f"{ranks[level][k]:.2f} ({published_rank(level, method):.2f})"
            for level in LEVELS
        ]
        lines.append(f"| `{method}` | {' | '.join(shown)} |")
    return lines


def ratios_table(cells: Sequence[Cell], level: int) -> list[str]:
    """Return the heading and the ratios of a level, those outside in bold."""
    there = {(c.problem, c.method): c for c in cells if c.level == level}
    problems = dict.fromkeys(problem for problem, _ in there)
    lines = [
        "",
        f"## Ours / paper, Level {level}",
        "",
        f"Bold where outside {FAR:g} times.",
        "",
        "| function | " + " | ".join(METHODS) + " |",
        "|---|" + "---:|" * len(METHODS),
    ]
    for problem in problems:
        row = [there.get((problem, method)) for method in METHODS]
        lines.append(f"| {problem} | {' | '.join(map(shown_ratio, row))} |")
    return lines


def shown_ratio(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    text = factor(cell.ratio)
    return text if cell.is_within(FAR) else f"**{text}**"


def num_within(cells: Sequence[Cell], most: float) -> int:
    return sum(cell.is_within(most) for cell in cells)


def is_within(ratio: float, most: float) -> bool:
    return 1.0 / most <= ratio <= most


def at_papers_beta(level: int, problem: str) -> float:
    """Return our mean final regret of plain `ucb` at beta 2."""
    return float(np.mean(beta_2_finals()[f"ucb-beta2-level{level}"][problem]))


@cache
def beta_2_finals() -> dict[str, dict[str, list[float]]]:
    text = (RESULTS / "faithfulness.json").read_text(encoding="utf-8")
    return json.loads(text)


if __name__ == "__main__":
    sys.exit(main())

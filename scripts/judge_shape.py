"""Hold the runs of the study `shape` against the goals of the strategy.

    python scripts/judge_shape.py [docs/results/shape/runs.json.gz] [--out DIR]

Reads the pack and writes judgement.md beside it, or where told. Nothing is run here.

Ratios are of final mean simple regrets, same function, level and seed, at Level 3
against the best points inside the box: geometric means over seeds, then over functions,
with the standard error over functions of the mean logarithm. A function counts as worse
where a two-sided paired t-test of its log ratios over seeds, corrected after Holm for
all functions of the level, has p < 0.05; that needs at least two seeds.
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
from guidefbo.reports.statistics import holm, paired_difference

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT / "docs" / "results" / "shape" / "runs.json.gz"
LEVELS = (1, 2, 3)
TO_PLAIN = {1: 0.40, 2: 0.50, 3: 0.75}
TO_ALONE = {1: 0.60, 2: 0.75, 3: 0.90}
"""Largest ratios that were aimed at, by level."""
RULES = ("ucb", "nei")
STRATEGIES = ("shape", "trend", "consensus", "guide", "placebo")
RIVALS = ("consensus-ucb", "guide-ucb", "placebo-ucb")
MOST_OF_TWELVE = 9
"""Functions of Level 3 on which each rival should be behind."""


class Cell(NamedTuple):
    """Where a curve belongs, the seed aside."""

    method: str
    level: int
    problem: str


Curves = Mapping[Cell, Mapping[int, NDArray[np.float64]]]
Ratios = Mapping[str, NDArray[np.float64]]
"""Function -> log ratios of final regrets, one a seed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=Path, nargs="?", default=PACK)
    parser.add_argument("--out", type=Path, help="folder; the pack's own by default")
    given = parser.parse_args()
    text = "\n".join(judgement(read_curves(given.pack), given.pack.parent.name)) + "\n"
    out = given.out or given.pack.parent
    (out / "judgement.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def read_curves(pack: Path) -> Curves:
    """Return every finished curve of the study."""
    results = read_study(pack)
    curves: dict[Cell, dict[int, NDArray[np.float64]]] = {}
    for row in results.rows:
        outcome = results.outcomes.get(row.key)
        if outcome is None or outcome.curve is None:
            continue
        spec = row.spec
        curve = outcome.curve
        if spec["level"] == 3 and outcome.curve_inbox is not None:
            curve = outcome.curve_inbox
        cell = Cell(spec["method"], spec["level"], spec["problem"])
        curves.setdefault(cell, {})[spec["seed"]] = np.asarray(curve)
    return curves


def log_ratios(curves: Curves, ours: str, theirs: str, level: int) -> Ratios:
    ratios: dict[str, NDArray[np.float64]] = {}
    for problem in sorted({cell.problem for cell in curves}):
        a = curves.get(Cell(ours, level, problem), {})
        b = curves.get(Cell(theirs, level, problem), {})
        seeds = sorted(set(a) & set(b))
        if seeds:
            ratios[problem] = np.array([np.log(a[s][-1] / b[s][-1]) for s in seeds])
    return ratios


def judgement(curves: Curves, study: str) -> list[str]:
    """Return the lines of the document on the runs of a study."""
    lines = [
        "# Shape, judged",
        "",
        "Written by `python scripts/judge_shape.py` from the runs of the study "
        f"`{study}`: "
        f"{seeds_of(curves)}, tasks off the centre of the box (common shift 0.3), "
        "noise 0.1. Ratios of final regrets, paired by function and seed, geometric "
        "means; in brackets the logarithm with its standard error over functions. At "
        "Level 3 regrets are against the best points inside the box.",
        "",
    ]
    for rule in RULES:
        lines += [*of_rule(curves, rule), ""]
    lines += [*over_plain(curves), "", *rounds_to_goal(curves)]
    return [*lines, "", "## Function by function", "", *by_function(curves)]


def seeds_of(curves: Curves) -> str:
    seeds = sorted({seed for by_seed in curves.values() for seed in by_seed})
    return f"seeds {', '.join(map(str, seeds))}"


def of_rule(curves: Curves, rule: str) -> list[str]:
    """Return goals and what was seen, for one rule."""
    ours, alone = f"shape-{rule}", f"trend-{rule}"
    lines = [
        f"## `{ours}`",
        "",
        "| level | beside | seeds | ratio | lower on | aimed at | met |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    found = False
    for level in LEVELS:
        goals = [(rule, TO_PLAIN[level]), (alone, TO_ALONE[level])]
        goals += [(rival, 1.0) for rival in RIVALS if rule == "ucb"]
        for rival, most in goals:
            ratios = log_ratios(curves, ours, rival, level)
            if not ratios:
                continue
            found = True
            means = means_of(ratios)
            is_met = float(np.exp(means.mean())) <= most
            if level == 3 and rival in RIVALS:
                is_met &= int((means < 0.0).sum()) >= MOST_OF_TWELVE
            lines.append(
                f"| {level} | `{rival}` | {num_seeds(ratios)} | {shown(means)} | "
                f"{int((means < 0.0).sum())} of {len(means)} | {most:g} | "
                f"{'yes' if is_met else '**no**'} |"
            )
        worse = worse_than_alone(log_ratios(curves, ours, alone, level))
        if worse is not None:
            lines.append(
                f"| {level} | no function worse than alone | | {worse or 'none is'} | "
                f"| | {'**no**' if worse else 'yes'} |"
            )
    return lines if found else [f"## `{ours}`", "", "No runs yet."]


def over_plain(curves: Curves) -> list[str]:
    """Return the regret of every method over that of its plain rule."""
    lines = [
        "## Every method over its plain rule",
        "",
        "| level | | seeds | ratio | lower on |",
        "|---|---|---:|---:|---:|",
    ]
    names = {cell.method for cell in curves}
    for level, rule, strategy in product(LEVELS, RULES, STRATEGIES):
        method = f"{strategy}-{rule}"
        if method not in names or not (r := log_ratios(curves, method, rule, level)):
            continue
        means = means_of(r)
        lines.append(
            f"| {level} | `{method}` over `{rule}` | {num_seeds(r)} | {shown(means)} | "
            f"{int((means < 0.0).sum())} of {len(means)} |"
        )
    return lines


def num_seeds(ratios: Ratios) -> int:
    """Return how many seeds every function has at least."""
    return min(map(len, ratios.values()))


def means_of(ratios: Ratios) -> NDArray[np.float64]:
    return np.array([r.mean() for r in ratios.values()])


def shown(means: NDArray[np.float64]) -> str:
    if len(means) < 2:
        return f"{np.exp(means.mean()):.2f}"
    error = means.std(ddof=1) / np.sqrt(len(means))
    return f"{np.exp(means.mean()):.2f} ({means.mean():.2f} ± {error:.2f})"


def worse_than_alone(ratios: Ratios) -> str | None:
    """Return the functions that are worse after Holm, None where seeds are too few."""
    if not ratios or min(map(len, ratios.values())) < 2:
        return None
    adjusted = holm([_p_value(r) for r in ratios.values()])
    found = sorted(zip(adjusted, ratios, strict=True), key=lambda one: one[0] or 0.0)
    return ", ".join(
        name
        for p, name in found
        if p is not None and p < 0.05 and ratios[name].mean() > 0.0
    )


def _p_value(ratios: NDArray[np.float64]) -> float | None:
    """Return the two-sided p-value of the paired t-test of log ratios."""
    ours = dict(enumerate(ratios.tolist()))
    difference = paired_difference(ours, dict.fromkeys(ours, 0.0))
    return None if difference is None else difference.p


def rounds_to_goal(curves: Curves) -> list[str]:
    """Return when the regret is what the same rule alone has at the end."""
    lines = [
        "## Rounds to reach what the rule alone has at the end",
        "",
        "Curves averaged over seeds; median over functions.",
        "",
        "| level | rule | `shape` | of |",
        "|---|---|---:|---:|",
    ]
    for level in LEVELS:
        for rule in RULES:
            rounds: list[float] = []
            last = 0
            for problem in sorted({cell.problem for cell in curves}):
                ours = curves.get(Cell(f"shape-{rule}", level, problem), {})
                plain = curves.get(Cell(rule, level, problem), {})
                common = sorted(set(ours) & set(plain))
                if not common:
                    continue
                a = np.mean([ours[s] for s in common], axis=0)
                b = np.mean([plain[s] for s in common], axis=0)
                last = len(b) - 1
                reached = np.flatnonzero(a <= b[-1])
                rounds.append(float(reached[0]) if len(reached) else np.inf)
            if rounds:
                lines.append(f"| {level} | {rule} | {np.median(rounds):g} | {last} |")
    return lines


def by_function(curves: Curves) -> list[str]:
    columns = [
        (level, ours, rival)
        for level in LEVELS
        for ours, rival in (("shape-ucb", "ucb"), ("shape-ucb", "trend-ucb"))
    ]
    tables = [log_ratios(curves, ours, rival, level) for level, ours, rival in columns]
    lines = [
        "Final regret of `shape-ucb` over that of each rival.",
        "",
        "| function | "
        + " | ".join(f"Level {level}: {rival}" for level, _, rival in columns)
        + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for problem in sorted({cell.problem for cell in curves}):
        cells = [
            f"{np.exp(t[problem].mean()):.2f}" if problem in t else "-" for t in tables
        ]
        lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main())

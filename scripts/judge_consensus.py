"""Hold the runs of the study `consensus` against the goals of the strategy.

    python scripts/judge_consensus.py [docs/results/consensus/runs.json.gz] [--out DIR]

Reads the pack and writes judgement.md beside it, or where told. Nothing is run here.

Ratios are of final mean simple regrets to plain `ucb`, same function, level and seed:
geometric means over seeds, then over functions (arithmetic where it says so). Rounds to
reach are read off the curves averaged over seeds. A function counts as significantly
worse where a two-sided paired t-test of its log ratios over seeds has p < 0.05, without
correction for twelve functions (the signed-rank test cannot get there with five seeds).
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from guidefbo.experiments.results import read_study

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT / "docs" / "results" / "consensus" / "runs.json.gz"
OURS, PLAIN = "consensus-ucb", "ucb"
CHOSEN_ON = frozenset(
    {"sphere", "levy", "ackley", "rastrigin", "rosenbrock", "styblinski-tang"}
)
"""Functions on which choices were made, with other seeds."""
LIES = ("corner", "drift", "respond")
REFERENCE_ROUND = 25


@dataclass(frozen=True)
class Cell:
    """Where a curve belongs, the seed aside."""

    method: str
    level: int
    noise: float
    lie: str
    aim: str
    problem: str


Curves = Mapping[Cell, Mapping[int, NDArray[np.float64]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=Path, nargs="?", default=PACK)
    parser.add_argument("--out", type=Path, help="folder; the pack's own by default")
    given = parser.parse_args()
    pack, out = given.pack, given.out or given.pack.parent
    curves = read_curves(pack)
    text = "\n".join(judgement(curves)) + "\n"
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
        cell = Cell(
            spec["method"],
            spec["level"],
            spec["noise"],
            spec["settings"].get("lie", "none"),
            spec["settings"].get("aim", "blend"),
            spec["problem"],
        )
        curves.setdefault(cell, {})[spec["seed"]] = np.asarray(outcome.curve)
    return curves


def log_ratios(
    curves: Curves, ours: Callable[[str], Cell], theirs: Callable[[str], Cell]
) -> dict[str, NDArray[np.float64]]:
    """Return per function the log ratios of final regrets, one per common seed."""
    ratios: dict[str, NDArray[np.float64]] = {}
    for problem in sorted({cell.problem for cell in curves}):
        a, b = curves.get(ours(problem), {}), curves.get(theirs(problem), {})
        seeds = sorted(set(a) & set(b))
        if seeds:
            ratios[problem] = np.array([np.log(a[s][-1] / b[s][-1]) for s in seeds])
    return ratios


def at(
    method: str,
    level: int,
    noise: float = 0.1,
    lie: str = "none",
    aim: str = "blend",
) -> Callable[[str], Cell]:
    """Return a function from a problem's name to its cell."""
    return lambda problem: Cell(method, level, noise, lie, aim, problem)


def mean_log(ratios: Mapping[str, NDArray[np.float64]]) -> float:
    return float(np.mean([r.mean() for r in ratios.values()]))


def judgement(curves: Curves) -> list[str]:
    """Return the lines of the document."""
    seeds = sorted({seed for by_seed in curves.values() for seed in by_seed})
    lines = [
        "# Consensus, judged",
        "",
        "Written by `python scripts/judge_consensus.py` from the runs of the study "
        f"`consensus`: seeds {seeds[0]} to {seeds[-1]}, tasks off the centre of the "
        "box (common shift 0.3), noise 0.1 where nothing else is said. Ratios are of "
        "final regrets to plain `ucb`, paired by function and seed, geometric means.",
        "",
        "| goal | seen | met |",
        "|---|---|---|",
    ]
    for level in (1, 2):
        lines += transfer_goals(curves, level)
    for level in (1, 2):
        lines += speed_goal(curves, level)
    lines += harm_goal(curves)
    lines += [line for lie in LIES for line in lie_goal(curves, lie)]
    lines += ["", "## What the exchange brings", ""]
    lines += by_part(curves)
    lines += ["", "## Function by function", ""]
    lines += by_function(curves)
    return lines


def goal(name: str, seen: str, met: bool) -> list[str]:
    return [f"| {name} | {seen} | {'yes' if met else '**no**'} |"]


def transfer_goals(curves: Curves, level: int) -> list[str]:
    lines: list[str] = []
    for rival in ("guide-ucb", "placebo-ucb"):
        ratios = log_ratios(curves, at(OURS, level), at(rival, level))
        lower = sum(r.mean() < 0.0 for r in ratios.values())
        lines += goal(
            f"Level {level}: below `{rival}` on 9 of 12 functions",
            f"{lower} of {len(ratios)}, ratio {np.exp(mean_log(ratios)):.2f}",
            lower >= 9,
        )
    ratios = log_ratios(curves, at(OURS, level), at(PLAIN, level))
    means = np.array([r.mean() for r in ratios.values()])
    arithmetic = float(np.exp(means).mean())
    error = float(means.std(ddof=1) / np.sqrt(len(means)))
    unseen = {p: r for p, r in ratios.items() if p not in CHOSEN_ON}
    lines += goal(
        f"Level {level}: mean ratio to `ucb` at most 0.7",
        f"{np.exp(means.mean()):.2f} (log {means.mean():.2f} ± {error:.2f} over "
        f"functions; arithmetic mean {arithmetic:.2f}; on the six functions nothing "
        f"was tuned on {np.exp(mean_log(unseen)):.2f})",
        max(arithmetic, float(np.exp(means.mean()))) <= 0.7,
    )
    return lines


def speed_goal(curves: Curves, level: int) -> list[str]:
    rounds = rounds_to_reach(curves, level)
    median = float(np.median(list(rounds.values())))
    return goal(
        f"Level {level}, noise 0.01: rounds to reach what `ucb` has after "
        f"{REFERENCE_ROUND}, median function, at most half",
        f"{median:g} of {REFERENCE_ROUND}",
        median <= REFERENCE_ROUND / 2,
    )


def rounds_to_reach(curves: Curves, level: int) -> dict[str, float]:
    """Return per function the first round as good as `ucb` at the reference round."""
    rounds: dict[str, float] = {}
    for problem in sorted({cell.problem for cell in curves}):
        ours = curves.get(at(OURS, level, 0.01)(problem), {})
        plain = curves.get(at(PLAIN, level, 0.01)(problem), {})
        common = sorted(set(ours) & set(plain))
        if common:
            a = np.mean([ours[s] for s in common], axis=0)
            b = np.mean([plain[s] for s in common], axis=0)[REFERENCE_ROUND]
            reached = np.flatnonzero(a <= b)
            rounds[problem] = float(reached[0]) if len(reached) else np.inf
    return rounds


def harm_goal(curves: Curves) -> list[str]:
    ratios = log_ratios(curves, at(OURS, 3), at(PLAIN, 3))
    arithmetic = float(np.mean([np.exp(r.mean()) for r in ratios.values()]))
    error = np.std([r.mean() for r in ratios.values()], ddof=1) / np.sqrt(len(ratios))
    p_values = {p: float(ttest_1samp(r, 0.0).pvalue) for p, r in ratios.items()}
    worse = [p for p, r in ratios.items() if r.mean() > 0.0 and p_values[p] < 0.05]
    least = min((v for p, v in p_values.items() if ratios[p].mean() > 0.0), default=1.0)
    return goal(
        "Level 3: mean ratio to `ucb` at most 1.03",
        f"{np.exp(mean_log(ratios)):.3f} (log {mean_log(ratios):.3f} ± {error:.3f} "
        f"over functions; arithmetic mean {arithmetic:.3f})",
        max(arithmetic, float(np.exp(mean_log(ratios)))) <= 1.03,
    ) + goal(
        "Level 3: no function significantly worse",
        f"{', '.join(worse) or 'none'} (smallest p of those above 1: {least:.2f}; "
        f"corrected for {len(ratios)} tests after Bonferroni "
        f"{min(1.0, len(ratios) * least):.2f})",
        not worse,
    )


def lie_goal(curves: Curves, lie: str) -> list[str]:
    honest = mean_log(log_ratios(curves, at(OURS, 1), at(PLAIN, 1)))
    lied = log_ratios(curves, at(OURS, 1, lie=lie), at(PLAIN, 1))
    if not lied:
        return []
    seen = mean_log(lied)
    kept = (1.0 - np.exp(seen)) / (1.0 - np.exp(honest))
    return goal(
        f"Level 1, 4 liars of 16 (`{lie}`): 70 % of the honest gain kept",
        f"ratio {np.exp(seen):.2f} against {np.exp(honest):.2f}: {kept:.0%} of the "
        f"gain, {seen / honest:.0%} of it in logarithms",
        kept >= 0.7,
    )


def by_part(curves: Curves) -> list[str]:
    """Return the exchange held against the same agents that exchange nothing."""
    lines = [
        "With `aim=own` every agent looks at the place it said itself: the same "
        "model of the large shape, the same intervention, nothing exchanged. The "
        "fourth column is what the exchange adds to that, with its standard error over "
        "functions in logarithms.",
        "",
        "| level | `aim=own` / `ucb` | `consensus-ucb` / `ucb` | the two | lower on |",
        "|---|---:|---:|---:|---:|",
    ]
    for level in (1, 2, 3):
        alone, plain = at(OURS, level, aim="own"), at(PLAIN, level)
        model = log_ratios(curves, alone, plain)
        whole = log_ratios(curves, at(OURS, level), plain)
        added = log_ratios(curves, at(OURS, level), alone)
        if not added:
            continue
        means = np.array([r.mean() for r in added.values()])
        error = means.std(ddof=1) / np.sqrt(len(means))
        lines.append(
            f"| {level} | {np.exp(mean_log(model)):.2f} | "
            f"{np.exp(mean_log(whole)):.2f} | {np.exp(means.mean()):.2f} "
            f"(log {means.mean():.2f} ± {error:.2f}) | "
            f"{int((means < 0.0).sum())} of {len(means)} |"
        )
    return lines


def shown(rounds: float) -> str:
    return f"{rounds:g}" if np.isfinite(rounds) else "never"


def by_function(curves: Curves) -> list[str]:
    columns = [
        ("Level 1: ucb", 1, "ucb"),
        ("placebo", 1, "placebo-ucb"),
        ("guide", 1, "guide-ucb"),
        ("Level 2: ucb", 2, "ucb"),
        ("placebo", 2, "placebo-ucb"),
        ("guide", 2, "guide-ucb"),
        ("Level 3: ucb", 3, "ucb"),
    ]
    tables = [
        log_ratios(curves, at(OURS, level), at(rival, level))
        for _, level, rival in columns
    ]
    rounds = [rounds_to_reach(curves, level) for level in (1, 2)]
    lines = [
        "Final regret of `consensus-ucb` over that of each rival, and the rounds it "
        f"needs at noise 0.01 to reach what `ucb` has after {REFERENCE_ROUND}. "
        "Functions with a star were also used for choosing, with other seeds.",
        "",
        "| function | "
        + " | ".join(name for name, _, _ in columns)
        + " | rounds, Level 1 | rounds, Level 2 |",
        "|---|" + "---:|" * (len(columns) + 2),
    ]
    for problem in sorted({cell.problem for cell in curves}):
        cells = [
            f"{np.exp(t[problem].mean()):.2f}" if problem in t else "-" for t in tables
        ]
        cells += [shown(r[problem]) if problem in r else "-" for r in rounds]
        star = "*" if problem in CHOSEN_ON else ""
        lines.append(f"| {problem}{star} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main())

"""Compare our outcome constraints with BoTorch's and Optuna's, all in one run.

    pip install torch==2.13.0
    pip install -e '.[dev,optuna,botorch]'
    python benchmarks/constrained.py [--seeds 10] [--first 0]
        [--tools trend,botorch,tpe,gp,random] [--budget N] [--records DIR] [--write]
        [--out DIR]

Every tool minimises the four problems of constrained_problems.py at the same budget,
from the same first points. Finished runs are kept in the records folder and not
repeated while the library that made them is the same; seeds come one after the other,
so that a run that is stopped has all tools on the first ones. `--write` puts the
tables into docs/results/constrained.md. Our own code is chosen on seeds from 100 on
(`--first 100`) and judged on 0 to 9.
"""

import argparse
import hashlib
import json
import math
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc, wilcoxon
from threadpoolctl import threadpool_limits

from constrained_problems import CATALOG, Problem
from guidefbo.experiments.commit import stamp

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
LABELS = {
    "trend": "guidefbo (default, alone)",
    "ucb": "guidefbo ucb",
    "nei": "guidefbo nei",
    "botorch": "BoTorch constrained LogEI",
    "tpe": "Optuna TPE",
    "gp": "Optuna GP",
    "random": "random",
}
OURS = {"trend": "trend-ucb", "ucb": "ucb", "nei": "nei"}
RESTARTS, RAW = 4, 128
"""Effort of BoTorch's search for the maximum of its acquisition function."""

Point = Mapping[str, float]
Told = list[tuple[dict[str, float], float, dict[str, float]]]
"""Points, objectives and outcomes so far."""
Record = dict[str, Any]
Runs = Mapping[tuple[str, str], Sequence[Record]]
"""problem and tool -> records by seed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed; 100: to choose by"
    )
    parser.add_argument(
        "--tools", default="trend,botorch,tpe,gp,random", help="by commas"
    )
    parser.add_argument("--budget", type=int, help="evaluations, if not the problem's")
    parser.add_argument("--records", type=Path, default=ROOT / "build" / "constrained")
    parser.add_argument("--write", action="store_true", help="write constrained.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    arguments = parser.parse_args()
    tools = arguments.tools.split(",")
    if not set(tools) <= set(LABELS):
        parser.error(f"--tools: expected some of {', '.join(LABELS)}")
    arguments.records.mkdir(parents=True, exist_ok=True)
    runs = run_all(tools, arguments)
    text = "\n".join(report(runs, tools, arguments)) + "\n"
    print(text)
    if arguments.write:
        (arguments.out / "constrained.md").write_text(text, encoding="utf-8")


# Running ----------------------------------------------------------------------------


def run_all(tools: Sequence[str], arguments: argparse.Namespace) -> Runs:
    """Run what has no valid record, and return the records of all."""
    made_by = {tool: version_of(tool) for tool in tools}
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    cases = list(product(seeds, CATALOG, tools))
    runs: dict[tuple[str, str], list[Record]] = {}
    began, num_run = time.perf_counter(), 0
    for k, (seed, problem, tool) in enumerate(cases, start=1):
        budget = arguments.budget or problem.budget
        path = arguments.records / f"{problem.name}-{tool}-seed{seed}-n{budget}.json"
        record = json.loads(path.read_text()) if path.exists() else {}
        if record.get("made_by") != made_by[tool]:
            record = {"made_by": made_by[tool], **run(problem, tool, seed, budget)}
            unfinished = path.with_suffix(".tmp")
            unfinished.write_text(json.dumps(record) + "\n", encoding="utf-8")
            unfinished.replace(path)
            num_run += 1
            minutes = (time.perf_counter() - began) / num_run * (len(cases) - k) / 60
            words = f"{k}/{len(cases)} runs, at most {minutes:.0f} min left"
            print(f"{words}, last {path.stem}", file=sys.stderr, flush=True)
        runs.setdefault((problem.name, tool), []).append(record)
    return runs


def version_of(tool: str) -> str:
    """Name the library behind a tool; ours with a digest of what decides."""
    if tool == "botorch":
        return f"botorch {version('botorch')}"
    if tool not in OURS:
        return f"optuna {version('optuna')}"
    digest, package = hashlib.sha256(), ROOT / "src" / "guidefbo"
    for folder in ("agent", "core", "methods", "site"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return f"guidefbo {version('guidefbo')}, sources {digest.hexdigest()[:8]}"


def run(problem: Problem, tool: str, seed: int, budget: int) -> Record:
    """Return what a tool found, evaluation by evaluation."""
    warnings.simplefilter("ignore")
    make = {"botorch": botorch_loop, **dict.fromkeys(OURS, our_agent)}
    values: list[float] = []
    feasible: list[bool] = []
    seconds = 0.0
    with threadpool_limits(1):
        step = make.get(tool, optuna_study)(problem, tool, seed)
        told: Told = []
        first = first_points(problem, seed)
        for k in range(budget):
            began = time.process_time()
            point = step(told, first[k] if k < len(first) else None)
            seconds += time.process_time() - began
            value, outcomes = problem.measure(point)
            told.append((dict(point), value, outcomes))
            values.append(value)
            feasible.append(problem.keeps(outcomes))
    return {"values": values, "feasible": feasible, "seconds_per_ask": seconds / budget}


def first_points(problem: Problem, seed: int) -> list[dict[str, float]]:
    """Return the first points of a seed, the same for every tool."""
    axes = problem.axes
    X = qmc.Sobol(len(axes), rng=np.random.default_rng(seed)).random(16)
    return [
        {
            name: axis.nearest(axis.low + float(u) * (axis.high - axis.low))
            for (name, axis), u in zip(axes.items(), x, strict=True)
        }
        for x in X[: problem.num_first]
    ]


Step = Callable[[Told, "dict[str, float] | None"], Point]
"""(all that was told, the point to take or None) -> the point to measure."""


def our_agent(problem: Problem, tool: str, seed: int) -> Step:
    """Return a site with outcomes that have a limit."""
    import guidefbo as gf

    space = gf.Space(
        **{n: gf.Float(a.low, a.high, step=a.step) for n, a in problem.axes.items()}
    )
    outcomes = [gf.Outcome(n, at_most=limit) for n, limit in problem.limits.items()]
    agent = gf.Agent(
        space,
        goal="min",
        method=OURS[tool],
        seed=seed,
        initial=problem.num_first,
        outcomes=outcomes,
    )
    open_trials: list[Any] = []

    def step(told: Told, given: dict[str, float] | None) -> Point:
        if told:
            _, value, measured = told[-1]
            agent.tell(open_trials[-1], value, outcomes=measured)
        open_trials.append(agent.ask() if given is None else agent.begin(given))
        return open_trials[-1].values

    return step


def optuna_study(problem: Problem, tool: str, seed: int) -> Step:
    """Return a study of Optuna with constraints on its trials."""
    import optuna
    from optuna.distributions import FloatDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    excess: dict[int, list[float]] = {}

    def constraints(trial: Any) -> list[float]:
        return excess[trial.number]

    first = problem.num_first
    samplers = optuna.samplers
    sampler = {
        "tpe": lambda: samplers.TPESampler(
            seed=seed, n_startup_trials=first, constraints_func=constraints
        ),
        "gp": lambda: samplers.GPSampler(
            seed=seed, n_startup_trials=first, constraints_func=constraints
        ),
        "random": lambda: samplers.RandomSampler(seed=seed),
    }[tool]()
    study = optuna.create_study(sampler=sampler)
    axes = {
        name: FloatDistribution(axis.low, axis.high, step=axis.step)
        for name, axis in problem.axes.items()
    }
    trials: list[Any] = []

    def step(told: Told, given: dict[str, float] | None) -> Point:
        if told:
            _, value, measured = told[-1]
            over = [measured[n] - limit for n, limit in problem.limits.items()]
            excess[trials[-1].number] = over
            study.tell(trials[-1], value)
        if given is not None:
            study.enqueue_trial(given)
        trials.append(study.ask(axes))
        return trials[-1].params

    return step


def botorch_loop(problem: Problem, tool: str, seed: int) -> Step:
    """Return BoTorch's analytic constrained log expected improvement.

    A model each of the objective and of the outcomes, all with BoTorch's own defaults.
    Until a point keeps all limits, the probability of keeping them is maximised.
    """
    del tool
    import torch
    from botorch.acquisition.analytic import (
        LogConstrainedExpectedImprovement,
        LogProbabilityOfFeasibility,
    )
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import SumMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    axes = problem.axes
    low = torch.tensor([a.low for a in axes.values()], dtype=torch.double)
    high = torch.tensor([a.high for a in axes.values()], dtype=torch.double)
    box = torch.stack([torch.zeros_like(low), torch.ones_like(high)])
    limits = list(problem.limits.items())
    wanted = dict.fromkeys(range(1, len(limits) + 1), (None, 0.0))

    def step(told: Told, given: dict[str, float] | None) -> Point:
        if given is not None:
            return given
        points = torch.tensor([list(p.values()) for p, _, _ in told]).double()
        X = (points - low) / (high - low)
        over = [[o[n] - limit for n, limit in limits] for _, _, o in told]
        columns = torch.tensor(
            [[v, *c] for (_, v, _), c in zip(told, over, strict=True)]
        )
        Y = columns.double()
        # Limits lie at nought and stay there: the columns are scaled, not moved.
        Y[:, 1:] /= Y[:, 1:].std(0).clamp_min(1e-9)
        middle, spread = Y[:, 0].mean(), Y[:, 0].std().clamp_min(1e-9)
        Y[:, 0] = (Y[:, 0] - middle) / spread
        models = [SingleTaskGP(X, Y[:, [k]]) for k in range(Y.shape[1])]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        kept = (Y[:, 1:] <= 0.0).all(1)
        if kept.any():
            acquisition = LogConstrainedExpectedImprovement(
                model, Y[kept, 0].min(), 0, wanted, maximize=False
            )
        else:
            acquisition = LogProbabilityOfFeasibility(model, wanted)
        x, _ = optimize_acqf(
            acquisition, box, q=1, num_restarts=RESTARTS, raw_samples=RAW
        )
        values = (low + x[0] * (high - low)).tolist()
        pairs = zip(axes.items(), values, strict=True)
        return {name: axis.nearest(value) for (name, axis), value in pairs}

    return step


# Reporting --------------------------------------------------------------------------


def finals(problem: Problem, records: Sequence[Record]) -> list[float]:
    """Return the gap of each run to the best known value, inf where none is kept."""
    return [
        min(
            (v for v, ok in zip(r["values"], r["feasible"], strict=True) if ok),
            default=math.inf,
        )
        - problem.best
        for r in records
    ]


def capped(
    runs: Runs, problem: Problem, tools: Sequence[str]
) -> dict[str, list[float]]:
    """Return the gaps by tool; a run that kept nothing counts as the worst that did."""
    gaps = {tool: finals(problem, runs[problem.name, tool]) for tool in tools}
    worst = max(
        (g for each in gaps.values() for g in each if g < math.inf), default=math.inf
    )
    return {tool: [min(g, worst) for g in each] for tool, each in gaps.items()}


def report(
    runs: Runs, tools: Sequence[str], arguments: argparse.Namespace
) -> list[str]:
    """Return the page."""
    ours, *others = tools
    made = sorted({r["made_by"] for records in runs.values() for r in records})
    head = " | ".join(LABELS[tool] for tool in tools)
    budget = arguments.budget
    sizes = f"{budget}" if budget else "30 (two parameters) or 50 (four)"
    first = f"--first {arguments.first} " if arguments.first else ""
    lines = [
        "# Outcome constraints beside BoTorch and Optuna",
        "",
        f"Written by `python benchmarks/constrained.py --seeds {arguments.seeds} "
        f"{first}--tools {','.join(tools)} --write`: {sizes} evaluations a run, the "
        f"first six or ten of them the same for all, seeds {arguments.first} to "
        f"{arguments.first + arguments.seeds - 1}, no noise, "
        f"every tool with its default settings; BoTorch, which has none for it, "
        f"searches from {RESTARTS} of {RAW} points. {'; '.join(made)}; numpy "
        f"{np.__version__}; Python {platform.python_version()}, {platform.machine()}, "
        "one thread.",
        "",
        stamp(),
        "",
        "## Gap to the best known value",
        "",
        "Best value that keeps all limits, less the best known one: mean ± standard "
        "error over seeds, and in brackets the runs that found any such value. A run "
        "that found none counts as the worst one that did. Lower is better, the lowest "
        "mean is bold.",
        "",
        f"| problem | {head} |",
        f"|---|{'---|' * len(tools)}",
    ]
    for problem in CATALOG:
        gaps = capped(runs, problem, tools)
        best = min(statistics.fmean(each) for each in gaps.values())
        cells: list[str] = []
        for tool in tools:
            mean = statistics.fmean(gaps[tool])
            kept = sum(g < math.inf for g in finals(problem, runs[problem.name, tool]))
            if mean == math.inf:
                cells.append("none (0)")
                continue
            text = f"{mean:.3g}"
            text = f"**{text}**" if mean == best else text
            cells.append(f"{text} ± {error_of(gaps[tool]):.2g} ({kept})")
        lines.append(f"| {problem.name} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Seed by seed",
        "",
        f"Seeds in which {LABELS[ours]} ends lower : equal : higher than the other, "
        "and the two-sided p of Wilcoxon's signed-rank test, uncorrected. Of "
        f"{len(CATALOG) * len(others)} such tests some fall below 0.05 by chance.",
        "",
        f"| problem | {' | '.join(f'against {LABELS[tool]}' for tool in others)} |",
        f"|---|{'---|' * len(others)}",
    ]
    for problem in CATALOG:
        gaps = capped(runs, problem, tools)
        cells = [compared(gaps[ours], gaps[tool]) for tool in others]
        lines.append(f"| {problem.name} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Evaluations that keep the limits, and time",
        "",
        "Share of a run's own questions, first points left out, that kept all limits; "
        "processor seconds of one question.",
        "",
        f"| problem | {head} |",
        f"|---|{'---|' * len(tools)}",
    ]
    for problem in CATALOG:
        cells = []
        for tool in tools:
            records = runs[problem.name, tool]
            own = [ok for r in records for ok in r["feasible"][problem.num_first :]]
            share = f"{statistics.fmean(own):.0%}" if own else "-"
            seconds = statistics.fmean(r["seconds_per_ask"] for r in records)
            cells.append(f"{share}, {seconds:.2g} s")
        lines.append(f"| {problem.name} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Problems",
        "",
        "All are minimised. What is measured beside the objective must not exceed its "
        "limit, and every tool is told the measured values.",
        "",
        "| problem | parameters | limits | best known | from |",
        "|---|---|---|---|---|",
    ]
    for problem in CATALOG:
        axes = ", ".join(
            f"{n} {a.low:g} to {a.high:g}{f' by {a.step:g}' if a.step else ''}"
            for n, a in problem.axes.items()
        )
        limits = ", ".join(f"{n} ≤ {limit:g}" for n, limit in problem.limits.items())
        row = (problem.name, axes, limits, f"{problem.best:.7g}", problem.citation)
        lines.append(f"| {' | '.join(row)} |")
    return lines


def error_of(values: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    if len(values) < 2:
        return 0.0
    return statistics.stdev(values) / math.sqrt(len(values))


def compared(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return seeds lower, equal and higher, and the p of a paired test."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    lower, higher = sum(d < 0 for d in differences), sum(d > 0 for d in differences)
    equal = len(differences) - lower - higher
    p = float(wilcoxon(differences).pvalue) if lower + higher else 1.0
    return f"{lower} : {equal} : {higher}, p {p:.2g}"


if __name__ == "__main__":
    main()

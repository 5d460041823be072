"""Compare our agent with Optuna's samplers on mixed spaces, all in one run.

    pip install torch==2.13.0
    pip install -e '.[dev]' optuna
    python benchmarks/mixed.py [--budget 60] [--seeds 10] [--set judging]
        [--method ucb,nei] [--others tpe,gp,random] [--jobs 1] [--records DIR]
        [--write] [--out DIR]

Every method is asked `budget` times on every problem of mixed_problems.py, with its
default settings and its own first points. Finished runs are kept in the records folder
and not repeated while the library that made them is the same; ours is known by its
sources. Delete the records of a problem after changing it. `--method none` runs Optuna
alone, `--others none` ours alone, which needs no Optuna. `--write` puts the tables into
docs/results/mixed.md.
"""

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from guidefbo.experiments.commit import stamp
from mixed_problems import (
    CATALOG,
    PROBLEMS,
    Problem,
    to_distributions,
    to_space,
)

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
OTHERS = ("tpe", "gp", "random")
OURS = "guidefbo-"
LABELS = {"tpe": "Optuna TPE", "gp": "Optuna GP", "random": "random"}
DIGITS = 6
"""Finals equal in this many significant digits are a tie."""


@dataclass(frozen=True)
class Case:
    """One run: a method on a problem with a seed and a number of evaluations."""

    problem: str
    method: str
    seed: int
    budget: int

    @property
    def file(self) -> str:
        """Name the file of the record."""
        return f"{self.problem}-{self.method}-seed{self.seed}-n{self.budget}.json"


Record = dict[str, Any]
Runs = Mapping[tuple[str, str], Sequence[Record]]
"""problem and method -> records by seed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=60, help="evaluations a run")
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0, 1, ...")
    parser.add_argument(
        "--set", choices=("judging", "choosing", "all"), default="judging"
    )
    parser.add_argument("--method", default="ucb", help="ours, by commas, or none")
    parser.add_argument("--others", default=",".join(OTHERS), help="Optuna's, or none")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--records", type=Path, default=ROOT / "build" / "mixed")
    parser.add_argument("--write", action="store_true", help="write mixed.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    arguments = parser.parse_args()
    ours, others = (
        [] if names == "none" else names.split(",")
        for names in (arguments.method, arguments.others)
    )
    if not set(others) <= set(OTHERS):
        parser.error(f"--others: expected some of {', '.join(OTHERS)}, or none")
    methods = [*(OURS + name for name in ours), *others]
    problems = [p for p in CATALOG if arguments.set in ("all", p.half)]
    arguments.records.mkdir(parents=True, exist_ok=True)
    cases = [
        Case(problem.name, method, seed, arguments.budget)
        for seed, problem, method in product(range(arguments.seeds), problems, methods)
    ]
    runs = run_all(cases, arguments.records, arguments.jobs)
    text = "\n".join(report(runs, problems, methods, arguments)) + "\n"
    print(text)
    if arguments.write:
        (arguments.out / "mixed.md").write_text(text, encoding="utf-8")


# Running ----------------------------------------------------------------------------


def run_all(cases: Sequence[Case], records: Path, jobs: int) -> Runs:
    """Run the cases without a valid record, and return the records of all."""
    versions = {case.method: version_of(case.method) for case in cases}
    found = {case: read_record(case, records, versions[case.method]) for case in cases}
    progress = Progress([c for c in cases if found[c] is None], jobs)
    with ProcessPoolExecutor(jobs) as pool:
        futures = {
            pool.submit(run_case, case, records, versions[case.method]): case
            for case in progress.pending
        }
        try:
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                progress.finish(futures[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    runs: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for case in cases:
        record = found[case]
        assert record is not None
        runs[case.problem, case.method].append(record)
    return runs


class Progress:
    """One line with the runs done and the time left, by how long each kind took."""

    def __init__(self, pending: Sequence[Case], jobs: int) -> None:
        self.pending = list(pending)
        self._left = set(pending)
        self._jobs = jobs
        self._times: dict[str, list[float]] = defaultdict(list)

    def finish(self, case: Case, record: Record) -> None:
        """Count one run as done and print the line."""
        self._left.discard(case)
        self._times[case.method].append(record["seconds_total"])
        every = [seconds for times in self._times.values() for seconds in times]
        left = sum(
            statistics.mean(self._times.get(case.method, every)) for case in self._left
        )
        done = len(self.pending) - len(self._left)
        print(
            f"\r{done}/{len(self.pending)} runs, {clock(left / self._jobs)} left, "
            f"last {case.problem} {case.method} seed {case.seed}\x1b[K",
            end="" if self._left else "\n",
            file=sys.stderr,
            flush=True,
        )


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02d} s"


def version_of(method: str) -> str:
    """Name the library behind a method; ours with a digest of its sources."""
    if not method.startswith(OURS):
        return f"optuna {version('optuna')}"
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "guidefbo").rglob("*.py")):
        digest.update(path.read_bytes())
    return f"guidefbo {version('guidefbo')}, sources {digest.hexdigest()[:8]}"


def read_record(case: Case, records: Path, made_by: str) -> Record | None:
    path = records / case.file
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    return record if record["made_by"] == made_by else None


def run_case(case: Case, records: Path, made_by: str) -> Record:
    """Run one case in this process on one thread and keep its record."""
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    problem = PROBLEMS[case.problem]
    with threadpool_limits(1):
        if case.method.startswith(OURS):
            ask, tell = our_agent(problem, case.method.removeprefix(OURS), case.seed)
        else:
            ask, tell = optuna_study(problem, case.method, case.seed)
        values, seconds = follow(problem, ask, tell, case.budget)
    record = {
        **asdict(case),
        "made_by": made_by,
        "values": values,
        "best_so_far": np.minimum.accumulate(values).tolist(),
        "seconds_per_ask": seconds / case.budget,
        "seconds_total": time.perf_counter() - began,
    }
    path = records / case.file
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(json.dumps(record) + "\n", encoding="utf-8")
    unfinished.replace(path)
    return record


Ask = Callable[[], tuple[Any, Mapping[str, Any]]]
Tell = Callable[[Any, float], object]


def follow(
    problem: Problem, ask: Ask, tell: Tell, budget: int
) -> tuple[list[float], float]:
    """Return the values in order, and the seconds of all asks and tells together."""
    values: list[float] = []
    seconds = 0.0
    for _ in range(budget):
        began = time.perf_counter()
        trial, point = ask()
        seconds += time.perf_counter() - began
        values.append(problem(point))
        began = time.perf_counter()
        tell(trial, values[-1])
        seconds += time.perf_counter() - began
    return values, seconds


def our_agent(problem: Problem, method: str, seed: int) -> tuple[Ask, Tell]:
    import guidefbo as gf

    agent = gf.Agent(to_space(problem), goal=problem.goal, method=method, seed=seed)

    def ask() -> tuple[Any, Mapping[str, Any]]:
        trial = agent.ask()
        return trial, trial.values

    return ask, agent.tell


def optuna_study(problem: Problem, method: str, seed: int) -> tuple[Ask, Tell]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna_sampler(method, seed))
    distributions = to_distributions(problem)

    def ask() -> tuple[Any, Mapping[str, Any]]:
        trial = study.ask(distributions)
        return trial, trial.params

    return ask, study.tell


def optuna_sampler(method: str, seed: int) -> Any:
    """Return the named sampler as Optuna ships it, torch on one thread."""
    from optuna import samplers

    if method == "random":
        return samplers.RandomSampler(seed=seed)
    if method == "tpe":
        return samplers.TPESampler(seed=seed)
    import torch

    torch.set_num_threads(1)
    return samplers.GPSampler(seed=seed)


# Reporting --------------------------------------------------------------------------


def report(
    runs: Runs,
    problems: Sequence[Problem],
    methods: Sequence[str],
    arguments: argparse.Namespace,
) -> list[str]:
    made_by = sorted({record["made_by"] for rows in runs.values() for record in rows})
    libraries = ("torch", "scikit-learn", "numpy", "scipy")
    versions = [*made_by, *(f"{name} {version_or_none(name)}" for name in libraries)]
    command = (
        f"python benchmarks/mixed.py --budget {arguments.budget} --seeds "
        f"{arguments.seeds} --set {arguments.set} --method {arguments.method} "
        f"--others {arguments.others} --jobs {arguments.jobs} --write"
    )
    lines = [
        "# Mixed spaces beside Optuna",
        "",
        f"Written by `{command}`: {arguments.budget} evaluations a run, first points "
        f"included, seeds 0 to {arguments.seeds - 1}, every method with its default "
        f"settings. {', '.join(versions)}; Python {platform.python_version()}, "
        f"{platform.processor() or platform.machine()}, one thread a run. All problems "
        "are minimised and without noise.",
        "",
        stamp(),
        "",
        "## Final best value",
        "",
        "Median over seeds, quartiles in brackets; lower is better, the best median is "
        "bold.",
        "",
        *final_rows(runs, problems, methods),
    ]
    for name in methods:
        if name.startswith(OURS) and len(methods) > 1:
            lines += [
                "",
                f"## {label(name)}, seed by seed",
                "",
                "Seeds where ours is better : tied : worse, the other with the same "
                "seed.",
                "",
                *paired_rows(runs, problems, name, [m for m in methods if m != name]),
            ]
    lines += [
        "",
        "## Average rank and time",
        "",
        "Rank among the methods of this table, mean over problems and seeds (1 is "
        "best), after so many evaluations. The seconds are of one ask and its tell.",
        "",
        *rank_rows(runs, problems, methods, arguments.budget),
        "",
        "## Problems",
        "",
        *problem_rows(problems),
    ]
    return lines


def version_or_none(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def label(method: str) -> str:
    return LABELS.get(method, method.replace(OURS, "guidefbo "))


def finals(
    runs: Runs, problem: Problem, method: str, n: int | None = None
) -> np.ndarray:
    """Return the best value of every seed after n evaluations, or at the end."""
    at = -1 if n is None else n - 1
    return np.array(
        [record["best_so_far"][at] for record in runs[problem.name, method]]
    )


def rounded(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.{DIGITS - 1}e}") for v in values.ravel()]).reshape(
        values.shape
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def final_rows(
    runs: Runs, problems: Sequence[Problem], methods: Sequence[str]
) -> list[str]:
    rows: list[list[str]] = []
    for problem in problems:
        values = [finals(runs, problem, method) for method in methods]
        medians = rounded(np.median(values, axis=1))
        row = [problem.name, "-" if problem.best is None else f"{problem.best:.5g}"]
        for own, median in zip(values, medians, strict=True):
            low, high = np.quantile(own, (0.25, 0.75))
            text = f"{median:.5g}"
            text = f"**{text}**" if median == medians.min() else text
            row.append(f"{text} [{low:.4g}, {high:.4g}]")
        rows.append(row)
    return table(["problem", "known best", *map(label, methods)], rows)


def paired_rows(
    runs: Runs, problems: Sequence[Problem], ours: str, others: Sequence[str]
) -> list[str]:
    rows: list[list[str]] = []
    total = np.zeros((len(others), 3), dtype=int)
    for problem in problems:
        mine = rounded(finals(runs, problem, ours))
        counts = np.array(
            [
                [np.sum(mine < other), np.sum(mine == other), np.sum(mine > other)]
                for other in (rounded(finals(runs, problem, m)) for m in others)
            ]
        )
        total += counts
        rows.append([problem.name, *(score(c) for c in counts)])
    rows.append(["**all**", *(f"**{score(c)}**" for c in total)])
    return table(["problem", *(f"against {label(m)}" for m in others)], rows)


def score(counts: np.ndarray) -> str:
    return " : ".join(map(str, counts))


def rank_rows(
    runs: Runs, problems: Sequence[Problem], methods: Sequence[str], budget: int
) -> list[str]:
    moments = sorted({max(1, budget // 4), max(1, budget // 2), budget})
    ranks = [mean_ranks(runs, problems, methods, n) for n in moments]
    rows: list[list[str]] = []
    for i, method in enumerate(methods):
        seconds = [
            record["seconds_per_ask"]
            for problem in problems
            for record in runs[problem.name, method]
        ]
        cells = [f"{rank[i]:.2f}" for rank in ranks]
        rows.append([label(method), *cells, f"{statistics.mean(seconds):.4f}"])
    head = ["method", *(f"rank at {n}" for n in moments), "seconds an ask"]
    return table(head, rows)


def mean_ranks(
    runs: Runs, problems: Sequence[Problem], methods: Sequence[str], n: int
) -> np.ndarray:
    ranks = [
        rankdata(rounded(np.array([finals(runs, p, m, n) for m in methods])), axis=0)
        for p in problems
    ]
    return np.concatenate(ranks, axis=1).mean(axis=1)


def problem_rows(problems: Sequence[Problem]) -> list[str]:
    rows = [
        [
            problem.name,
            problem.half,
            f"{problem.description} ({problem.citation})",
            "; ".join(f"{k} {p.describe()}" for k, p in problem.parameters.items()),
        ]
        for problem in problems
    ]
    return table(["problem", "set", "what is minimised", "parameters"], rows)


if __name__ == "__main__":
    main()

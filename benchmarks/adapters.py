"""Time a trial through each adapter beside our own loop, in one run.

    python benchmarks/adapters.py [--flower] [--minutes 1.5] [--write] [--toy]

A trial is everything but the objective: ask, suggest, tell, write down, and where the
site is linked an exchange with a real coordinator on this machine. The loops take
turns, so that other load falls on all alike; no further turn begins after --minutes.
Rows of BoTorch are there where it is installed. With --flower three exchanges inside a
fleet of one SuperNode follow, which take about a minute. All adapters fit into one
environment: `guidefbo[optuna,botorch,flower,service]`.
"""

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import scipy
from optuna.distributions import FloatDistribution
from threadpoolctl import threadpool_limits

import guidefbo as gf
from guidefbo.experiments.commit import stamp
from guidefbo.integrations.optuna import FederatedSampler

RESULTS = Path(__file__).parents[1] / "docs" / "results"
DIM = 6
SPACE = gf.Space(**{f"x{i}": gf.Float(0, 1) for i in range(DIM)})
DISTRIBUTIONS = {f"x{i}": FloatDistribution(0, 1) for i in range(DIM)}
METHOD, LINKED = "ucb", "shape-ucb"
NUM_BEFORE = 30
"""Results before the first trial that is timed."""
NUM_TIMED = 15
LEAST_TIMED = 3
"""Turns that are timed however long it takes."""
OWN_LINKED = "our own loop, linked, an exchange a trial"
FLOWER = "our own loop, linked through Flower"
COMMAND = [sys.executable, "-m", "guidefbo"]

Step = Callable[[], None]


def measure(values: dict[str, float]) -> float:
    x = np.array(list(values.values()))
    return -float(((x - 0.4) ** 2).sum())


def in_memory() -> Step:
    agent = gf.Agent(SPACE, goal="max", method=METHOD, seed=1)

    def step() -> None:
        trial = agent.ask()
        agent.tell(trial, measure(trial.values))

    return step


def of_file(file: Path, link: Any = None) -> Step:
    def step() -> None:
        if link is not None:
            link.sync()
        with gf.Agent.update(file) as agent:
            trial = agent.ask()
        with gf.Agent.update(file) as agent:
            agent.tell(trial, measure(trial.values))

    return step


def of_study(sampler: Any, storage: str | None = None) -> Step:
    study = optuna.create_study(direction="maximize", sampler=sampler, storage=storage)

    def step() -> None:
        trial = study.ask()
        values = {name: trial.suggest_float(name, 0, 1) for name in DISTRIBUTIONS}
        study.tell(trial, measure(values))

    return step


def of_botorch(link: Any, num_before: int, *, is_guided: bool) -> Step:
    """Return the loop of a BoTorch user, with our guidance or without.

    Until there are enough results to fit a model to, points are those of a design.
    """
    with warnings.catch_warnings(action="ignore"):
        import torch
        from botorch import fit_gpytorch_mll
        from botorch.acquisition import UpperConfidenceBound
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        from guidefbo.integrations import botorch as gfb
    torch.set_num_threads(1)

    def step() -> None:
        agent = gf.Agent.load(link.places.file)
        if len(agent.trials) < num_before:
            early()
            return
        X, Y = gfb.data(agent)
        model = SingleTaskGP(X, Y, covar_module=gfb.matern(DIM))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        decided, transform = model, None
        if is_guided:
            gfb.post(link, model)
            link.sync()
            decided, transform = gfb.decision(gf.Agent.load(link.places.file), model)
        acquisition = UpperConfidenceBound(
            decided, beta=4.0, posterior_transform=transform
        )
        x, _ = optimize_acqf(
            acquisition, gfb.cube(agent), q=1, num_restarts=4, raw_samples=64
        )
        with gf.Agent.update(link.places.file) as agent:
            trial = gfb.begin(agent, x)
            agent.tell(trial, measure(trial.values))

    def early() -> None:
        with gf.Agent.update(link.places.file) as agent:
            trial = agent.ask()
            agent.tell(trial, measure(trial.values))

    def quiet() -> None:
        with warnings.catch_warnings(action="ignore"):
            step()

    return quiet


@contextmanager
def coordinator(folder: Path) -> Generator[tuple[Callable[..., Any], str]]:
    """Serve a federation in which two sites have spoken; yield how to join, a store."""
    lines = [
        f'[parameters.{n}]\ntype = "float"\nlow = 0\nhigh = 1\n' for n in DISTRIBUTIONS
    ]
    (folder / "space.toml").write_text("\n".join(lines))
    store = f"sqlite:///{folder / 'guidefbo.db'}"
    host("federation", "create", "bench", str(folder / "space.toml"), "--goal", "max",
         "--method", LINKED, "--min-sites", "2", "--store", store)  # fmt: skip
    words = ["serve", "--port", "0", "--rate-site", "0", "--rate-address", "0"]
    with (folder / "serve.log").open("w") as log:
        service = subprocess.Popen(
            [*COMMAND, *words, "--store", store],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert service.stdout is not None
    try:
        said = (line.split() for line in service.stdout)
        address = next(words[-1] for words in said if words[:1] == ["listening"])

        def join(site: str, where: str = address) -> Any:
            words = ["federation", "invite", "bench", site, "--store", store]
            code = host(*words).split()[0]
            return gf.connect(folder / f"{site}.json", where, code=code, patience=300.0)

        for site in ("first", "second"):
            link = join(site)
            with gf.Agent.update(link.places.file) as agent:
                for trial in agent.ask(12):
                    agent.tell(trial, measure(trial.values))
            link.sync()
        yield join, store
    finally:
        service.terminate()
        service.wait()
        service.stdout.close()


def host(*words: str) -> str:
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loops(
    folder: Path, join: Callable[[str], Any], num_before: int
) -> dict[str, tuple[Step, str]]:
    """Return each loop, and the one that it is compared with."""
    alone = folder / "alone.json"
    gf.Agent(SPACE, goal="max", method=METHOD, seed=1).save(alone)
    studied = folder / "studied.json"
    gf.Agent(SPACE, goal="max", method=METHOD, seed=1).save(studied)
    database = f"sqlite:///{folder / 'study.db'}"
    own, own_file = "our own loop, in memory", "our own loop, agent in a file"
    own_linked = OWN_LINKED
    sampler = FederatedSampler(space=DISTRIBUTIONS, method=METHOD, seed=1)
    stored = FederatedSampler(space=DISTRIBUTIONS, method=METHOD, seed=1)
    chance = "Optuna's random sampler, in a SQLite file"
    own_link = join("own")
    found = {
        own: (in_memory(), own),
        "Optuna, in memory": (of_study(sampler), own),
        own_file: (of_file(alone), own_file),
        "Optuna, a site's file": (of_study(FederatedSampler(studied)), own_file),
        chance: (of_study(optuna.samplers.RandomSampler(), database), chance),
        "Optuna, in a SQLite file": (of_study(stored, database), chance),
        own_linked: (of_file(own_link.places.file, own_link), own_linked),
        "Optuna, linked": (of_study(FederatedSampler(join("study"))), own_linked),
    }
    if find_spec("botorch") is not None:
        plain = "BoTorch without us: fit, UCB, optimize_acqf"
        found[plain] = (of_botorch(join("plain"), num_before, is_guided=False), plain)
        guided = of_botorch(join("guided"), num_before, is_guided=True)
        found["BoTorch, guided and linked"] = (guided, plain)
    return found


def timed(
    steps: dict[str, Step], num_before: int, num_timed: int, deadline: float
) -> tuple[dict[str, tuple[float, float]], int]:
    """Return median milliseconds of a trial, processor and wall, and of how many.

    The loops take turns; after the deadline no further turn begins.
    """
    for name, step in steps.items():
        print(f"... {name}: {num_before} trials before", file=sys.stderr)
        for _ in range(num_before):
            step()
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    count = 0
    for count in range(1, num_timed + 1):
        print(f"... turn {count} of {num_timed}", file=sys.stderr)
        for name, step in steps.items():
            began = time.process_time(), time.perf_counter()
            step()
            ended = time.process_time(), time.perf_counter()
            spent[name].append((ended[0] - began[0], ended[1] - began[1]))
        if count >= LEAST_TIMED and time.monotonic() > deadline:
            break
    medians = {
        name: tuple(
            1e3 * statistics.median(column) for column in zip(*pairs, strict=True)
        )
        for name, pairs in spent.items()
    }
    return medians, count


def through_flower(
    folder: Path, join: Callable[..., Any], store: str, num_before: int
) -> tuple[float, float]:
    """Return median milliseconds of a trial with an exchange inside Flower."""
    sys.path.append(str(Path(__file__).parents[1] / "examples" / "integrations"))
    from flower_fleet import fleet

    print(f"... {FLOWER}: the fleet starts", file=sys.stderr)
    with fleet(folder, store, ("carried",), minutes=30):
        link = join("carried", f"folder:{folder / 'carried'}")
        before = of_file(link.places.file)
        for _ in range(num_before):
            before()
        steps = {FLOWER: of_file(link.places.file, link)}
        return timed(steps, 0, LEAST_TIMED, float("inf"))[0][FLOWER]


def table(is_toy: bool, deadline: float, has_flower: bool) -> list[str]:
    before, most = (7, 2) if is_toy else (NUM_BEFORE, NUM_TIMED)
    packages = ["optuna", *(["botorch", "torch"] if find_spec("botorch") else [])]
    packages += ["flwr"] if has_flower else []
    said = ""
    with (
        tempfile.TemporaryDirectory() as name,
        coordinator(Path(name)) as (join, store),
    ):
        found = loops(Path(name), join, before)
        steps = {label: step for label, (step, _) in found.items()}
        beside = {label: other for label, (_, other) in found.items()}
        spent, count = timed(steps, before, most, deadline)
        if has_flower:
            inside = Path(name) / "fleet"
            inside.mkdir()
            spent[FLOWER] = through_flower(inside, join, store, before)
            beside[FLOWER] = OWN_LINKED
            said = (
                f" Through Flower: {LEAST_TIMED} trials after the turns of the others; "
                "a fleet of one node polls every few seconds and starts a process for "
                "every message, which is its wall time."
            )
    lines = [
        "# What an adapter costs",
        "",
        "Written by `python benchmarks/adapters.py --write`: a whole trial without its "
        f"objective, {DIM} floats, {before} results before the first, median of "
        f"{count}, the loops in turn, one BLAS thread. The coordinator is the real "
        f"service on the same machine. Alone the method is `{METHOD}`, linked "
        f"`{LINKED}`. Differences and ratios are of the processor time of the loop's "
        "own process; wall time has waits for the disk, the coordinator, other load."
        + said,
        "",
        f"{platform.machine()}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, SciPy {scipy.__version__}, "
        + ", ".join(f"{p} {version(p)}" for p in packages)
        + ".",
        "",
        stamp(),
        "",
        "| loop | ms of processor | ms of wall | beside | ms more | times |",
        "|---|---|---|---|---|---|",
    ]
    for label, other in beside.items():
        (busy, wall), (least, _) = spent[label], spent[other]
        cells = ["-"] * 3
        if other != label:
            cells = [other, f"{busy - least:.1f}", f"{busy / least:.2f}"]
        lines.append(f"| {label} | {busy:.1f} | {wall:.1f} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="adapters.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    parser.add_argument("--minutes", type=float, default=1.5, help="of all turns")
    parser.add_argument("--flower", action="store_true", help="a fleet of Flower, too")
    given = parser.parse_args()
    deadline = time.monotonic() + 60.0 * given.minutes
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with threadpool_limits(limits=1):
        text = "\n".join(table(given.toy, deadline, given.flower)) + "\n"
    print(text)
    if given.write:
        (given.out / "adapters.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

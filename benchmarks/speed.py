"""Measure the speed table: ours and BoTorch's on the same inputs, in one run.

    pip install torch==2.13.0
    pip install -e '.[dev,oracle]'
    python benchmarks/speed.py [--agents 4] [--repeats 3] [--write] [--out DIR] [--toy]
    python benchmarks/speed.py --only own [--repeats 3] [--rounds 50] [--write]

A full run is followed through our own trace: at a few rounds the data of some agents
are handed to both sides, every stage is timed on them in turn, and the times are
averaged over rounds and agents and scaled to 16 agents x 50 rounds. Whole runs of our
methods take turns; the ratios are of processor time. The rows of the server, of asks
and of commands come from `merge.py`, `ask.py` and `commands.py`. All of it takes about
ten minutes. `--write` puts the table into docs/results/speed.md. `--toy` does all of it
at a size that takes seconds and measures nothing.

What the compared methods cost next to ours needs no BoTorch: whole runs that take
turns, and their ratios in docs/results/speed-methods.md; `--only consensus` does the
same for consensus beside plain UCB, in docs/results/speed-consensus.md.
"""

import argparse
import platform
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.paths.maximise import FeatureSampler
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams
from guidefbo.experiments.commit import stamp
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import make_problem
from guidefbo.server.side import Draws
from guidefbo.simulation.assemble import assemble
from guidefbo.simulation.federation import site_name
from guidefbo.simulation.simulate import simulate
from speed_rows import (
    Row,
    ask_rows,
    command_rows,
    profiles,
    progress,
    server_rows,
    table,
)

PROBLEM, LEVEL, NOISE, BETA = "rastrigin", 2, 0.1, 4.0
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
Times = dict[str, list[float]]
Targets = Mapping[tuple[str, str], float]
"""At most this many times the seconds of the second method."""
OWN_TARGETS: Targets = {("cgp-ucb", "guide-ucb"): 1.2, ("cgp-nei", "guide-nei"): 1.7}
MAIN_TARGETS: Targets = {
    ("guide-ucb", "ucb"): 2.5,
    ("consensus-ucb", "ucb"): 1.4,
    ("shape-ucb", "ucb"): 1.6,
    ("ts", "ucb"): 1.5,
    ("guide-nei", "guide-ucb"): 1.5,
}
STUDY_RUNS, STUDY_CORES, STUDY_HOURS = 4320, 2, 8.0
"""Runs of the study `main`, as many of each of its methods."""
STUDY_METHODS = (
    *("ts", "ucb", "nei", "fts", "fts-de", "fmtbo"),
    *("cgp-ts", "cgp-ucb", "cgp-nei", "guide-ts", "guide-ucb", "guide-nei"),
)
CONSENSUS_TARGETS: Targets = {("consensus-ucb", "ucb"): 1.4}


@dataclass(frozen=True)
class Size:
    """How large the measured runs are."""

    checkpoints: tuple[int, ...] = (1, 13, 25, 38, 50)
    agents: int = 16
    rounds: int = 50
    initial: int = 30
    late: int = 55
    """First points of the profiled rounds."""
    dim: int = 10
    asks: tuple[tuple[int, float], ...] = ((80, 0.05), (1000, 1.5), (5000, 6.0))
    """Results, and seconds at most."""
    uploads: int = 100_000
    is_toy: bool = False

    @property
    def run(self) -> dict[str, int]:
        """Fields of a run of this size."""
        return {
            "dim": self.dim,
            "num_agents": self.agents,
            "num_initial": self.initial,
            "num_rounds": self.rounds,
        }


FULL = Size()
TOY = Size(
    *((1, 2), 3, 2, 4), late=6, dim=2, asks=((12, 9.0),), uploads=50, is_toy=True
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = ("botorch", "own", "consensus")
    parser.add_argument("--only", choices=tables, help="one of the tables")
    parser.add_argument("--agents", type=int, default=4, help="agents timed a round")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of each stage")
    parser.add_argument("--rounds", type=int, help="rounds of our methods' runs")
    parser.add_argument(
        "--write", action="store_true", help="write the tables to --out"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    given = parser.parse_args()
    size = TOY if given.toy else FULL
    own = replace(size, rounds=given.rounds) if given.rounds else size
    reports: dict[str, tuple[str, Callable[[], list[str]]]] = {
        "botorch": ("speed.md", lambda: report(size, given.agents, given.repeats)),
        "own": (
            "speed-methods.md",
            lambda: report_own("own", OWN_TARGETS, given.repeats, own),
        ),
        "consensus": (
            "speed-consensus.md",
            lambda: report_own("consensus", CONSENSUS_TARGETS, given.repeats, own),
        ),
    }
    for name in (given.only,) if given.only else reports:
        file, work = reports[name]
        with threadpool_limits(1):
            text = "\n".join(work()) + "\n"
        print(text)
        if given.write:
            (given.out / file).write_text(text, encoding="utf-8")


def report(size: Size, num_timed: int, repeats: int) -> list[str]:
    num_timed = min(num_timed, size.agents)
    progress("following a run to its checkpoints")
    states = follow_run(size)
    ours, theirs = time_stages(states, num_timed, repeats)
    runs = take_turns(MAIN_TARGETS, repeats, size)
    once = {name: each[0] for name, each in runs.items()}
    for name in () if size.is_toy else STUDY_METHODS:
        if name not in once:
            progress(f"{name}, one run")
            once[name] = timed_run(name, size)
    others = [
        *server_rows(size.uploads, size.dim),
        *ask_rows(dict(size.asks), is_toy=size.is_toy),
        *(() if size.is_toy else command_rows(repeats)),
    ]
    progress("memory of a full run")
    memory = peak_megabytes(size)
    rows = [
        *botorch_rows(ours, theirs, num_timed),
        *ratio_rows(runs, MAIN_TARGETS),
        study_row(once),
        *others,
        Row("memory of a full run", f"{memory:.0f} MB", "under 200 MB", memory < 200),
    ]
    progress("profiles")
    late = replace(size, initial=size.late, rounds=5).run

    def late_rounds(method: str) -> object:
        return simulate(PROBLEM, level=LEVEL, method=method, noise=NOISE, **late)

    lines = [
        "# Speed",
        "",
        f"Written by `python benchmarks/speed.py --agents {num_timed} --repeats "
        f"{repeats} --write` on {PROBLEM}, level {LEVEL}, d = {size.dim}; one process, "
        f"one BLAS thread, {platform.processor() or platform.machine()}; medians over "
        f"{repeats} repeats, means over rounds {', '.join(map(str, size.checkpoints))} "
        f"and {num_timed} agents. BoTorch's side is `benchmarks/reference_botorch.py`.",
        "",
        stamp(),
        "",
        *table(rows),
        "",
        "Milliseconds per agent and round, on the same inputs:",
        "",
        *stage_rows(ours, theirs),
        "",
        "Our whole runs, processor seconds and seconds by stage, medians:",
        "",
        *whole_rows({**once, **medians_of(runs)}),
        "",
        "## Profiles of the rows that are missed",
        "",
        f"cProfile, own time; of whole runs 5 rounds from {size.late} observations.",
        *profiles(rows, late_rounds, is_toy=size.is_toy),
    ]
    return lines


def report_own(only: str, targets: Targets, repeats: int, size: Size) -> list[str]:
    """Return the table of whole runs of some methods."""
    runs = take_turns(targets, repeats, size)
    rows, medians = ratio_rows(runs, targets), medians_of(runs)
    return [
        "# Speed of the compared methods",
        "",
        f"Written by `python benchmarks/speed.py --only {only} --repeats {repeats} "
        f"--rounds {size.rounds} --write` on {PROBLEM}, level {LEVEL}, d = {size.dim}, "
        f"{size.agents} agents, {size.initial} first points and {size.rounds} rounds; "
        f"one process, one BLAS thread, {platform.processor() or platform.machine()}. "
        "The methods take turns; ratios of processor time, their median over "
        f"{repeats} repeats and from the smallest to the largest.",
        "",
        stamp(),
        "",
        *table(rows),
        "",
        "Seconds of processor time, and seconds by stage, medians:",
        "",
        *whole_rows(medians),
    ]


Runs = dict[str, list[dict[str, float]]]
"""Seconds of the processor and of each stage, of each run of a method."""


def take_turns(targets: Targets, repeats: int, size: Size) -> Runs:
    """Time whole runs of the methods in turn, so that other load meets all alike."""
    methods = list(dict.fromkeys(name for pair in targets for name in pair))
    runs: Runs = {name: [] for name in methods}
    for k in range(repeats):
        for name in methods:
            progress(f"{name}, run {k + 1} of {repeats}")
            runs[name].append(timed_run(name, size))
    return runs


def timed_run(method: str, size: Size) -> dict[str, float]:
    """Return the seconds of the processor and of each stage of one run."""
    began = time.process_time()
    trace = simulate(PROBLEM, level=LEVEL, method=method, noise=NOISE, **size.run)
    return {"processor": time.process_time() - began, **trace.seconds}


def medians_of(runs: Runs) -> dict[str, dict[str, float]]:
    return {
        name: {s: statistics.median([run[s] for run in each]) for s in each[0]}
        for name, each in runs.items()
    }


def ratio_rows(runs: Runs, targets: Targets) -> list[Row]:
    """Return the ratios of processor time, with their spread over the repeats."""
    rows: list[Row] = []
    for (name, other), most in targets.items():
        pairs = zip(runs[name], runs[other], strict=True)
        ratios = [one["processor"] / two["processor"] for one, two in pairs]
        ratio = statistics.median(ratios)
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        what = f"{name} / {other}, whole runs"
        shown = f"{ratio:.2f}x ({spread})"
        rows.append(Row(what, shown, f"at most {most:g}x", ratio <= most))
    return rows


def study_row(once: dict[str, dict[str, float]]) -> Row:
    """Return how long the study `main` takes, from one run of each of its methods."""
    known = [once[name]["processor"] for name in STUDY_METHODS if name in once]
    hours = STUDY_RUNS * statistics.mean(known) / STUDY_CORES / 3600
    return Row(
        f"the study main, {STUDY_RUNS} runs on {STUDY_CORES} cores, from one run each "
        f"of {len(known)} methods",
        f"{hours:.1f} h",
        f"under {STUDY_HOURS:g} h",
        hours < STUDY_HOURS,
    )


def follow_run(size: Size) -> dict[int, list[Dataset]]:
    """Return every agent's data before the checkpoints of one GUIDE-UCB run."""
    streams = Streams(0)
    problem = make_problem(
        PROBLEM,
        dim=size.dim,
        num_agents=size.agents,
        level=LEVEL,
        noise=NOISE,
        streams=streams,
    )
    method = find_method("guide-ucb")
    design = method.design({}, (size.agents, size.initial, size.dim), streams)

    def observe(X: np.ndarray, t: int = 0) -> np.ndarray:
        streamed = (streams.at(Purpose.NOISE, agent=n, t=t) for n in range(len(X)))
        return np.stack(
            [
                task.measure(x, stream).observed
                for task, x, stream in zip(problem.tasks, X, streamed, strict=True)
            ]
        )

    federation = assemble(method, {}, problem, design, observe(design), streams=streams)
    states: dict[int, list[Dataset]] = {}
    for t in range(1, size.rounds + 1):
        if t in size.checkpoints:
            states[t] = [agent.data for agent in federation.agents]
        federation.round(t, lambda X, t: observe(X[:, None], t)[:, 0])
    return states


def make_agent(name: str, n: int, data: Dataset, t: int = 1) -> RoundAgent:
    policy = find_method(name).policy(
        {}, Domain.box(data.X.shape[1]), Model(noise_std=NOISE, priors=Priors())
    )
    return RoundAgent(agent_id=n, data=data, policy=policy, streams=Streams(1), t=t)


def time_stages(
    states: dict[int, list[Dataset]], num_timed: int, repeats: int
) -> tuple[Times, Times]:
    """Time every stage on the same data, ours and BoTorch's in turn."""
    try:
        import reference_botorch as reference
    except ImportError as error:
        sys.exit(
            f"BoTorch is needed for the comparison ({error}). Install torch==2.13.0, "
            "then guidefbo's extras dev and oracle."
        )
    ours: Times = defaultdict(list)
    theirs: Times = defaultdict(list)
    server = find_method("guide-ucb").server({})
    assert server is not None
    for t, datasets in states.items():
        progress(f"stages at round {t}")
        agents = [make_agent("guide-ucb", n, d, t) for n, d in enumerate(datasets)]
        uploads = {site_name(n): agent.upload() for n, agent in enumerate(agents)}
        draws = Draws(streams=Streams(1), federation="speed", t=t)
        packets = server.aggregate(uploads, t, draws)
        ours["server"].append(
            median_time(
                lambda u=uploads, t=t, d=draws: server.aggregate(u, t, d), repeats
            )
            / len(datasets)
        )
        for n in range(num_timed):
            time_ours(ours, n, datasets[n], packets[site_name(n)], t, repeats)
            time_theirs(
                theirs, reference, datasets[n], packets[site_name(n)], t, repeats
            )
    return ours, theirs


def time_ours(
    ours: Times, n: int, data: Dataset, packet: object, t: int, repeats: int
) -> None:
    ours["fit"].append(median_time(lambda: make_agent("ucb", n, data).fit(), repeats))
    guide = make_agent("guide-ucb", n, data, t)
    gp = guide.fit().posterior
    address = Streams(1).of(n, t)
    candidates = address.at(Purpose.CANDIDATES).random((1000, data.X.shape[1]))
    sampler = FeatureSampler(num_paths=500, num_features=500)
    ours["of which paths"].append(
        median_time(lambda: sampler(gp, candidates, address), repeats)
    )
    ours["belief"].append(median_time(guide.upload, repeats))
    for name in ("ucb", "nei", "ts", "guide-ucb", "guide-nei", "guide-ts"):
        agent = make_agent(name, n, data, t)
        agent.fit()
        agent.receive(packet)
        ours[f"decide {name}"].append(median_time(agent.ask, repeats))


def time_theirs(
    theirs: Times,
    reference: object,
    data: Dataset,
    packet: object,
    t: int,
    repeats: int,
) -> None:
    r, X, y = reference, data.X, data.y
    theirs["fit"].append(median_time(lambda: r.fit(X, y, NOISE**2), repeats))
    model = r.fit(X, y, NOISE**2)
    rng = np.random.default_rng(t)
    theirs["belief"].append(median_time(lambda: r.belief(model, X, y, rng), repeats))
    c = packet.components
    scaling = r.Scaling(1.0 / np.sqrt(t), c.weights, c.centers, c.variances)
    for key, search in (
        ("decide ucb", lambda: r.optimise_ucb(model, BETA, seed=t)),
        ("decide guide-ucb", lambda: r.optimise_ucb(model, BETA, scaling, seed=t)),
        ("decide nei", lambda: r.optimise_log_nei(model, X, seed=t)),
        (
            "decide guide-nei",
            lambda: r.optimise_log_nei(model, X, scaling=scaling, seed=t),
        ),
    ):
        theirs[key].append(median_time(search, repeats))


def median_time(work: Callable[[], object], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def peak_megabytes(size: Size) -> float:
    code = (
        "import re, guidefbo as gf;"
        f"gf.simulate({PROBLEM!r}, level={LEVEL}, **{size.run});"
        # Not getrusage: its peak is inherited from the process that started this one.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout) / 1024


def mean(times: Times, *keys: str) -> float:
    return sum(float(np.mean(times[key])) for key in keys)


def botorch_rows(ours: Times, theirs: Times, num_timed: int) -> list[Row]:
    """Return how many times as long BoTorch takes, with the spread over the rounds."""
    rows: list[Row] = []
    for what, keys, least in (
        ("plain UCB", ("fit", "decide ucb"), 30),
        ("GUIDE-UCB", ("fit", "belief", "decide guide-ucb"), 20),
    ):
        # The server is not timed on the other side.
        server = mean(ours, "server") if what == "GUIDE-UCB" else 0.0
        ratio = mean(theirs, *keys) / (mean(ours, *keys) + server)
        mine, other = (
            np.sum([times[key] for key in keys], axis=0).reshape(-1, num_timed).mean(1)
            for times in (ours, theirs)
        )
        by_round = other / (mine + server)
        rows.append(
            Row(
                f"{what}, BoTorch / ours, over sampled rounds of a full run",
                f"{ratio:.1f}x ({by_round.min():.1f} to {by_round.max():.1f})",
                f"at least {least}x",
                ratio >= least,
            )
        )
    return rows


ROUNDS = {
    "a round of ucb": ("fit", "decide ucb"),
    "a round of guide-ucb": ("fit", "belief", "server", "decide guide-ucb"),
    "a round of guide-nei": ("fit", "belief", "server", "decide guide-nei"),
}
"""Rounds put together from their stages; BoTorch's leave out the server."""


def stage_rows(ours: Times, theirs: Times) -> list[str]:
    lines = ["| stage | ours | BoTorch | ratio |", "|---|---|---|---|"]
    for name, keys in {**{key: (key,) for key in ours}, **ROUNDS}.items():
        mine = 1e3 * mean(ours, *keys)
        known = [key for key in keys if key in theirs]
        if known:
            other = 1e3 * mean(theirs, *known)
            lines.append(f"| {name} | {mine:.2f} | {other:.0f} | {other / mine:.0f}x |")
        else:
            lines.append(f"| {name} | {mine:.2f} | - | - |")
    return lines


def whole_rows(whole: dict[str, dict[str, float]]) -> list[str]:
    stages = list(next(iter(whole.values())))
    lines = [
        "| method | " + " | ".join(stages) + " |",
        "|---|" + "---|" * len(stages),
    ]
    for name, seconds in whole.items():
        cells = " | ".join(f"{seconds[stage]:.1f}" for stage in stages)
        lines.append(f"| {name} | {cells} |")
    return lines


if __name__ == "__main__":
    main()

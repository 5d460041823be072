"""Time one `ask` of a site's agent, model fitted anew, one BLAS thread.

    python benchmarks/ask.py [--growth] [--write] [--out DIR] [--toy]

`--write` writes ask.md, into docs/results unless told otherwise; `--toy` takes seconds
and measures nothing.

The targets are absolute, so the machine is named; times are of the processor, so that
other load hardly matters. Each row is measured in a process of its own, so that its
peak memory is its own. How the time grows with options and choices is compared within
one run, with the sizes in turn; `--growth` renews that section alone.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

import guidefbo as gf
from guidefbo.core.streams import Purpose, Streams
from guidefbo.experiments.commit import stamp
from guidefbo.methods.default import DEFAULT_METHOD
from memory import peak

RESULTS = Path(__file__).parents[1] / "docs" / "results"
TARGETS = {80: 0.05, 1000: 1.5, 5000: 6.0}
"""Seconds by number of results."""
REPEATS = {80: 9, 1000: 3, 5000: 1}
TOY_TARGETS = {25: 0.1}
MOST_MEMORY = 1000
"""Megabytes."""
BATCH, PENDING, MANY = 200, 1000, 100
"""Trials of one ask, trials that are pending, parameters of a space."""
TOY_BATCH, TOY_PENDING, TOY_MANY = 2, 3, 4
NUMBERS = {f"x{i}": gf.Float(0, 1) for i in range(10)}
SPACES = {
    "10 floats": gf.Space(**NUMBERS),
    "mixed": gf.Space(
        **{f"x{i}": gf.Float(0, 1) for i in range(5)},
        wide=gf.Int(1, 1000, log=True),
        few=gf.Int(0, 9),
        kind=gf.Choice("a", "b", "c"),
        flag=gf.Bool(),
    ),
}
METHODS = (DEFAULT_METHOD, "ucb", "nei", "ts", "guide-ucb")
FEWER = (DEFAULT_METHOD, "ucb", "nei")
"""Methods that are timed with 1000 results and more."""
SWEEPS = {
    "options of one choice, beside a float": (
        (10, 50, 100, 200, 400),
        (2, 3, 5),
        lambda k: gf.Space(x=gf.Float(0, 1), c=gf.Choice(*range(k))),
    ),
    "choices of four options": (
        (5, 10, 20, 40, 80),
        (1, 2, 3),
        lambda k: gf.Space(**{f"c{i}": gf.Choice(*range(4)) for i in range(k)}),
    ),
}
"""Spaces that grow: the numbers, those of a toy run, and the space of a number."""
SWEEP_RESULTS = 30
SWEEP_REPEATS = 9
SWEEP_METHODS = ("ucb", "nei")
GROWTH = "## Cost by number of options and of choices"
STEEPEST = 1.1
"""Largest slope that counts as growing in proportion."""


def make_agent(space: gf.Space, method: str, num_results: int) -> gf.Agent:
    """Return an agent that was told noisy values at random points."""
    agent = gf.Agent(space, goal="max", method=method, seed=0)
    for k in range(num_results):
        add_result(agent, k)
    return agent


def add_result(agent: gf.Agent, k: int) -> None:
    stream = Streams(1).at(Purpose.NOISE, t=k)
    x = agent.space.domain.sample(1, stream)[0]
    value = -float(((x - 0.4) ** 2).sum()) + 0.05 * stream.standard_normal()
    agent.tell(agent.space.from_unit(x), value)


def time_ask(agent: gf.Agent, k: int) -> float:
    """Return the processor seconds of one ask after one more result."""
    add_result(agent, k)
    began = time.process_time()
    trial = agent.ask()
    seconds = time.process_time() - began
    agent.abandon(trial)
    return seconds


def time_asks(agent: gf.Agent, repeats: int) -> list[float]:
    """Return seconds of single asks, each after one more result."""
    agent.abandon(agent.ask())
    return [time_ask(agent, 100_000 + k) for k in range(repeats)]


def time_batch(agent: gf.Agent, repeats: int, size: int) -> list[float]:
    """Return seconds of asks for many trials at once."""
    agent.abandon(agent.ask())
    seconds: list[float] = []
    for k in range(repeats):
        add_result(agent, 100_000 + k)
        began = time.process_time()
        trials = agent.ask(size)
        seconds.append(time.process_time() - began)
        for trial in trials:
            agent.abandon(trial)
    return seconds


def time_beside_pending(agent: gf.Agent, repeats: int, count: int) -> list[float]:
    """Return seconds of asks while that many trials are pending."""
    stream = Streams(2).at(Purpose.NOISE)
    for x in agent.space.domain.sample(count, stream):
        agent.begin(agent.space.from_unit(x))
    return time_asks(agent, repeats)


def measure(space: str, method: str, n: int, repeats: int, kind: str) -> list[float]:
    """Return the seconds of one row, in this process."""
    agent = make_agent(space_of(space), method, n)
    word, _, number = kind.partition(" ")
    if word == "batch":
        return time_batch(agent, repeats, int(number))
    if word == "pending":
        return time_beside_pending(agent, repeats, int(number))
    return time_asks(agent, repeats)


def space_of(name: str) -> gf.Space:
    """Return a space by its name in the tables."""
    if name in SPACES:
        return SPACES[name]
    return gf.Space(**{f"x{i}": gf.Float(0, 1) for i in range(int(name.split()[0]))})


def measured(
    space: str,
    method: str,
    n: int,
    repeats: int,
    kind: str = "single",
    *,
    in_process: bool = False,
) -> tuple[list[float], float]:
    """Return the seconds of one row and the peak megabytes of its process."""
    print(f"... {n} results, {space}, {method}, {kind}", file=sys.stderr, flush=True)
    if in_process:
        return measure(space, method, n, repeats, kind), peak()
    words = [space, method, str(n), str(repeats), kind]
    done = subprocess.run(
        [sys.executable, __file__, "--row", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


def time_sweep(spaces: list[gf.Space], method: str, repeats: int) -> list[float]:
    """Return the median processor time of an ask in each space, the spaces in turn."""
    agents = [make_agent(space, method, SWEEP_RESULTS) for space in spaces]
    for agent in agents:
        agent.abandon(agent.ask())
    seconds = [
        [time_ask(agent, 100_000 + k) for agent in agents] for k in range(repeats)
    ]
    return np.median(seconds, axis=0).tolist()


def sweep_rows(is_toy: bool) -> list[str]:
    """Return how the time of an ask grows with the options and the choices."""
    repeats = 1 if is_toy else SWEEP_REPEATS
    lines = [
        GROWTH,
        "",
        f"{SWEEP_RESULTS} results; median milliseconds of processor time of "
        f"{repeats} asks, the sizes in turn. The slope is that of log time over "
        "log number in the upper half of the range: 1 is in proportion, 2 is "
        f"quadratic, up to {STEEPEST:g} is met. A search tries every option of every "
        "choice with the others as they are; an option tried costs its own coordinate "
        "and not those of all.",
        "",
        stamp(),
    ]
    for title, (full, toy, make_space) in SWEEPS.items():
        numbers = toy if is_toy else full
        lines += [
            "",
            f"| {title} | " + " | ".join(map(str, numbers)) + " | slope | met |",
            "|---|" + "---|" * (len(numbers) + 2),
        ]
        for method in SWEEP_METHODS:
            print(f"... {title}, {method}", file=sys.stderr)
            seconds = time_sweep([make_space(k) for k in numbers], method, repeats)
            upper = slice(len(numbers) // 2, None)
            slope = np.polyfit(np.log(numbers[upper]), np.log(seconds[upper]), 1)[0]
            cells = " | ".join(f"{1e3 * s:.1f}" for s in seconds)
            met = "yes" if slope <= STEEPEST else "**no**"
            lines.append(f"| {method} | {cells} | {slope:.2f} | {met} |")
    return lines


def result_rows(is_toy: bool) -> list[str]:
    """Return the time of an ask by number of results."""
    lines = [
        "# Time of one ask",
        "",
        "Written by `python benchmarks/ask.py --write`: `gf.Agent.ask` after one more "
        "result, hyperparameters fitted anew, one BLAS thread. Median and largest "
        "processor seconds of the repeats, and the peak memory of the process.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, SciPy {scipy.__version__}.",
        "",
        stamp(),
        "",
        *HEAD,
    ]
    for n, target in (TOY_TARGETS if is_toy else TARGETS).items():
        repeats = 1 if is_toy else REPEATS[n]
        names = ("10 floats",) if n >= 5000 else tuple(SPACES)
        for name in names:
            for method in METHODS if n < 1000 else FEWER:
                found = measured(name, method, n, repeats, in_process=is_toy)
                lines.append(row([str(n), name, method], found, target))
    lines += ["", "## Many questions, many parameters", "", *HEAD]
    n, repeats = (25, 1) if is_toy else (80, 3)
    batch, pending, many = (
        (TOY_BATCH, TOY_PENDING, TOY_MANY) if is_toy else (BATCH, PENDING, MANY)
    )
    for method in (DEFAULT_METHOD, "ucb"):
        for space, kind, what, target in (
            ("10 floats", f"batch {batch}", f"`ask({batch})`", 2.0),
            ("10 floats", f"pending {pending}", f"{pending} pending", None),
            (f"{many} floats", "single", f"{many} floats", 1.0),
        ):
            found = measured(space, method, n, repeats, kind, in_process=is_toy)
            lines.append(row([str(n), what, method], found, target))
    return lines


HEAD = (
    "| results | space | method | repeats | median s | largest s | MB | target | met |",
    "|---|---|---|---|---|---|---|---|---|",
)


def row(
    first: Sequence[str], found: tuple[list[float], float], target: float | None
) -> str:
    """Return a line of the table."""
    seconds, megabytes = found
    median = statistics.median(seconds)
    is_met = target is None or median < target
    cells = [
        *first,
        str(len(seconds)),
        f"{median:.3f}",
        f"{max(seconds):.3f}",
        f"{megabytes:.0f}",
        "-" if target is None else f"{target:g}",
        "-" if target is None else "yes" if is_met else "**no**",
    ]
    if megabytes > MOST_MEMORY:
        cells[-1] = "**no** (memory)" if is_met else "**no** (and memory)"
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--growth", action="store_true", help="that section alone")
    parser.add_argument("--write", action="store_true", help="write ask.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    parser.add_argument("--row", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        space, method, n, repeats, kind = given.row
        with threadpool_limits(limits=1):
            seconds = measure(space, method, int(n), int(repeats), kind)
        print(json.dumps([seconds, peak()]))
        return
    out = given.out / "ask.md"
    with threadpool_limits(limits=1):
        if given.growth:
            stored = out.read_text(encoding="utf-8").split(GROWTH)[0]
            lines = stored.rstrip().splitlines()
        else:
            lines = result_rows(given.toy)
        lines += ["", *sweep_rows(given.toy)]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.write:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

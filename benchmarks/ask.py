"""Time one `ask` of a site's agent, model fitted anew, one BLAS thread.

    python benchmarks/ask.py [--growth] [--write] [--out DIR] [--toy]

`--write` writes ask.md, into docs/results unless told otherwise; `--toy` takes seconds
and measures nothing.

The targets are absolute, so the machine is named; other load makes the times longer.
How the time grows with options and choices is compared within one run, in processor
time and with the sizes in turn; `--growth` renews that section alone.
"""

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

import guidefbo as gf
from guidefbo.core.streams import Purpose, Streams
from guidefbo.experiments.commit import stamp

RESULTS = Path(__file__).parents[1] / "docs" / "results"
TARGETS: dict[int, float | None] = {80: 0.1, 1000: 3.0, 2000: None}
"""Seconds by number of results."""
REPEATS = {80: 9, 1000: 3, 2000: 1}
TOY_TARGETS: dict[int, float | None] = {25: 0.1}
FEWEST = 80
"""Results at which every method is timed."""
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
METHODS = ("ucb", "nei", "ts", "guide-ucb")
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


def time_ask(
    agent: gf.Agent, k: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the seconds of one ask after one more result."""
    add_result(agent, k)
    began = clock()
    trial = agent.ask()
    seconds = clock() - began
    agent.abandon(trial)
    return seconds


def time_asks(agent: gf.Agent, repeats: int) -> list[float]:
    """Return seconds of single asks, each after one more result."""
    agent.abandon(agent.ask())
    return [time_ask(agent, 100_000 + k) for k in range(repeats)]


def time_sweep(spaces: list[gf.Space], method: str, repeats: int) -> list[float]:
    """Return the median processor time of an ask in each space, the spaces in turn."""
    agents = [make_agent(space, method, SWEEP_RESULTS) for space in spaces]
    for agent in agents:
        agent.abandon(agent.ask())
    seconds = [
        [time_ask(agent, 100_000 + k, time.process_time) for agent in agents]
        for k in range(repeats)
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
        "result, hyperparameters fitted anew, one BLAS thread. Median and largest of "
        "the repeats.",
        "",
        f"{platform.machine()}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, SciPy {scipy.__version__}.",
        "",
        stamp(),
        "",
        "| results | space | method | repeats | median s | largest s | target | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n, target in (TOY_TARGETS if is_toy else TARGETS).items():
        repeats = 1 if is_toy else REPEATS[n]
        for name, space in SPACES.items():
            for method in METHODS if n <= FEWEST else ("ucb", "nei"):
                print(f"... {n} results, {name}, {method}", file=sys.stderr)
                seconds = time_asks(make_agent(space, method, n), repeats)
                median = statistics.median(seconds)
                met = "-" if target is None else "yes" if median < target else "no"
                goal = "-" if target is None else f"{target:g}"
                lines.append(
                    f"| {n} | {name} | {method} | {repeats} | {median:.3f} | "
                    f"{max(seconds):.3f} | {goal} | {met} |"
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--growth", action="store_true", help="that section alone")
    parser.add_argument("--write", action="store_true", help="write ask.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    given = parser.parse_args()
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

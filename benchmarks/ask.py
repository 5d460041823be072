"""Time one `ask` of a site's agent, model fitted anew, one BLAS thread.

    python benchmarks/ask.py [--write]      # docs/results/ask.md with --write

The targets are absolute, so the machine is named; other load makes the times longer.
"""

import argparse
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

import guidefbo as gf
from guidefbo.core.streams import Purpose, Streams

OUT = Path(__file__).parents[1] / "docs" / "results" / "ask.md"
TARGETS = {80: 0.1, 1000: 3.0, 2000: None}
"""Seconds by number of results."""
REPEATS = {80: 9, 1000: 3, 2000: 1}
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


def time_asks(agent: gf.Agent, repeats: int) -> list[float]:
    """Return seconds of single asks, each after one more result."""
    agent.abandon(agent.ask())
    seconds = []
    for k in range(repeats):
        add_result(agent, 100_000 + k)
        began = time.perf_counter()
        trial = agent.ask()
        seconds.append(time.perf_counter() - began)
        agent.abandon(trial)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {OUT.name}")
    write = parser.parse_args().write
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
        "| results | space | method | repeats | median s | largest s | target | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with threadpool_limits(limits=1):
        for n, target in TARGETS.items():
            for name, space in SPACES.items():
                for method in METHODS if n == 80 else ("ucb", "nei"):
                    print(f"... {n} results, {name}, {method}", file=sys.stderr)
                    seconds = time_asks(make_agent(space, method, n), REPEATS[n])
                    median = statistics.median(seconds)
                    met = "-" if target is None else "yes" if median < target else "no"
                    goal = "-" if target is None else f"{target:g}"
                    lines.append(
                        f"| {n} | {name} | {method} | {REPEATS[n]} | {median:.3f} | "
                        f"{max(seconds):.3f} | {goal} | {met} |"
                    )
    text = "\n".join(lines) + "\n"
    print(text)
    if write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Time and memory of one server step with many uploads.

    python benchmarks/merge.py [--sizes 1000 10000 100000] [--dim 10]

GUIDE's merge, by how the centres lie, and the whole steps of consensus and shape. Each
line is measured in a process of its own, so that its peak memory is its own.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from guidefbo.core.arrays import Points
from guidefbo.core.streams import Streams
from guidefbo.experiments.commit import stamp
from guidefbo.server.exchange import build_server
from guidefbo.server.side import Draws
from guidefbo.server.strategies.guide.merging import complete_linkage
from guidefbo.wire.consensus import PeakUpload
from guidefbo.wire.envelope import Message
from guidefbo.wire.shape import ShapeUpload
from memory import peak

THRESHOLD = 0.05


def places(rng: np.random.Generator, size: int, dim: int, width: float) -> Points:
    near = rng.random((5, dim))[rng.integers(5, size=size)]
    return near + width * rng.normal(size=(size, dim))


LAYOUTS: dict[str, Callable[[np.random.Generator, int, int], Points]] = {
    "scattered": lambda rng, n, d: rng.random((n, d)),
    "gathered": lambda rng, n, d: places(rng, n, d, 0.001),
    "chained": lambda rng, n, d: rng.random((n, 1)) + 0.01 * rng.normal(size=(n, d)),
    "five clouds": lambda rng, n, d: places(rng, n, d, 0.02),
    "one cloud": lambda rng, n, d: 0.5 + 0.03 * rng.normal(size=(n, d)),
}
"""From the easiest to the hardest: a chain is one connected piece ten thresholds long,
the clouds are a few thresholds wide in every direction."""


def place_of(rng: np.random.Generator, dim: int) -> PeakUpload:
    return PeakUpload(
        mass=1.0,
        value_score=0.0,
        center=rng.random(dim),
        variance=rng.uniform(1e-3, 1.0 / 12.0, dim),
    )


def shape_of(rng: np.random.Generator, dim: int) -> ShapeUpload:
    return ShapeUpload(
        kinds=("slopes", "bends", "place"),
        means=tuple(rng.normal(size=(3, dim))),
        variances=tuple(rng.uniform(0.01, 1.0, (3, dim))),
    )


STRATEGIES: dict[str, Callable[[np.random.Generator, int], Message]] = {
    "consensus": place_of,
    "shape": shape_of,
}
"""What a site sends."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of merging.")
    sizes = [1_000, 10_000, 20_000, 100_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument(
        "--only", choices=[*LAYOUTS, *STRATEGIES], help=argparse.SUPPRESS
    )
    arguments = parser.parse_args()
    if arguments.only:
        measure = step if arguments.only in STRATEGIES else merge
        print(measure(arguments.only, arguments.sizes[0], arguments.dim))
        return
    print("# Merging many uploads\n")
    print(
        "Written by `python benchmarks/merge.py > docs/results/merge.md`; d = ", end=""
    )
    print(
        f"{arguments.dim}, threshold {THRESHOLD}, one thread. Scattered and gathered "
    )
    print("uploads are the ends; clouds a few thresholds wide are the worst between.\n")
    print(f"{stamp()}\n")
    print("| N | layout | processor seconds | peak MB | clusters |")
    print("|---|---|---|---|---|")
    for size in arguments.sizes:
        for layout in LAYOUTS:
            print(in_own_process(layout, size, arguments.dim), flush=True)
    print("\nPackets for all, made of the uploads of all:\n")
    print("| N | strategy | processor seconds | peak MB |")
    print("|---|---|---|---|")
    for size in arguments.sizes:
        for strategy in STRATEGIES:
            print(in_own_process(strategy, size, arguments.dim), flush=True)


def in_own_process(layout: str, size: int, dim: int) -> str:
    command = [sys.executable, __file__, "--only", layout]
    command += ["--sizes", str(size), "--dim", str(dim)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def merge(layout: str, size: int, dim: int) -> str:
    rng = np.random.Generator(np.random.PCG64(0))
    centers = LAYOUTS[layout](rng, size, dim)
    begin = time.process_time()
    labels = complete_linkage(centers, THRESHOLD)
    seconds = time.process_time() - begin
    return f"| {size} | {layout} | {seconds:.2f} | {peak():.0f} | {labels.max() + 1} |"


def step(strategy: str, size: int, dim: int) -> str:
    rng = np.random.Generator(np.random.PCG64(0))
    uploads = {f"site{n:06}": STRATEGIES[strategy](rng, dim) for n in range(size)}
    server = build_server(strategy, {})
    begin = time.process_time()
    packets = server.aggregate(
        uploads, 1, Draws(streams=Streams(0), federation="f", t=1)
    )
    seconds = time.process_time() - begin
    if len(packets) != size:
        raise RuntimeError(f"Expected {size} packets, got {len(packets)}.")
    return f"| {size} | {strategy} | {seconds:.2f} | {peak():.0f} |"


if __name__ == "__main__":
    main()

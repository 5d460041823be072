"""Two unrelated groups of sites: does the consensus strategy tell them apart?

    python scripts/consensus_groups.py [--seeds 200,201] [--jobs 2] [--out DIR] [--toy]

Eight sites share one optimum, eight another: the same function, off-centre at Level 1,
with two common shifts that have nothing to do with each other. Compared are `ucb`,
`consensus-ucb` with one place for all (`groups=one`), and as it is. The table goes to
docs/results/consensus-groups.md; `--toy` makes it in seconds, of one function and six
sites, and means nothing.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.experiments.commit import stamp
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import make_problem
from guidefbo.simulation.assemble import assemble

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
CONTENDERS = (
    ("ucb", "ucb", {}),
    ("consensus, one place", "consensus-ucb", {"groups": "one"}),
    ("consensus, groups found", "consensus-ucb", {}),
)
OTHER_GROUP = 10_000
"""Added to the seed for the second group's shift."""


@dataclass(frozen=True)
class Size:
    """How large the runs are."""

    problems: tuple[str, ...] = (
        *("sphere", "levy", "rosenbrock"),
        *("ackley", "griewank", "zakharov"),
    )
    agents: int = 16
    initial: int = 30
    rounds: int = 50
    dim: int = 10


FULL = Size()
TOY = Size(("sphere",), agents=6, initial=4, rounds=1, dim=2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="200,201", help="seeds, with commas")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    given = parser.parse_args()
    size = TOY if given.toy else FULL
    seeds = [int(seed) for seed in given.seeds.split(",")]
    tasks = list(product(size.problems, seeds, range(len(CONTENDERS))))
    finals: dict[tuple[str, int, int], float] = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        results = pool.map(partial(final_regret, size), *zip(*tasks, strict=True))
        for done, (task, final) in enumerate(zip(tasks, results, strict=True), 1):
            finals[task] = final
            print(f"\r{done} of {len(tasks)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    text = "\n".join(render(size, finals, seeds)) + "\n"
    (given.out / "consensus-groups.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def final_regret(size: Size, name: str, seed: int, contender: int) -> float:
    """Run one contender on two groups and return its final mean simple regret."""
    _, method_name, given = CONTENDERS[contender]
    streams = Streams(seed)
    problems = [
        make_problem(
            name,
            dim=size.dim,
            num_agents=size.agents,
            level=1,
            common_shift=0.3,
            streams=Streams(root),
        )
        for root in (seed, seed + OTHER_GROUP)
    ]
    N = size.agents
    tasks = [problems[2 * n >= N].tasks[n] for n in range(N)]

    def observe(X: np.ndarray, t: int = 0) -> np.ndarray:
        return np.stack(
            [
                task.measure(x, streams.at(Purpose.NOISE, agent=n, t=t)).observed
                for n, (task, x) in enumerate(zip(tasks, X, strict=True))
            ]
        )

    with single_blas_thread():
        method = find_method(method_name)
        design = method.design(given, (N, size.initial, size.dim), streams)
        federation = assemble(
            method,
            method.check(given),
            problems[0],
            design,
            observe(design),
            streams=streams,
        )
        best = np.array([tasks[n].evaluate(design[n]).max() for n in range(N)])
        for t in range(1, size.rounds + 1):
            queries = federation.round(t, lambda X, t: observe(X[:, None], t)[:, 0])
            reached = [
                float(tasks[n].evaluate(x[None])[0]) for n, x in enumerate(queries)
            ]
            best = np.maximum(best, reached)
    return float(np.mean(problems[0].maximum - best))


def render(
    size: Size, finals: dict[tuple[str, int, int], float], seeds: list[int]
) -> list[str]:
    names = [name for name, _, _ in CONTENDERS]
    lines = [
        "# Two unrelated groups of sites",
        "",
        "Written by `python scripts/consensus_groups.py --seeds "
        f"{','.join(map(str, seeds))}`: {size.agents // 2} sites around one optimum, "
        f"{size.agents // 2} around another, Level 1, common shift 0.3, noise 0.1; "
        f"final mean simple regret, mean over seeds ({len(seeds)}).",
        "",
        stamp(),
        "",
        "| function | " + " | ".join(names) + " |",
        "|---|" + "---:|" * len(names),
    ]
    ratios: list[list[float]] = []
    for problem in size.problems:
        table = np.array([[finals[problem, s, c] for c in range(3)] for s in seeds])
        ratios += np.log(table / table[:, :1]).tolist()
        lines.append(
            f"| {problem} | "
            + " | ".join(f"{v:.4g}" for v in table.mean(axis=0))
            + " |"
        )
    means = np.exp(np.mean(ratios, axis=0))
    lines.append(
        "| **ratio to ucb, geometric mean** | "
        + " | ".join(f"{m:.2f}" for m in means)
        + " |"
    )
    return lines


if __name__ == "__main__":
    sys.exit(main())

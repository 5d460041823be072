"""How far from the sites' common optimum do they agree, after thirty points each?

    python scripts/consensus_location.py [--seeds 0,1,2]

No run is made: sixteen sites of a problem, off-centre, observe their initial design and
say where their optimum is, and the server fuses that. The table, for two models of a
place and two fusions, goes to docs/results/consensus-location.md.
"""

import argparse
import sys
from itertools import product
from pathlib import Path

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.methods.build_consensus import consensus_agent, consensus_server
from guidefbo.methods.settings import Settings
from guidefbo.problems.catalog import make_problem
from guidefbo.simulation.assemble import initial_design

ROOT = Path(__file__).resolve().parents[1]
PROBLEMS = ("sphere", "levy", "ackley", "rastrigin", "rosenbrock", "styblinski-tang")
LEVELS = (1, 2)
PARTS = tuple(product(("process", "trend"), ("dersimonian-laird", "trimmed")))
NUM_AGENTS, NUM_INITIAL, DIM = 16, 30, 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0,1,2", help="seeds, with commas")
    seeds = [int(seed) for seed in parser.parse_args().seeds.split(",")]
    lines = [
        "# How far from the common optimum the sites agree",
        "",
        "Written by `python scripts/consensus_location.py --seeds "
        f"{','.join(map(str, seeds))}`: root mean squared error of θ a coordinate, in "
        "box widths, after the initial design of 30 points a site; 16 sites, d = 10, "
        "common shift 0.3, noise 0.1. θ is for the first site, from all others, and is "
        "held against the mean of their true optima. The middle of the box is 0.17 off "
        "on average.",
        "",
        "| function | level | " + " | ".join(f"{p}, {f}" for p, f in PARTS) + " |",
        "|---|---|" + "---:|" * len(PARTS),
    ]
    table: list[list[float]] = []
    with single_blas_thread():
        for problem, level in product(PROBLEMS, LEVELS):
            errors = np.mean([place_errors(problem, level, s) for s in seeds], axis=0)
            table.append(errors.tolist())
            cells = " | ".join(f"{error:.3f}" for error in errors)
            lines.append(f"| {problem} | {level} | {cells} |")
            print(f"\r{len(table)} of {2 * len(PROBLEMS)} ", end="", file=sys.stderr)
    means = np.mean(table, axis=0)
    lines.append("| **mean** | | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    text = "\n".join(lines) + "\n"
    path = ROOT / "docs" / "results" / "consensus-location.md"
    path.write_text(text, encoding="utf-8")
    print("\n" + text)
    return 0


def place_errors(name: str, level: int, seed: int) -> list[float]:
    """Return the error of θ with each pair of parts."""
    streams = Streams(seed)
    problem = make_problem(
        name,
        dim=DIM,
        num_agents=NUM_AGENTS,
        level=level,
        common_shift=0.3,
        streams=streams,
    )
    design = initial_design(NUM_AGENTS, NUM_INITIAL, DIM, streams)
    model = Model(noise_std=problem.noise_std, priors=Priors())
    fits = [
        model.fit(
            Dataset(X=X, y=task.observe(X, streams.at(Purpose.NOISE, agent=n, t=0)))
        )
        for n, (task, X) in enumerate(zip(problem.tasks, design, strict=True))
    ]
    optima = np.clip([task.maximiser for task in problem.tasks[1:]], 0.0, 1.0)
    errors: list[float] = []
    for place, fusion in PARTS:
        settings = Settings(place=place, fusion=fusion)
        side = consensus_agent(settings, Domain.box(DIM), model)
        uploads = {
            n: side.upload(fit.posterior, fit.data, None, streams.of(n, 1))
            for n, fit in enumerate(fits)
        }
        packets = consensus_server(settings).aggregate(
            uploads, 1, streams.at(Purpose.DISPATCH, t=1)
        )
        miss = packets[0].components.centers[0] - optima.mean(axis=0)
        errors.append(float(np.sqrt(np.mean(miss**2))))
    return errors


if __name__ == "__main__":
    sys.exit(main())

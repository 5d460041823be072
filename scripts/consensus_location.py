"""How well do sites know where their optima are, alone and together?

    python scripts/consensus_location.py [--seeds 0,1,2] [--out DIR] [--toy]

No run is made: sixteen sites of a problem, off-centre, observe their initial design and
say where their optimum is, and hear from the server what the others say. Two tables,
for models and fusions and for the places that an agent may look at, go to
docs/results/consensus-location.md; with `--toy` of one function and few sites, which
takes seconds and means nothing.
"""

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.model import Fitted, Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.arrays import Points
from guidefbo.core.designs import interlocking_design
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.experiments.commit import stamp
from guidefbo.methods.registry import find_method
from guidefbo.problems.library import make_problem
from guidefbo.server.side import Draws
from guidefbo.simulation.federation import site_name
from guidefbo.wire.consensus import PeakUpload

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
LEVELS = (1, 2, 3)
PARTS = tuple(product(("process", "trend"), ("dersimonian-laird", "trimmed")))
AIMS = ("own", "others", "blend")


@dataclass(frozen=True)
class Size:
    """How many sites know how much."""

    problems: tuple[str, ...] = (
        *("sphere", "levy", "ackley"),
        *("rastrigin", "rosenbrock", "styblinski-tang"),
    )
    agents: int = 16
    initial: int = 30
    dim: int = 10


FULL = Size()
TOY = Size(("sphere",), agents=4, initial=5, dim=2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0,1,2", help="seeds, with commas")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    given = parser.parse_args()
    size = TOY if given.toy else FULL
    seeds = [int(seed) for seed in given.seeds.split(",")]
    cells = list(product(LEVELS, size.problems))
    parts: list[np.ndarray] = []
    aims: list[np.ndarray] = []
    with single_blas_thread():
        for done, (level, problem) in enumerate(cells, 1):
            found = [errors(size, problem, level, seed) for seed in seeds]
            parts.append(np.mean([by_part for by_part, _ in found], axis=0))
            aims.append(np.mean([by_aim for _, by_aim in found], axis=0))
            print(f"\r{done} of {len(cells)} ", end="", file=sys.stderr, flush=True)
    num_common = 2 * len(size.problems)
    lines = [
        "# How well sites know where their optima are",
        "",
        "Written by `python scripts/consensus_location.py --seeds "
        f"{','.join(map(str, seeds))}`: after the initial design of {size.initial} "
        f"points a site; {size.agents} sites, d = {size.dim}, common shift 0.3, noise "
        "0.1. Root mean squared errors a coordinate, in box widths. The middle of the "
        "box is 0.17 off the common optimum on average.",
        "",
        stamp(),
        "",
        "## The common place",
        "",
        "θ of the others for the first site, against the mean of their true optima.",
        "",
        *table(cells[:num_common], parts, [f"{p}, {f}" for p, f in PARTS]),
        "",
        "## The own place",
        "",
        "Of every site, against its own true optimum: what it says itself (`own`) and "
        "how far off it claims to be, what the others say (`others`), and the "
        "prediction from both (`blend`).",
        "",
        *table(cells, aims, ["own", "claimed", "others", "blend"]),
    ]
    text = "\n".join(lines) + "\n"
    (given.out / "consensus-location.md").write_text(text, encoding="utf-8")
    print("\n" + text)
    return 0


def table(
    cells: list[tuple[int, str]], rows: list[np.ndarray], names: list[str]
) -> list[str]:
    """Return the lines of a table, with means by level."""
    lines = [
        "| level | function | " + " | ".join(names) + " |",
        "|---|---|" + "---:|" * len(names),
    ]
    for (level, problem), row in zip(cells, rows, strict=False):
        lines.append(line(level, problem, row))
    for level in sorted({level for level, _ in cells}):
        of_level = [r for (k, _), r in zip(cells, rows, strict=False) if k == level]
        lines.append(line(level, "**mean**", np.mean(of_level, axis=0)))
    return lines


def line(level: int, name: str, row: np.ndarray) -> str:
    return f"| {level} | {name} | " + " | ".join(f"{v:.3f}" for v in row) + " |"


def errors(
    size: Size, name: str, level: int, seed: int
) -> tuple[list[float], list[float]]:
    """Return the errors of θ by parts, and those of the own places by aims."""
    streams = Streams(seed)
    problem = make_problem(
        name,
        dim=size.dim,
        num_agents=size.agents,
        level=level,
        common_shift=0.3,
        streams=streams,
    )
    design = interlocking_design(None, (size.agents, size.initial, size.dim), streams)
    model = Model(noise_std=problem.noise_std, priors=Priors())
    fits = [
        model.fit(
            Dataset(X=X, y=task.observe(X, streams.at(Purpose.NOISE, agent=n, t=0)))
        )
        for n, (task, X) in enumerate(zip(problem.tasks, design, strict=True))
    ]
    optima = np.clip([task.maximiser for task in problem.tasks], 0.0, 1.0)
    common = optima[1:].mean(axis=0)
    by_part: list[float] = []
    for place, fusion in PARTS:
        settings = {"place": place, "fusion": fusion, "groups": "one", "aim": "others"}
        _, looks = exchange(settings, model, fits, streams)
        by_part.append(error(looks[0] - common))
    places: dict[str, float] = {}
    for aim in AIMS:
        uploads, looks = exchange({"aim": aim}, model, fits, streams)
        places[aim] = error(looks - optima)
    claimed = np.sqrt(np.mean([u.variance.mean() for u in uploads.values()]))
    return by_part, [places["own"], float(claimed), places["others"], places["blend"]]


def exchange(
    settings: dict[str, str], model: Model, fits: list[Fitted], streams: Streams
) -> tuple[dict[str, PeakUpload], Points]:
    """Return what every site says of its optimum, and where it looks thereafter."""
    method = find_method("consensus-ucb")
    domain = Domain.box(fits[0].data.X.shape[1])
    side, server = method.policy(settings, domain, model).side, method.server(settings)
    insights = [side.study(fit.posterior) for fit in fits]
    uploads = {
        site_name(n): side.upload(
            fit.posterior, fit.data, insights[n], None, streams.of(n, 1)
        )
        for n, fit in enumerate(fits)
    }
    draws = Draws(streams=streams, federation="example", t=1)
    packets = server.aggregate(uploads, 1, draws)
    looks = [side.aimed(insights[n], packets[site_name(n)]) for n in range(len(fits))]
    return uploads, np.vstack([packet.components.centers for packet in looks])


def error(miss: np.ndarray) -> float:
    return float(np.sqrt(np.mean(miss**2)))


if __name__ == "__main__":
    sys.exit(main())

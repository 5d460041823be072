"""FTS-DE with one region climbed, as it is, and with all of them, as it is specified.

    python scripts/fts_de_regions.py [--toy]

Five functions, three seeds: how often the guided queries agree on the region, and the
final mean regret either way. `--toy` runs one function for a moment and means nothing.
"""

import argparse
from unittest.mock import patch

import numpy as np

import guidefbo as gf
from guidefbo.agent.decision.search import ascend
from guidefbo.agent.decision.ts import PathAcquisition
from guidefbo.agent.paths.shared import SharedPath, shared_map
from guidefbo.agent.strategies.fts_de.agent import FtsDeAgent, RegionalPath
from guidefbo.core.streams import Purpose
from guidefbo.wire.regions import region_boxes, region_of

PROBLEMS = {"ackley": 10, "griewank": 10, "rastrigin": 5, "rosenbrock": 4, "levy": 2}
SEEDS = (0, 1, 2)
SIZE = {"level": 2, "num_agents": 8, "num_initial": 15, "num_rounds": 12}
TOY_PROBLEMS = {"sphere": 2}
TOY_SIZE = {"level": 2, "num_agents": 3, "num_initial": 4, "num_rounds": 2}
NUM_STARTS = 5
NUM_ITERATIONS = 25


def climb_all(side, packet, dim, address, agreed):
    """Return the region whose function is the highest after climbing in every one."""
    features = shared_map(address.streams, side.num_shared, dim)
    X = side.domain.spread(side.num_candidates, address.at(Purpose.CANDIDATES))
    home = region_of(X, side.num_regions)
    values = np.einsum("nm,nm->n", features(X), packet.weights[home])
    low, high = region_boxes(side.num_regions, dim)
    found = []
    for i in range(side.num_regions):
        (inside,) = np.nonzero(home == i)
        starts = X[inside[np.argsort(-values[inside])[:NUM_STARTS]]]
        inner = SharedPath(features=features, weights=packet.weights[i])
        path = RegionalPath(inside=inner, low=low[i], high=high[i])
        ends = ascend(PathAcquisition(path=path), starts, side.domain, NUM_ITERATIONS)
        found.append((path.value(ends).max(), path))
    best = int(np.argmax([value for value, _ in found]))
    agreed.append(best == home[int(np.argmax(values))])
    return found[best][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    is_toy = parser.parse_args().toy
    size = TOY_SIZE if is_toy else SIZE
    for problem, dim in (TOY_PROBLEMS if is_toy else PROBLEMS).items():
        agreed = []

        def run():
            traces = [
                gf.simulate(problem, dim=dim, method="fts-de", seed=seed, **size)  # noqa: B023
                for seed in SEEDS
            ]
            return " ".join(f"{trace.mean_simple_regret[-1]:8.3f}" for trace in traces)

        one = run()

        def all_regions(side, packet, dim, address):
            return climb_all(side, packet, dim, address, agreed)  # noqa: B023

        with patch.object(FtsDeAgent, "_best_region", all_regions):
            every = run()
        share = f"{np.mean(agreed):.0%} of {len(agreed)}"
        print(f"{problem:12} d={dim:2}  one: {one}  all: {every}  agree in {share}")


if __name__ == "__main__":
    main()

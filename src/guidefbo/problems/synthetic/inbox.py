"""The largest value of every task inside its box.

A shift may push the base optimum out of the box, and then no agent can reach the base
maximum. The reference here is what can be reached. It is found by a search: scattered
points and the wells next to where the base optimum would be are scored, the best are
climbed from, and wells beside those are tried until none is better.
"""

from collections.abc import Callable
from hashlib import sha256

import numpy as np

from guidefbo.core.arrays import Others, Point, Points, Values
from guidefbo.core.designs import sobol
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Streams
from guidefbo.problems.problem import Problem, SyntheticTask
from guidefbo.problems.synthetic.remember import keep, recall
from guidefbo.problems.synthetic.search.anneal import anneal
from guidefbo.problems.synthetic.search.climb import climb_to_the_end, climb_together
from guidefbo.problems.synthetic.search.landscape import Landscape
from guidefbo.problems.synthetic.search.lattice import Lattice

VERSION = 3
"""Of the search. Raise it with every change that can change an answer: what another
version found is not used again."""
ROUNDING = 1e-9
"""Differences of values, relative to their size, that are taken for rounding."""
NUM_SCATTERED = 2048
"""Quasi-random points over the box."""
NUM_NEAR, RADII = 512, (0.03, 0.1, 0.25)
"""Points at each of these distances from the base optimum or from the point of the box
that is nearest to it."""
NUM_WELLS, NUM_ON_SIDES = 2048, 8000
"""Wells drawn around the same point, and points on sides of the box near to them."""
NUM_CLIMBS, NUM_STEPS = 48, 40
"""Climbs from the best of all these, and their steps."""
NUM_CHAINS, NUM_SWEEPS = 256, 320
"""Annealing, where the wells around that point are not the deepest: chains, and moves
of each a coordinate, up to ten of them."""
MAX_ROUNDS, PATIENCE = 20, 3
"""Most rounds of trying wells beside the best, and rounds in vain that end it."""
NUM_KEPT, NUM_BESIDE, NUM_AGAIN, NUM_STEPS_AGAIN = 16, 100, 32, 15
"""Of such a round: points kept, wells beside each, climbs and their steps."""
NUM_ON_SIDES_AGAIN = 4000
"""Of such a round: points on sides of the box."""
NUM_LAST = 3
"""Points from which a climb goes to its end."""
APART = 1e-3
"""Points nearer to each other in every coordinate count as one."""


def optima_in_box(problem: Problem) -> Values:
    """Return the largest raw value of each task over the box.

    Where the base optimum lies in the box its value is known. The others are searched
    for once and kept in the user's cache folder; the answer is the same without it.
    """
    name = f"optima-{problem.name}-{problem.dim}"
    kept: dict[str, float] | None = None
    fresh: dict[str, float] = {}
    found: list[float] = []
    for task in problem.tasks:
        if not isinstance(task, SyntheticTask):
            raise SettingsError(
                f"Expected a synthetic problem, got {problem.name}, whose functions "
                "cannot be searched. Give its optima with its tasks."
            )
        value = _known(task)
        if value is None:
            kept = recall(name) if kept is None else kept
            key = _fingerprint(task)
            value = kept.get(key, -np.inf)
            if not _may_be(value, task):
                value = fresh[key] = best_in_box(
                    task.objective, task.dim, task.maximiser, _stream()
                )
        found.append(value)
    if fresh:
        keep(name, fresh)
    return np.array(found)


def best_in_box(
    objective: Callable[[Points], Values],
    dim: int,
    maximiser: Point,
    stream: np.random.Generator,
    *,
    effort: int = 1,
) -> float:
    """Return the largest value of an objective over the unit cube that a search finds.

    What is behind a task of the catalogue (its raw coordinates, its wells) is used; any
    other objective is searched without.

    Args:
        objective: Values of points, to be maximised.
        dim: Number of coordinates.
        maximiser: Where the maximum would be without the box.
        stream: Randomness of the search.
        effort: Multiple of all counts.
    """
    landscape = Landscape.of(objective, dim)
    centre = np.clip(maximiser, 0.0, 1.0)
    scattered = sobol(NUM_SCATTERED * effort, dim, stream)
    radii = np.repeat(RADII, NUM_NEAR * effort)[:, None]
    near = centre + radii * stream.standard_normal((len(radii), dim))
    X = np.vstack([centre, scattered, np.clip(near, 0.0, 1.0)])
    wells = None if landscape.base is None else landscape.base.wells
    is_global = landscape.base is not None and landscape.base.is_global
    ceiling = float(landscape.value(maximiser[None])[0]) if is_global else np.inf
    if wells is None:
        X = _climb(landscape, X, NUM_CLIMBS * effort, NUM_STEPS)
    else:
        lattice = Lattice.of(landscape, wells.grids[0])
        K = lattice.around(centre, NUM_WELLS * effort, stream)
        X = np.vstack([X, lattice.inside(K, NUM_ON_SIDES * effort, stream)])
        steps = NUM_STEPS if wells.is_smooth else 0
        starts = X[: _fewer(NUM_CHAINS * effort, dim)]
        X = _climb(landscape, X, NUM_CLIMBS * effort, steps)
        if not wells.is_centred:
            spread = float(np.std(landscape.value(scattered)))
            num_moves = NUM_SWEEPS * min(dim, 10)
            chains = anneal(lattice, starts, spread, num_moves, stream)
            X = np.vstack([X, _climb(landscape, chains, NUM_CLIMBS * effort, steps)])
        for grid in wells.grids:
            lattice = Lattice.of(landscape, grid)
            X = _move(lattice, X, ceiling, wells.is_smooth, effort, stream)
    if wells is None or wells.is_smooth:
        ends = [climb_to_the_end(landscape, x) for x in _best(landscape, X, NUM_LAST)]
        X = np.vstack([X, *ends])
    return float(objective(X).max())  # E90


def _move(
    lattice: Lattice,
    X: Points,
    ceiling: float,
    is_smooth: bool,
    effort: int,
    stream: np.random.Generator,
) -> Others:
    """Return the best points after trying wells beside them until none is better.

    `ceiling` is the most that any point can have.
    """
    landscape, in_vain = lattice.landscape, 0
    X = _best(landscape, X, NUM_KEPT * effort)
    highest = float(landscape.value(X[:1])[0])
    for _ in range(MAX_ROUNDS):
        if in_vain == PATIENCE or highest >= ceiling:
            break
        K = lattice.beside(X, NUM_BESIDE, stream)
        tried = lattice.inside(K, NUM_ON_SIDES_AGAIN * effort, stream)
        steps = NUM_STEPS_AGAIN if is_smooth else 0
        tried = _climb(landscape, tried, NUM_AGAIN * effort, steps)
        X = _best(landscape, np.vstack([X, tried]), NUM_KEPT * effort)
        reached = float(landscape.value(X[:1])[0])
        in_vain = 0 if reached > highest + ROUNDING * abs(highest) else in_vain + 1
        highest = reached
    return X


def _climb(landscape: Landscape, X: Points, count: int, num_steps: int) -> Others:
    """Return where climbs from the best points lead."""
    count = _fewer(count, landscape.dim)
    order = np.argsort(-landscape.value(X), kind="stable")[:count]
    return climb_together(landscape, X[order], num_steps) if num_steps else X[order]


def _fewer(count: int, dim: int) -> int:
    """Return a count that falls with the number of coordinates above ten."""
    return max(4, count * 10 // max(dim, 10))


def _best(landscape: Landscape, X: Points, count: int) -> Others:
    """Return the best points, the very best first, no two of them the same."""
    kept = np.empty((0, X.shape[1]))
    for k in np.argsort(-landscape.value(X), kind="stable"):
        if len(kept) == count:
            break
        if not len(kept) or np.abs(kept - X[k]).max(axis=1).min() > APART:
            kept = np.vstack([kept, X[k]])
    return kept


def _known(task: SyntheticTask) -> float | None:
    """Return the largest value where it follows from the base function's maximum."""
    landscape = Landscape.of(task.objective, task.dim)
    base = landscape.base
    is_inside = ((task.maximiser >= 0.0) & (task.maximiser <= 1.0)).all()
    if base is None or not is_inside:
        return None
    low, high = landscape.ends
    slack = ROUNDING * base.width
    stays = low.min() >= base.domain[0] - slack and high.max() <= base.domain[1] + slack
    if not (base.is_global or stays):
        return None
    # A printed maximum is cut to its decimals, and what can be reached is not.
    maximum = base.maximum(task.dim)
    reached = float(task.evaluate(task.maximiser[None])[0])
    is_cut = reached > maximum + ROUNDING * max(1.0, abs(maximum))
    return reached if is_cut else maximum


def _may_be(value: float, task: SyntheticTask) -> bool:
    """Whether a kept value can be right: one point of the box is evaluated."""
    centre = np.clip(task.maximiser, 0.0, 1.0)
    least = float(task.evaluate(centre[None])[0])
    return value >= least - ROUNDING * max(1.0, abs(least))


def _fingerprint(task: SyntheticTask) -> str:
    """Return a key that no other task, formula or search has."""
    probes = sobol(8, task.dim, _stream())
    values = task.evaluate(np.vstack([probes, task.maximiser]))
    text = f"{VERSION}:{task.dim}:".encode()
    data = text + task.maximiser.tobytes() + values.astype("<f8").tobytes()
    return sha256(data).hexdigest()[:32]


def _stream() -> np.random.Generator:
    # Not of the run's seed: a task has one optimum, whoever asks.
    return Streams(0).at("optimum in the box")

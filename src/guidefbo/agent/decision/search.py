"""One multi-start search for every acquisition and every domain.

Quasi-random points are scored, starts are drawn among them in favour of high scores
(the best one always included), and all starts climb together: the acquisition of each
depends on its own coordinates only, so the sum over starts is one smooth function of
all coordinates, and a single L-BFGS-B run serves all starts with batched evaluations.

Steps and options have no slope. Where there are some, climbing the free coordinates
alternates with moving every start to its best neighbour, one step or option changed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import fmin_l_bfgs_b

from guidefbo.agent.decision.constrained import climb_within
from guidefbo.agent.decision.rule import Acquisition
from guidefbo.core.arrays import Others, Point, Points, Values
from guidefbo.core.domain import Change, Domain

Forbids = Callable[[Points], NDArray[np.bool_]]
"""Which rows may not be asked."""

MAX_ALTERNATIONS = 3
"""Climbs of the free coordinates, with moves of the others between them."""
NUM_FINALISTS = 5
"""Starts that go on after the first of them."""
MAX_SWEEPS = 5
"""Sweeps over all steps and options between two climbs."""
PORTION = 2**17
"""Coordinates of the points evaluated at a time, so that they stay in the processor's
cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Effort of the search."""

    num_raw: int = 100
    """Quasi-random points scored first."""
    num_starts: int = 20
    """Points climbed from."""
    max_iterations: int = 25
    """L-BFGS-B iterations."""


def maximise_acquisition(
    acquisition: Acquisition,
    domain: Domain,
    settings: SearchSettings,
    stream: np.random.Generator,
    *,
    near: Points | None = None,
    forbids: Forbids | None = None,
) -> Point | None:
    """Return the best point of the domain that was found.

    Args:
        acquisition: What to maximise.
        domain: Where to look.
        settings: How hard to look.
        stream: Randomness of the search.
        near: Further starts, say the best points known.
        forbids: Says which points may not be returned. Where that is all that were
            found, the answer is None.
    """
    raw = domain.spread(settings.num_raw, stream)
    scores = acquisition.value(raw)
    starts = raw[choose_starts(scores, settings.num_starts, stream)]
    if near is not None:
        starts = np.vstack([starts, near])
    ends = ascend(acquisition, starts, domain, settings.max_iterations)
    found = np.vstack([ends, raw])
    reached = np.concatenate([acquisition.value(ends), scores])
    if forbids is not None:
        allowed = ~forbids(found)
        found, reached = found[allowed], reached[allowed]
    return found[int(np.argmax(reached))] if len(found) else None


def choose_starts(
    scores: Values, num_starts: int, stream: np.random.Generator
) -> np.ndarray:
    """Return start indices, drawn with probability ∝ exp(z-score), best included."""
    spread = scores.std()
    z = (scores - scores.mean()) / spread if spread > 0.0 else np.zeros_like(scores)
    # Adding Gumbel noise and sorting draws without replacement ∝ exp(z).
    keys = z + stream.gumbel(size=len(z))
    keys[np.argmax(scores)] = np.inf
    return np.argsort(-keys)[:num_starts]


def ascend(
    acquisition: Acquisition, starts: Points, domain: Domain, max_iterations: int
) -> Others:
    """Return where climbing and moving lead, from all starts or the best of them."""
    if not domain.is_discrete:
        return _climb_free(acquisition, starts, domain, max_iterations)
    ends, best = starts, -np.inf
    for _ in range(MAX_ALTERNATIONS):
        if domain.free.any():
            ends = _climb_free(acquisition, ends, domain, max_iterations)
        ends, reached = move(acquisition, ends, domain)
        if reached.max() <= best:
            break
        # What lies far behind after one alternation does not come first after two.
        best = float(reached.max())
        ends = ends[np.argsort(-reached, kind="stable")[:NUM_FINALISTS]]
    return ends


def climb(acquisition: Acquisition, starts: Points, max_iterations: int) -> Points:
    """Return where L-BFGS-B leads from each start."""
    shape = starts.shape

    def negated_sum(flat: Values) -> tuple[float, Values]:
        value, gradient = acquisition.value_and_gradient(flat.reshape(shape))
        return -float(value.sum()), -gradient.ravel()

    # The function behind `minimize`, without its second translation of the bounds: one
    # Python call per bound, and there are as many as starts times coordinates.
    ends, _, _ = fmin_l_bfgs_b(
        negated_sum,
        starts.ravel(),
        bounds=[(0.0, 1.0)] * starts.size,
        maxiter=max_iterations,
    )
    return np.clip(ends.reshape(shape), 0.0, 1.0)


def move(
    acquisition: Acquisition, starts: Points, domain: Domain
) -> tuple[Points, Values]:
    """Move every start, one parameter after the other, until none is better.

    A sweep tries every step and option of a parameter with all others as they are, so
    it evaluates as many points as there are options in all. A start rests once every
    parameter has been tried in vain since its last move. Return where that leads, and
    the acquisition there.
    """
    ends, reached = starts.copy(), acquisition.value(starts)
    num_in_vain = np.zeros(len(starts), dtype=np.intp)
    for change in domain.changes * MAX_SWEEPS:
        rows = np.flatnonzero(num_in_vain < len(domain.changes))
        if not len(rows):
            break
        found, values = _best_changes(acquisition, change, ends[rows])
        is_better = values > reached[rows]
        moved = rows[is_better]
        ends[moved], reached[moved] = found[is_better], values[is_better]
        num_in_vain[rows] += 1
        # Where all values were tried, the one moved to is known to be the best.
        num_in_vain[moved] = int(change.is_complete)
    return ends, reached


def _best_changes(
    acquisition: Acquisition, change: Change, X: Points
) -> tuple[Points, Values]:
    """Return the best change of each row and the acquisition there."""
    found, reached = np.empty_like(X), np.empty(len(X))
    step = max(1, PORTION // (change.num_ways * X.shape[1]))
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        moves = change(X[rows])
        values = acquisition.value(moves.reshape(-1, X.shape[1]))
        values = values.reshape(moves.shape[:2])
        best = values.argmax(axis=1)
        each = np.arange(len(best))
        found[rows], reached[rows] = moves[each, best], values[each, best]
    return found, reached


def _climb_free(
    acquisition: Acquisition, starts: Points, domain: Domain, max_iterations: int
) -> Points:
    if domain.polytope is None:
        # Where the posterior has no slope, L-BFGS-B leaves a coordinate as it is.
        return climb(acquisition, starts, max_iterations)
    return climb_within(
        acquisition,
        starts,
        domain.polytope,
        domain.columns,
        domain.free,
        max_iterations,
    )

"""Multi-start maximisation of an acquisition over continuous and discrete coordinates.

Quasi-random points are scored, and starts are drawn among them with a probability that
grows with the score (the best one is always included). One L-BFGS-B run maximises the
sum of the acquisition over all starts: each term depends on its own start only, so the
maximisations do not interact, and every evaluation is one batch.

Integer steps and options of a choice have no gradient. Where a domain has some,
L-BFGS-B on the continuous coordinates alternates with a coordinate search that tries
every step or option of one parameter at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.decision.constrained import climb_within
from guidefbo.agent.decision.rule import Acquisition
from guidefbo.agent.surrogate.sums import Coordinates, Sums, by_sums
from guidefbo.core.arrays import Matrix, Others, Point, Points, Values
from guidefbo.core.descent import minimise_within
from guidefbo.core.domain import Change, Domain
from guidefbo.core.settings import count

Forbids = Callable[[Points], NDArray[np.bool_]]
"""Which rows may not be asked."""

MAX_ALTERNATIONS = 3
"""Climbs of the free coordinates, with moves of the others between them."""
NUM_FINALISTS = 5
"""Starts that go on after the first of them."""
MAX_SWEEPS = 5
"""Sweeps over all steps and options between two climbs."""
PORTION = 2**17
"""Sums of the points evaluated at a time: so many stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Effort of the search."""

    num_raw: int = count(100, "search: quasi-random points scored first")
    num_starts: int = count(20, "search: points climbed from")
    num_iterations: int = count(25, "search: L-BFGS-B iterations")


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
    ends = ascend(acquisition, starts, domain, settings.num_iterations)
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


def climb(
    acquisition: Acquisition,
    starts: Points,
    max_iterations: int,
    columns: slice | NDArray[np.intp] = slice(None),
) -> Points:
    """Return where L-BFGS-B leads from each start, over some columns or all."""
    ends, first = starts.copy(), starts[:, columns]

    def negated_sum(flat: Values) -> tuple[float, Values]:
        ends[:, columns] = flat.reshape(first.shape)
        value, gradient = acquisition.value_and_gradient(ends)
        return -float(value.sum()), -gradient[:, columns].ravel()

    flat = minimise_within(
        negated_sum,
        first.ravel(),
        np.zeros(first.size),
        np.ones(first.size),
        max_iterations=max_iterations,
    )
    ends[:, columns] = np.clip(flat.reshape(first.shape), 0.0, 1.0)
    return ends


def move(
    acquisition: Acquisition, starts: Points, domain: Domain
) -> tuple[Points, Values]:
    """Move every start, one parameter after the other, until none is better.

    A sweep tries every step and option of a parameter with all others as they are, so
    it evaluates as many points as there are options in all. A start rests once every
    parameter has been tried in vain since its last move. Return where that leads, and
    the acquisition there.
    """
    form = _two_steps(acquisition, domain)
    ends, reached = starts.copy(), acquisition.value(starts)
    num_in_vain = np.zeros(len(starts), dtype=np.intp)
    for _ in range(MAX_SWEEPS):
        # Anew in every sweep, so that rounding does not add up.
        S = form.sums.at(ends)
        for change in domain.changes:
            rows = np.flatnonzero(num_in_vain < len(domain.changes))
            if not len(rows):
                return ends, reached
            where = change.where
            block = ends[rows, where]
            found, values = _best_changes(form, change, block, S[rows])
            num_in_vain[rows] += 1
            is_better = values > reached[rows]
            if not is_better.any():
                continue
            moved, old, new = rows[is_better], block[is_better], found[is_better]
            ends[moved, where], reached[moved] = new, values[is_better]
            S[moved] -= form.sums.of_block(where, old)
            S[moved] += form.sums.of_block(where, new)
            # Where all values were tried, the one moved to is known to be the best.
            num_in_vain[moved] = int(change.is_complete)
    return ends, reached


class _TwoSteps(NamedTuple):
    """An acquisition evaluated from sums over coordinates, see `surrogate.sums`."""

    sums: Sums
    finish: Callable[[Matrix], Values]


def _two_steps(acquisition: Acquisition, domain: Domain) -> _TwoSteps:
    found = by_sums(acquisition)
    if found is None:
        return _TwoSteps(Coordinates(domain.dim), acquisition.value)
    return _TwoSteps(found.sums, found.finish)


def _best_changes(
    form: _TwoSteps, change: Change, block: Matrix, S: Matrix
) -> tuple[Matrix, Values]:
    """Return the best change of each row, other than none, and the acquisition there.

    Args:
        form: The acquisition.
        change: The parameter.
        block: (n, size) its coordinates.
        S: (n, m) sums.
    """
    each, places = np.arange(len(block)), change.columns - change.where.start
    ways = change.values(block)
    rest = S - form.sums.of_block(change.where, block)
    values = _values(form, change.columns, ways, rest)
    # What changes nothing is no better, whatever rounding says.
    values[block[:, places] == ways] = -np.inf
    best = values.argmax(axis=1)
    found = np.zeros_like(block)
    found[each, places[best]] = ways[each, best]
    return found, values[each, best]


def _values(
    form: _TwoSteps,
    columns: NDArray[np.intp],
    ways: NDArray[np.float64],
    rest: Matrix,
) -> NDArray[np.float64]:
    """Return the acquisition at every way to set a coordinate, (n, k).

    Args:
        form: The acquisition.
        columns: (k,) the coordinate each way sets.
        ways: (n, k) what it is set to.
        rest: (n, m) sums over the other parameters.
    """
    values = np.empty(ways.shape)
    step = max(1, PORTION // (ways.shape[1] * rest.shape[1]))
    for first in range(0, len(rest), step):
        rows = slice(first, first + step)
        S = form.sums.of_each(columns, ways[rows])
        S += rest[rows, None]
        values[rows] = form.finish(S.reshape(-1, S.shape[2])).reshape(S.shape[:2])
    return values


def _climb_free(
    acquisition: Acquisition, starts: Points, domain: Domain, max_iterations: int
) -> Points:
    if domain.polytope is None:
        # Steps and options have no slope to climb.
        moving = np.flatnonzero(domain.free) if domain.is_discrete else slice(None)
        return climb(acquisition, starts, max_iterations, moving)
    return climb_within(
        acquisition,
        starts,
        domain.polytope,
        domain.columns,
        domain.free,
        max_iterations,
    )

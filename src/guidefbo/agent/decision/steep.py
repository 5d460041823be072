"""Maximisation of an acquisition with narrow peaks: every start climbs by itself.

An improvement times the probability of keeping limits is worth something in a small
part of the cube and falls by orders of magnitude around it. In one climb of many starts
(`search`) the step is common to all: those in the steep tails decide on it, and the
best hardly move. Here more points are scored, some of them around the best results at
distances of all sizes, and the best that are apart from each other climb one by one.
"""

import numpy as np

from guidefbo.agent.decision.rule import Acquisition
from guidefbo.agent.decision.search import Forbids, SearchSettings, ascend
from guidefbo.core.arrays import Others, Point, Points, Values
from guidefbo.core.domain import Domain

RAW_FACTOR = 10
"""Points scored over the whole domain, for each of the usual search."""
AROUND_FACTOR = 2
"""And around the best results."""
NEAREST, FARTHEST = 1e-3, 0.2
"""Standard deviations of their distances, a coordinate."""
NUM_ITERATIONS = 50
"""Least L-BFGS-B iterations a start: a peak is as narrow as a limit is well known."""
STARTS_SHARE = 3
"""The usual number of starts, divided by this, climbs."""
APART = 0.02
"""Two starts differ by at least that much in a coordinate."""


def maximise_steep(
    acquisition: Acquisition,
    domain: Domain,
    settings: SearchSettings,
    stream: np.random.Generator,
    *,
    near: Points,
    forbids: Forbids | None = None,
) -> Point | None:
    """Return the best point of the domain that was found.

    Args:
        acquisition: What to maximise.
        domain: Where to look.
        settings: How hard to look.
        stream: Randomness of the search.
        near: Where to look more closely, say around the best points known.
        forbids: Says which points may not be returned. Where that is all that were
            found, the answer is None.
    """
    raw = domain.spread(RAW_FACTOR * settings.num_raw, stream)
    if len(near):
        around = _around(near, domain, AROUND_FACTOR * settings.num_raw, stream)
        raw = np.vstack([raw, around, near])
    scores = acquisition.value(raw)
    starts = _best_apart(raw, scores, max(1, settings.num_starts // STARTS_SHARE))
    iterations = max(NUM_ITERATIONS, settings.num_iterations)
    ends = [ascend(acquisition, x[None], domain, iterations) for x in starts]
    found = np.vstack([*ends, raw])
    reached = np.concatenate([acquisition.value(np.vstack(ends)), scores])
    if forbids is not None:
        allowed = ~forbids(found)
        found, reached = found[allowed], reached[allowed]
    return found[int(np.argmax(reached))] if len(found) else None


def _around(
    near: Points, domain: Domain, count: int, stream: np.random.Generator
) -> Others:
    """Return points of the domain around given ones, at distances of all sizes."""
    centers = near[np.arange(count) % len(near)]
    ends = np.log([NEAREST, FARTHEST])
    spread = np.exp(stream.uniform(*ends, size=(count, 1)))
    moved = centers + spread * stream.standard_normal(centers.shape)
    return domain.admit(np.clip(moved, 0.0, 1.0))


def _best_apart(points: Points, scores: Values, count: int) -> Others:
    """Return the highest points, each some way from those before it."""
    rest = points[np.argsort(-scores, kind="stable")]
    chosen: list[Point] = []
    while len(rest) and len(chosen) < count:
        chosen.append(rest[0])
        rest = rest[(np.abs(rest - rest[0]) > APART).any(axis=1)]
    return np.array(chosen)

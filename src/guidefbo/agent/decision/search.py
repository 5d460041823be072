"""One multi-start search for every acquisition.

Quasi-random points are scored, starts are drawn among them in favour of high scores
(the best one always included), and all starts climb together: the acquisition of each
depends on its own coordinates only, so the sum over starts is one smooth function of
all coordinates, and a single L-BFGS-B run serves all starts with batched evaluations.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from guidefbo.agent.decision.rule import Acquisition
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.designs import sobol


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
    dim: int,
    settings: SearchSettings,
    stream: np.random.Generator,
) -> Point:
    """Return the best point of the unit cube that was found."""
    raw = sobol(settings.num_raw, dim, stream)
    scores = acquisition.value(raw)
    starts = raw[choose_starts(scores, settings.num_starts, stream)]
    ends = climb(acquisition, starts, settings.max_iterations)
    reached = acquisition.value(ends)
    best = int(np.argmax(reached))
    if reached[best] >= scores.max():
        return ends[best]
    return raw[int(np.argmax(scores))]


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

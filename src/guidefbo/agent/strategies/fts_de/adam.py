"""The search of FTS-DE as it was run: Adam from starts meant for positive functions.

With g the gradient at step k, from 1, for each start and coordinate on its own:

    m <- β₁ m + (1 - β₁) g,    v <- β₂ v + (1 - β₂) g²,
    x <- x + η (m / (1 - β₁^k)) / (√(v / (1 - β₂^k)) + ε),    cut to the unit cube.

References:
    Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
    Balandat et al., BoTorch, NeurIPS 2020: starts for non-negative acquisitions.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points, Values

Climbed = Callable[[Points], tuple[Values, Points]]
"""(n, d) points -> values and gradients, each row a function of its own."""

RATE = 0.01
"""η, in widths of the box."""
DECAYS = (0.9, 0.999)
"""β₁ and β₂."""
EPSILON = 1e-8


def adam_ascent(climbed: Climbed, starts: Points, num_steps: int) -> Points:
    """Return where Adam leads from each start, within the unit cube and no less.

    Args:
        climbed: What to climb; a coordinate without a slope is left as it is.
        starts: All starts, moved together.
        num_steps: Steps of each.
    """
    X, m, v = starts.copy(), np.zeros_like(starts), np.zeros_like(starts)
    first, second = DECAYS
    for k in range(1, num_steps + 1):
        _, g = climbed(X)
        m += (1.0 - first) * (g - m)
        v += (1.0 - second) * (g**2 - v)
        step = m / (1.0 - first**k) / (np.sqrt(v / (1.0 - second**k)) + EPSILON)
        X = np.clip(X + RATE * step, 0.0, 1.0)  # E81
    return X


def positive_starts(
    scores: Values, num_starts: int, stream: np.random.Generator
) -> NDArray[np.intp]:
    """Return start indices, drawn among the positive scores ∝ exp(score / best).

    The best is always included. Where there are too few positive scores, others are
    added at random; where there are none, all starts are random.
    """
    keys, best = stream.gumbel(size=len(scores)), int(np.argmax(scores))
    is_positive = scores > 0.0
    if is_positive[best]:
        # Adding Gumbel noise and sorting draws without replacement ∝ exp(.).
        keys[is_positive] += scores[is_positive] / scores[best]
        keys[best] = np.inf
    return np.lexsort([-keys, ~is_positive])[:num_starts]  # E82

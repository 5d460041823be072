"""How well the others' model has foretold results, beside the site's own data alone.

A packet is compared with data that were there before it, by somebody who may have been
told of them in uploads: it can be made to fit them. It cannot be made to fit results
that come after it. So every question goes with two forecasts of its result, that of the
others' model and that of the likelier model of the own data alone; the results decide
which of them was better, and the sum counts when the models are compared.

References:
    Dawid, Statistical theory: the prequential approach, 1984.
    Page, Continuous inspection schemes, Biometrika 1954: the sum that never exceeds
    zero, so that a good record is no credit for later.
"""

from collections.abc import Sequence
from functools import reduce
from math import hypot, log
from typing import NamedTuple

MOST = 3.0
"""Most that one result counts, a logarithm of odds: about twenty to one, so that no
single false reading decides."""
LAST = 50
"""Results that are remembered: whoever misled once is heard again."""
SMALLEST_STD = 1e-300
"""Below it a forecast would have no density."""


class Forecast(NamedTuple):
    """What is expected of one result."""

    mean: float
    std: float
    """Of the value, without noise."""
    noise: float = 0.0
    """Standard deviation of the noise of a result that is told none of its own."""

    def log_density(self, value: float, spread: float | None = None) -> float:
        """Return the logarithm of its density at a value, up to a constant.

        Args:
            value: The result.
            spread: Standard deviation of its noise, where the site knows one.
        """
        noise = self.noise if spread is None else spread
        std = max(hypot(self.std, noise), SMALLEST_STD)
        z = (value - self.mean) / std
        return -log(std) - 0.5 * z * z


class Forecasts(NamedTuple):
    """Two forecasts of the result of one question."""

    others: Forecast
    """Of the model that rests on what the others sent."""
    alone: Forecast
    """Of the likelier model of the own data alone."""

    def score(self, value: float, spread: float | None = None) -> float:
        """Return by how much the others' was better: a logarithm of odds, bounded.

        Args:
            value: The result.
            spread: Standard deviation of its noise, where the site knows one.
        """
        others = self.others.log_density(value, spread)
        gain = others - self.alone.log_density(value, spread)
        # Of two that are both absurd, the difference may be none.
        return min(max(gain, -MOST), MOST) if gain == gain else 0.0


def record_of(scores: Sequence[float]) -> float:
    """Return the record of the last results, in the order in which they came.

    It is at most zero.

    >>> record_of([1.0, -0.5, -2.0, 1.0])
    -1.5
    """
    return reduce(_extended, scores[-LAST:], 0.0)


def _extended(record: float, score: float) -> float:
    return min(0.0, record + score)  # E107

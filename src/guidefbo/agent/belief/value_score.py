"""Lower confidence bound of the objective at an uploaded component, standardised."""

from guidefbo.agent.dataset import scale_of
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.core.arrays import Point, Values

EPSILON = 1e-6
"""Added to the standard deviation of the observations."""


def lower_confidence(gp: GaussianProcess, center: Point, coefficient: float) -> float:
    """Return mean - coefficient * std of the posterior at the centre."""
    mean, std = gp.predict(center[None])
    return float(mean[0] - coefficient * std[0])  # E13


def value_score(
    gp: GaussianProcess, center: Point, y: Values, lcb_coefficient: float
) -> float:
    """Return the lower confidence bound in units of the agent's own observations."""
    lcb = lower_confidence(gp, center, lcb_coefficient)
    mean, spread = scale_of(y)
    return (lcb - mean) / (spread + EPSILON)  # E14

"""Evaluations without a value: still running, or failed.

Both are given imputed values before the next query is chosen. A running evaluation gets
the posterior mean, which reduces the uncertainty around it, so that the next query goes
elsewhere. A failed one gets a low value: its lower confidence bound where all others
nearby succeeded (an accident), the worst value observed where they failed as well (an
infeasible region), and a weighted mean of the two in between.

References:
    Ginsbourger, Le Riche and Carraro, 2010: the kriging believer.
    Desautels, Krause and Burdick, 2014: hallucinated observations in batches.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.core.arrays import (
    Matrix,
    Others,
    OtherValues,
    Points,
    Values,
    frozen_array,
)

NUGGET = 1e-6
"""Noise variance of an imagined value, relative to the output scale."""
PESSIMISM = 2.0
"""Standard deviations below the mean at which a lone failure is imagined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Inputs in the unit cube without an observed value."""

    pending: Points
    """(p, d) still running."""
    failed: Others
    """(f, d) failed."""
    radii: OtherValues
    """(f,) how near to each failed one no question is asked again."""
    known: NDArray[np.float64]
    """(k, d) observed without noise: their values are there, and nothing to learn."""

    def __post_init__(self) -> None:
        for name in ("pending", "failed", "radii", "known"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @classmethod
    def none(cls, dim: int) -> "Missing":
        """Return the case where every value is there."""
        nothing = np.empty((0, dim))
        return cls(pending=nothing, failed=nothing, radii=np.empty(0), known=nothing)

    @property
    def points(self) -> NDArray[np.float64]:
        """All of them, the running ones first."""
        return np.vstack([self.pending, self.failed])

    def forbids(self, X: Points) -> NDArray[np.bool_]:
        """Return which rows of X repeat an evaluation or are close to a failed one."""
        points = np.vstack([self.points, self.known])
        reach = np.full(len(points), SAME)
        p = len(self.pending)
        reach[p : p + len(self.failed)] = self.radii
        q = squared_distances(X, points, np.ones_like(X[0]))
        return np.asarray((q <= reach**2).any(axis=1))


SAME = 1e-4
"""Points nearer than this ask the same question."""


def imagine(gp: GaussianProcess, data: Dataset, missing: Missing) -> GaussianProcess:
    """Return the posterior with the missing values imagined.

    Args:
        gp: The posterior of what was observed.
        data: The observations behind it, in model units.
        missing: Points whose values are not there.
    """
    X = missing.points
    if len(X) == 0:
        return gp
    mean, std = gp.predict(X)
    p = len(missing.pending)
    mean[p:] = _failed_values(gp, data, missing.failed, mean[p:], std[p:])
    return believe(gp, X, mean)


def believe(gp: GaussianProcess, X: Points, values: Values) -> GaussianProcess:
    """Return a posterior that takes values at the rows of X for observed."""
    nugget = np.full(len(X), NUGGET * gp.hyper.outputscale)
    return GaussianProcess.to_be_conditioned(
        np.vstack([gp.X, X]),
        np.concatenate([gp.y, values]),
        gp.hyper,
        np.concatenate([gp.noise, nugget]),
    )


def _failed_values(
    gp: GaussianProcess, data: Dataset, failed: Others, mean: Values, std: Values
) -> Values:
    worst = float(data.y.min())
    pessimistic = mean - PESSIMISM * std
    succeeded = _correlation(gp, failed, data.X).sum(axis=1)
    # Every failed point correlates with itself by one; that one says nothing.
    others = _correlation(gp, failed, failed).sum(axis=1) - 1.0
    share = (1.0 + succeeded) / (1.0 + succeeded + others)
    return share * pessimistic + (1.0 - share) * np.minimum(worst, pessimistic)  # E40


def _correlation(gp: GaussianProcess, A: Points, B: Others) -> Matrix:
    return matern52(squared_distances(A, B, gp.hyper.lengthscales), 1.0)

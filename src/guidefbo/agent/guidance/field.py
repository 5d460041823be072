"""The guidance field G, from 0 to 1: high near the received components."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.surrogate.sums import BySums, Quadratics
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.component import Components


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidanceField:
    """A sum of unnormalised Gaussian bumps whose weights sum to at most one."""

    weights: Values
    """(P,), clamped by the agent itself."""
    centers: Points
    """(P, d)."""
    precisions: NDArray[np.float64]
    """(P, d) inverse variances, or (P, d, d) inverse covariances."""

    @classmethod
    def of(cls, components: Components) -> Self:
        """Build the field, clamping whatever the other side sent.

        Theorem 1 needs G <= 1, which holds when the weights lie in [0, 1] and sum to
        at most one. An honest packet passes unchanged.
        """
        w = np.clip(components.weights, 0.0, 1.0)
        w = w / max(1.0, float(w.sum()))
        return cls(
            weights=w, centers=components.centers, precisions=_invert(components)
        )

    def __call__(self, X: Points) -> Values:
        """Return G at the rows of X."""
        return self.with_gradient(X)[0]

    def by_sums(self) -> BySums[Values] | None:
        """Return G, by sums; None where coordinates are correlated."""
        if self.precisions.ndim == 3:
            return None
        pull = self.precisions * self.centers
        sums = Quadratics(
            squares=self.precisions.T.copy(),
            slopes=(-2.0 * pull).T.copy(),
            constants=np.einsum("pd,pd->p", pull, self.centers),
        )
        return BySums(sums=sums, finish=lambda S: _height(self._bumps(S)))

    def with_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return G and its gradient at the rows of X."""
        if self.precisions.ndim == 2 and len(self.weights) == 1:
            return self._of_one(X)
        difference = X[:, None, :] - self.centers
        if self.precisions.ndim == 3:
            pull = np.einsum("bpi,pij->bpj", difference, self.precisions)
        else:
            pull = difference * self.precisions
        distance = np.einsum("bpd,bpd->bp", difference, pull)
        bumps = self._bumps(distance)
        return _height(bumps), -np.einsum("bp,bpd->bd", bumps, pull)

    def _of_one(self, X: Points) -> tuple[Values, Points]:
        """Return the same of a single component, with fewer steps."""
        difference = X - self.centers
        pull = difference * self.precisions
        bump = self._bumps(np.einsum("bd,bd->b", difference, pull))
        pull *= -bump[:, None]
        return np.minimum(bump, 1.0), pull  # E15

    def _bumps(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weights * np.exp(-0.5 * distance)


def _height(bumps: Matrix) -> Values:
    # The weights may sum to one plus rounding; G may not.
    return np.minimum(bumps.sum(axis=1), 1.0)  # E15


def _invert(components: Components) -> NDArray[np.float64]:
    if components.is_full:
        return np.linalg.inv(components.variances).astype(np.float64)
    return 1.0 / components.variances

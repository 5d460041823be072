"""The factor S = 1 + λ G on the standard deviation, local or constant."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.surrogate.kernel import distances_by_sums, squared_distances
from guidefbo.agent.surrogate.sums import BySums, join
from guidefbo.core.arrays import Matrix, Points, Values
from guidefbo.core.designs import sobol_grid

KNOWN_RADIUS = 1e-5
"""Within this distance of an observed input nothing is widened."""
NUM_PROBES = 512
"""Sobol points over which the uniform scaling averages the field."""


class UncertaintyScaling(Protocol):
    """A factor S >= 1 on the posterior standard deviation."""

    def __call__(self, X: Points) -> Values:
        """Return S at the rows of X."""
        ...

    def with_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return S and its gradient at the rows of X."""
        ...


Intervention = Callable[[GuidanceField, float, Points], UncertaintyScaling]
"""(field, strength, observed inputs) -> scaling S."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalScaling:
    """S(x) = 1 + λ G(x), and exactly 1 at observed inputs."""

    field: GuidanceField
    """The guidance field G."""
    strength: float
    """λ, at least 0."""
    observed: Points
    """Inputs the agent has already evaluated."""
    _shadows: Values = dataclasses.field(init=False)
    """Where they lie along one direction, ascending."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shadows", np.sort(_along(self.observed)))

    @classmethod
    def widening(
        cls, field: GuidanceField, strength: float, observed: Points
    ) -> "LocalScaling":
        """Widen where the field is high."""
        return cls(field=field, strength=strength, observed=observed)

    def __call__(self, X: Points) -> Values:
        """Return S at the rows of X."""
        return self.with_gradient(X)[0]

    def with_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return S and its gradient at the rows of X."""
        G, dG = self.field.with_gradient(X)
        S, dS = 1.0 + self.strength * G, self.strength * dG  # E16
        rows = self._may_be_known(X)
        if len(rows):
            unit = np.ones(X.shape[1])
            q = squared_distances(X[rows], self.observed, unit)
            known = rows[_is_near(q)]
            S[known], dS[known] = 1.0, 0.0
        return S, dS

    def by_sums(self) -> BySums[Values] | None:
        """Return S, by sums."""
        unit = np.ones(self.observed.shape[1])
        norms = np.einsum("ij,ij->i", self.observed, self.observed)
        distances = distances_by_sums(unit, self.observed, norms)
        return join(self._widen, self.field.by_sums(), distances)

    def _widen(self, G: Values, q: Matrix) -> Values:
        return 1.0 + np.where(_is_near(q), 0.0, self.strength) * G  # E16

    def _may_be_known(self, X: Points) -> NDArray[np.intp]:
        """Return the points that are near an observed one along one direction.

        Near points are, and few others: a quick look. Twice the radius, because
        distances are rounded.
        """
        x, gap = _along(X), 2.0 * KNOWN_RADIUS
        below = self._shadows.searchsorted(x - gap)
        return np.flatnonzero(below < self._shadows.searchsorted(x + gap, "right"))


def _along(X: Points) -> Values:
    """Return the length of every row along a unit vector whose entries all differ.

    Along a coordinate all points on a side of the cube would be one.
    """
    direction = np.sqrt(np.arange(2.0, X.shape[1] + 2.0))
    return X @ (direction / np.linalg.norm(direction))


def _is_near(q: Matrix) -> NDArray[np.bool_]:
    return q.min(axis=1) < KNOWN_RADIUS**2


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformScaling:
    """S = 1 + λ Ḡ everywhere, with Ḡ the average of the field over the cube."""

    factor: float
    """S."""

    @classmethod
    def averaging(
        cls, field: GuidanceField, strength: float, observed: Points
    ) -> "UniformScaling":
        """Average the field over a fixed Sobol set."""
        probes = sobol_grid(NUM_PROBES, observed.shape[1])
        return cls(factor=1.0 + strength * float(field(probes).mean()))  # E21

    def __call__(self, X: Points) -> Values:
        """Return S at the rows of X."""
        return np.full(len(X), self.factor)

    def with_gradient(self, X: Points) -> tuple[Values, Points]:
        """Return S and its (zero) gradient at the rows of X."""
        return self(X), np.zeros_like(X)

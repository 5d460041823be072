"""The factor S = 1 + λ G on the standard deviation, local or constant."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.surrogate.kernel import distances_by_sums
from guidefbo.agent.surrogate.sums import BySums, join
from guidefbo.core.arrays import Matrix, Point, Points, Values, frozen_array
from guidefbo.core.designs import sobol_grid

KNOWN_RADIUS = 1e-5
"""Within this distance of an observed input nothing is widened."""
REACH = 1.01 * KNOWN_RADIUS
"""The same along one direction, and a little more than rounding is."""
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
    """Where they lie along one direction, ascending, and an end beyond all."""
    _ordered: Points = dataclasses.field(init=False)
    """The inputs in that order."""

    def __post_init__(self) -> None:
        shadows = self.observed @ _direction(self.observed.shape[1])
        order = np.argsort(shadows, kind="stable")
        object.__setattr__(self, "_shadows", np.append(shadows[order], np.inf))
        object.__setattr__(self, "_ordered", self.observed[order])

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
        for row in self._known(X):
            S[row], dS[row] = 1.0, 0.0
        return S, dS

    def by_sums(self) -> BySums[Values] | None:
        """Return S, by sums."""
        unit = np.ones(self.observed.shape[1])
        norms = np.einsum("ij,ij->i", self.observed, self.observed)
        distances = distances_by_sums(unit, self.observed, norms)
        return join(self._widen, self.field.by_sums(), distances)

    def _widen(self, G: Values, q: Matrix) -> Values:
        is_near = q.min(axis=1) < KNOWN_RADIUS**2
        return 1.0 + np.where(is_near, 0.0, self.strength) * G  # E16

    def _known(self, X: Points) -> list[int]:
        """Return the points that are near an observed one.

        Near points are near along any direction, and few others are: a quick look along
        one, and a closer one at what is left.
        """
        x = X @ _direction(X.shape[1])
        first = self._shadows.searchsorted(x - REACH)
        is_near = self._shadows.take(first) < x + REACH
        if not is_near.any():
            return []
        rows: list[int] = np.flatnonzero(is_near).tolist()
        last = self._shadows.searchsorted(x + REACH)
        return [
            i
            for i in rows
            if any(_is_near(X[i], known) for known in self._ordered[first[i] : last[i]])
        ]


@lru_cache(maxsize=16)
def _direction(dim: int) -> Point:
    """Return a unit vector whose entries all differ.

    Along a coordinate all points on a side of the cube would be one.
    """
    entries = np.sqrt(np.arange(2.0, dim + 2.0))
    return frozen_array(entries / np.linalg.norm(entries))


def _is_near(x: Point, known: Point) -> bool:
    difference = x - known
    return bool(difference @ difference < KNOWN_RADIUS**2)


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

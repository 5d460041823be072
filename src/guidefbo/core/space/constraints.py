"""Linear constraints between float parameters, in natural units."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from guidefbo.core.checks import is_finite_number, plain, shown
from guidefbo.core.errors import SpaceError
from guidefbo.core.space.scales import LARGEST


@dataclass(frozen=True, slots=True)
class AtMost:
    """A weighted sum of parameters that must not exceed a bound: a . x <= b.

    >>> AtMost({"water": 1, "oil": 2}, 1.5).excess({"water": 1.0, "oil": 0.5})
    0.5
    """

    coefficients: Mapping[str, float]
    """a, by parameter."""
    bound: float
    """b."""

    def __post_init__(self) -> None:
        coefficients = self.coefficients
        if not isinstance(coefficients, Mapping) or not coefficients:
            raise SpaceError(
                "AtMost needs coefficients by parameter, as in "
                f"AtMost({{'water': 1, 'oil': 2}}, 1.5), got {shown(coefficients)}."
            )
        for name, number in [*coefficients.items(), ("the bound", self.bound)]:
            _require_number(plain(number), f"AtMost, {name}")
        object.__setattr__(self, "bound", float(self.bound))
        if not any(coefficients.values()):
            raise SpaceError("AtMost needs a coefficient other than 0, got only zeros.")
        frozen = {str(name): float(a) for name, a in coefficients.items()}
        object.__setattr__(self, "coefficients", MappingProxyType(frozen))

    def __hash__(self) -> int:
        return hash((frozenset(self.coefficients.items()), self.bound))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be copied or sent to another process as it is.
        return type(self), (dict(self.coefficients), self.bound)

    def excess(self, values: Mapping[str, Any]) -> float:
        """Return how far the sum lies above the bound; at most 0 where it holds."""
        total = sum(a * values[name] for name, a in self.coefficients.items())
        return float(total - self.bound)

    def __str__(self) -> str:
        return f"{_shown_sum(self.coefficients)} <= {self.bound:g}"


class SumTo:
    """Parameters whose sum is fixed, such as the shares of a mixture.

    >>> SumTo(1.0, "water", "oil").excess({"water": 0.25, "oil": 0.5})
    -0.25
    """

    __slots__ = ("_names", "_total")

    def __init__(self, total: float, *names: str) -> None:
        """Create the constraint sum(names) = total."""
        _require_number(plain(total), "SumTo")
        if not all(isinstance(name, str) for name in names) or not (
            2 <= len(set(names)) == len(names)
        ):
            raise SpaceError(
                "SumTo needs the total and at least two different names, as in "
                f"SumTo(1.0, 'water', 'oil'), got {shown(names)}."
            )
        self._total, self._names = float(total), names

    @property
    def total(self) -> float:
        """What the parameters add up to."""
        return self._total

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return self._names

    @property
    def coefficients(self) -> Mapping[str, float]:
        """A coefficient of one for every parameter."""
        return dict.fromkeys(self._names, 1.0)

    def excess(self, values: Mapping[str, Any]) -> float:
        """Return how far the sum lies above the total; 0 where it holds."""
        return float(sum(values[name] for name in self._names) - self._total)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SumTo) and (self._total, self._names) == (
            other._total,
            other._names,
        )

    def __hash__(self) -> int:
        return hash((self._total, self._names))

    def __repr__(self) -> str:
        return f"SumTo({self._total!r}, {', '.join(map(repr, self._names))})"

    def __str__(self) -> str:
        return f"{_shown_sum(self.coefficients)} = {self._total:g}"


Constraint = AtMost | SumTo


def _require_number(value: Any, what: str) -> None:
    if not is_finite_number(value) or abs(value) > LARGEST:
        raise SpaceError(f"{what}: expected a finite number, got {shown(value)}.")


def _shown_sum(coefficients: Mapping[str, float]) -> str:
    return " + ".join(
        name if a == 1.0 else f"{a:g} {name}" for name, a in coefficients.items()
    )

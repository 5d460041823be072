"""Names and units of a site's parameters and objective, as people read them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guidefbo.core.space.labels import labelled
from guidefbo.core.space.scales import DIGITS

VALUE = "value"
"""What the objective is called where it has no name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What numbers of a site are numbers of.

    >>> labels = Labels(units={"heat": "degC"}, objective="yield", unit="%")
    >>> labels.values({"heat": 109.0, "drug": "a"}), labels.column
    ('heat=109 degC, drug=a', 'yield [%]')
    """

    units: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """Units of the parameters, by name."""
    objective: str = VALUE
    """Name of what is optimised."""
    unit: str | None = None
    """Its unit."""
    digits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Significant digits that tell values of a parameter apart, by name."""
    outcomes: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """Units of further outcomes, by name."""

    @property
    def column(self) -> str:
        """The objective as the header of a column, the label of an axis."""
        return labelled(self.objective, self.unit)

    def parameter(self, name: str) -> str:
        """Return a parameter as the header of a column."""
        return labelled(name, self.units.get(name))

    def number(self, name: str, value: Any) -> str:
        """Return a parameter's value in the digits that its range asks for."""
        return shown_value(value, self.digits.get(name, DIGITS))

    def one(self, name: str, value: Any) -> str:
        """Return a parameter's value with its unit."""
        return _with(self.number(name, value), self.units.get(name))

    def values(self, values: Mapping[str, Any]) -> str:
        """Return values by name, with their units."""
        return ", ".join(f"{name}={self.one(name, v)}" for name, v in values.items())

    def outcome(self, value: float, std: float | None = None) -> str:
        """Return a value of the objective, perhaps with its standard deviation."""
        spread = "" if std is None else f" ± {std:.3g}"
        return _with(f"{value:.6g}{spread}", self.unit)

    def measured(self, name: str, value: float) -> str:
        """Return a further outcome with its unit."""
        return _with(f"{name}={value:.6g}", self.outcomes.get(name))


def shown_value(value: Any, digits: int = DIGITS) -> str:
    """Return a value for people: of a number so many significant digits."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _with(text: str, unit: str | None) -> str:
    return text if unit is None else f"{text} {unit}"

"""A further measured outcome with a limit, such as an impurity of at most 2 %."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from guidefbo.agent.dataset import MAX_VALUE
from guidefbo.core.checks import is_finite_number, plain, shown
from guidefbo.core.errors import DataError, SettingsError
from guidefbo.core.space.labels import check_label, labelled

MAX_OUTCOMES = 3
"""Most outcomes with a limit; each has a model of its own."""
WORDS = re.compile(r"\s*([^<>=,\[\]]+?)\s*(?:\[([^\[\]]+)\])?\s*(<=|>=)\s*(\S+)\s*")
"""How a limit is written: impurity [%] <= 2."""
RESERVED = frozenset({"value", "std", "failed"})
"""Names that columns of a table of results have."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A measured outcome that must keep a limit. It never leaves the site.

    >>> print(Outcome("impurity", at_most=2, unit="%"))
    impurity [%] <= 2
    """

    name: str
    """What is measured."""
    at_most: float | None = None
    """What it must not exceed."""
    at_least: float | None = None
    """What it must reach, instead."""
    unit: str | None = None
    """What it is measured in."""

    def __post_init__(self) -> None:
        check_label("name of an outcome", self.name)
        check_label("unit", self.unit)
        if not self.name or set(self.name) & set("=,<>[]") or self.name in RESERVED:
            raise SettingsError(
                "An outcome needs a name without any of =,<>[] that is none of "
                f"{', '.join(sorted(RESERVED))}, got {shown(self.name)}."
            )
        for name in ("at_most", "at_least"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        given = [v for v in (self.at_most, self.at_least) if v is not None]
        if len(given) != 1 or not is_outcome(given[0]):
            raise SettingsError(
                f"Outcome {self.name} needs one limit, at_most or at_least, a finite "
                f"number, got {shown((self.at_most, self.at_least))}."
            )

    @property
    def limit(self) -> float:
        """The limit, whichever way."""
        limit = self.at_least if self.at_most is None else self.at_most
        assert limit is not None  # one of them is given
        return float(limit)

    @property
    def label(self) -> str:
        """The outcome as the header of a column."""
        return labelled(self.name, self.unit)

    def slack(self, value: float) -> float:
        """Return how far a value keeps the limit; below 0 it does not."""
        return self.limit - value if self.at_least is None else value - self.limit

    def __str__(self) -> str:
        return f"{self.label} {'<=' if self.at_least is None else '>='} {self.limit:g}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the outcome of words such as `impurity [%] <= 2`."""
        match = WORDS.fullmatch(text)
        try:
            if match is None:
                raise ValueError
            name, unit, sign, number = match.groups()
            side = "at_most" if sign == "<=" else "at_least"
            limit: dict[str, Any] = {side: float(number)}
        except ValueError:
            raise SettingsError(
                f"Expected an outcome such as 'impurity [%] <= 2', got {shown(text)}."
            ) from None
        return cls(name, **limit, unit=None if unit is None else unit.strip())

    def to_form(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {
            "name": self.name,
            "at_most": self.at_most,
            "at_least": self.at_least,
            "unit": self.unit,
        }

    @classmethod
    def from_form(cls, form: Any) -> Self:
        """Check plain data and return the outcome it describes."""
        if not isinstance(form, Mapping):
            raise SettingsError(f"Expected an outcome, got {shown(form)}.")
        fields = cast(Mapping[str, Any], form)
        known = {"name", "at_most", "at_least", "unit"}
        if set(fields) != known:
            raise SettingsError(f"Expected an outcome with {sorted(known)}.")
        return cls(**fields)


def is_outcome(value: Any) -> bool:
    """Whether a value can be a measured one."""
    return is_finite_number(value) and abs(value) <= MAX_VALUE


def check_outcomes(told: Any, outcomes: tuple[Outcome, ...]) -> dict[str, float]:
    """Return measured outcomes by name, or refuse what is none."""
    if told is None:
        return {}
    names = [outcome.name for outcome in outcomes]
    if not isinstance(told, Mapping) or not {*names}.issuperset(cast(Any, told)):
        raise DataError(
            f"Expected outcomes by name, of {names}, got {shown(told)}. Outcomes are "
            "named when an agent is created."
        )
    measured: dict[str, float] = {}
    for name, value in cast(Mapping[str, Any], told).items():
        if not is_outcome(plain(value)):
            raise DataError(
                f"Outcome {name}: expected a finite number, got {shown(value)}."
            )
        measured[name] = float(value)
    return measured

"""What the runs of one table share, read off their specs.

Specs come from files and are not trusted: a field may be missing or of any type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guidefbo.core.checks import is_finite_number, plain

Field = int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the runs of one table share; `None` where a spec does not say."""

    dim: Field = 10
    level: Field = 2
    common_shift: Field = 0.0
    noise: Field = 0.1
    noise_units: Field = "scaled"
    num_agents: Field = 16
    num_initial: Field = 30
    num_rounds: Field = 50
    exchange_interval: Field = None

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Conditions":
        """Return the conditions of a spec."""
        return cls(**{name: field_of(spec.get(name)) for name in cls.__slots__})

    @property
    def is_papers(self) -> bool:
        """Whether the paper's synthetic tables were made under these conditions."""
        return self == Conditions(level=self.level)

    @property
    def is_task(self) -> bool:
        """Whether the problem is a task as it is, not a function at some level."""
        return self.level is None

    @property
    def word(self) -> str:
        """What a problem under these conditions is called."""
        return "task" if self.is_task else "function"

    @property
    def label(self) -> str:
        """The level and whatever is not as in the paper."""
        usual = NOTHING if self.is_task else Conditions()
        parts = [] if self.is_task else [f"Level {self.level}"]
        if self.common_shift not in (None, usual.common_shift):
            parts.append(f"common shift {short(self.common_shift)}")
        noise = (self.noise, self.noise_units)
        if self.noise is not None and noise != (usual.noise, usual.noise_units):
            parts.append(" ".join(["noise", *(short(n) for n in noise if n)]))
        if self.dim not in (None, usual.dim):
            parts.append(f"d = {self.dim}")
        if self.num_agents not in (None, usual.num_agents):
            parts.append(f"{self.num_agents} agents")
        if self.num_rounds is not None and (self.num_initial, self.num_rounds) != (
            usual.num_initial,
            usual.num_rounds,
        ):
            parts.append(f"{self.num_initial} + {self.num_rounds} evaluations")
        if self.exchange_interval is not None:
            parts.append(f"an exchange every {self.exchange_interval} rounds")
        return ", ".join(parts) or "tasks as given"

    @property
    def slug(self) -> str:
        """The label as part of a file's name."""
        return slug(self.label)

    @property
    def order(self) -> tuple[Any, ...]:
        """What to sort by: level last, so that levels of one kind stand together."""
        names = [name for name in self.__slots__ if name != "level"]
        return tuple(_sortable(getattr(self, name)) for name in (*names, "level"))


NOTHING = Conditions(**dict.fromkeys(Conditions.__slots__))
"""Conditions of which nothing is said."""


def slug(text: str) -> str:
    """Return a text as part of a file's name.

    >>> slug("Level 2, common shift 0.3")
    'level-2-common-shift-0.3'
    """
    kept = "".join(
        c if c.isascii() and (c.isalnum() or c == ".") else "-" for c in text
    )
    words = "-".join(word for word in kept.lower().split("-") if word)
    return words.strip(".") or "study"


def field_of(value: Any) -> Field:
    """Return a value of a file as something that can be compared and shown."""
    value = plain(value)
    if value is None or isinstance(value, str) or is_finite_number(value):
        return value
    return str(value)


def short(value: object) -> str:
    """Return a value as it is written in a label."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sortable(value: Field) -> tuple[bool, bool, Any]:
    is_text = isinstance(value, str)
    return value is None, is_text, 0 if value is None else value

"""Settings of a part: a frozen dataclass whose fields say what they mean and may be.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class MySettings:
        beta: float = real(4.0, "mean + sqrt(beta) std")
        merging: str = part("none", "how components are clustered", MERGINGS)

A field is a whole number (`count`), a real number (`real`) or the name of a part that
can be swapped (`part`). Each has a default, a text for listings, and limits.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.errors import SettingsError, refuse_unknown

S = TypeVar("S")

MANY = 10**6
"""Largest number a setting may have unless it says otherwise."""


def count(default: int, text: str, low: int = 1, high: int = MANY) -> Any:
    """Declare a whole number from `low` to `high`."""
    return _number(int(default), text, low, high)


def real(default: float, text: str, low: float = 0.0, high: float = MANY) -> Any:
    """Declare a finite number from `low` to `high`."""
    return _number(float(default), text, low, high)


def part(default: str, text: str, names: Collection[str]) -> Any:
    """Declare the name of a part, one of several that can be swapped."""
    return field(default=default, metadata={"text": text, "names": tuple(names)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known of one setting."""

    name: str
    """Its key."""
    default: Any
    """Its value where nothing else is said."""
    text: str
    """What it means."""
    names: tuple[str, ...] = ()
    """Parts it may name, none where it is a number."""
    low: float = 0.0
    """Least number."""
    high: float = float(MANY)
    """Largest number."""

    @property
    def limits(self) -> tuple[Any, ...]:
        """Everything but the text; two types that share a setting agree on it."""
        kind = type(self.default).__name__
        return kind, self.default, self.names, self.low, self.high

    def check(self, value: Any) -> Any:
        """Return a value of the setting's own type, or refuse it."""
        if self.names:
            if not isinstance(value, str) or value not in self.names:
                raise SettingsError(
                    f"Setting {self.name} must be one of {', '.join(self.names)}, got "
                    f"{shown(value)}."
                )
            return value
        is_valid = is_finite_number(value) and self.low <= value <= self.high
        expected = "a finite number"
        if isinstance(self.default, int):
            is_valid = is_valid and value == int(value)
            expected = "a whole number"
        if not is_valid:
            raise SettingsError(
                f"Setting {self.name} must be {expected} from {self.low:g} to "
                f"{self.high:g}, got {shown(value)}."
            )
        return type(self.default)(value)


def settings_of(*types: type[Any]) -> dict[str, Setting]:
    """Return the settings that these types declare, by name.

    One name may stand in several types, which then share its value: they must agree on
    what it is.
    """
    return dict(_collect(*types))


@cache
def _collect(*types: type[Any]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for kind in types:
        if not is_dataclass(kind):
            raise SettingsError(
                f"A settings type must be a dataclass, got {shown(kind)}."
            )
        for declared in fields(kind):
            setting = _setting(declared)
            former = found.setdefault(setting.name, setting)
            if former.limits != setting.limits:
                raise SettingsError(
                    f"Setting {setting.name} is declared twice and not alike: "
                    f"{former} and {setting}. Rename one of them in {kind.__name__}."
                )
    return found


def check_settings(
    given: Mapping[str, Any], known: Mapping[str, Setting], whose: str
) -> dict[str, Any]:
    """Return given settings checked one by one; a name that is not known is refused.

    Args:
        given: Values by name.
        known: What there is to set.
        whose: Who has these settings, for the sentence.
    """
    for name in given:
        if name not in known:
            refuse_unknown(f"setting of {whose}", name, known)
    return {name: known[name].check(value) for name, value in given.items()}


def make(kind: type[S], given: Mapping[str, Any]) -> S:
    """Return settings of one type; what is given for other types is passed over."""
    own = settings_of(kind)
    return kind(**{name: own[name].check(given[name]) for name in own if name in given})


def parse_settings(pairs: Iterable[str]) -> dict[str, int | float | str]:
    """Turn `key=value` texts into settings, numbers where they are numbers."""
    given: dict[str, int | float | str] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator:
            raise SettingsError(
                f"A setting is written key=value, got {pair!r}. For example beta=4."
            )
        given[name.strip()] = number_or_text(text.strip())
    return given


def _number(default: float, text: str, low: float, high: float) -> Any:
    return field(default=default, metadata={"text": text, "low": low, "high": high})


def _setting(declared: Field[Any]) -> Setting:
    if "text" not in declared.metadata:
        raise SettingsError(
            f"Field {declared.name} of a settings type needs a text and limits: "
            "declare it with count, real or part of guidefbo.core.settings."
        )
    return Setting(
        name=declared.name, default=declared.default, **dict(declared.metadata)
    )


def number_or_text(text: str) -> int | float | str:
    """Return what a text on a command line says: a number where it is one."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text

"""The one family of errors a user of guidefbo can meet.

Every message says what was expected, what arrived and what to do about it.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn


class FedBOError(Exception):
    """Base of every error guidefbo raises on purpose."""


class SettingsError(FedBOError, ValueError):
    """A setting or argument is out of its range."""


class UnknownNameError(SettingsError):
    """A problem, method or part of that name is not in the catalogue."""


class SpaceError(FedBOError, ValueError):
    """A search space or a point of it is not valid."""


class DataError(FedBOError, ValueError):
    """An observation cannot be used."""


class WireError(FedBOError, ValueError):
    """A message breaks the protocol; nothing was computed from it."""


class NumericalError(FedBOError, ArithmeticError):
    """A computation could not be completed in floating point."""


class GuidanceWarning(UserWarning):
    """A packet was refused, or guidance is stale."""


class UploadWarning(UserWarning):
    """An upload does not fit the others and was left out."""


class OptimumWarning(UserWarning):
    """A value is better than the optimum that was stated for its site."""


class OutsideWarning(UserWarning):
    """A result was run outside the bounds; the model takes it for one at the bound."""


class FallbackWarning(UserWarning):
    """The model could not be used; the point fills the space instead."""


def refuse_unknown(kind: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise `UnknownNameError` naming the nearest of the `known` names."""
    # A name may be known of something that cannot be used.
    names = sorted(set(known) - {name})
    near = get_close_matches(str(name).lower(), names, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else ""
    first, *rest = kind.split(" ")
    many = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    listing = f"Known {' '.join([many, *rest])}: {', '.join(names)}."
    raise UnknownNameError(f"There is no {kind} {name!r}. {hint or listing}")

"""What was really run: values told by a site, which may differ from those asked."""

import warnings
from collections.abc import Mapping
from typing import Any

from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError, OutsideWarning, SettingsError
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Trial

KEEP, REFUSE = "keep", "refuse"
"""What becomes of values a little outside their bounds."""


def accepted(values: Mapping[str, Any], setup: Setup, outside: str) -> dict[str, Any]:
    """Return values that were run as the space writes them, or refuse them.

    Args:
        values: Of every parameter, by name.
        setup: Knows the space, and how far beyond its bounds a run may be.
        outside: "keep" or "refuse" what lies a little outside.
    """
    if outside not in (KEEP, REFUSE):
        raise SettingsError(
            f"outside must be {KEEP!r} or {REFUSE!r}, got {shown(outside)}."
        )
    overshoot = setup.overshoot if outside == KEEP else 0.0
    clean = setup.space.clean(values, overshoot=overshoot)
    if beyond := setup.space.outside(clean):
        labels = setup.labels
        parts = ", ".join(
            f"{name}={labels.number(name, clean[name])} as {labels.one(name, bound)}"
            for name, bound in beyond.items()
        )
        warnings.warn(
            f"outside the bounds; kept as told, and the model takes {parts}.",
            OutsideWarning,
            stacklevel=4,
        )
    return clean


def run_of(
    trial: Trial, values: Mapping[str, Any] | None, setup: Setup, outside: str
) -> dict[str, Any] | None:
    """Return all values of a trial as it was run; None where none were told.

    Args:
        trial: What was asked, and what was said of it before.
        values: What was run, of all parameters or of some.
        setup: Knows the space.
        outside: "keep" or "refuse" what lies a little outside.
    """
    if values is None:
        return None
    names = setup.space.parameters
    if not isinstance(values, Mapping) or not names.keys() >= values.keys():
        arrived = list(values) if isinstance(values, Mapping) else shown(values)
        raise DataError(
            f"Expected the values that were run, of {list(names)} or some of them, "
            f"got {arrived}."
        )
    return accepted({**trial.as_run, **values}, setup, outside)

"""Trials as plain data, for an agent's file: every field checked when read."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, cast

from guidefbo.agent.record import Forecast, Forecasts
from guidefbo.core.checks import is_finite_number, require_count, require_share, shown
from guidefbo.core.errors import DataError, SpaceError
from guidefbo.site.outcome import check_outcomes
from guidefbo.site.setup import Setup
from guidefbo.site.trial import (
    Basis,
    Origin,
    Record,
    Trial,
    TrialState,
    check_told,
    one_line,
)

MAX_COUNT = 10**9
"""More things than that were never told to anybody."""
MAX_TIME = 40
"""Longest text of a time."""


def trial_to_form(trial: Trial) -> dict[str, Any]:
    """Return a trial as plain data."""
    return {
        "id": trial.id,
        "values": dict(trial.values),
        "origin": str(trial.origin),
        "guided": trial.guided,
        "due_at": trial.due_at,
        "state": str(trial.state),
        "asked_at": trial.asked_at,
        "basis": None if trial.basis is None else _basis_to_form(trial.basis),
        "records": [record_to_form(record) for record in trial.records],
    }


def record_to_form(record: Record) -> dict[str, Any]:
    """Return a record as plain data."""
    return {
        "order": record.order,
        "value": record.value,
        "std": record.std,
        "failed": record.failed,
        "values": None if record.values is None else dict(record.values),
        "outcomes": dict(record.outcomes),
        "told_at": record.told_at,
    }


def _basis_to_form(basis: Basis) -> dict[str, Any]:
    form = {
        "mean": basis.mean,
        "std": basis.std,
        "num_uploads": basis.num_uploads,
        "round": basis.round,
        "alone": None if basis.alone is None else dict(basis.alone),
        "odds": basis.odds,
        "told": basis.told,
    }
    if basis.foretold is None:
        return form
    foretold = {name: f._asdict() for name, f in basis.foretold._asdict().items()}
    return {**form, "foretold": foretold}


def trial_from_form(form: Any, expected_id: int, setup: Setup) -> Trial:
    """Check plain data and return the trial it describes.

    Args:
        form: The data.
        expected_id: The id it must have.
        setup: The agent's configuration.
    """
    form = as_table(form, "a trial")
    if type(form["id"]) is not int or form["id"] != expected_id:
        raise DataError(f"expected trial {expected_id}, got {shown(form['id'])}.")
    records = tuple(
        _record_from_form(item, setup) for item in as_list(form["records"], "records")
    )
    # Files of versions 1 and 2 know neither times nor what a question rested on.
    basis = form.get("basis")
    trial = Trial(
        id=expected_id,
        values=_values(form["values"], setup),
        goal=setup.goal,
        origin=Origin(form["origin"]),
        guided=form["guided"] is True,
        due_at=_count("due_at", form["due_at"], 0),
        state=TrialState(form["state"]),
        records=records,
        basis=None if basis is None else _basis_from_form(basis, setup),
        asked_at=_time(form.get("asked_at")),
    )
    is_told = trial.state in (TrialState.DONE, TrialState.FAILED)
    if is_told != bool(records) or (trial.failed is not None) != (
        trial.state == TrialState.FAILED
    ):
        raise DataError(f"trial {trial.id} is {trial.state}, its records say otherwise")
    return trial


def _values(form: Any, setup: Setup) -> dict[str, Any]:
    """Return values of the space as it is or was, perhaps a little beyond bounds."""
    for space in setup.former:
        with suppress(SpaceError):
            return space.clean(form, overshoot=setup.overshoot)
    return setup.space.clean(form, overshoot=setup.overshoot)


def _record_from_form(form: Any, setup: Setup) -> Record:
    form = as_table(form, "a record")
    check_told(form["value"], form["std"], form["failed"])
    run = form.get("values")
    return Record(
        order=_count("order", form["order"], 1),
        value=form["value"],
        std=form["std"],
        failed=None if form["failed"] is None else one_line(form["failed"]),
        values=None if run is None else _values(run, setup),
        outcomes=check_outcomes(form.get("outcomes"), setup.outcomes),
        told_at=_time(form.get("told_at")),
    )


def _basis_from_form(form: Any, setup: Setup) -> Basis:
    form = as_table(form, "a basis")
    (mean, std), alone, odds = _normal(form), form["alone"], form["odds"]
    if odds is not None:
        require_share("odds", odds)
    counts = {
        name: None if form[name] is None else _count(name, form[name], 0)
        for name in ("num_uploads", "round")
    }
    return Basis(
        mean=mean,
        std=std,
        alone=None if alone is None else _values(alone, setup),
        odds=odds,
        told=_count("told", form["told"], 0),
        foretold=_foretold_from_form(form.get("foretold")),
        **counts,
    )


def _foretold_from_form(form: Any) -> Forecasts | None:
    if form is None:
        return None
    form = as_table(form, "forecasts")
    others, alone = (
        _forecast(as_table(form[name], "a forecast")) for name in ("others", "alone")
    )
    return Forecasts(others=others, alone=alone)


def _forecast(form: Mapping[str, Any]) -> Forecast:
    # Older files have the noise in the standard deviation.
    noise = form.get("noise", 0.0)
    if not (is_finite_number(noise) and noise >= 0.0):
        raise DataError(f"expected the noise of a result, got {shown(noise)}.")
    return Forecast(*_normal(form), float(noise))


def _normal(form: Mapping[str, Any]) -> tuple[float, float]:
    """Return a mean and a standard deviation."""
    mean, std = form["mean"], form["std"]
    if not (is_finite_number(mean) and is_finite_number(std) and std >= 0.0):
        raise DataError(
            f"expected a mean and a standard deviation, got {shown((mean, std))}."
        )
    return float(mean), float(std)


def _time(text: Any) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > MAX_TIME:
        raise DataError(f"expected a time, got {shown(text)}.")
    datetime.fromisoformat(text)
    return text


def _count(name: str, value: Any, low: int) -> int:
    count = require_count(name, value, low)
    if count > MAX_COUNT:
        raise DataError(f"expected {name} to be at most {MAX_COUNT}, got {count}.")
    return count


def as_table(form: Any, what: str) -> Mapping[str, Any]:
    """Return an object of a JSON file, or refuse what is none."""
    if not isinstance(form, dict):
        raise DataError(f"expected {what} to be an object, got {shown(form)}.")
    return cast(Mapping[str, Any], form)


def as_list(form: Any, what: str) -> list[Any]:
    """Return a list of a JSON file, or refuse what is none."""
    if not isinstance(form, list):
        raise DataError(f"expected {what} to be a list, got {shown(form)}.")
    return cast(list[Any], form)

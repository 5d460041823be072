"""The columns of a table: methods with their settings, and variants of a study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from guidefbo.experiments.study_json import MethodNote, Row
from guidefbo.reports.conditions import field_of, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A column: a method with its settings, or a variant of the study."""

    label: str
    """What the column is called; no two contenders of a frame share it."""
    method: str
    """Name of the method, empty where nothing was run."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Settings that are not at their default."""
    variant: str | None = None
    """Name the study gives it."""
    note: MethodNote | None = field(default=None, compare=False)
    """What is known of the method, None where the study's files do not say."""


def settings_of(row: Row) -> dict[str, Any]:
    """Return a row's settings that are not at their default."""
    settings = row.spec.get("settings")
    if not isinstance(settings, Mapping):
        return {}
    given = cast(Mapping[Any, Any], settings)
    return {str(name): field_of(given[name]) for name in sorted(given, key=str)}


def setting_text(name: str, value: object) -> str:
    """Return a setting as it is written on the command line."""
    return f"{name}={short(value)}"


def contenders_of(
    rows: tuple[Row, ...], notes: Mapping[str, MethodNote]
) -> dict[tuple[Any, ...], Contender]:
    """Return the contender of every row, by what makes it another one."""
    varying = _varying(rows)
    found: dict[tuple[Any, ...], Contender] = {}
    labels: set[str] = set()
    for row in rows:
        identity = identity_of(row)
        if identity in found:
            continue
        method = str(row.spec.get("method", ""))
        settings = settings_of(row)
        texts = {k: setting_text(k, v) for k, v in settings.items()}
        told = [texts[k] for k in settings if k in varying.get(method, set())]
        label = row.variant or " ".join([method, *told]) or "runs"
        if label in labels:
            label = f"{label} ({' '.join([method, *texts.values()])})"
        while label in labels:
            label += "'"
        labels.add(label)
        found[identity] = Contender(
            label=label,
            method=method,
            settings=settings,
            variant=row.variant,
            note=notes.get(method),
        )
    return found


def _varying(rows: tuple[Row, ...]) -> dict[str, set[str]]:
    """Return for each method the settings in which its unnamed rows differ."""
    seen: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.variant is None:
            listed = seen.setdefault(str(row.spec.get("method", "")), [])
            settings = settings_of(row)
            if settings not in listed:
                listed.append(settings)
    return {
        method: {
            name
            for name in {key for settings in listed for key in settings}
            if any(s.get(name) != listed[0].get(name) for s in listed)
        }
        for method, listed in seen.items()
    }


def identity_of(row: Row) -> tuple[Any, ...]:
    """Return what makes a row's contender another one than a second row's."""
    return (
        row.variant,
        str(row.spec.get("method", "")),
        tuple(settings_of(row).items()),
    )

"""A site's space changes: other bounds, more options, and what this site cannot run.

Bounds and options are of the space that all sites share: they make a new version of it,
and messages of the old one no longer fit. What this site cannot run is its own affair:
it is never asked, and messages stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from guidefbo.core.checks import is_finite_number, shown
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.between import values_beside
from guidefbo.core.space.changes import changed, difference
from guidefbo.core.space.form import fingerprint
from guidefbo.core.space.parameters import Float
from guidefbo.core.space.space import Space
from guidefbo.site.labels import Labels
from guidefbo.site.setup import Setup

if TYPE_CHECKING:
    from guidefbo.site.guidance import Guidance

MAX_VERSIONS = 1000
"""Most versions of a space in one file."""


def changed_setup(
    setup: Setup,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    add_options: Mapping[str, Sequence[Any]] | None = None,
    within: Mapping[str, tuple[float, float]] | None = None,
    without: Mapping[str, Sequence[Any]] | None = None,
    fix: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
) -> tuple[Setup, list[str]]:
    """Return a changed configuration, and what changed in words.

    Args:
        setup: The configuration as it is.
        bounds: New bounds of the shared space, by name.
        add_options: New options of the shared space, by name.
        within: Narrower bounds that this site keeps when it asks.
        without: Options that this site never asks for, beside those it already leaves
            out.
        fix: Values that this site always asks for.
        free: Parameters whose limits of this site are lifted first.
    """
    space = changed(setup.space, bounds=bounds or {}, options=add_options or {})
    lines = difference(setup.space, space)
    former = (*setup.former, setup.space) if lines else setup.former
    if len(former) >= MAX_VERSIONS:
        raise SettingsError(f"A space is changed at most {MAX_VERSIONS} times.")
    limits: dict[str, dict[str, Any]] = {}
    for name, given in (("within", within), ("without", without), ("fixed", fix)):
        old = getattr(setup, name)
        kept = {key: limit for key, limit in old.items() if key not in free}
        added = dict(given or {})
        if name == "without":
            added = {key: _together(kept.get(key, ()), added[key]) for key in added}
        limits[name] = kept | added
    _refuse_contradiction(limits, setup.labels)
    # Not what an older version has let through, unless its steps move now.
    moved = {n for n, p in space.parameters.items() if p != setup.space.parameters[n]}
    held = {n: v for n, v in limits["fixed"].items() if n in moved.union(fix or {})}
    _refuse_between(space, held, setup.labels)
    unknown = [name for name in free if name not in setup.space.parameters]
    if unknown:
        raise SettingsError(f"There is no parameter {shown(unknown[0])} to free.")
    new = replace(setup, space=space, former=former, **limits)
    space.refuse_unmet(new.ends, known=setup.space.unmet(setup.ends))
    lines += _limit_lines(setup, new)
    if not lines:
        raise SettingsError(
            "Nothing would change. Say what: bounds, options or limits."
        )
    if former != setup.former:
        lines.append(
            f"this is version {new.version} of the space: messages of the others fit "
            f"once they and the coordinator have it too (fingerprint "
            f"{fingerprint(setup.space)} -> {fingerprint(space)})"
        )
    return new, lines


def _together(gone: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
    """Return all options that are left out, each once, the earlier ones first."""
    every: list[Any] = []
    for option in (*gone, *more):
        if option not in every:
            every.append(option)
    return tuple(every)


def _refuse_contradiction(
    limits: Mapping[str, Mapping[str, Any]], labels: Labels
) -> None:
    """Refuse a value that is always asked among the options that never are."""
    without = limits["without"]
    for name, value in limits["fixed"].items():
        if value in without.get(name, ()):
            gone = ", ".join(labels.number(name, option) for option in without[name])
            raise SettingsError(
                f"Parameter {name} cannot always be {labels.number(name, value)}, "
                f"which this site leaves out: it never asks for {gone}. Lift its "
                f"limits with --free {name}, and say in the same command which of "
                "them stays."
            )


def _refuse_between(space: Space, fixed: Mapping[str, Any], labels: Labels) -> None:
    """Refuse to hold a value off its step or digits: another one would be asked."""
    for name, value in fixed.items():
        parameter = space.parameters.get(name)
        if not isinstance(parameter, Float) or not is_finite_number(value):
            continue
        if not parameter.low <= value <= parameter.high:
            continue
        if near := values_beside(parameter, value):
            ways = " or ".join(labels.number(name, v) for v in near)
            spaced = (
                f"in {parameter.digits} significant digits"
                if parameter.step is None
                else f"on its steps of {parameter.step:g} from {parameter.low:g}"
            )
            raise SettingsError(
                f"Parameter {name} cannot always be {shown(value)}: it is asked "
                f"{spaced} only. Fix it at {ways}."
            )


KINDS = ("within", "without", "fixed")
"""What a site may be unable to run: fields of its setup."""


def _limit_lines(old: Setup, new: Setup) -> list[str]:
    lines: list[str] = []
    for kind in KINDS:
        before, after = getattr(old, kind), getattr(new, kind)
        lines += [
            f"{_limit_words(new, kind, name)} at this site"
            for name, limit in after.items()
            if before.get(name) != limit
        ]
        lines += [f"{name}: free again" for name in before if name not in after]
    return lines


def own_limits(setup: Setup) -> list[str]:
    """Return in words what a site is never asked for."""
    return [
        _limit_words(setup, kind, name)
        for kind in KINDS
        for name in getattr(setup, kind)
    ]


def _limit_words(setup: Setup, kind: str, name: str) -> str:
    labels = setup.labels
    if kind == "fixed":
        return f"{name}: always {labels.one(name, setup.fixed[name])}"
    if kind == "without":
        gone = (labels.number(name, option) for option in setup.without[name])
        return f"{name}: never {', '.join(gone)}"
    low, high = setup.within[name]
    return f"{name}: only {labels.number(name, low)} to {labels.one(name, high)}"


def held_after(held: "Guidance", old: Setup, new: Setup) -> "Guidance":
    """Return what is held once the space has changed: nothing of another space."""
    from guidefbo.site.guidance import Guidance

    if old.terms == new.terms or held.message is None:
        return held
    return Guidance(reason="the space was changed; the packet held was of the old one")

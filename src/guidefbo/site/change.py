"""A site's space changes: other bounds, more options, and what this site cannot run.

Bounds and options are of the space that all sites share: they make a new version of it,
and messages of the old one no longer fit. What this site cannot run is its own affair:
it is never asked, and messages stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guidefbo.core.checks import shown
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.changes import changed, difference
from guidefbo.core.space.form import fingerprint
from guidefbo.site.guidance import Guidance
from guidefbo.site.labels import shown_value
from guidefbo.site.setup import Setup

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
        without: Options that this site never asks for.
        fix: Values that this site always asks for.
        free: Parameters whose limits of this site are lifted.
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
        limits[name] = kept | dict(given or {})
    unknown = [name for name in free if name not in setup.space.parameters]
    if unknown:
        raise SettingsError(f"There is no parameter {shown(unknown[0])} to free.")
    new = replace(setup, space=space, former=former, **limits)
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


def _limit_lines(old: Setup, new: Setup) -> list[str]:
    words = {
        "within": "asked only within",
        "without": "never asked:",
        "fixed": "always",
    }
    lines: list[str] = []
    for name, text in words.items():
        before, after = getattr(old, name), getattr(new, name)
        for key, limit in after.items():
            if before.get(key) != limit:
                parts: Any = limit if name != "fixed" else (limit,)
                join = " to " if name == "within" else ", "
                shown_limit = join.join(map(shown_value, parts))
                lines.append(f"{key}: {text} {shown_limit} at this site")
        lines += [f"{key}: free again" for key in before if key not in after]
    return lines


def held_after(held: Guidance, old: Setup, new: Setup) -> Guidance:
    """Return what is held once the space has changed: nothing of another space."""
    if old.terms == new.terms or held.message is None:
        return held
    return Guidance(reason="the space was changed; the packet held was of the old one")

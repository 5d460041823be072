"""The search space of a federation over time, and what sites are told of it."""

from dataclasses import dataclass, replace

from guidefbo.coordinator import members
from guidefbo.coordinator.federation import (
    MAX_FORMER,
    Federation,
    find_federation,
    put_federation,
)
from guidefbo.coordinator.members import JOINED
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.store import Store
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.changes import Step, difference
from guidefbo.core.space.form import fingerprint, space_from_form, space_to_form
from guidefbo.core.space.space import Space

LONGEST = 400
"""Most characters of a difference, and of a command, in one sentence: a site shows
only so much of what another side says."""
LIKE = "guidefbo change FILE --like SPACE.toml, with the host's file"
"""What a site does where the options of the command cannot say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a change of the space is, and whom it concerns."""

    federation: Federation
    """As it is afterwards."""
    lines: list[str]
    """What is different, a line a parameter."""
    command: str
    """What every site does."""
    former: str
    """Fingerprint of the space before."""
    affected: list[str]
    """Sites that have joined, and have the space before."""
    num_retired: int
    """Uploads that packets are no longer made of."""


def change_space(
    store: Store, name: str, space: Space, *, is_done: bool = True
) -> Changed:
    """Give a federation another space; sites are told when they exchange next.

    Uploads that speak of the space before stay in the store and are part of no packet
    any more.

    Args:
        store: Where.
        name: Name of the federation.
        space: The space from now on: other bounds, further options.
        is_done: Whether it is done; if not, only what it would be is returned.
    """
    with store.writing() as connection:
        found = find_federation(connection, name, lock=True)
        old = space_from_form(found.space)
        lines, command = difference(old, space), _command(old, space)
        space.refuse_unmet(known=old.unmet())
        if not lines:
            raise SettingsError(f"The space of {name} is this one already.")
        everybody = members.list_members(connection, name)
        changed = replace(
            found,
            space=space_to_form(space),
            terms=replace(found.terms, space=fingerprint(space)),
            former=(*found.former, found.space)[-MAX_FORMER:],
            round=found.round + 1,
        )
        if is_done:
            put_federation(connection, changed)
            members.retire_uploads(connection, name)
    return Changed(
        federation=changed,
        lines=lines,
        command=command,
        former=found.terms.space,
        affected=[member.name for member in everybody if member.state == JOINED],
        num_retired=sum(member.speaks for member in everybody),
    )


def require_space(federation: Federation, space: str) -> None:
    """Refuse the fingerprint of a space that the federation had before.

    Args:
        federation: As it is now.
        space: The fingerprint a site comes with.
    """
    if space == federation.terms.space:
        return
    told = what_changed(federation, space)
    if told is not None:
        raise Refusal("changed", f"{told[0].upper()}{told[1:]}.")


def what_changed(federation: Federation, space: str | None) -> str | None:
    """Return how the space has changed since a former one, and what to do about it.

    Args:
        federation: As it is now.
        space: Fingerprint of the former space; None: not known.
    """
    formers = [space_from_form(form) for form in federation.former]
    known = [former for former in formers if fingerprint(former) == space]
    if not known:
        return None
    now = space_from_form(federation.space)
    said = "; ".join(difference(known[-1], now))
    if len(said) > LONGEST // 2:
        said = f"{said[: LONGEST // 2]}..."
    command = _command(known[-1], now)
    if len(command) > LONGEST // 2:
        command = LIKE
    return f"the search space was changed ({said}); results stay: {command}"


def _command(old: Space, new: Space) -> str:
    """Return the command that makes the same change at a site."""
    step = Step.between(old, new)
    if not step.can_be_typed(old):
        return LIKE
    return " ".join(["guidefbo change FILE", *step.words])

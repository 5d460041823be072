"""For each method, the plain rule and the control it is compared with."""

from collections.abc import Callable, Iterable, Sequence

from guidefbo.experiments.study_json import MethodNote
from guidefbo.reports.contenders import Contender

REFERENCE = "ucb"
"""The plain rule that others are measured by, where it ran."""


def is_federated(contender: Contender) -> bool:
    """Whether agents exchange messages that a real site would send.

    Controls only pretend to exchange, and what shares all raw data is no method.
    """
    note = contender.note
    if note is None or note.is_plain or note.is_silent:
        return False
    if note.is_control or note.is_ceiling:
        return False
    alone = note.alone.items()
    return not alone or any(_setting(contender, k) != value for k, value in alone)


def plain_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the plain rule a contender builds on, set as the contender is."""
    return _find(contender, lambda note: note.is_plain, among)


def control_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the control with a contender's rule, set as the contender is."""
    return _find(contender, lambda note: note.is_control, among)


def is_ceiling(contender: Contender) -> bool:
    """Whether a contender shares all raw observations."""
    return contender.note is not None and contender.note.is_ceiling


def ceiling_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the run with a contender's rule in which everything was shared."""
    return _find(contender, lambda note: note.is_ceiling, among)


def reference_of(contenders: Sequence[Contender]) -> Contender | None:
    """Return what all others are measured by: plain ucb, any plain rule, the first."""
    plain = [who for who in contenders if who.note is not None and who.note.is_plain]
    named = [who for who in plain if who.method == REFERENCE]
    by_settings = sorted(named or plain, key=lambda who: len(who.settings))
    return next(iter([*by_settings, *contenders]), None)


def _find(
    contender: Contender,
    is_kind: Callable[[MethodNote], bool],
    among: Iterable[Contender],
) -> Contender | None:
    """Return the run with the same rule that agrees in the settings both have.

    Of several the one with the fewest other differences, then the first.
    """
    note = contender.note
    if note is None:
        return None
    candidates = [
        other
        for other in among
        if other.note is not None
        and is_kind(other.note)
        and other.note.rule == note.rule
        and other != contender
        and not note.settings.keys()
        & other.note.settings.keys()
        & _differences(contender, other)
    ]
    return min(candidates, key=lambda o: len(_differences(contender, o)), default=None)


def _differences(one: Contender, other: Contender) -> set[str]:
    names = {*one.settings, *other.settings}
    return {name for name in names if _setting(one, name) != _setting(other, name)}


def _setting(contender: Contender, name: str) -> object:
    note = contender.note
    return contender.settings.get(
        name, None if note is None else note.settings.get(name)
    )

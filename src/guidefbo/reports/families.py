"""What a method's name says: the strategy, the rule, and who to compare it with."""

from collections.abc import Iterable
from types import MappingProxyType

from guidefbo.reports.frame import Contender
from guidefbo.reports.paper import DEFAULTS

RULES = ("ts", "ucb", "nei", "ei")
RULE_OF = {"fts": "ts", "fts-de": "ts", "fmtbo": "ei"}
"""Strategies that have one rule, which their name leaves out."""
PLAIN = "independent"
CONTROL = "placebo"
OF_ALL = frozenset({"fit", "num_raw", "num_starts", "num_iterations"})
"""Settings that every method has."""
OF_RULE = MappingProxyType(
    {
        "ts": frozenset({"mode", "num_features"}),
        "ucb": frozenset({"beta"}),
        "nei": frozenset({"num_fantasies"}),
        "ei": frozenset[str](),
    }
)
"""Settings of a rule, which every method with that rule has too."""
OF_GUIDANCE = MappingProxyType(
    {
        CONTROL: frozenset({"intervention", "schedule", "max_strength"}),
        "guide": frozenset({"intervention", "schedule", "max_strength"}),
        "consensus": frozenset({"intervention", "max_strength"}),
    }
)
"""Settings of the control, and which of them methods that guide have too."""


def strategy_and_rule(method: str) -> tuple[str, str]:
    """Return the two parts of a method.

    >>> strategy_and_rule("guide-ucb"), strategy_and_rule("nei")
    (('guide', 'ucb'), ('independent', 'nei'))
    """
    if method in RULES:
        return PLAIN, method
    if method in RULE_OF:
        return method, RULE_OF[method]
    head, _, rule = method.rpartition("-")
    return (head, rule) if head and rule in RULES else (method, "")


def is_federated(contender: Contender) -> bool:
    """Whether agents use anything of each other's, which controls only pretend."""
    strategy, _ = strategy_and_rule(contender.method)
    is_own = strategy == "consensus" and _setting(contender, "aim") == "own"
    return strategy not in (PLAIN, CONTROL) and not is_own


def plain_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the plain rule a contender builds on, set as the contender is."""
    _, rule = strategy_and_rule(contender.method)
    return _find(contender, rule, among)


def control_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the placebo with a contender's rule, set as the contender is."""
    _, rule = strategy_and_rule(contender.method)
    return _find(contender, f"{CONTROL}-{rule}", among)


def known_settings(method: str) -> frozenset[str]:
    """Return those settings of a method that it may share with a partner."""
    strategy, rule = strategy_and_rule(method)
    nothing = frozenset[str]()
    return OF_ALL | OF_RULE.get(rule, nothing) | OF_GUIDANCE.get(strategy, nothing)


def _find(
    contender: Contender, method: str, among: Iterable[Contender]
) -> Contender | None:
    """Return the run of a method that agrees in the settings both methods have.

    Of several the one with the fewest other differences, then the first.
    """
    shared = known_settings(method) & known_settings(contender.method)
    candidates = [
        other
        for other in among
        if other.method == method
        and other != contender
        and not shared & _differences(contender, other)
    ]
    return min(candidates, key=lambda o: len(_differences(contender, o)), default=None)


def _differences(one: Contender, other: Contender) -> set[str]:
    names = {*one.settings, *other.settings}
    return {name for name in names if _setting(one, name) != _setting(other, name)}


def _setting(contender: Contender, name: str) -> object:
    return contender.settings.get(name, DEFAULTS.get(name))

"""What a method's name says: the strategy, the rule, and who to compare it with."""

from collections.abc import Iterable

from guidefbo.reports.frame import Contender
from guidefbo.reports.paper import DEFAULTS

RULES = ("ts", "ucb", "nei", "ei")
RULE_OF = {"fts": "ts", "fts-de": "ts", "fmtbo": "ei"}
"""Strategies that have one rule, which their name leaves out."""
PLAIN = "independent"
CONTROL = "placebo"


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
    """Whether agents exchange anything, which the control only pretends."""
    return strategy_and_rule(contender.method)[0] not in (PLAIN, CONTROL)


def plain_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the plain rule a contender builds on, at the same beta."""
    _, rule = strategy_and_rule(contender.method)
    return _find(contender, rule, rule, among)


def control_of(contender: Contender, among: Iterable[Contender]) -> Contender | None:
    """Return the placebo with a contender's rule, at the same beta."""
    _, rule = strategy_and_rule(contender.method)
    return _find(contender, f"{CONTROL}-{rule}", rule, among)


def _find(
    contender: Contender, method: str, rule: str, among: Iterable[Contender]
) -> Contender | None:
    for other in among:
        is_bare = set(other.settings) <= {"beta"} and other != contender
        is_same = rule != "ucb" or _beta(other) == _beta(contender)
        if other.method == method and is_bare and is_same:
            return other
    return None


def _beta(contender: Contender) -> object:
    return contender.settings.get("beta", DEFAULTS["beta"])

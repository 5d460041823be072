"""Strategies, rules and methods by name: built in, installed, or from a file.

Built-in records are loaded when they are asked for. Installed packages bring theirs by
the entry point groups `guidefbo.strategies` and `guidefbo.rules`; `register` enters a
record of one's own.
"""

import warnings
from dataclasses import fields
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Any, cast

from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.methods.record import Method, Rule, Strategy
from guidefbo.server.registry import register_server

STRATEGIES = (
    "independent",
    "trend",
    "fts",
    "fts-as-run",
    "fts-de",
    "fts-de-as-run",
    "fmtbo",
    "fmtbo-as-run",
    "cgp",
    "guide",
    "consensus",
    "shape",
    "shared-data",
    "placebo",
)
"""Strategies of this package, each in a file of its own beside this one."""
RULES = ("ts", "ucb", "nei", "ts-grid", "ei")
"""Rules of this package, each in a file of its own in `methods/rules`."""
GROUPS = {Strategy: "guidefbo.strategies", Rule: "guidefbo.rules"}
"""Entry point groups of installed packages."""

_strategies: dict[str, Strategy] = {}
_rules: dict[str, Rule] = {}


def register(record: Strategy | Rule) -> None:
    """Enter a strategy or a rule, so that its methods can be asked for by name.

    Entering the same record again changes nothing; another one of the same name is
    refused.
    """
    if not isinstance(record, Strategy | Rule):
        raise SettingsError(
            f"Expected a Strategy or a Rule, got {type(record).__name__}."
        )
    is_strategy = isinstance(record, Strategy)
    known: dict[str, Any] = _strategies if is_strategy else _rules
    built_in = STRATEGIES if is_strategy else RULES
    if record.name in built_in:
        raise SettingsError(
            f"{record.name} comes with guidefbo. Choose another name for yours."
        )
    former = known.get(record.name)
    if former is not None and not _is_same(former, record):
        raise SettingsError(
            f"Another record is entered as {record.name}. Choose another name."
        )
    if former is None:
        _require_free_names(record)
    known[record.name] = record
    if isinstance(record, Strategy) and record.server is not None:
        register_server(record.name, record.server)


def find_strategy(name: str) -> Strategy:
    """Return the strategy of that name, or name the nearest ones."""
    if name in STRATEGIES:
        module = f"guidefbo.methods.{name.replace('-', '_')}"
        return import_module(module).STRATEGY
    if name not in _strategies:
        _load_installed(Strategy, name)
    if name not in _strategies:
        refuse_unknown("strategy", name, strategy_names())
    return _strategies[name]


def find_rule(name: str) -> Rule:
    """Return the rule of that name, or name the nearest ones."""
    if name in RULES:
        module = f"guidefbo.methods.rules.{name.replace('-', '_')}"
        return import_module(module).RULE
    if name not in _rules:
        _load_installed(Rule, name)
    if name not in _rules:
        refuse_unknown("rule", name, rule_names())
    return _rules[name]


def strategy_names() -> list[str]:
    """Return all strategies, built-in ones first."""
    installed = (point.name for point in _installed(Strategy))
    return list(dict.fromkeys(chain(STRATEGIES, _strategies, installed)))


def rule_names() -> list[str]:
    """Return all rules, built-in ones first."""
    installed = (point.name for point in _installed(Rule))
    return list(dict.fromkeys(chain(RULES, _rules, installed)))


def find_method(method: str | Method) -> Method:
    """Return the method of that name; a record is entered and returned.

    >>> find_method("cgp-nei").rule.name
    'nei'
    """
    if isinstance(method, Method):
        s, rule = method.strategy, method.rule
        if s.name not in STRATEGIES or find_strategy(s.name) != s:
            register(s)
        if rule.name not in RULES or find_rule(rule.name) != rule:
            register(rule)
        if not _goes_with(s, rule):
            raise SettingsError(
                f"The strategy {s.name} does not go with the rule {rule.name}. It "
                f"goes with {', '.join(_rules_of(s))}."
            )
        return method
    if isinstance(method, str):
        # What is there first: looking through installed packages takes a while.
        found = _named(method, [*STRATEGIES, *_strategies], [*RULES, *_rules])
        found = found or _named(method, strategy_names(), rule_names())
        if found is not None:
            return found
    return refuse_unknown("method", method, method_names())


def method_names() -> list[str]:
    """Return the names of all methods, in the order of their strategies."""
    return [method.name for method in all_methods()]


def all_methods() -> list[Method]:
    """Return all methods; an installed record that cannot be loaded is left out."""
    load_installed()
    strategies = [find_strategy(name) for name in (*STRATEGIES, *_strategies)]
    return [Method(s, rule) for s in strategies for rule in _rules_of(s)]


def _rules_of(strategy: Strategy) -> list[str]:
    known = (*RULES, *_rules)
    return list(strategy.rules) or [r for r in known if find_rule(r).is_general]


def _goes_with(strategy: Strategy, rule: Rule) -> bool:
    return rule.name in strategy.rules if strategy.rules else rule.is_general


def _require_free_names(record: Strategy | Rule) -> None:
    """Refuse a record one of whose methods would have the name of another."""
    strategies, rules = [*STRATEGIES, *_strategies], [*RULES, *_rules]
    if isinstance(record, Strategy):
        pairs = [(record, find_rule(rule)) for rule in rules]
    else:
        pairs = [(find_strategy(strategy), record) for strategy in strategies]
    for strategy, rule in pairs:
        name = Method(strategy, rule).name
        if _goes_with(strategy, rule) and _named(name, strategies, rules) is not None:
            raise SettingsError(
                f"With {record.name} there would be two methods {name}. Choose "
                "another name."
            )


def _named(method: str, strategies: list[str], rules: list[str]) -> Method | None:
    """Return the method of that name among those of some strategies and rules."""
    pairs: list[tuple[str, str]] = []
    if method in strategies:
        pairs += [(method, rule) for rule in find_strategy(method).rules]
    for rule in rules:
        pairs += [("independent", rule)] if method == rule else []
        head = method.removesuffix(f"-{rule}")
        pairs += [(head, rule)] if head != method and head in strategies else []
    for strategy, rule in pairs:
        found = Method(strategy, rule)
        if found.name == method and _goes_with(found.strategy, found.rule):
            return found
    return None


def _installed(kind: type[Any]) -> list[EntryPoint]:
    return list(entry_points(group=GROUPS[kind]))


def load_installed() -> None:
    """Enter every strategy and rule that installed packages bring."""
    for kind in GROUPS:
        _load_installed(kind)


def _load_installed(kind: type[Any], name: str | None = None) -> None:
    """Enter what installed packages bring, or only the record of that name."""
    known: dict[str, Any] = _strategies if kind is Strategy else _rules
    for point in _installed(kind):
        if point.name in known or name not in (None, point.name):
            continue
        try:
            record = point.load()
            if not isinstance(record, kind) or record.name != point.name:
                raise SettingsError(
                    f"expected a guidefbo.{kind.__name__} named {point.name!r}"
                )
            register(record)
        except Exception as error:  # somebody else's package must not end ours
            warnings.warn(
                f"{point.value} of {GROUPS[kind]} cannot be used: {error}",
                UserWarning,
                stacklevel=3,
            )


def _is_same(one: Any, other: Any) -> bool:
    """Whether two records are one: equal, or the same definition loaded again."""
    if type(one) is not type(other):
        return False
    names = [f.name for f in fields(one)]
    return all(_alike(getattr(one, name), getattr(other, name)) for name in names)


def _alike(a: Any, b: Any) -> bool:
    """Whether two fields are equal; code counts as equal where its name is."""
    if isinstance(a, tuple):
        ours, theirs = cast(tuple[Any, ...], a), cast(tuple[Any, ...], b)
        is_as_long = isinstance(b, tuple) and len(ours) == len(theirs)
        return is_as_long and all(_alike(x, theirs[k]) for k, x in enumerate(ours))
    if callable(a) and callable(b):
        return _home_of(a) == _home_of(b)
    return a == b


def _home_of(code: Any) -> tuple[str | None, str | None]:
    return getattr(code, "__module__", None), getattr(code, "__qualname__", None)

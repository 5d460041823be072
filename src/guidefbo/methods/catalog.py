"""Method names, generated from strategies and rules."""

from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from guidefbo.core.errors import refuse_unknown

STRATEGIES = MappingProxyType(
    {
        "independent": "no federation: every agent works alone",
        "guide": "one component up, guidance down, wider uncertainty where it points",
    }
)
RULES = MappingProxyType(
    {
        "ts": "Thompson sampling on a continuous posterior path",
        "ucb": "upper confidence bound",
        "nei": "noisy expected improvement in log space",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A pair of a strategy and a rule."""

    strategy: str
    """Key of `STRATEGIES`."""
    rule: str
    """Key of `RULES`."""

    @property
    def name(self) -> str:
        """The rule's name alone where there is no federation."""
        if self.strategy == "independent":
            return self.rule
        return f"{self.strategy}-{self.rule}"

    @property
    def description(self) -> str:
        """One line for a listing."""
        return f"{RULES[self.rule]}; {STRATEGIES[self.strategy]}"


METHODS = MappingProxyType(
    {
        method.name: method
        for method in (
            Method(strategy=strategy, rule=rule)
            for strategy, rule in product(STRATEGIES, RULES)
        )
    }
)


def find_method(name: str) -> Method:
    """Return the method of that name, or name the nearest ones."""
    if not isinstance(name, str) or name not in METHODS:
        refuse_unknown("method", name, METHODS)
    return METHODS[name]

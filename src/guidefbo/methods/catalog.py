"""Method names, generated from strategies and rules."""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.core.errors import refuse_unknown

STRATEGIES = MappingProxyType(
    {
        "independent": "no federation: every agent works alone",
        "fts": "feature weights of one peer, followed at times instead of the own draw",
        "fts-de": "feature weights averaged per region of the box, followed at times",
        "fmtbo": "averaged hyperparameters of similar agents start a second model",
        "cgp": "a peer's design believed to beat the own best constrains the posterior",
        "guide": "one component up, guidance down, wider uncertainty where it points",
        "consensus": "the mean's peak up, a meta-analysis of the others' peaks down",
        "placebo": "the control: guidance in the middle of the box that nobody sent",
    }
)
RULES = MappingProxyType(
    {
        "ts": "Thompson sampling on a continuous posterior path",
        "ucb": "upper confidence bound",
        "nei": "noisy expected improvement in log space",
        "ei": "expected improvement over the best observation",
    }
)
THREE = ("ts", "ucb", "nei")
RULES_OF = MappingProxyType(
    {
        "independent": THREE,
        "fts": ("ts",),
        "fts-de": ("ts",),
        "fmtbo": ("ei",),
        "cgp": THREE,
        "guide": THREE,
        "consensus": THREE,
        "placebo": THREE,
    }
)
"""Rules that go with a strategy; where there is one, the strategy names the method."""


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
        if len(RULES_OF[self.strategy]) == 1:
            return self.strategy
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
            for strategy, rules in RULES_OF.items()
            for rule in rules
        )
    }
)


def find_method(name: str) -> Method:
    """Return the method of that name, or name the nearest ones."""
    if not isinstance(name, str) or name not in METHODS:
        refuse_unknown("method", name, METHODS)
    return METHODS[name]

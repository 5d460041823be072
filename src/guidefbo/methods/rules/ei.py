"""Expected improvement, for strategies that name it."""

from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.methods.record import Rule

RULE = Rule(
    name="ei",
    text="expected improvement over the best observation",
    settings=ExpectedImprovement,
    is_general=False,
    dash="dashdot",
)

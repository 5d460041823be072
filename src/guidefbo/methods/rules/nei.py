"""Noisy expected improvement."""

from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.methods.record import Rule

RULE = Rule(
    name="nei",
    text="noisy expected improvement in log space",
    settings=NoisyExpectedImprovement,
    dash="dashed",
    seconds=3.5,
)

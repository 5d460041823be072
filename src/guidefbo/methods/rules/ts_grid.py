"""Thompson sampling on a grid, as presumed behind the paper's tables."""

from guidefbo.agent.decision.ts import GridThompsonSampling
from guidefbo.methods.record import Rule

RULE = Rule(
    name="ts-grid",
    text="Thompson sampling on one joint draw at quasi-random points",
    settings=GridThompsonSampling,
    dash="dotted",
)

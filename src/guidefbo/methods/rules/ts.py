"""Thompson sampling."""

from guidefbo.agent.decision.ts import ThompsonSampling
from guidefbo.methods.record import Rule

RULE = Rule(
    name="ts",
    text="Thompson sampling on a continuous posterior path",
    settings=ThompsonSampling,
    dash="dotted",
    seconds=1.0,
)

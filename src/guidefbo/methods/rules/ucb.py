"""Upper confidence bound."""

from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.methods.record import Rule

RULE = Rule(name="ucb", text="upper confidence bound", settings=UpperConfidenceBound)

"""The control: guidance that nobody sent."""

from guidefbo.agent.strategies.placebo.settings import PlaceboSettings
from guidefbo.methods.record import Strategy

STRATEGY = Strategy(
    name="placebo",
    text="the control: guidance in the middle of the box that nobody sent",
    agent=PlaceboSettings,
    is_control=True,
    seconds=8.0,
    colour="purple",
)

"""Own trend: what an agent of the strategy shape does where it is alone.

Nothing is exchanged. Its own data decide whether it models a trend, and where it looks.
"""

from guidefbo.agent.strategies.shape.settings import TrendSettings
from guidefbo.methods.record import Strategy

STRATEGY = Strategy(
    name="trend",
    text="no federation: own trend or none by evidence, and the own place",
    agent=TrendSettings,
    seconds=8.5,
)

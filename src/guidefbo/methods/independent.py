"""No federation: every agent works alone."""

from guidefbo.agent.strategies.independent.settings import IndependentSettings
from guidefbo.methods.record import Strategy

STRATEGY = Strategy(
    name="independent",
    text="no federation: every agent works alone",
    agent=IndependentSettings,
    is_plain=True,
    paper_column="independent",
    paper_scalars=lambda agent, server, dim: (0, 0),
    seconds=4.5,
    colour="black",
)

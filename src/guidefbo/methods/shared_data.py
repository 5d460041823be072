"""Control strategy: all raw observations in one model, which no real site may use."""

from guidefbo.agent.strategies.shared_data.settings import SharedDataSettings
from guidefbo.methods.record import Strategy
from guidefbo.server.strategies.shared_data.settings import SharedDataServerSettings
from guidefbo.wire.shared_data import SharedObservations, SharedPacket

STRATEGY = Strategy(
    name="shared-data",
    text="the ceiling: all raw observations of all agents in one model",
    agent=SharedDataSettings,
    server=SharedDataServerSettings,
    messages=(SharedObservations, SharedPacket),
    is_ceiling=True,
    site_refusal="it sends every observation to all other sites, and only measures "
    "what that would bring",
    seconds=160.0,
    colour="brown",
)

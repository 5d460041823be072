"""Consensus: a meta-analysis of where the agents place their optima."""

from guidefbo.agent.strategies.consensus.liars import ConsensusLiarSettings
from guidefbo.agent.strategies.consensus.settings import ConsensusSettings
from guidefbo.methods.record import Strategy
from guidefbo.methods.words import component_place, component_words, optimum_words
from guidefbo.server.strategies.consensus.settings import ConsensusServerSettings
from guidefbo.wire.consensus import ConsensusPacket, PeakUpload

STRATEGY = Strategy(
    name="consensus",
    text="the mean's peak up, a meta-analysis of the others' peaks down",
    agent=ConsensusSettings,
    server=ConsensusServerSettings,
    messages=(PeakUpload, ConsensusPacket),
    words=(optimum_words, component_words),
    place=component_place,
    alone={"aim": "own"},
    liars=ConsensusLiarSettings,
    seconds=7.0,
    colour="grey",
)

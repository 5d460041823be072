"""GUIDE-FBO: uploads a Gaussian component of the optimum's distribution.

Packets widen the posterior uncertainty.
"""

from guidefbo.agent.strategies.guide.settings import GuideSettings
from guidefbo.methods.record import Strategy
from guidefbo.methods.words import component_place, component_words, optimum_words
from guidefbo.server.strategies.guide.settings import GuideServerSettings
from guidefbo.wire.guide import GuidancePacket, OptimumUpload

STRATEGY = Strategy(
    name="guide",
    text="one component up, guidance down, wider uncertainty where it points",
    agent=GuideSettings,
    server=GuideServerSettings,
    messages=(OptimumUpload, GuidancePacket),
    words=(optimum_words, component_words),
    place=component_place,
    paper_column="guide",
    paper_scalars=lambda agent, server, dim: (
        2 * dim + 2,
        server.packet_size * (2 * dim + 1),
    ),
    seconds=22.0,
    colour="red",
)

"""CGP: other agents' designs become constraints on the posterior.

They are the designs that should beat the receiver's best.
"""

from guidefbo.agent.strategies.cgp.settings import CgpSettings
from guidefbo.methods.record import Strategy
from guidefbo.server.strategies.cgp.settings import CgpServerSettings
from guidefbo.wire.cgp import DesignPacket, DesignUpload

PAPER_DESIGNS = 20
"""Designs the paper counts: the cap on models, which never leave an agent."""

STRATEGY = Strategy(
    name="cgp",
    text="a peer's design believed to beat the own best constrains the posterior",
    agent=CgpSettings,
    server=CgpServerSettings,
    messages=(DesignUpload, DesignPacket),
    site_refusal="it compares the values of one site with those of another, and sites "
    "need not share a scale",
    paper_column="cgp",
    paper_scalars=lambda agent, server, dim: (dim + 2, PAPER_DESIGNS * dim),
    seconds=9.5,
    colour="blue",
)

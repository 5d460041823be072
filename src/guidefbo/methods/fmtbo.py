"""FMTBO: averaged hyperparameters of similar agents start a second model."""

from guidefbo.agent.decision.repeats import ask_anywhere
from guidefbo.agent.strategies.fmtbo.settings import FmtboSettings
from guidefbo.methods.record import Strategy
from guidefbo.methods.words import model_words
from guidefbo.server.strategies.fmtbo.settings import FmtboServerSettings
from guidefbo.wire.fmtbo import ModelPacket, ModelUpload

PAPER_RANKS = 10
"""Ranks the paper counts, beside two hyperparameters."""

STRATEGY = Strategy(
    name="fmtbo",
    text="averaged hyperparameters of similar agents start a second model",
    agent=FmtboSettings,
    server=FmtboServerSettings,
    messages=(ModelUpload, ModelPacket),
    words=(model_words, model_words),
    rules=("ei",),
    on_repeat=ask_anywhere,
    paper_column="fmtbo",
    paper_scalars=lambda agent, server, dim: (2 + PAPER_RANKS, 2),
    seconds=11.0,
    colour="orange",
)

"""FMTBO as presumed behind the paper's tables."""

from dataclasses import replace

from guidefbo.agent.strategies.fmtbo.settings import FmtboAsRunSettings
from guidefbo.methods.fmtbo import STRATEGY as FMTBO
from guidefbo.server.strategies.fmtbo.as_run import FmtboAsRunServerSettings

STRATEGY = replace(
    FMTBO,
    name="fmtbo-as-run",
    text="FMTBO as run for the paper's tables: long fits, raw averages",
    agent=FmtboAsRunSettings,
    server=FmtboAsRunServerSettings,
    colour=None,
)

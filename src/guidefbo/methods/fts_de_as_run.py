"""FTS-DE as presumed behind the paper's tables."""

from dataclasses import replace

from guidefbo.agent.strategies.fts_de.design import own_regions_as_run
from guidefbo.agent.strategies.fts_de.settings import FtsDeAsRunSettings
from guidefbo.methods.fts_de import STRATEGY as FTS_DE
from guidefbo.server.strategies.fts_de.as_run import FtsDeAsRunServerSettings

STRATEGY = replace(
    FTS_DE,
    name="fts-de-as-run",
    text="FTS-DE as run for the paper's tables, with the defects of its search",
    agent=FtsDeAsRunSettings,
    server=FtsDeAsRunServerSettings,
    design=own_regions_as_run,
    rules=("ts-grid",),
    colour=None,
)

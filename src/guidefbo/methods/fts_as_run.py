"""FTS as presumed behind the paper's tables.

It sends the maximiser of a posterior draw instead of feature weights.
"""

from dataclasses import replace

from guidefbo.agent.strategies.fts.settings import FtsAsRunSettings
from guidefbo.methods.fts import STRATEGY as FTS
from guidefbo.server.strategies.fts.as_run import FtsAsRunServerSettings
from guidefbo.wire.fts import PeerPoint

PAPER_FEATURES = 500
"""Features the paper counts, though points were sent."""


def _paper_scalars(agent: object, server: object, dim: int) -> tuple[int, int]:
    del agent, server, dim
    return PAPER_FEATURES, PAPER_FEATURES


STRATEGY = replace(
    FTS,
    name="fts-as-run",
    text="FTS as run for the paper's tables: where a peer's draw peaks",
    agent=FtsAsRunSettings,
    server=FtsAsRunServerSettings,
    messages=(PeerPoint, PeerPoint),
    paper_scalars=_paper_scalars,
    rules=("ts-grid",),
    colour=None,
)

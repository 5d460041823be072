"""FTS-DE: federated Thompson sampling with distributed exploration."""

from guidefbo.agent.strategies.fts_de.design import own_regions
from guidefbo.agent.strategies.fts_de.settings import FtsDeSettings
from guidefbo.methods.record import Strategy
from guidefbo.methods.words import weight_words
from guidefbo.server.strategies.fts_de.settings import FtsDeServerSettings
from guidefbo.wire.fts import FeatureWeights, RegionWeights

STRATEGY = Strategy(
    name="fts-de",
    text="feature weights averaged per region of the box, followed at times",
    agent=FtsDeSettings,
    server=FtsDeServerSettings,
    messages=(FeatureWeights, RegionWeights),
    words=(weight_words, weight_words),
    rules=("ts",),
    design=own_regions,
    paper_column="fts-de",
    paper_scalars=lambda agent, server, dim: (
        agent.num_regions * agent.num_shared,
        agent.num_regions * agent.num_shared,
    ),
    seconds=10.0,
    colour="sky",
)

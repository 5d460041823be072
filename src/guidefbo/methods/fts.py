"""FTS: federated Thompson sampling by shared features."""

from guidefbo.agent.decision.repeats import ask_anywhere
from guidefbo.agent.strategies.fts.settings import FtsSettings
from guidefbo.methods.record import Strategy
from guidefbo.methods.words import weight_words
from guidefbo.server.strategies.fts.settings import FtsServerSettings
from guidefbo.wire.fts import FeatureWeights

STRATEGY = Strategy(
    name="fts",
    text="feature weights of one peer, followed at times instead of the own draw",
    agent=FtsSettings,
    server=FtsServerSettings,
    messages=(FeatureWeights, FeatureWeights),
    words=(weight_words, weight_words),
    rules=("ts",),
    on_repeat=ask_anywhere,
    paper_column="fts",
    paper_scalars=lambda agent, server, dim: (agent.num_shared, agent.num_shared),
    seconds=7.5,
    colour="green",
)

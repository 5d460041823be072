"""FTS's server: hand every agent the message of one other agent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.wire.fts import FeatureWeights, same_features

Sources = Callable[[int, np.random.Generator], NDArray[np.intp]]
"""(num_agents, stream) -> (num_agents,) whose message each agent gets."""


def any_other(num_agents: int, stream: np.random.Generator) -> NDArray[np.intp]:
    """Draw a source uniformly among the other agents; one alone gets its own."""
    if num_agents == 1:
        return np.zeros(1, dtype=np.intp)
    m = stream.integers(0, num_agents - 1, size=num_agents)
    return m + (m >= np.arange(num_agents))  # E48


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsServer:
    """Relays the weights of one agent to another."""

    upload_type: ClassVar[type[FeatureWeights]] = FeatureWeights
    packet_type: ClassVar[type[FeatureWeights]] = FeatureWeights

    sources: Sources = any_other
    """Whose weights an agent gets."""

    def aggregate(
        self,
        uploads: Mapping[int, FeatureWeights],
        t: int,
        stream: np.random.Generator,
    ) -> dict[int, FeatureWeights]:
        """Return a packet for every agent that uploaded."""
        del t
        if not uploads:
            return {}
        agents = sorted(uploads)
        for agent in agents:
            expected = uploads[agents[0]].num_features
            same_features(uploads[agent].num_features, expected, "Every upload")
        chosen = self.sources(len(agents), stream)
        return {n: uploads[agents[m]] for n, m in zip(agents, chosen, strict=True)}

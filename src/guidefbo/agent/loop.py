"""An agent: the one stateful object of the private side.

A round is: fit, upload, receive, ask, evaluate outside, tell. The agent works on the
unit cube and maximises; nothing it holds leaves it but its uploads.
"""

from typing import Any

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.rule import Rule
from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.side import AgentSide
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.arrays import Point
from guidefbo.core.streams import Address, Purpose, Streams
from guidefbo.wire.envelope import Message


class Agent:
    """One site's optimiser: private data in, one small message out, queries back."""

    def __init__(
        self,
        *,
        agent_id: int,
        data: Dataset,
        model: Model,
        side: AgentSide,
        rule: Rule,
        search: SearchSettings,
        streams: Streams,
        t: int = 1,
    ) -> None:
        """Create an agent from its first observations.

        Args:
            agent_id: Zero-based id within the run.
            data: Initial observations.
            model: How the objective is modelled.
            side: The agent's half of the federation strategy.
            rule: The decision rule.
            search: Effort of the search for the next query.
            streams: Randomness of the run.
            t: The round to begin with.
        """
        self._agent_id = agent_id
        self._data = data
        self._model = model
        self._side = side
        self._rule = rule
        self._search = search
        self._streams = streams
        self._t = t
        self._packet: Any = None
        self._fitted: tuple[GaussianProcess, Dataset] | None = None

    @property
    def data(self) -> Dataset:
        """The observations, for the agent's owner only."""
        return self._data

    @property
    def t(self) -> int:
        """The current round, from 1."""
        return self._t

    @property
    def posterior(self) -> GaussianProcess:
        """The local posterior before this round's query."""
        return self.fit()[0]

    def fit(self) -> tuple[GaussianProcess, Dataset]:
        """Return the posterior and the data in its units, fitted once per round."""
        if self._fitted is None:
            data, scale = self._model.prepare(self._data)
            self._fitted = self._model.fit(data, scale), data
        return self._fitted

    def upload(self) -> Message | None:
        """Return this round's message, or None where the strategy stays silent."""
        posterior, data = self.fit()
        return self._side.upload(posterior, data, self._address)

    def receive(self, packet: Any) -> None:
        """Take the server's answer for this round."""
        self._packet = packet

    def ask(self) -> Point:
        """Return the next query."""
        local, _ = self.fit()
        posterior = self._side.decision_posterior(local, self._packet, self._t)
        acquisition = self._rule.acquisition(posterior, self._address.at(Purpose.RULE))
        return maximise_acquisition(
            acquisition, local.dim, self._search, self._address.at(Purpose.SEARCH)
        )

    def tell(self, x: Point, y: float) -> None:
        """Add the round's observation; the next round begins."""
        self._data = self._data.append(x[None], np.array([y]))
        self._fitted = None
        self._packet = None
        self._t += 1

    @property
    def _address(self) -> Address:
        return self._streams.of(self._agent_id, self._t)

"""The agent of a simulated run, in synchronous rounds on the unit cube.

A round is: fit, upload, receive, ask, evaluate outside, tell; a round without an
exchange leaves out upload and receive. Uploads are all that leaves the agent. It holds
the state of the round: data, fit, packet. The agent of a real site is `guidefbo.Agent`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.policy import Policy
from guidefbo.agent.record import Forecasts, record_of
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.model import Fitted
from guidefbo.core.arrays import Point
from guidefbo.core.streams import Address, Streams
from guidefbo.wire.envelope import Message


class RoundAgent:
    """One site's optimiser in a simulated federation."""

    def __init__(
        self,
        *,
        agent_id: int,
        data: Dataset,
        policy: Policy,
        streams: Streams,
        t: int = 1,
    ) -> None:
        """Create an agent from its first observations.

        Args:
            agent_id: Zero-based id within the run.
            data: Initial observations.
            policy: What it does with them.
            streams: Randomness of the run.
            t: The round to begin with.
        """
        self._agent_id = agent_id
        self._data = data
        self._policy = policy
        self._streams = streams
        self._t = t
        self._packet: Any = None
        self._is_fresh = False
        self._fitted: Fitted | None = None
        self._insight: Any = None
        self._judgement: Mapping[str, float] = {}
        self._forecasts: Forecasts | None = None
        self._scores: list[float] = []

    @property
    def data(self) -> Dataset:
        """The observations, for the agent's owner only."""
        return self._data

    @property
    def t(self) -> int:
        """The current round, from 1."""
        return self._t

    @property
    def judgement(self) -> Mapping[str, float]:
        """How likely each model was for the last query, by name; perhaps none."""
        return self._judgement

    @property
    def posterior(self) -> GaussianProcess:
        """The local posterior before this round's query."""
        return self.fit().posterior

    def fit(self) -> Fitted:
        """Return the posterior and the data in its units, fitted once per round."""
        if self._fitted is None:
            self._fitted = self._policy.fit(self._data)
        return self._fitted

    def choice(self) -> int:
        """Return the evaluation of highest posterior mean, the first of equals."""
        gp = self.fit().posterior
        return int(np.argmax(gp.predict_mean(gp.X)))

    def upload(self) -> Message | None:
        """Return this round's message, or None where the strategy stays silent.

        A new exchange begins: what the last one brought goes into the message, where
        the strategy has a use for it, and into no further decision.
        """
        self._is_fresh = False
        return self._policy.upload(
            self.fit(), self._study(), self._packet, self._address
        )

    def receive(self, packet: Any) -> None:
        """Take the server's answer; one that does not fit is refused.

        It is decided on until the next exchange begins.
        """
        if packet is not None:
            self._policy.check(packet)
        self._packet, self._is_fresh = packet, True

    def ask(self) -> Point:
        """Return the next query."""
        packet = self._packet if self._is_fresh else None
        aimed = self._policy.aim(self._study, packet, record=record_of(self._scores))
        self._judgement = self._policy.judgement(aimed)
        x = self._policy.decide(self.fit(), aimed, self._t, self._address)
        assert x is not None  # nothing is forbidden where nothing is missing
        self._forecasts = self._policy.forecasts(self.fit(), aimed, x)
        return x

    def tell(self, x: Point, y: float) -> None:
        """Add the round's observation; the next round begins."""
        self._data = self._data.append(x[None], np.array([y]))
        if self._forecasts is not None:
            self._scores.append(self._forecasts.score(float(y)))
            self._forecasts = None
        self._fitted = self._insight = None
        self._t += 1

    def _study(self) -> Any:
        """Return the strategy's insight into the fit, computed once per round."""
        if self._insight is None:
            self._insight = self._policy.study(self.fit())
        return self._insight

    @property
    def _address(self) -> Address:
        return self._streams.of(self._agent_id, self._t)

"""Synchronous rounds in one process; every message travels as bytes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Streams
from guidefbo.methods.record import Liars
from guidefbo.metrics.communication import Traffic
from guidefbo.metrics.timing import StageClock
from guidefbo.server.exchange import exchange
from guidefbo.server.side import ServerSide
from guidefbo.wire.codec import read
from guidefbo.wire.envelope import Envelope, Message, PacketHead, Terms, UploadHead

STAGES = ("fit", "belief", "server", "decide", "evaluate")

Evaluate = Callable[[Points, int], Values]
"""(one query of every agent, round) -> observed values."""


class SimulatedAgent(Protocol):
    """One site in a simulated federation."""

    @property
    def data(self) -> Dataset:
        """Its observations."""
        ...

    @property
    def judgement(self) -> Mapping[str, float]:
        """How likely each model was for its last query, by name; perhaps none."""
        ...

    def fit(self) -> Any:
        """Fit the model of this round, where there is one."""
        ...

    def choice(self) -> int:
        """Return which of its evaluations it takes for the best."""
        ...

    def upload(self) -> Message | None:
        """Return this round's message, or None to stay silent."""
        ...

    def receive(self, packet: Any) -> None:
        """Take the server's answer; it counts until the next exchange."""
        ...

    def ask(self) -> Point:
        """Return the next query."""
        ...

    def tell(self, x: Point, y: float) -> None:
        """Add the round's observation; the next round begins."""
        ...


class Federation:
    """Agents and a server that meet in every round, or in every few."""

    def __init__(
        self,
        agents: Sequence[SimulatedAgent],
        server: ServerSide | None,
        terms: Terms,
        streams: Streams,
        liars: Liars | None = None,
        every: int = 1,
    ) -> None:
        """Bring agents together.

        Args:
            agents: One a task.
            server: The strategy's shared half, None where nothing is exchanged.
            terms: What the messages are of.
            streams: Randomness of the run.
            liars: The agents that lie, if any.
            every: Rounds from one exchange to the next, the first in round 1.
        """
        self.agents = agents
        self.traffic = Traffic()
        self.clock = StageClock(*STAGES)
        self._server = server
        self._terms = terms
        self._streams = streams
        self._liars = liars
        self._every = every

    def round(self, t: int, evaluate: Evaluate) -> Points:
        """Run round t of Algorithm 1 and return the queries, (num_agents, d)."""
        with self.clock.stage("fit"):
            for agent in self.agents:
                agent.fit()
        if self._server is not None and (t - 1) % self._every == 0:
            self._exchange(self._server, t)
        with self.clock.stage("decide"):
            queries = np.stack([agent.ask() for agent in self.agents])
        with self.clock.stage("evaluate"):
            for agent, x, y in zip(
                self.agents, queries, evaluate(queries, t), strict=True
            ):
                agent.tell(x, float(y))
        return queries

    def choices(self) -> list[int]:
        """Return which of its evaluations each agent takes for the best."""
        with self.clock.stage("fit"):
            return [agent.choice() for agent in self.agents]

    def judgements(self) -> list[Mapping[str, float]]:
        """Return how likely each agent's models were for its last query, by name."""
        return [agent.judgement for agent in self.agents]

    def _exchange(self, server: ServerSide, t: int) -> None:
        with self.clock.stage("belief"):
            uploads = [agent.upload() for agent in self.agents]
        if self._liars is not None:
            uploads = self._liars.spoil(uploads, t)
        with self.clock.stage("server"):
            sent = {
                site_name(n): self._encode(n, upload, t)
                for n, upload in enumerate(uploads)
                if upload is not None
            }
            answer = exchange(
                server,
                sent,
                t=t,
                seed=self._streams.seed,
                terms=self._terms,
                is_run=True,
            )
            if answer.left_out:
                raise WireError(
                    "A simulated agent sent what its own server refuses: "
                    f"{dict(answer.left_out)}."
                )
            for name, data in answer.packets.items():
                packet = read(data, server.packet_type, PacketHead)
                self.agents[int(name)].receive(packet.body)
        for data in sent.values():
            self.traffic.count_up(data)
        for data in answer.packets.values():
            self.traffic.count_down(data)

    def _encode(self, n: int, upload: Message, t: int) -> bytes:
        head = UploadHead(terms=self._terms, site=site_name(n), sequence=t)
        return Envelope(head=head, body=upload).to_bytes()


def site_name(n: int) -> str:
    """Return the name of agent n; names sort as agents do.

    >>> site_name(7)
    '00007'
    """
    return f"{n:05d}"

"""Synchronous rounds in one process; every message passes through the codec."""

from collections.abc import Callable, Sequence

import numpy as np

from guidefbo.agent.loop import RoundAgent
from guidefbo.core.arrays import Points
from guidefbo.core.streams import Purpose, Streams
from guidefbo.metrics.communication import Traffic
from guidefbo.metrics.timing import StageClock
from guidefbo.server.side import ServerSide
from guidefbo.simulation.liars import Liars
from guidefbo.wire.codec import decode, encode

STAGES = ("fit", "belief", "server", "decide", "evaluate")

Evaluate = Callable[[int, Points, int], float]
"""(agent id, one query as a (1, d) array, round) -> observed value."""


class Federation:
    """Agents and a server that meet once per round."""

    def __init__(
        self,
        agents: Sequence[RoundAgent],
        server: ServerSide | None,
        streams: Streams,
        liars: Liars | None = None,
    ) -> None:
        """Bring agents together; `server` is None where nothing is exchanged."""
        self.agents = agents
        self.traffic = Traffic()
        self.clock = StageClock(*STAGES)
        self._server = server
        self._streams = streams
        self._liars = liars

    def round(self, t: int, evaluate: Evaluate) -> Points:
        """Run round t of Algorithm 1 and return the queries, (num_agents, d)."""
        with self.clock.stage("fit"):
            for agent in self.agents:
                agent.fit()
        if self._server is not None:
            self._exchange(self._server, t)
        with self.clock.stage("decide"):
            queries = np.stack([agent.ask() for agent in self.agents])
        with self.clock.stage("evaluate"):
            for n, agent in enumerate(self.agents):
                agent.tell(queries[n], evaluate(n, queries[n : n + 1], t))
        return queries

    def _exchange(self, server: ServerSide, t: int) -> None:
        with self.clock.stage("belief"):
            uploads = [agent.upload() for agent in self.agents]
        if self._liars is not None:
            uploads = self._liars.spoil(uploads, t)
        with self.clock.stage("server"):
            sent = {n: encode(m) for n, m in enumerate(uploads) if m is not None}
            received = {n: decode(data, server.upload_type) for n, data in sent.items()}
            stream = self._streams.at(Purpose.DISPATCH, t=t)
            answers = server.aggregate(received, t, stream)
            packets = {n: encode(packet) for n, packet in answers.items()}
            for n, data in packets.items():
                self.agents[n].receive(decode(data, server.packet_type))
        for data in sent.values():
            self.traffic.count_up(data)
        for data in packets.values():
            self.traffic.count_down(data)

"""The contract of a strategy's shared half."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from guidefbo.wire.envelope import Message


class ServerSide(Protocol):
    """A pure function of the newest upload of every agent."""

    upload_type: type[Message]
    """What agents send."""
    packet_type: type[Message]
    """What agents get back."""

    def aggregate(
        self, uploads: Mapping[int, Any], t: int, stream: np.random.Generator
    ) -> Mapping[int, Any]:
        """Return a packet for every agent that uploaded.

        The result depends on the uploads as a set keyed by agent, not on their order.

        Args:
            uploads: Newest upload by agent id.
            t: Round, from 1.
            stream: The server's randomness in this round.
        """
        ...

"""The interface of a federation strategy on the server's side."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np


class ServerSide(Protocol):
    """A pure function of the newest upload of every agent."""

    upload_type: ClassVar[type[Any]]
    """What agents send: a message type."""
    packet_type: ClassVar[type[Any]]
    """What agents get back: a message type."""

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

"""CGP's server: random groups, in which agents receive each other's best designs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.domain import Domain
from guidefbo.server.side import Draws
from guidefbo.wire.cgp import MAX_DESIGNS, DesignPacket, DesignUpload
from guidefbo.wire.entries import same_dimension

MARGIN = 1e-4
"""τ: by how much a lower bound must exceed the receiver's best mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgpServer:
    """Sends designs of the group whose lower bound exceeds the receiver's best mean."""

    upload_type: ClassVar[type[DesignUpload]] = DesignUpload
    packet_type: ClassVar[type[DesignPacket]] = DesignPacket

    group_size: int
    """Most agents in a group."""

    def form(self, upload: DesignUpload) -> tuple[str, int]:
        """Return the dimension."""
        return "dimension", upload.dim

    def max_numbers(self, domain: Domain) -> int:
        """Return the numbers of an upload: a design and two levels."""
        return 2 + domain.dim

    def check(self, upload: DesignUpload, domain: Domain) -> None:
        """Refuse an upload of another dimension."""
        same_dimension(upload.dim, domain.dim, "An upload")

    def aggregate(
        self, uploads: Mapping[str, DesignUpload], t: int, draws: Draws
    ) -> dict[str, DesignPacket]:
        """Return a packet for every agent that uploaded."""
        del t
        if not uploads:
            return {}
        agents = sorted(uploads)
        ordered = [uploads[agent] for agent in agents]
        designs = np.clip(np.stack([u.design for u in ordered]), 0.0, 1.0)
        bounds = np.array([u.lower_bound for u in ordered], dtype=np.float64)
        best = np.array([u.best_mean for u in ordered], dtype=np.float64)
        groups = deal(len(agents), self.group_size, draws.shared())
        is_sent = bounds > best[:, None] + MARGIN  # E57
        is_sent &= groups == groups[:, None]
        np.fill_diagonal(is_sent, False)
        return {
            agent: DesignPacket(designs=designs[surest(is_sent[n], bounds)])
            for n, agent in enumerate(agents)
        }


def deal(
    num_agents: int, group_size: int, stream: np.random.Generator
) -> NDArray[np.intp]:
    """Return every agent's group: as few as can be, filled evenly, at random."""
    num_groups = -(-num_agents // group_size)
    return stream.permutation(np.arange(num_agents) % num_groups)


def surest(is_sent: NDArray[np.bool_], bounds: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the senders in order of their ids, those of highest bound if too many."""
    (senders,) = np.nonzero(is_sent)
    highest = np.argsort(-bounds[senders], kind="stable")[:MAX_DESIGNS]
    return np.sort(senders[highest])

"""A server that sends false packets, for simulated runs that ask what they can cost.

It is wrapped around the true server and replaces every packet. A site that compares the
packet with its own data should lose little; the attacks differ in how hard that
comparison is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.settings import part
from guidefbo.server.side import Draws, ServerSide
from guidefbo.wire.shape import LARGEST, SHARPEST, WIDEST, ShapePacket, ShapeUpload

Numbers = NDArray[np.float64]
NOBODY = "none"
"""What the setting says where the server is true."""
VAGUE = 1.0
"""Variance of a coefficient under a site's own vague prior, the rival of a packet."""
SHARE = 0.5
"""Share of the room that evidence leaves which the adaptive attack uses."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What a hostile server knows when it makes the packet of one site."""

    means: Numbers
    """(p,) what the true packet says."""
    variances: Numbers
    own_means: Numbers
    """(p,) what the site itself has sent."""
    own_variances: Numbers
    blocks: list[slice]
    """Which coefficients belong together."""


Attack = Callable[[Known, np.random.Generator], tuple[Numbers, Numbers]]
"""(what is known, randomness) -> false coefficients and variances."""


def random(known: Known, stream: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return coefficients drawn anew, as large as the true ones of their block."""
    sizes = np.concatenate(
        [
            np.full(block.stop - block.start, np.sqrt(np.mean(known.means[block] ** 2)))
            for block in known.blocks
        ]
    )
    return sizes * stream.standard_normal(len(sizes)), known.variances


def flipped(known: Known, stream: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return the true coefficients with their signs reversed."""
    del stream
    return -known.means, known.variances


def sharp(known: Known, stream: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return the true coefficients, as if all sites had the very same ones."""
    del stream
    return known.means, np.full(len(known.means), SHARPEST)


def adaptive(known: Known, stream: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return the worst coefficients that the site's own data do not contradict.

    The site estimates a coefficient as b with variance v. A packet that claims θ with
    certainty has there the evidence log N(b; θ, v), the site's own vague trend
    log N(b; 0, v + S). They are equal at (b - θ)² / v = log(1 + S / v) + b² / (v + S),
    which is the room that a lie has. The attack moves θ from b against its sign and
    uses half of that square, so that it is believed more than the site's own trend.
    """
    del stream
    b, v = known.own_means, known.own_variances
    room = np.log1p(VAGUE / v) + b**2 / (v + VAGUE)
    shift = np.sqrt(SHARE * room * v)
    return np.where(b < 0.0, b + shift, b - shift), np.full(len(b), SHARPEST)


ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {"random": random, "reversed": flipped, "sharp": sharp, "adaptive": adaptive}
)
"""By the name that the setting `hostile` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileServer:
    """Sends every site a false packet."""

    upload_type: ClassVar[type[ShapeUpload]] = ShapeUpload
    packet_type: ClassVar[type[ShapePacket]] = ShapePacket

    true: ServerSide
    """The server that it stands in for."""
    attack: Attack
    """What becomes of a packet."""

    def form(self, upload: ShapeUpload) -> object:
        """Return what all uploads must have in common."""
        return self.true.form(upload)

    def aggregate(
        self, uploads: Mapping[str, ShapeUpload], t: int, draws: Draws
    ) -> dict[str, ShapePacket]:
        """Return a false packet for every site that would get a packet."""
        packets = self.true.aggregate(uploads, t, draws)
        return {
            site: self._false(packet, uploads[site], draws.of(site))
            if len(packet)
            else packet
            for site, packet in packets.items()
        }

    def _false(
        self, packet: ShapePacket, upload: ShapeUpload, stream: np.random.Generator
    ) -> ShapePacket:
        ends = [0, *accumulate(packet.sizes)]
        known = Known(
            means=np.concatenate(packet.means),
            variances=np.concatenate(packet.variances),
            own_means=np.concatenate(upload.means),
            own_variances=np.concatenate(upload.variances),
            blocks=[slice(*pair) for pair in pairwise(ends)],
        )
        means, variances = self.attack(known, stream)
        return ShapePacket(
            means=tuple(np.split(np.clip(means, -LARGEST, LARGEST), ends[1:-1])),
            variances=tuple(np.split(np.clip(variances, SHARPEST, WIDEST), ends[1:-1])),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeHostileSettings:
    """Settings of simulated runs in which all packets are false."""

    hostile: str = part(
        NOBODY, "simulation: what the server sends instead", (NOBODY, *ATTACKS)
    )

    def build(self, server: ServerSide) -> ServerSide:
        """Return the server of the run, the true one where it is not hostile."""
        if self.hostile == NOBODY:
            return server
        return HostileServer(true=server, attack=ATTACKS[self.hostile])

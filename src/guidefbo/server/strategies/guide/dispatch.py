"""Which components each site receives."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Values
from guidefbo.server.side import Draws

Dispatch = Callable[[Values, Sequence[str], int, Draws], NDArray[np.intp]]
"""(log weights, sites, packet_size, draws) -> (sites, P) indices."""


def agent_specific(
    log_weights: Values, sites: Sequence[str], packet_size: int, draws: Draws
) -> NDArray[np.intp]:
    """Draw a packet for every site by itself, by the global weights."""
    size = min(packet_size, len(log_weights))
    chosen = np.empty((len(sites), size), dtype=np.intp)
    for row, site in zip(chosen, sites, strict=True):
        row[:] = draw_packet(log_weights, size, draws.of(site))
    return chosen


def broadcast(
    log_weights: Values, sites: Sequence[str], packet_size: int, draws: Draws
) -> NDArray[np.intp]:
    """Draw one packet and send it to everybody: the ablation."""
    size = min(packet_size, len(log_weights))
    packet = draw_packet(log_weights, size, draws.shared())
    return np.tile(packet, (len(sites), 1))


def draw_packet(
    log_weights: Values, size: int, stream: np.random.Generator
) -> NDArray[np.intp]:
    """Draw components without replacement, by their weights, the first one first.

    The largest keys log weight + Gumbel noise are a weighted draw without replacement,
    for weights of any smallness.
    """
    keys = log_weights + stream.gumbel(size=len(log_weights))
    top = np.argpartition(-keys, size - 1)[:size]
    return top[np.argsort(-keys[top])]  # E29


DISPATCHES = {"agent-specific": agent_specific, "broadcast": broadcast}

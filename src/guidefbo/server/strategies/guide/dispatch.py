"""Which components each agent receives."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Values

Dispatch = Callable[[Values, int, int, np.random.Generator], NDArray[np.intp]]
"""(log weights, num_agents, packet_size, stream) -> (num_agents, P) indices."""

BLOCK = 1 << 22
"""Most Gumbel keys held at once."""


def agent_specific(
    log_weights: Values,
    num_agents: int,
    packet_size: int,
    stream: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw a packet for every agent, without replacement, by the global weights.

    The largest keys log weight + Gumbel noise are a weighted draw without replacement,
    for weights of any smallness.
    """
    L = len(log_weights)
    size = min(packet_size, L)
    chosen = np.empty((num_agents, size), dtype=np.intp)
    step = max(1, BLOCK // L)
    for first in range(0, num_agents, step):
        rows = chosen[first : first + step]
        keys = log_weights + stream.gumbel(size=(len(rows), L))
        top = np.argpartition(-keys, size - 1, axis=1)[:, :size]
        order = np.argsort(-np.take_along_axis(keys, top, axis=1), axis=1)
        rows[:] = np.take_along_axis(top, order, axis=1)  # E29
    return chosen


def broadcast(
    log_weights: Values,
    num_agents: int,
    packet_size: int,
    stream: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw one packet and send it to everybody: the ablation."""
    packet = agent_specific(log_weights, 1, packet_size, stream)
    return np.repeat(packet, num_agents, axis=0)

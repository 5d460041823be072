"""FTS-DE's initial design: every agent begins in its own region of the box."""

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import require_count
from guidefbo.core.streams import Purpose, Streams
from guidefbo.wire.regions import Order, assign_regions, lexicographic, region_boxes


def regional_design(
    num_agents: int,
    num_points: int,
    dim: int,
    num_regions: int,
    streams: Streams,
    order: Order = lexicographic,
) -> NDArray[np.float64]:
    """Return one initial design per agent, uniform inside the agent's own region.

    Args:
        num_agents: Number of agents that share the regions.
        num_points: Points of each agent.
        dim: Number of coordinates.
        num_regions: Regions of the cube: 1, 2 or 4.
        streams: Randomness of the run.
        order: Which region is which.
    """
    for name, count in (("num_agents", num_agents), ("num_points", num_points)):
        require_count(name, count, 1)
    low, high = region_boxes(num_regions, dim, order)
    own = assign_regions(num_agents, num_regions)
    design = np.empty((num_agents, num_points, dim))
    for n, i in enumerate(own):
        u = streams.at(Purpose.DESIGN_JITTER, agent=n).random((num_points, dim))
        design[n] = low[i] + u * (high[i] - low[i])
    return design

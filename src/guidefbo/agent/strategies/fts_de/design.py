"""FTS-DE's initial design: every agent begins in its own region of the box."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.checks import require_count
from guidefbo.core.streams import Purpose, Streams
from guidefbo.wire.regions import (
    Order,
    as_run,
    assign_regions,
    lexicographic,
    region_boxes,
)


class HasRegions(Protocol):
    """Settings that say how many regions there are."""

    num_regions: int


def own_regions(
    settings: HasRegions, size: tuple[int, int, int], streams: Streams
) -> NDArray[np.float64]:
    """Return the design of a run, (agents, points, dim)."""
    return regional_design(*size, settings.num_regions, streams)


def own_regions_as_run(
    settings: HasRegions, size: tuple[int, int, int], streams: Streams
) -> NDArray[np.float64]:
    """Return the design behind the paper's tables: regions in another order."""
    return regional_design(*size, settings.num_regions, streams, as_run)


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

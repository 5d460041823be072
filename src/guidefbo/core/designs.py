"""Space-filling designs on the unit cube.

References:
    Chen, Jiang, Qin and Al Kontar, Multi-agent collaborative Bayesian optimization via
    constrained Gaussian processes, Technometrics 2025: the collaborative Latin
    hypercube.
    Sobol, 1967: the sequence.
    L'Ecuyer and Lemieux, 2002: the random digital shift.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points
from guidefbo.core.errors import SettingsError
from guidefbo.core.sobol_words import BITS, sobol_words
from guidefbo.core.streams import Purpose, Streams


def collaborative_latin_hypercube(
    num_agents: int,
    num_points: int,
    dim: int,
    cells_stream: np.random.Generator,
    jitter_streams: Sequence[np.random.Generator],
) -> NDArray[np.float64]:
    """Return one initial design per agent, as (num_agents, num_points, dim).

    In every dimension the pooled points fill num_agents * num_points equal cells once
    each, and each agent's own points fill num_points equal cells once each.

    Args:
        num_agents: Number of agents sharing the design.
        num_points: Points of each agent.
        dim: Number of coordinates.
        cells_stream: Deals the cells; shared by the federation.
        jitter_streams: One stream per agent, placing its points inside their cells.
    """
    _require_positive(num_agents=num_agents, num_points=num_points, dim=dim)
    if len(jitter_streams) != num_agents:
        raise SettingsError(
            f"jitter_streams must hold one stream per agent, got "
            f"{len(jitter_streams)} for {num_agents} agents. "
            "Give every agent a stream of its own."
        )
    # Positions in a coarse stratum of num_agents cells: a fresh deal per dimension.
    seats = np.tile(np.arange(num_agents), (dim, 1))
    seats = cells_stream.permuted(seats, axis=1).T[:, np.newaxis, :]
    strata = np.tile(np.arange(num_points), (num_agents, dim, 1))
    strata = cells_stream.permuted(strata, axis=2).transpose(0, 2, 1)
    cells = strata * num_agents + seats
    jitter = np.stack([stream.random((num_points, dim)) for stream in jitter_streams])
    return (cells + jitter) / (num_agents * num_points)


def interlocking_design(
    settings: object, size: tuple[int, int, int], streams: Streams
) -> NDArray[np.float64]:
    """Return the collaborative design of a run, (agents, points, dim).

    Args:
        settings: Settings of the strategy, which this design does not read.
        size: Agents, points of each, coordinates.
        streams: Randomness of the run.
    """
    del settings
    jitter = [streams.at(Purpose.DESIGN_JITTER, agent=n) for n in range(size[0])]
    return collaborative_latin_hypercube(
        *size, streams.at(Purpose.DESIGN_CELLS), jitter
    )


def sobol(num_points: int, dim: int, stream: np.random.Generator) -> Points:
    """Return scrambled Sobol points, strictly inside the unit cube.

    The scrambling is a random digital shift: one random binary word per coordinate,
    combined by exclusive or with every point. Each point is then uniform on the cube
    and the set keeps its equidistribution. Owen's nested scrambling would need a new
    SciPy engine per call, which is far slower.
    """
    words = _sobol_words(num_points, dim)
    shift = stream.integers(0, 1 << BITS, size=dim)
    # Half a step keeps the points off the faces of the cube.
    return ((words ^ shift) + 0.5) / (1 << BITS)


@lru_cache(maxsize=64)
def sobol_grid(num_points: int, dim: int) -> Points:
    """Return the first Sobol points, unscrambled, cached and read-only.

    The first point is the origin.
    """
    grid = _sobol_words(num_points, dim) / float(1 << BITS)
    grid.setflags(write=False)
    return grid


@lru_cache(maxsize=64)
def _sobol_words(num_points: int, dim: int) -> NDArray[np.int64]:
    """Return the unscrambled points as integers below 2**30."""
    _require_positive(num_points=num_points, dim=dim)
    words = sobol_words(num_points, dim)
    words.setflags(write=False)
    return words


def _require_positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise SettingsError(
                f"{name} must be at least 1, got {count}. Ask for one or more."
            )

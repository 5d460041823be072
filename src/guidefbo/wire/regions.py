"""Regions of the unit cube for FTS-DE: halves of its first coordinates.

One region is the whole cube, two are the halves of the first coordinate, four are the
quarters of the first two. In the usual order, region i holds the points whose halves,
lower 0 and upper 1, are the binary digits of i, first coordinate first.

References:
    Dai, Low and Jaillet, Differentially private federated Bayesian optimization with
    distributed exploration, NeurIPS 2021.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.arrays import Points
from guidefbo.core.errors import SettingsError

REGION_COUNTS = (1, 2, 4)
"""How many regions there may be."""


Order = Callable[[int], NDArray[np.intp]]
"""num_regions -> the region's number in the usual order, one for each region."""
QUARTERS_AS_RUN = (0b11, 0b00, 0b01, 0b10)
"""Both upper, both lower, lower and upper, upper and lower half."""


class Boxes(NamedTuple):
    """Corners of the regions, one row each."""

    low: Points
    high: Points


def lexicographic(num_regions: int) -> NDArray[np.intp]:
    """Return the usual order."""
    return np.arange(num_regions)


def as_run(num_regions: int) -> NDArray[np.intp]:
    """Return the order behind the paper's tables, which knows four regions only."""
    if num_regions != len(QUARTERS_AS_RUN):
        return lexicographic(num_regions)
    return np.array(QUARTERS_AS_RUN, dtype=np.intp)


def check_regions(num_regions: int, dim: int | None = None) -> int:
    """Return the number of split coordinates, or refuse the number of regions.

    Args:
        num_regions: Regions of the cube.
        dim: Coordinates of the cube, None where they are not known.
    """
    if num_regions not in REGION_COUNTS:
        raise SettingsError(
            f"num_regions must be 1, 2 or 4, got {num_regions}. Regions are halves of "
            "the first coordinates."
        )
    num_split = num_regions.bit_length() - 1
    if dim is not None and num_split > dim:
        raise SettingsError(
            f"num_regions must be at most {2**dim} with {dim} coordinate, got "
            f"{num_regions}. Set num_regions={2**dim}."
        )
    return num_split


def region_boxes(num_regions: int, dim: int, order: Order = lexicographic) -> Boxes:
    """Return the corners of the regions, (num_regions, dim) each."""
    num_split = check_regions(num_regions, dim)
    low, high = np.zeros((num_regions, dim)), np.ones((num_regions, dim))
    for j in range(num_split):
        is_upper = order(num_regions) >> (num_split - 1 - j) & 1
        low[:, j], high[:, j] = 0.5 * is_upper, 0.5 + 0.5 * is_upper
    return Boxes(low, high)


def region_of(
    X: Points, num_regions: int, order: Order = lexicographic
) -> NDArray[np.intp]:
    """Return the region of each row of X; the upper half owns the middle."""
    num_split = check_regions(num_regions, X.shape[1])
    digits = (X[:, :num_split] >= 0.5).astype(np.intp)
    usual = digits @ (1 << np.arange(num_split, dtype=np.intp)[::-1])
    return np.argsort(order(num_regions))[usual]


def assign_regions(num_agents: int, num_regions: int) -> NDArray[np.intp]:
    """Return the region of each agent by its rank: equal blocks, as far as may be."""
    check_regions(num_regions)
    return np.arange(num_agents) * num_regions // num_agents

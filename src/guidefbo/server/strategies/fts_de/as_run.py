"""FTS-DE's server as presumed behind the paper's tables.

It weights agents by the region's number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from guidefbo.core.arrays import Matrix
from guidefbo.core.settings import count
from guidefbo.server.strategies.fts_de.server import FtsDeServer
from guidefbo.wire.regions import REGION_COUNTS, check_regions

INDEX_LOGIT = 16.0
"""What belonging to the region adds to a logit of 1, before the temperature."""


def by_region_index(is_own: NDArray[np.bool_], t: int) -> Matrix:
    """Cool by the region's number, never by the round."""
    del t
    T = np.arange(1.0, len(is_own) + 1.0)[:, None] ** 2
    return softmax((INDEX_LOGIT * is_own + 1.0) / T, axis=1)  # E49


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeAsRunServerSettings:
    """Regions of the box."""

    num_regions: int = count(4, "regions of the box: 1, 2 or 4", high=REGION_COUNTS[-1])

    def build(self) -> FtsDeServer:
        """Return the server side behind the paper's tables."""
        check_regions(self.num_regions)
        return FtsDeServer(num_regions=self.num_regions, weighting=by_region_index)


SERVER = FtsDeAsRunServerSettings

"""FTS-DE's server as behind the paper's tables: weights by the region's number."""

from dataclasses import dataclass

from guidefbo.core.settings import count
from guidefbo.server.strategies.fts_de.server import FtsDeServer, by_region_index
from guidefbo.wire.regions import REGION_COUNTS, check_regions


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeAsRunServerSettings:
    """Regions of the box."""

    num_regions: int = count(4, "regions of the box: 1, 2 or 4", high=REGION_COUNTS[-1])

    def build(self) -> FtsDeServer:
        """Return the server side behind the paper's tables."""
        check_regions(self.num_regions)
        return FtsDeServer(num_regions=self.num_regions, weighting=by_region_index)


SERVER = FtsDeAsRunServerSettings

"""Settings of FTS-DE's server, with privacy where it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.core.settings import count, part, real
from guidefbo.server.strategies.fts_de.privacy import PrivateAverage
from guidefbo.server.strategies.fts_de.server import (
    Averaging,
    FtsDeServer,
    fading,
    plain_average,
)
from guidefbo.wire.regions import REGION_COUNTS, check_regions

AVERAGINGS: MappingProxyType[str, Callable[[float, float, float], Averaging]] = (
    MappingProxyType(
        {
            "none": lambda clip, rate, noise: plain_average,
            "gaussian": lambda clip, rate, noise: PrivateAverage(
                clip=clip, rate=rate, noise=noise
            ),
        }
    )
)
"""(clip, rate, noise) -> how vectors are averaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsDeServerSettings:
    """Regions of the box, and what protects the averages."""

    num_regions: int = count(4, "regions of the box: 1, 2 or 4", high=REGION_COUNTS[-1])
    privacy: str = part("none", "differential privacy", AVERAGINGS)
    privacy_clip: float = real(22.0, "norm the weights are clipped to, S", low=1e-6)
    privacy_rate: float = real(
        0.35, "share of agents that take part, q", low=1e-6, high=1.0
    )
    privacy_noise: float = real(1.0, "noise multiplier z")

    def build(self) -> FtsDeServer:
        """Return FTS-DE's server side."""
        check_regions(self.num_regions)
        return FtsDeServer(
            num_regions=self.num_regions,
            weighting=fading,
            averaging=AVERAGINGS[self.privacy](
                self.privacy_clip, self.privacy_rate, self.privacy_noise
            ),
        )


SERVER = FtsDeServerSettings

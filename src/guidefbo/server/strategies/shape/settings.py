"""Settings of the shape server."""

from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.core.settings import part
from guidefbo.server.strategies.shape.pooling import Pooling, by_moments, robust
from guidefbo.server.strategies.shape.screening import screened
from guidefbo.server.strategies.shape.server import ShapeServer

POOLINGS: MappingProxyType[str, Pooling] = MappingProxyType(
    {"moments": by_moments, "robust": robust, "screened": screened}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeServerSettings:
    """How one prior is made of the trends of many sites."""

    pooling: str = part("screened", "one prior of many trends", POOLINGS)

    def build(self) -> ShapeServer:
        """Return the strategy's server side."""
        return ShapeServer(pooling=POOLINGS[self.pooling])


SERVER = ShapeServerSettings

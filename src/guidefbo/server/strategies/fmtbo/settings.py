"""Settings of FMTBO's server."""

from dataclasses import dataclass

from guidefbo.core.settings import real
from guidefbo.server.strategies.fmtbo.server import FmtboServer, geometric, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class FmtboServerSettings:
    """Over whom hyperparameters are averaged."""

    similar_share: float = real(0.8, "share of agents averaged over", high=1.0)

    def build(self) -> FmtboServer:
        """Return FMTBO's server side."""
        return FmtboServer(
            averaging=geometric,
            similar_share=self.similar_share,
            neighbours=nearest,
        )


SERVER = FmtboServerSettings

"""FMTBO's server as presumed behind the paper's tables.

It averages raw hyperparameters, and hands out the first agent's in the first round.
"""

from dataclasses import dataclass

from guidefbo.core.settings import real
from guidefbo.server.strategies.fmtbo.server import (
    FmtboServer,
    first_then_nearest,
    raw,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FmtboAsRunServerSettings:
    """Over whom hyperparameters are averaged."""

    similar_share: float = real(0.8, "share of agents averaged over", high=1.0)

    def build(self) -> FmtboServer:
        """Return the server side behind the paper's tables."""
        return FmtboServer(
            averaging=raw,
            similar_share=self.similar_share,
            neighbours=first_then_nearest,
        )


SERVER = FmtboAsRunServerSettings

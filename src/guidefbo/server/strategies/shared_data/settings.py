"""Settings of the server of shared-data."""

from dataclasses import dataclass

from guidefbo.core.settings import count
from guidefbo.server.strategies.shared_data.server import SharedDataServer
from guidefbo.wire.shared_data import MAX_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDataServerSettings:
    """How much is passed on."""

    max_shared: int = count(
        400, "most observations of the others, of each about as many", high=MAX_ROWS
    )

    def build(self) -> SharedDataServer:
        """Return the strategy's server side."""
        return SharedDataServer(max_shared=self.max_shared)


SERVER = SharedDataServerSettings

"""FTS's server as behind the paper's tables: it relays points."""

from dataclasses import dataclass

from guidefbo.server.strategies.fts.server import FtsPointServer


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsAsRunServerSettings:
    """No settings."""

    def build(self) -> FtsPointServer:
        """Return the server side behind the paper's tables."""
        return FtsPointServer()


SERVER = FtsAsRunServerSettings

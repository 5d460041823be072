"""Settings of FTS's server: there are none."""

from dataclasses import dataclass

from guidefbo.server.strategies.fts.server import FtsServer


@dataclass(frozen=True, slots=True, kw_only=True)
class FtsServerSettings:
    """No settings."""

    def build(self) -> FtsServer:
        """Return FTS's server side."""
        return FtsServer()


SERVER = FtsServerSettings

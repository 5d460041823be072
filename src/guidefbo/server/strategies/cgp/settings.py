"""Settings of CGP's server."""

from dataclasses import dataclass

from guidefbo.core.settings import count
from guidefbo.server.strategies.cgp.server import CgpServer


@dataclass(frozen=True, slots=True, kw_only=True)
class CgpServerSettings:
    """Who exchanges designs with whom."""

    group_size: int = count(4, "agents that exchange designs")

    def build(self) -> CgpServer:
        """Return CGP's server side."""
        return CgpServer(group_size=self.group_size)


SERVER = CgpServerSettings

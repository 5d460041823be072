"""Both halves of the app; the code is in `guidefbo.integrations.flower`."""

from guidefbo.integrations.flower import client, server

__all__ = ["client", "server"]

"""The server's side of the strategy shared-data."""

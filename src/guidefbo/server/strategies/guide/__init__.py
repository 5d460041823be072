"""The server's side of the strategy guide."""

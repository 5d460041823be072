"""The server's side of the strategy fts-de."""

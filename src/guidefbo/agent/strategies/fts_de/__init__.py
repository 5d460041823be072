"""The agent's side of the strategy fts-de."""

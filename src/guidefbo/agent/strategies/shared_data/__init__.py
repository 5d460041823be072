"""The agent's side of the strategy shared-data."""

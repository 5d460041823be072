"""The agent's side of each federation strategy, one folder each."""

"""The agent's side of the strategy consensus."""

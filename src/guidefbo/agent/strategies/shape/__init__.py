"""The shape strategy on the agent's side."""

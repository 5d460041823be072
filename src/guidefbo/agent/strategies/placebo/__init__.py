"""The agent's side of the strategy placebo."""

"""How received components widen the agent's own uncertainty."""

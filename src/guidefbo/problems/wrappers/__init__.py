"""One-purpose maps that turn a base function into an agent's task."""

"""The distribution over where the local optimum lies, and its summary."""

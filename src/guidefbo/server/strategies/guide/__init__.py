"""The shared half of guide."""

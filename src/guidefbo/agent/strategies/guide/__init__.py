"""The private half of guide."""

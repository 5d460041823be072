"""Functions drawn from the posterior, and where they peak."""

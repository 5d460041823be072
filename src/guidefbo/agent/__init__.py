"""The private side: everything that may see an observation."""

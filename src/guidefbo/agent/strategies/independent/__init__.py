"""The private half of independent."""

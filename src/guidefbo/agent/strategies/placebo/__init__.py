"""The private half of placebo."""

"""Received components, as a factor on the local posterior's standard deviation."""

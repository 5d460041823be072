"""Adapters to other people's loops, each loaded only when it is imported."""

"""Base functions of the synthetic benchmarks, in raw coordinates."""

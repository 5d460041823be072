"""One section of a report per module, each from a frame of runs."""

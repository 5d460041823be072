"""Studies: many runs from one description, in parallel, resumable."""

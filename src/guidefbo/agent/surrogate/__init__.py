"""Models of the local objective: Gaussian processes, their posteriors and their fit."""

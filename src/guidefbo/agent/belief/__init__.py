"""Distributions of the location of the optimum, fitted to posterior samples of it."""

"""A Flower app that carries the letters of guidefbo's sites."""

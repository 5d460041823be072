"""The local Gaussian process: kernel, posterior and fit."""

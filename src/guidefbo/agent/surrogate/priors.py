"""Priors on the hyperparameters, densities in the natural parameters.

References:
    Hvarfner, Hellsten and Nardi, Vanilla Bayesian optimization performs great in high
    dimensions, ICML 2024: lengthscales that grow with the dimension.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from guidefbo.core.arrays import Point


class LogPrior(Protocol):
    """A log density of the hyperparameters, up to a constant."""

    def log_density(self, theta: Point, natural: Point, d: int) -> tuple[float, Point]:
        """Return the log density and its gradient in theta.

        Args:
            theta: Logarithms: d lengthscales, output scale, noise if it is fitted.
            natural: Their exponentials.
            d: Number of lengthscales.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Priors of the paper: Gamma lengthscales and output scale, log-normal noise."""

    lengthscale_shape: float = 3.0
    """Gamma shape of each lengthscale."""
    lengthscale_rate: float = 6.0
    """Gamma rate of each lengthscale."""
    outputscale_shape: float = 2.0
    """Gamma shape of the output scale."""
    outputscale_rate: float = 0.15
    """Gamma rate of the output scale."""
    noise_log_mean: float = -4.0
    """Mean of the logarithm of the noise variance, when the noise is fitted."""
    noise_log_std: float = 1.0
    """Standard deviation of that logarithm."""

    def log_density(self, theta: Point, natural: Point, d: int) -> tuple[float, Point]:
        """Return the log density, up to a constant, and its gradient in theta.

        Args:
            theta: Logarithms: d lengthscales, output scale, noise if it is fitted.
            natural: Their exponentials.
            d: Number of lengthscales.
        """
        shape, rate = np.zeros(len(theta)), np.zeros(len(theta))
        shape[:d], rate[:d] = self.lengthscale_shape - 1.0, self.lengthscale_rate
        shape[d], rate[d] = self.outputscale_shape - 1.0, self.outputscale_rate
        value = float(shape @ theta - rate @ natural)  # E05
        slopes = shape - rate * natural
        if len(theta) > d + 1:
            noise = theta[d + 1 :]
            at_noise, slope = _log_normal(
                noise, self.noise_log_mean, self.noise_log_std
            )
            value += at_noise
            slopes[d + 1 :] += slope
        return value, slopes


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePriors:
    """Priors for real sites: lengthscales that grow with the dimension, unit variance.

    With many parameters and few observations, the paper's lengthscales, which do not
    grow with the dimension, overfit: short-range variation explains all values, noise
    none, and the posterior away from the data is the prior.
    """

    log_units: tuple[float, ...] = ()
    """Logarithm of the unit of each lengthscale; none: all units are 1."""
    lengthscale_log_mean: float = 2.0**0.5
    """Mean of a log lengthscale in its unit, to which ½ log d is added."""
    lengthscale_log_std: float = 3.0**0.5
    """Standard deviation of that logarithm."""
    outputscale_shape: float = 2.0
    """Gamma shape of the output scale."""
    outputscale_rate: float = 1.0
    """Gamma rate of the output scale."""
    noise_log_mean: float = -4.0
    """Mean of the logarithm of the noise variance, when the noise is fitted."""
    noise_log_std: float = 1.0
    """Standard deviation of that logarithm."""

    def log_density(self, theta: Point, natural: Point, d: int) -> tuple[float, Point]:
        """Return the log density, up to a constant, and its gradient in theta.

        Args:
            theta: Logarithms: d lengthscales, output scale, noise if it is fitted.
            natural: Their exponentials.
            d: Number of lengthscales.
        """
        slopes = np.empty(len(theta))
        center = self.lengthscale_log_mean + 0.5 * float(np.log(d))
        relative = theta[:d] - np.array(self.log_units) if self.log_units else theta[:d]
        value, slopes[:d] = _log_normal(relative, center, self.lengthscale_log_std)
        value += (self.outputscale_shape - 1.0) * float(theta[d])
        value -= self.outputscale_rate * float(natural[d])
        slopes[d] = self.outputscale_shape - 1.0 - self.outputscale_rate * natural[d]
        if len(theta) > d + 1:
            at_noise, slopes[d + 1 :] = _log_normal(
                theta[d + 1 :], self.noise_log_mean, self.noise_log_std
            )
            value += at_noise
        return value, slopes  # E43


def _log_normal(theta: Point, mean: float, std: float) -> tuple[float, Point]:
    """Return the log density of log-normal numbers and its gradient in their logs."""
    z = (theta - mean) / std
    return float(-0.5 * (z @ z) - theta.sum()), -z / std - 1.0

"""The model of an agent: units, noise and hyperparameters, fitted to a data set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.fit import Bounds, Indices, fit
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.priors import LogPrior, SitePriors
from guidefbo.agent.units import Units
from guidefbo.core.arrays import Values
from guidefbo.core.domain import Domain
from guidefbo.core.settings import make, part

MIN_NOISE_VARIANCE = 1e-6
"""Floor of a known noise variance, in model units: exact data still need a factor."""
MAX_NOISE_STD = 1e6
"""Ceiling of a known standard deviation, in model units."""
MAX_FIT = 750
"""Most observations the hyperparameters are fitted to; the posterior uses them all. The
fit is cubic in their number, and a fit to more is hardly better: see big-sites.md among
the results."""


class Fitted(NamedTuple):
    """A posterior, the data behind it, and the units of both."""

    posterior: GaussianProcess
    data: Dataset
    """In model units."""
    units: Units


FITS: Mapping[str, Callable[[LogPrior], LogPrior | None]] = MappingProxyType(
    {"map": lambda priors: priors, "likelihood": lambda priors: None}
)
"""What becomes of the priors of the hyperparameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings of the model."""

    fit: str = part("map", "hyperparameters: with priors, or by likelihood alone", FITS)

    def priors(self, usual: LogPrior) -> LogPrior | None:
        """Return the priors that are used, None for the plain marginal likelihood."""
        return FITS[self.fit](usual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Settings of the Gaussian process model, and its fit."""

    noise_std: float | None
    """Standard deviation of one observation, or None to fit it."""
    priors: LogPrior | None
    """Priors of the hyperparameters, or None for the plain marginal likelihood."""
    units: Callable[[Values], Units] = Units.plain
    """Chooses the model's units for the values at hand."""
    bounds: Bounds = field(default_factory=Bounds)
    """Box of the hyperparameters."""
    groups: Indices | None = None
    """Which coordinates share a lengthscale; None: none do."""
    most: int = MAX_FIT
    """Most observations the hyperparameters are fitted to."""

    def fit(self, data: Dataset) -> Fitted:
        """Choose units, fit the hyperparameters and condition on the data."""
        units = self.units(data.y)
        slope = units.slope(data.y)
        std = None if data.std is None else data.std * slope
        scaled = Dataset(X=data.X, y=units.to_model(data.y), std=std)
        own_noise = None if std is None else _noise_variance(std)
        noise_variance = None
        if self.noise_std is not None:
            known = _noise_variance(self.noise_std * slope)
            noise_variance = float(known.max())
            if noise_variance > known.min():
                # Tempering shrinks the noise of bad values with the values.
                own_noise = noise_of_each(own_noise, known)
        # Beyond that many, ones evenly spread over the record will do.
        count = min(len(data), self.most)
        rows = np.linspace(0, len(data) - 1, count).round().astype(np.intp)
        hyper = fit(
            scaled.X[rows],
            scaled.y[rows],
            noise_variance=noise_variance,
            priors=self.priors,
            bounds=self.bounds,
            groups=self.groups,
            own_noise=None if own_noise is None else own_noise[rows],
        )
        common = np.full(len(data), hyper.noise_variance)
        posterior = GaussianProcess.condition(
            scaled.X, scaled.y, hyper, noise_of_each(own_noise, common)
        )
        return Fitted(posterior, scaled, units)


MIN_LENGTHSCALE = 0.1
"""Shortest lengthscale of a one-parameter model; it grows as √d. Shorter ones would let
every value be a spike of its own, and leave nothing to be called noise."""
OPTION_UNIT = 12.0**0.5
"""Unit of a choice's lengthscale. Two options are √2 apart, two random values of a
float 1/√6 (root mean square): in this unit both are equally far, so that before any
result the options of a choice are as alike as the values of a float."""


def site_model(
    domain: Domain, noise_std: float | None, settings: Mapping[str, Any]
) -> Model:
    """Return the model of values in a site's own unit, of which nothing is known.

    Args:
        domain: Where queries may lie.
        noise_std: Standard deviation of one observation, or None to fit it.
        settings: Settings of the method that differ from the defaults.
    """
    return Model(
        noise_std=noise_std,
        priors=make(ModelSettings, settings).priors(
            SitePriors(log_units=_log_units(domain))
        ),
        units=Units.tempered,
        bounds=Bounds(lengthscale=(MIN_LENGTHSCALE * domain.num_parameters**0.5, 1e2)),
        groups=domain.groups if domain.blocks else None,
    )


def _log_units(domain: Domain) -> tuple[float, ...]:
    if not domain.blocks:
        return ()
    units = np.zeros(domain.num_parameters)
    units[[domain.groups[i] for i, _ in domain.blocks]] = np.log(OPTION_UNIT)
    return tuple(units.tolist())


def _noise_variance(std: Values) -> Values:
    # Far beyond the spread of the values, more noise makes no difference.
    return np.maximum(np.minimum(std, MAX_NOISE_STD) ** 2, MIN_NOISE_VARIANCE)


def noise_of_each(own_noise: Values | None, common: Values) -> Values:
    """Return each observation's own noise variance where it has one."""
    if own_noise is None:
        return common
    return np.where(np.isnan(own_noise), common, own_noise)

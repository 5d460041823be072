"""Observations of several sites, and the hyperparameters fitted to all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import scale_of
from guidefbo.agent.surrogate.fit import LogPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.descent import minimise_within
from guidefbo.wire.shared_data import SharedObservations

LEAST_DATA = 3
"""Observations a site needs for a say in the fit: its own constant takes one."""
MAX_ITERATIONS = 20
"""L-BFGS-B iterations; the fit to the own data, where it starts, has converged."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Observations of all sites in the units of one of them, its own first."""

    X: Points
    """(n, d)."""
    y: Values
    """(n,)."""
    noise: Values
    """(n,) variance of each observation's noise."""
    site: NDArray[np.intp]
    """(n,) number of the site each belongs to, 0 for the own."""

    @classmethod
    def of(cls, gp: GaussianProcess, others: Sequence[SharedObservations]) -> Self:
        """Return the data of a process together with those of other sites.

        Sites have scales of their own. What is a standard deviation at another site
        becomes one of this site's.
        """
        mean, scale = scale_of(gp.y)
        sizes = [len(gp.y), *map(len, others)]
        return cls(
            X=np.vstack([gp.X, *(other.inputs for other in others)]),
            y=np.concatenate([gp.y, *(mean + scale * o.values for o in others)]),
            noise=np.concatenate([gp.noise, *(scale**2 * o.noise for o in others)]),
            site=np.repeat(np.arange(len(sizes)), sizes),
        )

    @property
    def num_sites(self) -> int:
        """How many sites there are."""
        return int(self.site[-1]) + 1

    @property
    def num_own(self) -> int:
        """How many observations are the own; they come first."""
        return int((self.site == 0).sum())

    @property
    def members(self) -> Matrix:
        """(n, sites), 1 where an observation is of a site, 0 elsewhere."""
        return np.eye(self.num_sites)[self.site]

    def links(self, rho: float) -> Matrix:
        """Return B, (n, n): 1 between observations of one site, else rho."""
        return np.where(self.site[:, None] == self.site, 1.0, rho)

    def links_to_own(self, rho: float) -> Values:
        """Return c, (n,): 1 for the own observations, else rho."""
        return np.where(self.site == 0, 1.0, rho)


def fit_pooled(pool: Pool, own: Hyperparameters, model: Model) -> Hyperparameters:
    """Return lengthscales and output scale that suit all sites together.

    The sum of the sites' log marginal likelihoods, each with a constant of its own, is
    maximised with the priors. Sites count as independent here, whose blocks are small
    and quickly factorised. The noise stays what each site says of its own.

    Args:
        pool: All observations.
        own: Fitted to the own data, where the search starts.
        model: Priors, bounds and groups of coordinates.
    """
    sizes = np.bincount(pool.site)
    parts = [
        LogPosterior.of(
            pool.X[pool.site == n],
            pool.y[pool.site == n],
            0.0,
            None,
            groups=model.groups,
            own_noise=pool.noise[pool.site == n],
        )
        for n in np.flatnonzero(sizes >= LEAST_DATA)
    ]
    if not parts:
        return own
    groups = model.groups
    if groups is None:
        groups = np.arange(pool.X.shape[1], dtype=np.intp)
    leads = np.unique(groups, return_index=True)[1]
    d = len(leads)
    bounds = model.bounds
    box = [np.log(bounds.lengthscale)] * d + [np.log(bounds.outputscale)]
    low, high = np.array(box).T.copy()

    def negated(theta: Point) -> tuple[float, Point]:
        value, gradient = 0.0, np.zeros(d + 1)
        if model.priors is not None:
            value, gradient = model.priors.log_density(theta, np.exp(theta), d)
        for part in parts:
            more, slopes = part(theta)
            value += more
            gradient = gradient + slopes
        return -value, -gradient

    first = np.log([*own.lengthscales[leads], own.outputscale])
    theta = minimise_within(negated, first, low, high, max_iterations=MAX_ITERATIONS)
    natural = np.exp(theta)
    return replace(own, lengthscales=natural[:d][groups], outputscale=float(natural[d]))

"""The agent of the control shared-data: tell all observations, use everybody's.

No real site may use it. It measures what sharing everything would bring, beside which
the gain of other strategies can be seen.
"""

from dataclasses import dataclass

import numpy as np

from guidefbo.agent.dataset import Dataset, scale_of
from guidefbo.agent.strategies.shared_data.pool import Pool, fit_pooled
from guidefbo.agent.strategies.shared_data.posterior import SharedPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Points
from guidefbo.core.streams import Address
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.shared_data import (
    LARGEST,
    LEAST_NOISE,
    MAX_ROWS,
    MOST_NOISE,
    SharedObservations,
    SharedPacket,
)

NUM_NEAR = 10
"""Best observed points of the others that the search starts from as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDataAgent:
    """All observations of all sites in one model, agent side."""

    model: Model
    """Priors, bounds and groups of the pooled fit."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: SharedPacket | None,
        address: Address,
    ) -> SharedObservations:
        """Return all observations, their values of mean 0 and standard deviation 1."""
        del data, insight, held, address
        y = posterior.y
        mean, scale = scale_of(y)
        count = min(len(y), MAX_ROWS)
        rows = np.linspace(0, len(y) - 1, count).round().astype(np.intp)
        return SharedObservations(
            inputs=posterior.X[rows],
            values=np.clip((y[rows] - mean) / scale, -LARGEST, LARGEST),
            noise=np.clip(posterior.noise[rows] / scale**2, LEAST_NOISE, MOST_NOISE),
        )

    def check(self, packet: SharedPacket, dim: int) -> None:
        """Refuse observations of another dimension."""
        for site in packet.sites:
            same_dimension(site.dim, dim, "A packet")

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: SharedPacket | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the posterior given everybody's observations."""
        del t, address
        if packet is None or not packet.sites:
            return posterior
        pool = Pool.of(posterior, packet.sites)
        return SharedPosterior.fit(pool, fit_pooled(pool, posterior.hyper, self.model))

    def landmarks(self, packet: SharedPacket) -> Points | None:
        """Return the others' best observed points, for the search to start from."""
        if not packet.sites:
            return None
        values = np.concatenate([site.values for site in packet.sites])
        best = np.argsort(-values, kind="stable")[:NUM_NEAR]
        return np.vstack([site.inputs for site in packet.sites])[best]

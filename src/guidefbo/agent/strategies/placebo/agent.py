"""A control: guidance that is fixed instead of received.

One component in the middle of the box widens the uncertainty as a received one would.
A federated method that does no better than this gains from optima being near the
middle of the box, and not from the other agents.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import Intervention
from guidefbo.agent.guidance.schedule import Schedule
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Points
from guidefbo.core.component import Components
from guidefbo.core.streams import Address

CENTER = 0.5
STD = 0.25
"""Standard deviation of the fixed component, in widths of the box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceboAgent:
    """FI-GP with one fixed component of weight 1, and no message at all."""

    intervention: Intervention
    """Turns the field into a scaling of the uncertainty."""
    schedule: Schedule
    """Strength of the intervention over the rounds."""
    max_strength: float
    """λ_max."""
    start: tuple[float, ...] | None = None
    """Where the search starts as well; None: nowhere."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: Any,
        address: Address,
    ) -> None:
        """Stay silent."""
        del posterior, data, insight, held, address

    def check(self, packet: Any, dim: int) -> None:
        """Let everything pass: nothing received is used."""
        del packet, dim

    def decision_posterior(
        self, posterior: GaussianProcess, packet: Any, t: int, address: Address
    ) -> Posterior:
        """Return the posterior widened in the middle of the box."""
        del packet, address
        d = posterior.dim
        component = Components(
            weights=np.ones(1),
            centers=np.full((1, d), CENTER),
            variances=np.full((1, d), STD**2),
        )
        strength = self.schedule(self.max_strength, t)
        field = GuidanceField.of(component)
        scaling = self.intervention(field, strength, posterior.X)
        return InterventionalPosterior(local=posterior, scaling=scaling)  # E44

    @property
    def starts(self) -> Points | None:
        """The middle of the box, if the search is to start there."""
        return None if self.start is None else np.array([self.start])

"""No federation: nothing is sent and nothing received is used."""

from typing import Any

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.streams import Address


class IndependentAgent:
    """Decide on the local posterior alone."""

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
        """Return the local posterior."""
        del packet, t, address
        return posterior

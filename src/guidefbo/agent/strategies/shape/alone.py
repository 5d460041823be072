"""The agent of the strategy trend: one of the strategy shape that is alone."""

from dataclasses import dataclass
from typing import Any

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.strategies.shape.agent import ShapeAgent
from guidefbo.agent.strategies.shape.models import Insight
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.core.streams import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendAgent(ShapeAgent):
    """Own trend or none by evidence, and the own place; nothing is sent."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: Insight,
        held: Any,
        address: Address,
    ) -> None:
        """Stay silent."""
        del posterior, data, insight, held, address

    def check(self, packet: Any, dim: int) -> None:
        """Let everything pass: nothing received is used."""
        del packet, dim

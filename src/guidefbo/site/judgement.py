"""What a site's own data say of the models that its method compares."""

from collections.abc import Mapping
from dataclasses import dataclass

from guidefbo.agent.side import OTHERS

LIKELY, UNLIKELY = 0.5, 0.1
"""From which probability on the own data speak for the others, and below which against
them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How likely each model is given the site's own data.

    >>> models = {"others": "the other sites' trend", "none": "no trend"}
    >>> print(Judgement(weights={"others": 0.8, "none": 0.2}, models=models))
    your own data: the other sites' trend 80 %, no trend 20 %; they speak for the others
    """

    weights: Mapping[str, float]
    """Probabilities by name, one in sum; of at least two models."""
    models: Mapping[str, str]
    """What each of them is, in a few words, by name."""

    def __str__(self) -> str:
        shares = ", ".join(
            f"{self.models[name]} {100.0 * weight:.0f} %"
            for name, weight in self.weights.items()
        )
        return f"your own data: {shares}; {self._verdict}"

    @property
    def _verdict(self) -> str:
        weight = self.weights.get(OTHERS)
        if weight is None:
            return "what the others sent is not used"
        if weight >= LIKELY:
            return "they speak for the others"
        if weight < UNLIKELY:
            return "they speak against the others"
        return "they do not decide for or against the others yet"

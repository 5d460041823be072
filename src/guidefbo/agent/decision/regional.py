"""An acquisition searched over a part of the space."""

from dataclasses import dataclass

from guidefbo.agent.decision.rule import Acquisition
from guidefbo.core.arrays import Values
from guidefbo.core.space.region import Reals, Region


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionalAcquisition:
    """An acquisition as a function of the coordinates of a region."""

    inner: Acquisition
    """Over the whole unit cube."""
    region: Region
    """The part that is searched."""

    def value(self, X: Reals) -> Values:
        """Return the acquisition at the rows of X."""
        return self.inner.value(self.region.embed(X))

    def value_and_gradient(self, X: Reals) -> tuple[Values, Reals]:
        """Return the acquisition and its gradient at the rows of X."""
        value, gradient = self.inner.value_and_gradient(self.region.embed(X))
        return value, gradient @ self.region.scale.T

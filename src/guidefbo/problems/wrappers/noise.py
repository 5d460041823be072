"""Observation noise."""

from dataclasses import dataclass

import numpy as np

from guidefbo.core.arrays import Values


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Noise:
    """Add independent Gaussian noise."""

    std: float
    """Standard deviation, in the unit of the values it is added to."""

    def __call__(self, values: Values, stream: np.random.Generator) -> Values:
        """Return the values with noise drawn from `stream`."""
        return values + self.std * stream.standard_normal(values.shape)

    def __repr__(self) -> str:
        return f"noise[{self.std:.3g}]"

"""Global weights of the merged components."""

from collections.abc import Callable

import numpy as np

from guidefbo.core.arrays import Values
from guidefbo.server.strategies.guide.moments import ScoredComponents

Reweighting = Callable[[ScoredComponents], Values]
"""Merged components -> logarithms of their global weights, which sum to one."""

RANGE_SHARE = 0.1
"""Temperature in units of the range of the scores."""
MIN_TEMPERATURE = 1e-2
"""Floor of the temperature."""
MIN_RANGE = 1e-6
"""A narrower range of scores counts as none."""


def temperature(scores: Values) -> float:
    """Return the adaptive temperature of these value scores."""
    value_range = float(np.ptp(scores))
    if value_range <= MIN_RANGE:
        return MIN_TEMPERATURE
    return max(RANGE_SHARE * value_range, MIN_TEMPERATURE)  # E27


def value_aware(merged: ScoredComponents) -> Values:
    """Weight by mass times exp(score / temperature)."""
    tau = temperature(merged.scores)
    return _log_normalise(np.log(merged.masses) + merged.scores / tau)  # E28


def mass_only(merged: ScoredComponents) -> Values:
    """Weight by mass alone: the ablation without value-aware reweighting."""
    return _log_normalise(np.log(merged.masses))


def _log_normalise(logits: Values) -> Values:
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())

"""Cosine and sine by one tangent, against NumPy's own."""

import numpy as np
import pytest

from guidefbo.agent.paths.waves import cosine, cosine_and_sine

RANDOM = np.random.default_rng(0).uniform(-300.0, 300.0, (100, 101))
TURNS = (np.arange(-200, 201) * (np.pi / 4.0))[None]
"""Among them the odd multiples of a half turn, where the tangent is huge."""
ROUNDING = 4.0 * np.finfo(float).eps
"""A tangent right to one unit of rounding, squared, and a division."""


@pytest.mark.parametrize("angles", [RANDOM, TURNS, np.array([[0.0, -0.0, 1e-300]])])
def test_they_are_the_cosine_and_the_sine_to_rounding(angles):
    kept = angles.copy()
    cos, sin = cosine_and_sine(angles)
    assert np.abs(cos - np.cos(angles)).max() <= ROUNDING
    assert np.abs(sin - np.sin(angles)).max() <= ROUNDING
    assert np.abs(cosine(angles) - np.cos(angles)).max() <= ROUNDING
    assert (angles == kept).all()

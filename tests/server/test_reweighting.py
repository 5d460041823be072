"""E27 and E28: the temperature and the global weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.server.strategies.guide.moments import ScoredComponents
from guidefbo.server.strategies.guide.reweighting import (
    mass_only,
    temperature,
    value_aware,
)
from guidefbo.testing.generators import real_arrays


def scored(masses, scores):
    count = len(masses)
    return ScoredComponents(
        masses=np.array(masses, dtype=float),
        centers=np.full((count, 2), 0.5),
        variances=np.full((count, 2), 0.1),
        scores=np.array(scores, dtype=float),
    )


@st.composite
def scored_components(draw):
    count = draw(st.integers(1, 12))
    return scored(
        draw(real_arrays((count,), 1e-6, 16.0)), draw(real_arrays((count,), -9.0, 9.0))
    )


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.7], 0.01),  # One component: no range.
        ([0.7, 0.7, 0.7], 0.01),
        ([0.0, 1e-6], 0.01),  # At the boundary the range still counts as none.
        ([0.0, 1.1e-6], 0.01),  # Above it, the floor.
        ([0.0, 0.05], 0.01),
        ([0.0, 0.1], 0.01),  # Where both branches of the maximum meet.
        ([0.0, 0.11], 0.011),
        ([-1.0, 0.5, 3.0], 0.4),
        ([1e6, -1e6], 2e5),
    ],
)
def test_temperature_by_hand(scores, expected):
    """E27."""
    assert temperature(np.array(scores)) == pytest.approx(expected, rel=1e-12)


@given(real_arrays((5,), -9.0, 9.0), st.floats(-100.0, 100.0))
def test_temperature_depends_on_the_range_alone(scores, shift):
    """E27."""
    span = np.array([scores.min(), scores.max()])
    assert temperature(scores) == temperature(span)
    # Shifting rounds the range by about 100 * 2e-16, a tenth of which reaches tau.
    assert temperature(scores + shift) == pytest.approx(temperature(scores), abs=1e-13)


def test_weights_by_hand():
    """E28: scores one temperature apart, so the odds are e to one times the masses."""
    # The range is 1, hence the temperature 0.1.
    merged = scored([0.2, 0.6, 0.2], [0.0, 0.9, 1.0])
    odds = np.array([0.2 * np.exp(-10.0), 0.6 * np.exp(-1.0), 0.2])
    expected = odds / odds.sum()
    assert np.exp(value_aware(merged)) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx([2.1581e-05, 0.524608, 0.475371], rel=1e-4)


def test_equal_scores_leave_the_masses():
    """E28."""
    merged = scored([1.0, 2.0, 5.0], [0.4, 0.4, 0.4])
    for weights in (value_aware(merged), mass_only(merged)):
        assert np.exp(weights) == pytest.approx([0.125, 0.25, 0.625], rel=1e-14)


@given(scored_components())
def test_weights_sum_to_one(merged):
    """E28."""
    for log_weights in (value_aware(merged), mass_only(merged)):
        weights = np.exp(log_weights)
        assert weights.sum() == pytest.approx(1.0, rel=1e-14)
        assert (log_weights <= 0.0).all()
        assert np.isfinite(log_weights).all()


@given(scored_components(), st.floats(-50.0, 50.0))
def test_weights_ignore_a_common_shift_of_the_scores(merged, shift):
    """E28: v / tau moves by a constant, and tau depends on the range only."""
    moved = scored(merged.masses, merged.scores + shift)
    # A score of 59 rounds at 7e-15; divided by the floor 0.01 that is 7e-13.
    assert value_aware(moved) == pytest.approx(value_aware(merged), abs=1e-11, rel=1e-9)


@given(scored_components(), st.floats(0.01, 100.0))
def test_weights_ignore_a_common_factor_of_the_masses(merged, factor):
    """E28."""
    scaled = scored(merged.masses * factor, merged.scores)
    for weigh in (value_aware, mass_only):
        assert weigh(scaled) == pytest.approx(weigh(merged), abs=1e-12)


@given(scored_components())
def test_higher_scores_get_higher_odds_per_mass(merged):
    """E28."""
    per_mass = value_aware(merged) - np.log(merged.masses)
    order = np.argsort(merged.scores)
    assert (np.diff(per_mass[order]) >= -1e-12).all()


@given(scored_components())
def test_mass_only_ignores_the_scores(merged):
    other = scored(merged.masses, np.roll(merged.scores, 1) + 3.0)
    assert np.array_equal(mass_only(merged), mass_only(other))
    assert np.exp(mass_only(merged)) == pytest.approx(
        merged.masses / merged.masses.sum(), rel=1e-12
    )


def test_odds_between_best_and_worst_are_at_most_e_to_the_ten():
    """E27, E28: the temperature is a tenth of the range."""
    weights = value_aware(scored([1.0, 1.0], [-1e6, 1e6]))
    assert weights[1] - weights[0] == pytest.approx(10.0, rel=1e-12)


def test_one_false_score_of_three_captures_the_server():
    """E28: a documented weakness; sixteen agents, one of which lies."""
    honest = np.linspace(-1.0, 1.0, 15)
    weights = np.exp(value_aware(scored(np.full(16, 0.5), [*honest, 3.0])))
    assert weights[-1] > 0.9
    assert weights[:-1].sum() < 0.1
    assert np.exp(mass_only(scored(np.full(16, 0.5), [*honest, 3.0])))[-1] == (
        pytest.approx(1 / 16)
    )

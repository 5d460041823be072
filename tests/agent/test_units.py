import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.agent.units import Units

values = st.floats(-1e6, 1e6) | st.floats(-1.0, 1.0) | st.sampled_from([0.0, 1.0])
lists = arrays(float, st.integers(1, 30), elements=values)
KINDS = [Units.plain, Units.standard, Units.tempered]


def as_array(*numbers):
    return np.array(numbers, dtype=np.float64)


def test_tempering_by_hand():
    """E42: knee 2 (the median), reach 3 (from there to the best, 5).

    0 lies 2 below the knee: t = 2 - 3 log(1 + 2/3); -7 lies 9 below: 2 - 3 log 4.
    """
    y = as_array(5.0, 2.0, 0.0, -7.0, 4.0)
    units = Units.tempered(y)
    assert (units.knee, units.reach) == (2.0, 3.0)
    low, lower = 2.0 - 3.0 * np.log(5.0 / 3.0), 2.0 - 3.0 * np.log(4.0)
    t = as_array(5.0, 2.0, low, lower, 4.0)
    assert units.shift == pytest.approx(t.mean(), rel=1e-14)
    assert units.scale == pytest.approx(t.std(ddof=1), rel=1e-14)
    expected = (t - t.mean()) / t.std(ddof=1)
    assert units.to_model(y) == pytest.approx(expected, rel=1e-13)
    assert units.to_site(units.to_model(y)) == pytest.approx(y, abs=1e-12)
    # The slope is 1 above the knee and 1 / (1 + depth) below, over the scale.
    slopes = as_array(1.0, 1.0, 3.0 / 5.0, 1.0 / 4.0, 1.0) / units.scale
    assert units.slope(y) == pytest.approx(slopes, rel=1e-13)


def test_standard_units_by_hand():
    y = as_array(1.0, 3.0)
    units = Units.standard(y)
    assert units.to_model(y) == pytest.approx([-np.sqrt(0.5), np.sqrt(0.5)])
    assert units.to_site(as_array(0.0, 1.0)) == pytest.approx([2.0, 2.0 + np.sqrt(2.0)])
    assert units.slope(y) == pytest.approx([np.sqrt(0.5)] * 2)


def test_plain_units_change_nothing():
    y = as_array(-1e9, 0.0, 3.5)
    units = Units.plain(y)
    assert (units.to_model(y) == y).all()
    assert (units.to_site(y) == y).all()
    assert (units.slope(y) == 1.0).all()


@given(lists)
@example(as_array(-1.0, 5.9e-184, 0.0))
@example(as_array(-1.0, 1e-89, 0.0))
def test_model_values_are_standardised(y):
    for kind in (Units.standard, Units.tempered):
        z = kind(y).to_model(y)
        assert np.isfinite(z).all()
        spread = y.std(ddof=1) if len(y) > 1 else 0.0
        # Squares of smaller ones lose their digits.
        if spread > max(1e-6 * np.abs(y).max(), 1e-140):
            assert z.mean() == pytest.approx(0.0, abs=1e-6)
            assert z.std(ddof=1) == pytest.approx(1.0, rel=1e-6)


@given(lists, lists)
def test_units_are_invertible(y, others):
    for kind in KINDS:
        units = kind(y)
        for each in (y, others[others >= y.min()]):
            back = units.to_site(units.to_model(each))
            size = max(np.abs(y).max(), np.abs(each).max(initial=0.0), 1.0)
            # Far below the knee a rounding of the logarithm grows with the depth.
            depth = (units.knee - each) / units.reach
            grown = 1.0 + np.maximum(depth, 0.0)
            assert (np.abs(back - each) <= 1e-13 * size * grown * 10.0).all()


@given(lists, st.lists(values, min_size=2, max_size=10))
def test_units_keep_the_order(y, others):
    ordered = np.sort(np.array(others))
    for kind in KINDS:
        units = kind(y)
        z = units.to_model(ordered)
        assert (np.diff(z) >= 0.0).all()
        apart = np.diff(ordered) > 1e-6 * max(1.0, np.abs(y).max(), *np.abs(ordered))
        assert (np.diff(z)[apart] > 0.0).all()
        assert (np.diff(units.to_site(np.sort(z))) >= 0.0).all()


@given(lists, st.floats(-3.0, 3.0))
def test_slope_is_the_derivative(y, where):
    assume(np.ptp(y) > 1e-3)
    for kind in KINDS:
        units = kind(y)
        width = min(units.reach, np.ptp(y)) if np.isfinite(units.knee) else np.ptp(y)
        at, h = np.median(y) + where * np.ptp(y), 1e-4 * width
        # Across the knee the slope changes by 1 / reach per unit: a part h / reach.
        rise = units.to_model(as_array(at + h)) - units.to_model(as_array(at - h))
        rounding = 1e-15 * max(abs(at), np.abs(y).max()) / units.scale / h
        slope = units.slope(as_array(at))[0]
        assert slope == pytest.approx(rise[0] / (2.0 * h), rel=1e-3, abs=10 * rounding)


@given(lists)
def test_better_half_stays_as_it_is(y):
    assume(np.ptp(y) > 1e-3)
    units = Units.tempered(y)
    above = y[y >= np.median(y)]
    plain = (above - units.shift) / units.scale
    assert units.to_model(above) == pytest.approx(plain, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("terrible", [-1e4, -1e9, -1e13, -1e30, -1e99])
def test_terrible_values_leave_the_good_ones_apart(terrible):
    """log(1e99) is 228: the good values keep a visible part of the scale."""
    y = as_array(0.0, 1.0, 2.0, 3.0, terrible)
    z = Units.tempered(y).to_model(y)
    assert (np.diff(z[:4]) > 1e-3).all()
    assert z[4] == z.min()


@pytest.mark.parametrize(
    "y",
    [
        [3.0],
        [2.0, 2.0, 2.0],
        [1.0, 1.0, 0.0],
        [1e100, -1e100],
        [1e100, 0.0, -1e100],
        [-1e100, -1e100, 1e-100],
        [5e-324, 0.0],
        [1e-160, -1e-160, 0.0],
        [1.0, 1.0 + 2e-16, 1.0],
    ],
    ids=str,
)
def test_any_values_have_finite_units(y):
    y = np.array(y)
    for kind in KINDS:
        units = kind(y)
        z = units.to_model(y)
        assert np.isfinite(z).all()
        assert np.isfinite(units.slope(y)).all()
        assert (units.slope(y) > 0.0).all()
        assert np.isfinite(units.to_site(3.0 * z)).all()


def test_reading_back_never_overflows():
    y = as_array(0.0, 1.0, 2.0, -1e90)
    units = Units.tempered(y)
    assert np.isfinite(units.to_site(as_array(-1e6, -1e3, 1e6))).all()

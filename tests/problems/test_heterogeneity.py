import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.heterogeneity import (
    LEVELS,
    draw_common_shift,
    draw_rotation,
    draw_shift,
)


@given(scale=st.floats(0, 2), dim=st.integers(1, 20), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_rotation_is_orthogonal_with_determinant_one(scale, dim, seed):
    """E31: the exponential of a skew-symmetric matrix is a rotation."""
    R = draw_rotation(scale, dim, Streams(seed).at(Purpose.TASK_ROTATION))
    # The exponential squares its argument up to some 2^7 times, doubling the rounding.
    np.testing.assert_allclose(R @ R.T, np.eye(dim), atol=1e-11)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-11)


def test_rotation_in_the_plane_by_hand():
    # E31: A - A^T is (a12 - a21) times the quarter turn, so R turns by that angle.
    A = Streams(4).at(Purpose.TASK_ROTATION).standard_normal((2, 2))
    angle = 0.5 * (A[0, 1] - A[1, 0])
    R = draw_rotation(0.5, 2, Streams(4).at(Purpose.TASK_ROTATION))
    cos, sin = np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(R, [[cos, sin], [-sin, cos]], atol=1e-14)


def test_no_rotation_and_no_shift_are_exact():
    stream = Streams(0).at(Purpose.TASK_SHIFT)
    assert (draw_rotation(0.0, 7, stream) == np.eye(7)).all()
    assert (draw_shift(0.0, 7, stream) == 0.0).all()
    assert (draw_common_shift(0.0, 7, stream) == 0.0).all()


def test_shift_has_its_root_mean_square():
    """E30: per coordinate, the scale times the width, which is one."""
    shift = draw_shift(0.3, 20_000, Streams(0).at(Purpose.TASK_SHIFT))
    # Relative error 1 / sqrt(2 * 20000) = 0.005.
    assert np.sqrt(np.mean(shift**2)) == pytest.approx(0.3, rel=4 * 0.005)


@given(size=st.floats(0, 0.5), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_common_shift_stays_within_its_size(size, seed):
    shift = draw_common_shift(size, 10, Streams(seed).at(Purpose.COMMON_SHIFT))
    assert (np.abs(shift) <= size).all()


def test_levels_are_the_papers():
    scales = {n: (v.shift_scale, v.rotation_scale) for n, v in LEVELS.items()}
    assert scales == {1: (0.0, 0.0), 2: (0.05, 0.1), 3: (0.3, 1.0)}

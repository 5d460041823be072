from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.numerics import make_gp
from tests.strategies import seeds

from guidefbo.agent.decision.constrained import climb_within
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.core.errors import NumericalError
from guidefbo.core.space.polytope import Polytope


@dataclass
class Bowl:
    """A concave quadratic, scaled: -scale Σ w (x - peak)²."""

    peak: np.ndarray
    weights: np.ndarray
    scale: float = 1.0

    def value(self, X):
        return -self.scale * ((X - self.peak) ** 2 @ self.weights)

    def value_and_gradient(self, X):
        return self.value(X), -2.0 * self.scale * self.weights * (X - self.peak)


@dataclass
class Broken(Bowl):
    """A bowl whose slope fails in one of several ways, always or past the starts."""

    how: str = "nan"
    reach: float = 0.0

    def value_and_gradient(self, X):
        value, gradient = super().value_and_gradient(X)
        if (X[:, 0] < self.reach).all():
            return value, gradient
        if self.how == "singular":
            raise np.linalg.LinAlgError("not positive definite")
        if self.how == "numerical":
            raise NumericalError("The matrix cannot be factorised.")
        if self.how == "wrong":
            return value, -gradient
        return value * np.nan, gradient


def stream(seed=0):
    return np.random.default_rng(seed)


def make(dim, A=(), b=(), E=(), e=()):
    A, E = np.reshape(A, (-1, dim)), np.reshape(E, (-1, dim))
    return Polytope.of(dim, A=A, b=np.array(b, float), E=E, e=np.array(e, float))


def simplex(dim):
    return make(dim, E=np.ones(dim), e=[1.0])


def climb_all(acquisition, starts, polytope, max_iterations=50):
    """Climb where every coordinate is constrained."""
    dim = starts.shape[1]
    columns, free = np.arange(dim), np.ones(dim, dtype=bool)
    return climb_within(acquisition, starts, polytope, columns, free, max_iterations)


def project_on_simplex(point):
    """Return the nearest point with parts that sum to one (Held et al., 1974)."""
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
    return np.maximum(point - excess[ordered > excess][-1], 0.0)


NEAR = 1e-4
"""SLSQP stops at gains of 1e-9 of the first slope: at distances of about √1e-9."""


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_inactive_constraints_leave_the_peak(scale):
    bowl = Bowl(np.array([0.2, 0.3, 0.6]), np.array([1.0, 4.0, 2.0]), scale)
    polytope = make(3, A=[1.0, 1.0, 1.0], b=[2.0])
    ends = climb_all(bowl, polytope.sample(6, stream()), polytope)
    assert ends == pytest.approx(np.tile(bowl.peak, (6, 1)), abs=NEAR)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_an_active_inequality_holds_the_peak_off(scale):
    """From (0.9, 0.8) to u + v = 1: Lagrange gives steps ∝ 1/w, here 2 : 1 of 0.7."""
    bowl = Bowl(np.array([0.9, 0.8]), np.array([1.0, 2.0]), scale)
    polytope = make(2, A=[1.0, 1.0], b=[1.0])
    ends = climb_all(bowl, polytope.sample(6, stream()), polytope)
    expected = [0.9 - 0.7 * 2 / 3, 0.8 - 0.7 / 3]
    assert ends == pytest.approx(np.tile(expected, (6, 1)), abs=NEAR)


@settings(max_examples=40)
@given(st.integers(2, 8), seeds)
def test_ascent_on_the_simplex_ends_at_the_projection(dim, seed):
    """Some faces active, some not."""
    rng = stream(seed)
    bowl = Bowl(rng.random(dim), np.ones(dim))
    polytope = simplex(dim)
    ends = climb_all(bowl, polytope.sample(3, rng), polytope)
    assert ends == pytest.approx(
        np.tile(project_on_simplex(bowl.peak), (3, 1)), abs=NEAR
    )
    assert polytope.contains(ends).all()


def test_the_whole_square_is_a_polytope():
    bowl = Bowl(np.array([1.5, 0.25]), np.ones(2))
    ends = climb_all(bowl, np.array([[0.1, 0.9], [1.0, 0.0]]), make(2))
    assert ends == pytest.approx(np.array([[1.0, 0.25]] * 2), abs=NEAR)
    assert (ends <= 1.0).all()


def test_fixed_coordinates_stay_and_free_ones_move():
    """Columns 1 and 3 share a total, 0 and 4 are free, 2 and 5 fixed."""
    bowl = Bowl(np.array([0.3, 0.9, 0.9, 0.9, 1.4, 0.9]), np.ones(6))
    polytope, columns = simplex(2), np.array([1, 3])
    free = np.array([True, False, False, True, True, False])
    rng = stream(2)
    starts = rng.random((5, 6))
    starts[:, columns] = polytope.sample(5, rng)
    ends = climb_within(bowl, starts, polytope, columns, free, 50)
    assert (ends[:, [2, 5]] == starts[:, [2, 5]]).all()
    expected = np.tile([0.3, 0.5, 0.5, 1.0], (5, 1))
    assert ends[:, [0, 1, 3, 4]] == pytest.approx(expected, abs=NEAR)


def test_a_single_point_leaves_the_others_to_climb():
    bowl = Bowl(np.array([0.9, 0.4]), np.ones(2))
    point, columns = make(1, E=[1.0], e=[0.2]), np.array([0])
    starts = np.array([[0.2, 0.8]])
    free = np.array([False, True])
    ends = climb_within(bowl, starts, point, columns, free, 50)
    assert ends == pytest.approx(np.array([[0.2, 0.4]]), abs=NEAR)
    stuck = climb_within(bowl, starts, point, columns, np.zeros(2, dtype=bool), 50)
    assert (stuck == starts).all()


def test_infeasible_starts_are_repaired():
    bowl = Bowl(np.full(3, 0.5), np.ones(3))
    polytope = simplex(3)
    starts = np.ones((2, 3))
    ends = climb_all(bowl, starts, polytope, max_iterations=1)
    assert polytope.contains(ends).all()
    assert (starts == 1.0).all()


@pytest.mark.parametrize("how", ["nan", "singular", "numerical", "wrong"])
@pytest.mark.parametrize("reach", [0.0, 0.35])
def test_a_failed_ascent_returns_the_start(how, reach):
    """Slopes that fail at once, and slopes that fail on the way to 0.9."""
    broken = Broken(np.array([0.9, 0.05, 0.05]), np.ones(3), how=how, reach=reach)
    polytope = simplex(3)
    starts = polytope.sample(8, stream(3))
    starts = starts[starts[:, 0] < 0.3]
    ends = climb_all(broken, starts, polytope)
    assert (broken.value(ends) >= broken.value(starts)).all()
    assert polytope.contains(ends).all()
    if how != "wrong" or reach == 0.0:
        assert (ends == starts).all()


def test_no_slope_no_move():
    flat = Bowl(np.zeros(3), np.zeros(3))
    starts = simplex(3).sample(4, stream())
    assert (climb_all(flat, starts, simplex(3)) == starts).all()


def test_ascent_climbs_a_real_acquisition():
    dim = 4
    gp = make_gp(12, dim)
    acquisition = NoisyExpectedImprovement(num_fantasies=8).acquisition(gp, stream())
    polytope = make(dim, A=[1, 2, 0, 0], b=[1.0], E=[0, 0, 1, 1], e=[1.0])
    starts = polytope.sample(10, stream(1))
    ends = climb_all(acquisition, starts, polytope)
    assert polytope.contains(ends).all()
    before, after = acquisition.value(starts), acquisition.value(ends)
    assert (after >= before).all()
    # Local optima: around them, what is left to gain is a thousandth of the gain.
    left = 1e-3 * (after - before).max()
    for x, reached in zip(ends, after, strict=True):
        near = polytope.repair(x + stream(2).normal(0.0, 1e-2, (50, dim)))
        assert (acquisition.value(near) < reached + left).all()

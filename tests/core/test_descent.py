"""L-BFGS-B without SciPy's wrapper: the same steps, and the same ends."""

import numpy as np
import pytest

from guidefbo.core import descent
from guidefbo.core.descent import minimise_by_scipy, minimise_within


def valley(x):
    """Rosenbrock's function: curved, and slow to descend."""
    step, rest = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[:-1] = -400.0 * x[:-1] * step - 2.0 * rest
    gradient[1:] += 200.0 * step
    return float(100.0 * step @ step + rest @ rest), gradient


def bumps(x):
    """Many minima, some of them beyond the box."""
    value = float(np.sum(x**2 - 3.0 * np.cos(4.0 * x)))
    return value, 2.0 * x + 12.0 * np.sin(4.0 * x)


@pytest.mark.parametrize("function", [valley, bumps])
@pytest.mark.parametrize("max_iterations", [1, 5, 15_000])
@pytest.mark.parametrize(("precision", "flatness"), [(1e7, 1e-5), (10.0, 1e-12)])
def test_the_same_points_are_evaluated_as_by_scipy(
    function, max_iterations, precision, flatness
):
    generator = np.random.default_rng(3)
    for dim in (1, 2, 7, 40):
        low = generator.uniform(-1.5, 0.0, dim)
        high = low + generator.uniform(0.1, 2.0, dim)
        start = generator.uniform(-2.0, 2.0, dim)
        ends, paths = [], []
        for minimise in (minimise_within, minimise_by_scipy):
            path = []

            def followed(x, path=path):
                path.append(x.copy())
                return function(x)

            end = minimise(
                followed,
                start,
                low,
                high,
                max_iterations=max_iterations,
                precision=precision,
                flatness=flatness,
            )
            ends.append(end)
            paths.append(np.array(path))
        np.testing.assert_array_equal(*ends)
        np.testing.assert_array_equal(*paths)
        assert (ends[0] >= low).all()
        assert (ends[0] <= high).all()


def test_the_minimum_of_a_bowl_is_found_and_the_start_is_left_as_it_is():
    centre, start = np.array([0.25, 3.0, -2.0]), np.full(3, 0.5)
    end = minimise_within(
        lambda x: (float((x - centre) @ (x - centre)), 2.0 * (x - centre)),
        start,
        np.zeros(3),
        np.ones(3),
    )
    np.testing.assert_allclose(end, [0.25, 1.0, 0.0], atol=1e-8)
    assert (start == 0.5).all()


def test_what_is_evaluated_may_be_kept():
    """A point given to the function is not the routine's own memory."""
    kept = []

    def function(x):
        kept.append(x)
        return valley(x)

    minimise_within(function, np.zeros(4), np.full(4, -2.0), np.full(4, 2.0))
    assert len({x.tobytes() for x in kept}) > 5


def test_another_scipy_is_used_by_its_public_function(monkeypatch):
    box = np.full(4, -2.0), np.full(4, 2.0)
    usual = minimise_within(valley, np.zeros(4), *box)
    monkeypatch.setattr(descent, "ROUTINE", None)
    np.testing.assert_array_equal(minimise_within(valley, np.zeros(4), *box), usual)

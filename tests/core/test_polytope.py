import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, ks_2samp, kstest
from tests.strategies import seeds, unit_points

from guidefbo.core.errors import SettingsError, SpaceError
from guidefbo.core.space.polytope import Polytope, has_point


def stream(seed=0):
    return np.random.default_rng(seed)


def make(dim, A=(), b=(), E=(), e=()):
    A, E = np.reshape(A, (-1, dim)), np.reshape(E, (-1, dim))
    return Polytope.of(dim, A=A, b=np.array(b, float), E=E, e=np.array(e, float))


def simplex(dim):
    return make(dim, E=np.ones(dim), e=[1.0])


TRIANGLE = make(2, A=[1.0, 1.0], b=[1.0])
"""The square, cut by its diagonal."""


@st.composite
def polytopes(draw):
    """A polytope and a point known to lie in it, perhaps on faces or alone."""
    k = draw(st.integers(1, 6))
    (known,) = draw(unit_points(1, k))
    rng = np.random.default_rng(draw(seeds))
    A = rng.standard_normal((draw(st.integers(0, 5)), k))
    E = rng.standard_normal((draw(st.integers(0, k)), k))
    if draw(st.booleans()):
        # Small whole coefficients make rows that repeat or oppose each other.
        A, E = np.round(A), np.round(E)
    rooms = st.sampled_from([0.0, 1e-9, 1e-7, 1e-4, 0.1, 1.0])
    b = A @ known + np.array([draw(rooms) for _ in A])
    return make(k, A=A, b=b, E=E, e=E @ known), known


@given(polytopes(), seeds)
def test_every_sample_is_feasible(given_polytope, seed):
    polytope, _ = given_polytope
    X = polytope.sample(25, stream(seed))
    assert X.shape == (25, polytope.centre.size)
    assert polytope.contains(X).all()
    assert ((X >= 0.0) & (X <= 1.0)).all()


@given(polytopes(), seeds)
def test_repair_gives_feasible_points_and_changes_nothing_twice(given_polytope, seed):
    polytope, _ = given_polytope
    X = stream(seed).normal(0.5, 1.0, (25, polytope.centre.size))
    repaired = polytope.repair(X)
    assert polytope.contains(repaired).all()
    assert ((repaired >= 0.0) & (repaired <= 1.0)).all()
    # Once moved to a face, rounding decides on which side the point is.
    assert polytope.repair(repaired) == pytest.approx(repaired, abs=1e-14)


@given(polytopes())
def test_a_known_point_is_inside_and_stays(given_polytope):
    polytope, known = given_polytope
    assert polytope.contains(known[None])
    assert (polytope.repair(known[None]) == known).all()
    assert polytope.contains(polytope.centre[None])


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 50])
def test_centre_of_the_simplex(dim):
    polytope = simplex(dim)
    # Newton's method ends when its squared error is below rounding.
    assert polytope.centre == pytest.approx(np.full(dim, 1.0 / dim), abs=1e-14)
    assert polytope.basis.shape == (dim, dim - 1)


def test_centre_of_the_triangle():
    """Of u = v, d/du [2 log u + 2 log(1-u) + log(1-2u)] = 0 gives 5u² - 5u + 1 = 0."""
    assert TRIANGLE.centre == pytest.approx([(5 - 5**0.5) / 10] * 2, abs=1e-14)


def test_centre_of_a_slab_is_in_its_middle():
    """The largest ball could lie anywhere along it."""
    slab = make(2, A=[[1.0, 0.0], [-1.0, 0.0]], b=[0.6, -0.4])
    assert slab.centre == pytest.approx([0.5, 0.5], abs=1e-14)


def test_triangle_contains():
    X = np.array([[0.5, 0.5], [0.5, 0.51], [0.0, 0.0], [-0.01, 0.5], [0.0, 1.0]])
    assert TRIANGLE.contains(X).tolist() == [True, False, True, False, True]
    assert TRIANGLE.contains(X, tolerance=0.02).all()


def test_triangle_repair():
    """A point outside goes towards the centre until the first face."""
    c = TRIANGLE.centre[0]
    X = np.array([[1.0, 1.0], [c, -5.0], [0.2, 0.8]])
    expected = [[0.5, 0.5], [c, 0.0], [0.2, 0.8]]
    assert TRIANGLE.repair(X) == pytest.approx(np.array(expected), abs=1e-15)


def test_repair_moves_straight_onto_equalities():
    repaired = simplex(3).repair(np.array([[0.3, 0.3, 0.1]]))
    assert repaired == pytest.approx(np.array([[0.4, 0.4, 0.2]]), abs=1e-15)


def test_repair_leaves_its_argument_alone():
    X = np.array([[2.0, 2.0]])
    TRIANGLE.repair(X)
    assert (X == 2.0).all()


FLAT = {
    "a pair of inequalities": (
        make(3, A=[[1, 0, 0], [-1, 0, 0]], b=[0.3, -0.3]),
        [0.3, 0.5, 0.5],
        2,
    ),
    "two of four at their upper bounds": (
        make(4, E=[1, 1, 0, 0], e=[2.0]),
        [1.0, 1.0, 0.5, 0.5],
        2,
    ),
    "a sum of zero": (make(4, A=[1, 2, 3, 4], b=[0.0]), [0.0] * 4, 0),
    "the same equality twice": (
        make(3, E=[[1, 1, 1], [0.1, 0.1, 0.1]], e=[1.0, 0.1]),
        [1 / 3] * 3,
        2,
    ),
    "a ring of inequalities": (
        make(3, A=[[1, -1, 0], [0, 1, -1], [-1, 0, 1]], b=[0, 0, 0]),
        [0.5] * 3,
        1,
    ),
    "a thin wedge": (make(2, A=[1e-3, 1.0], b=[0.0]), [0.0, 0.0], 0),
    "one point by equalities": (make(2, E=np.eye(2), e=[0.2, 0.7]), [0.2, 0.7], 0),
    "one point on a line": (make(1, E=[2.0], e=[0.5]), [0.25], 0),
}


@pytest.mark.parametrize(("polytope", "centre", "extent"), FLAT.values(), ids=FLAT)
def test_implied_equalities(polytope, centre, extent):
    assert polytope.centre == pytest.approx(centre, abs=1e-12)
    assert polytope.basis.shape[1] == extent
    X = polytope.sample(40, stream())
    assert polytope.contains(X, 1e-12).all()
    moved = polytope.repair(stream(1).normal(0.5, 1.0, X.shape))
    assert polytope.contains(moved, 1e-12).all()
    # Rounding of the pinned coordinates, against the width of the others.
    assert np.linalg.matrix_rank(X - X[0], tol=1e-10) == extent


EMPTY = {
    "beyond the cube": {"E": [1.0, 1.0], "e": [2.1]},
    "below the cube": {"A": [1.0, 1.0], "b": [-0.1]},
    "two totals": {"E": [[1.0, 1.0], [2.0, 2.0]], "e": [1.0, 2.1]},
    "a gap": {"A": [[1.0, 0.0], [-1.0, 0.0]], "b": [0.4, -0.5]},
    "barely": {"E": [1.0, 1.0], "e": [2.0 + 1e-7]},
    "zero at most minus one": {"A": [0.0, 0.0], "b": [-1.0]},
    "zero equal to one": {"E": [0.0, 0.0], "e": [1.0]},
    "one point beyond": {"E": np.eye(2), "e": [0.5, 1.2]},
}


@pytest.mark.parametrize("constraints", EMPTY.values(), ids=EMPTY)
def test_an_empty_set_is_refused(constraints):
    with pytest.raises(SpaceError, match=r"miss each other by .* Loosen one"):
        make(2, **constraints)


@pytest.mark.parametrize(
    ("A", "b", "match"),
    [
        (np.ones((1, 3)), np.ones(1), r"got \(1, 3\) and \(1,\)"),
        (np.ones((1, 2)), np.ones(2), r"must be finite, \(m, 2\) and \(m,\)"),
        (np.ones((1, 2)), np.ones((1, 1)), r"got \(1, 2\) and \(1, 1\)"),
        (np.ones((1, 2)), np.array([np.inf]), "got NaN or infinity"),
        (np.array([[np.nan, 1.0]]), np.ones(1), "got NaN or infinity"),
    ],
)
def test_malformed_constraints_are_refused(A, b, match):
    none = np.empty((0, 2)), np.empty(0)
    with pytest.raises(SpaceError, match=match):
        Polytope.of(2, A=A, b=b, E=none[0], e=none[1])
    with pytest.raises(SpaceError, match=match):
        Polytope.of(2, A=none[0], b=none[1], E=A, e=b)


def test_no_dimension_is_refused():
    with pytest.raises(SettingsError, match="dim must be a whole number of at least 1"):
        Polytope.of(0, A=[], b=[], E=[], e=[])


def test_sample_is_a_function_of_the_stream():
    polytope = make(4, A=[1, 2, 3, 4], b=[5.0])
    first = polytope.sample(30, stream(5))
    assert (polytope.sample(30, stream(5)) == first).all()
    assert not np.isclose(polytope.sample(30, stream(6)), first).any()
    assert polytope.sample(0, stream()).shape == (0, 4)


def assert_uniform_on_simplex(X, dim, scale=1.0):
    """Compare with Dirichlet(1, ..., 1): each coordinate has the law Beta(1, dim - 1).

    A sound sampler fails the tests of all coordinates together once in 10000 seeds.
    """
    law = beta(1, dim - 1, scale=scale)
    assert min(kstest(x, law.cdf).pvalue for x in X.T) > 1e-4 / X.shape[1]
    # Covariances, by their own standard errors, at five of them: 6e-7 each.
    i, j = np.triu_indices(X.shape[1])
    products = (X[:, i] - scale / dim) * (X[:, j] - scale / dim)
    exact = (np.eye(dim) / dim - dim**-2.0) / (dim + 1) * scale**2
    errors = products.std(axis=0) / np.sqrt(len(X))
    assert (np.abs(products.mean(axis=0) - exact[i, j]) < 5.0 * errors).all()


@pytest.mark.parametrize("dim", [2, 3, 10, 30])
def test_samples_of_the_simplex_follow_the_dirichlet_law(dim):
    assert_uniform_on_simplex(simplex(dim).sample(4000, stream(dim)), dim)


@pytest.mark.parametrize("dim", [1, 2, 10])
def test_samples_under_a_total_follow_the_dirichlet_law(dim):
    """Of a solid simplex, with the unused rest as one more coordinate."""
    solid = make(dim, A=np.ones(dim), b=[0.5])
    assert_uniform_on_simplex(solid.sample(4000, stream(dim)), dim + 1, scale=0.5)


@pytest.mark.parametrize("dim", [1, 2, 10])
def test_samples_of_the_cube_are_uniform(dim):
    X = make(dim).sample(4000, stream(dim))
    assert min(kstest(x, "uniform").pvalue for x in X.T) > 1e-4 / dim
    # The standard error of a correlation of independent coordinates is 1/√n.
    apart = np.corrcoef(X.T).reshape(dim, dim)[np.triu_indices(dim, 1)]
    assert (np.abs(apart) < 5.0 / np.sqrt(len(X))).all()


def test_samples_of_a_thin_oblique_slab_reach_its_ends():
    """|u - v| <= 0.01: along the coordinates, a chain would take 10000 steps."""
    slab = make(6, A=[[1, -1, 0, 0, 0, 0], [-1, 1, 0, 0, 0, 0]], b=[0.01, 0.01])
    rng = stream(1)
    u = rng.random(40000)
    v = u + rng.uniform(-0.01, 0.01, u.size)
    direct = u[(v >= 0.0) & (v <= 1.0)]
    X = slab.sample(4000, stream(2))
    assert ks_2samp(X[:, 0], direct).pvalue > 1e-3
    assert kstest(X[:, 3], "uniform").pvalue > 1e-3


def test_samples_agree_with_rejection():
    """A skew body of four dimensions, seen from several sides."""
    rng = stream(3)
    A = rng.standard_normal((3, 4))
    polytope = make(4, A=A, b=A @ np.full(4, 0.5) + 0.1)
    cube = rng.random((100000, 4))
    direct = cube[polytope.contains(cube, 0.0)]
    assert len(direct) > 3000
    X = polytope.sample(4000, stream(4))
    sides = rng.standard_normal((8, 4))
    for side in sides:
        assert ks_2samp(X @ side, direct @ side).pvalue > 1e-4 / len(sides)


@settings(max_examples=20)
@given(seeds)
def test_neighbouring_points_are_independent(seed):
    """Chains share directions, not steps."""
    X = simplex(4).sample(1000, stream(seed))[:, 0]
    # Under independence the correlation has a standard error of 1/√n.
    assert abs(np.corrcoef(X[:-1], X[1:])[0, 1]) < 5.0 / np.sqrt(len(X))


def test_a_thousand_points_take_milliseconds():
    polytope = simplex(10)
    durations = []
    for seed in range(5):
        began = time.perf_counter()
        polytope.sample(1000, stream(seed))
        durations.append(time.perf_counter() - began)
    # Some 16 ms on an idle machine.
    assert min(durations) < 0.3


@pytest.mark.parametrize(
    ("A", "b", "E", "e", "expected"),
    [
        (np.ones((1, 3)), [2.0], np.zeros((0, 3)), [], True),
        (np.ones((1, 3)), [0.5], np.zeros((0, 3)), [], True),
        (np.ones((1, 3)), [-0.5], np.zeros((0, 3)), [], False),
        (np.zeros((0, 3)), [], np.ones((1, 3)), [1.0], True),
        (np.zeros((0, 3)), [], np.ones((1, 3)), [3.5], False),
        ([[4.0, 1.0, 1.0]], [0.3], np.ones((1, 3)), [0.9], False),
        ([[9.0, 0.0, 0.0]], [0.3], np.ones((1, 3)), [1.9], True),
    ],
)
def test_a_point_found_at_once_is_there(A, b, E, e, expected):
    """Where one is found the solver finds one too; the last limits bind in turn."""
    limits = [np.array(m, dtype=float) for m in (A, b, E, e)]
    assert has_point(3, *limits) is expected
    if expected:
        assert make(3, *limits).sample(3, stream()).shape == (3, 3)
    else:
        with pytest.raises(SpaceError, match="must leave a point"):
            make(3, *limits)

"""Points without a model: herded over a polytope, filling the rest."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.site.sites import SPACES, in_space
from tests.strategies import seeds

from guidefbo import AtMost, Float, Space, SumTo
from guidefbo.core.space.polytope import Polytope
from guidefbo.site.design import (
    HERDING_LENGTHSCALE,
    POOL,
    design_point,
    filling_point,
    herd,
)
from guidefbo.site.setup import Setup


def stream(seed=0):
    return np.random.default_rng(seed)


def simplex(dim):
    return Polytope.of(
        dim, A=np.empty((0, dim)), b=[], E=np.ones((1, dim)), e=np.ones(1)
    )


class Pool:
    """Stands for a polytope whose sample is known."""

    def __init__(self, points):
        self.points = np.array(points, dtype=np.float64)
        self.centre = self.points[0]

    def sample(self, count, stream):
        return np.resize(self.points, (count, self.points.shape[1]))


def kernel(a, b):
    q = ((np.asarray(a) - np.asarray(b)) ** 2).sum() / HERDING_LENGTHSCALE**2
    r = np.sqrt(5.0 * q)
    return (1.0 + r + r * r / 3.0) * np.exp(-r)


def herd_plainly(points, count):
    """Choose the points by the definition, one sum at a time."""
    chosen = []
    for _ in range(count):
        scores = [
            np.mean([kernel(x, u) for u in points])
            - sum(kernel(x, c) for c in chosen) / (len(chosen) + 1)
            for x in points
        ]
        chosen.append(points[int(np.argmax(scores))])
    return np.array(chosen)


def test_herding_by_hand():
    """E41: two places, three quarters and one quarter of the pool, far apart.

    k is 0 between them, so after a and b choices of each the scores are
    3/4 - a / (a + b + 1) and 1/4 - b / (a + b + 1); a tie goes to the first:

        3/4  1/4;   1/4  1/4;   1/12  1/4;   1/4  0;   3/20  1/20;   ...
    """
    far = 100.0
    chosen = herd(Pool([[0.0], [0.0], [0.0], [far]]), 8, stream())[:, 0] > 50.0
    assert chosen.tolist() == [False, False, True, False] * 2


def test_herding_is_the_definition():
    """E41 against brute force over a small pool, repeated to the pool's size."""
    points = stream(1).random((16, 2))
    chosen = herd(Pool(points), 7, stream())
    assert chosen == pytest.approx(herd_plainly(points, 7), abs=1e-14)


@given(seeds)
@settings(max_examples=5)
def test_herded_points_are_of_the_polytope_and_differ(seed):
    polytope = simplex(3)
    chosen = herd(polytope, 12, stream(seed))
    assert polytope.contains(chosen).all()
    distances = np.linalg.norm(chosen[:, None] - chosen, axis=2)
    assert distances[np.triu_indices(12, 1)].min() > 0.05


def test_more_herded_points_begin_with_the_same():
    polytope = simplex(3)
    assert (herd(polytope, 9, stream(2))[:4] == herd(polytope, 4, stream(2))).all()


def discrepancy(points, reference):
    """Return the squared distance of two samples in the kernel's feature space."""

    def mean(A, B):
        return np.mean([kernel(a, b) for a in A for b in B])

    cross = 2.0 * mean(points, reference)
    return mean(points, points) - cross + mean(reference, reference)


def test_herded_points_represent_better_than_random_ones():
    polytope = simplex(3)
    reference = polytope.sample(60, stream(3))
    herded = discrepancy(herd(polytope, 8, stream(4)), reference)
    drawn = [
        discrepancy(polytope.sample(8, stream(seed)), reference)
        for seed in range(5, 15)
    ]
    assert herded < np.median(drawn) / 2.0
    assert herded < min(drawn)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("num_agents", [None, 2])
def test_design_is_in_the_space_and_a_function_of_the_setup(name, num_agents):
    setup = Setup(
        space=SPACES[name], goal="max", seed=3, initial=4, num_agents=num_agents
    )
    points = [design_point(setup, k) for k in range(7)]
    for k, x in enumerate(points):
        assert (design_point(setup, k) == x).all()
        assert in_space(setup.space, setup.space.from_unit(x))
        assert (setup.space.domain.snap(x[None])[0] == x).all()


def test_agents_of_a_federation_have_designs_of_their_own():
    for name in ("box", "shares"):
        points = [
            design_point(
                Setup(space=SPACES[name], goal="max", agent_id=n, num_agents=3), 0
            )
            for n in range(3)
        ]
        assert len({tuple(x) for x in points}) == 3


def test_filling_point_is_far_from_what_is_known():
    space = Space(x=Float(0, 1), y=Float(0, 1))
    setup = Setup(space=space, goal="max")
    known = np.array([[0.1, 0.1], [0.1, 0.9], [0.9, 0.1]])

    def nothing(X):
        return np.zeros(len(X), dtype=bool)

    x = filling_point(setup, 5, known, nothing)
    assert np.linalg.norm(x - np.ones(2)) < 0.2
    assert (filling_point(setup, 5, known, nothing) == x).all()

    def upper(X):
        return X[:, 1] > 0.5

    assert filling_point(setup, 5, known, upper)[1] <= 0.5

    def everything(X):
        return np.ones(len(X), dtype=bool)

    assert (filling_point(setup, 5, known, everything) == x).all()
    alone = filling_point(setup, 5, np.empty((0, 2)), nothing)
    assert ((alone > 0.0) & (alone < 1.0)).all()


def test_filling_points_keep_the_constraints():
    space = Space(a=Float(0, 1), b=Float(0, 1), c=Float(0, 1)).subject_to(
        SumTo(1.0, "a", "b", "c"), AtMost({"a": 1, "b": -1}, 0.2)
    )
    setup = Setup(space=space, goal="max")
    known = np.empty((0, 3))
    for k in range(6):
        x = filling_point(setup, k, known, lambda X: np.zeros(len(X), dtype=bool))
        assert in_space(space, space.from_unit(x))
        known = np.vstack([known, x])
    assert POOL >= 100

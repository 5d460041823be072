import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.moves import changed_points
from tests.strategies import seeds, unit_points

from guidefbo.core.domain import Domain
from guidefbo.core.space.constraints import AtMost, SumTo
from guidefbo.core.space.parameters import Bool, Choice, Float, Int
from guidefbo.core.space.space import Space

MIXED = Space(
    a=Float(0, 1),
    n=Int(1, 4),
    c=Choice("x", "y", "z"),
    b=Float(0, 1),
    w=Bool(),
    k=Choice(1, 2),
    m=Int(1, 1000, log=True),
).subject_to(SumTo(1.0, "a", "b"))
"""Coordinates: a 0, n 1, c 2-4, b 5, w 6, k 7-8, m 9."""
CUT = Space(a=Float(0, 1), b=Float(0, 1), c=Float(0, 1)).subject_to(
    AtMost({"a": 1, "b": 1}, 0.5)
)


def stream(seed=0):
    return np.random.default_rng(seed)


def values_at(space, X):
    return [space.from_unit(x) for x in X]


def test_places_by_hand():
    domain = MIXED.domain
    assert domain.dim == 10
    assert [i for i, _ in domain.stepped] == [1, 6, 9]
    assert [i for i, _ in domain.blocks] == [2, 7]
    assert domain.columns.tolist() == [0, 5]
    assert np.flatnonzero(domain.free).tolist() == [0, 5]
    # The coordinates of one choice share a lengthscale.
    assert domain.groups.tolist() == [0, 1, 2, 2, 2, 3, 4, 5, 5, 6]
    assert domain.is_discrete
    assert not domain.is_box


def test_box():
    domain = Domain.box(3)
    assert domain.is_box
    assert not domain.is_discrete
    assert domain.free.all()
    assert domain.groups.tolist() == [0, 1, 2]
    X = stream().random((5, 3))
    assert domain.snap(X) is X
    assert Space(x=Float(0, 1)).domain.is_box
    cut = Space(x=Float(0, 1)).subject_to(AtMost({"x": 1}, 0.5)).domain
    assert not cut.is_box
    assert not cut.is_discrete


def test_snap_by_hand():
    X = np.array([[0.3, 0.3, 0.1, 0.2, 0.15, 0.7, 0.6, 0.9, 0.2, 0.0]])
    snapped = MIXED.domain.snap(X)
    first = MIXED.parameters["m"].to_unit(1)
    assert snapped.tolist() == [[0.3, 0.375, 0.0, 1.0, 0.0, 0.7, 1.0, 1.0, 0.0, first]]
    assert X[0, 1] == 0.3


@given(unit_points(6, 10))
def test_snap_changes_nothing_twice_and_keeps_the_values(X):
    domain = MIXED.domain
    snapped = domain.snap(X)
    assert (domain.snap(snapped) == snapped).all()
    assert (snapped[:, domain.free] == X[:, domain.free]).all()
    assert values_at(MIXED, snapped) == values_at(MIXED, X)
    assert ((snapped >= 0.0) & (snapped <= 1.0)).all()


# Points from elsewhere.


@given(unit_points(6, 10))
@settings(max_examples=40)
def test_admitted_points_are_of_the_domain(X):
    """Whatever the packet says: on steps, at options, and the shares sum to one."""
    domain, before = MIXED.domain, X.copy()
    admitted = domain.admit(X)
    assert np.array_equal(X, before)
    assert admitted.shape == X.shape
    assert np.array_equal(domain.snap(admitted), admitted)
    assert domain.polytope.contains(admitted[:, domain.columns]).all()
    assert ((admitted >= 0.0) & (admitted <= 1.0)).all()
    # What is under no constraint goes where it always goes.
    others = np.setdiff1d(np.arange(10), domain.columns)
    assert np.array_equal(admitted[:, others], domain.snap(X)[:, others])


@given(seeds, st.integers(0, 6))
@settings(max_examples=20)
def test_points_of_the_domain_are_admitted_as_they_are(seed, count):
    """To the bit."""
    for space in (MIXED, CUT):
        X = space.domain.sample(count, stream(seed))
        assert np.array_equal(space.domain.admit(X), X)


def test_admission_by_hand():
    """0.9 and 0.5 sum to 1.4: 0.2 too much on either, straight to the line."""
    X = np.array([[0.9, 0.3, 0.1, 0.2, 0.15, 0.5, 0.6, 0.9, 0.2, 0.0]])
    admitted = MIXED.domain.admit(X)
    assert admitted[0, [0, 5]] == pytest.approx([0.7, 0.3], rel=1e-12)
    assert admitted[0, 1:5].tolist() == [0.375, 0.0, 1.0, 0.0]


def test_admission_to_a_cut_box():
    """Inside the cut a point stays; outside it moves to the face by the centre."""
    X = np.array([[0.1, 0.2, 0.9], [1.0, 1.0, 0.9]])
    admitted = CUT.domain.admit(X)
    assert np.array_equal(admitted[0], X[0])
    assert admitted[1] == pytest.approx([0.25, 0.25, 0.9], rel=1e-12)


def test_the_cube_admits_all():
    """Also what may not be written to, as the arrays of a message may not."""
    X = stream().random((4, 3))
    X.flags.writeable = False
    assert np.array_equal(Domain.box(3).admit(X), X)
    wide = stream().random((4, 10))
    wide.flags.writeable = False
    assert MIXED.domain.admit(wide).shape == (4, 10)


parameters = st.one_of(
    st.just(Float(0, 1)),
    st.just(Bool()),
    st.integers(2, 6).map(lambda size: Choice(*range(size))),
    st.builds(
        lambda low, more, log: Int(low, low + more, log=log),
        st.integers(1, 50),
        st.integers(1, 5000),
        st.booleans(),
    ),
)
spaces = st.lists(parameters, min_size=1, max_size=12).map(
    lambda each: Space(**{f"p{i}": parameter for i, parameter in enumerate(each)})
)


def snapped_one_by_one(domain, X):
    """Each parameter by itself, the largest coordinate of a choice taken literally."""
    snapped = X.copy()
    for i, parameter in domain.stepped:
        snapped[:, i] = parameter.snap(X[:, i])
    for i, choice in domain.blocks:
        block = slice(i, i + choice.size)
        snapped[:, block] = np.eye(choice.size)[X[:, block].argmax(axis=1)]
    return snapped


kinds = st.sampled_from(["any", "ties", "snapped", "faint"])


@given(spaces, seeds, st.integers(0, 7), kinds)
def test_snap_is_the_snap_of_each_parameter(space, seed, count, kind):
    """Bit for bit, wherever the points lie and however many coordinates are equal."""
    domain, rng = space.domain, stream(seed)
    X = rng.random((count, domain.dim))
    if kind == "ties":
        X = rng.choice([0.0, 0.5, 1.0], X.shape)
    if kind in ("snapped", "faint"):
        X = snapped_one_by_one(domain, X) * (1.0 if kind == "snapped" else 0.3)
    snapped = domain.snap(X)
    assert snapped.tolist() == snapped_one_by_one(domain, X).tolist()
    # One row that is not at an option does not change what happens to the others.
    mixed = np.vstack([snapped, rng.random((1, domain.dim))])
    assert domain.snap(mixed)[:-1].tolist() == snapped.tolist()


def test_snap_of_parameters_out_of_order():
    """Columns that are neighbours, but do not ascend."""
    stepped = tuple((i, Int(1, 2 + i)) for i in (0, 2, 1, 3))
    blocks = ((8, Choice(1, 2)), (6, Choice(3, 4)), (4, Choice(5, 6)))
    domain = Domain(dim=10, stepped=stepped, blocks=blocks)
    X = stream(4).random((9, 10))
    assert (domain.snap(X) == snapped_one_by_one(domain, X)).all()


@given(seeds, st.integers(1, 20))
@settings(max_examples=40)
def test_sampled_points_stand_for_values(seed, count):
    domain = MIXED.domain
    for X in (domain.sample(count, stream(seed)), domain.spread(count, stream(seed))):
        assert X.shape == (count, 10)
        assert (domain.snap(X) == X).all()
        assert X[:, 0] + X[:, 5] == pytest.approx(np.ones(count), abs=1e-12)
        for x, values in zip(X, values_at(MIXED, X), strict=True):
            # A repaired float may round once more; steps and options may not.
            back = MIXED.to_unit(values)
            assert (back == x)[~domain.free].all()
            assert back == pytest.approx(x, abs=1e-14)


def test_sampled_levels_and_options_are_equally_likely():
    """Four levels and three options, 6000 draws: 5 standard deviations of a count."""
    X = MIXED.domain.sample(6000, stream(1))
    values = values_at(MIXED, X)
    for name, options in (("n", (1, 2, 3, 4)), ("c", "xyz"), ("w", (False, True))):
        counts = np.array([sum(v[name] == o for v in values) for o in options])
        p = 1.0 / len(options)
        assert np.abs(counts - 6000 * p).max() < 5.0 * np.sqrt(6000 * p * (1 - p))


def test_spread_fills_a_grid_more_evenly_than_chance():
    domain = Space(n=Int(1, 16), x=Float(0, 1)).domain
    X = domain.spread(64, stream(2))
    levels = np.round(X[:, 0] * 16 - 0.5).astype(int)
    assert (np.bincount(levels, minlength=16) == 4).all()


def test_same_stream_same_points():
    domain = MIXED.domain
    assert (domain.sample(5, stream(3)) == domain.sample(5, stream(3))).all()
    assert (domain.spread(5, stream(3)) == domain.spread(5, stream(3))).all()


def all_moves(domain, X):
    return np.concatenate(
        [changed_points(change, X) for change in domain.changes], axis=1
    )


def test_moves_by_hand():
    space = Space(x=Float(0, 1), n=Int(1, 3), w=Bool(), c=Choice("a", "b"))
    X = np.array([[0.4, 0.5, 0.0, 1.0, 0.0]])
    moves = all_moves(space.domain, X)
    assert moves.shape == (1, 3 + 1 + 2, 5)
    assert values_at(space, moves[0]) == [
        {"x": 0.4, "n": 1, "w": False, "c": "a"},
        {"x": 0.4, "n": 2, "w": False, "c": "a"},
        {"x": 0.4, "n": 3, "w": False, "c": "a"},
        {"x": 0.4, "n": 2, "w": True, "c": "a"},
        {"x": 0.4, "n": 2, "w": False, "c": "a"},
        {"x": 0.4, "n": 2, "w": False, "c": "b"},
    ]


@given(seeds)
@settings(max_examples=15)
def test_a_move_changes_one_parameter_to_a_value_of_its_own(seed):
    domain = MIXED.domain
    X = domain.sample(4, stream(seed))
    moves = all_moves(domain, X)
    flat = moves.reshape(-1, 10)
    assert (domain.snap(flat) == flat).all()
    for x, changed in zip(X, moves, strict=True):
        here = MIXED.from_unit(x)
        for values in values_at(MIXED, changed):
            assert sum(values[name] != here[name] for name in values) <= 1
        for name in ("n", "c", "w", "k"):
            reached = {values[name] for values in values_at(MIXED, changed)}
            parameter = MIXED.parameters[name]
            options = getattr(parameter, "options", None) or (
                (False, True) if name == "w" else (1, 2, 3, 4)
            )
            assert reached == set(options)


@given(spaces, seeds)
def test_a_complete_change_tries_every_value(space, seed):
    domain = space.domain
    X = domain.sample(3, stream(seed))
    for change in domain.changes:
        moves = changed_points(change, X)
        assert moves.shape == (3, len(change.columns), domain.dim)
        reached = [
            {tuple(block) for block in row.tolist()}
            for row in np.concatenate([moves, X[:, None]], axis=1)[:, :, change.where]
        ]
        everything = {tuple(block) for block in all_values(domain, change)}
        assert all(row <= everything for row in reached)
        assert change.is_complete == all(row == everything for row in reached)


def all_values(domain, change):
    """Return the blocks of all values of the parameter that changes."""
    i = change.where.start
    parameter = dict((*domain.stepped, *domain.blocks))[i]
    if isinstance(parameter, Choice):
        return np.eye(parameter.size).tolist()
    values = (
        [False, True]
        if isinstance(parameter, Bool)
        else range(parameter.low, parameter.high + 1)
    )
    return [[parameter.to_unit(value)] for value in values]


@pytest.mark.parametrize("count", [1, 5, 20])
def test_moves_grow_with_the_sum_of_the_options(count):
    space = Space(
        **{f"c{i}": Choice(*range(7)) for i in range(count)},
        **{f"n{i}": Int(1, 5) for i in range(count)},
        **{f"w{i}": Bool() for i in range(count)},
    )
    X = space.domain.sample(2, stream())
    assert all_moves(space.domain, X).shape == (2, count * (7 + 5 + 1), 9 * count)


def test_moves_of_a_long_range_double():
    """1, 2, ..., 2^19 down and up: 40 moves for a million values."""
    domain = Space(n=Int(0, 10**6)).domain
    assert all_moves(domain, domain.sample(3, stream())).shape == (3, 40, 1)

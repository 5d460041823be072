"""Parameters whose steps do not fit each other, under a sum."""

from itertools import product

import numpy as np
import pytest

from guidefbo import Agent, AtMost, Float, Space, SumTo
from guidefbo.core.errors import SpaceError
from guidefbo.site.setup import Setup

UNLIKE = [
    (Space(x=Float(0, 100, step=2), y=Float(0, 100, step=5)), 100, "xy"),
    (
        Space(
            a=Float(0, 1, step=0.05), b=Float(0, 1, step=0.05), c=Float(0, 1, step=0.02)
        ),
        1,
        "abc",
    ),
    (
        Space(
            a=Float(0.01, 1, step=0.07),
            b=Float(0, 1, step=0.1),
            c=Float(0, 1, step=0.3),
        ),
        1.02,
        "abc",
    ),
    (
        Space(a=Float(0, 1, step=0.17), b=Float(0, 1, step=0.13), c=Float(0, 0.05)),
        1,
        "abc",
    ),
]


def on_steps(space):
    """All values on steps that make the sum, a parameter without steps filling up."""
    (limit,) = space.constraints
    grids = {n: space.parameters[n].grid for n in limit.names}
    stepped = [name for name, grid in grids.items() if grid is not None]
    rest = next((name for name, grid in grids.items() if grid is None), None)
    ways = [[grids[n].value(k) for k in range(grids[n].last + 1)] for n in stepped]
    for way in product(*ways):
        values, left = dict(zip(stepped, way, strict=True)), limit.total - sum(way)
        if rest is None and abs(left) < 1e-9:
            yield values
        elif rest and 0 <= left <= space.parameters[rest].high:
            yield values | {rest: left}


@pytest.mark.parametrize(("space", "total", "names"), UNLIKE)
def test_steps_that_do_not_fit_each_other_are_kept_under_a_sum(space, total, names):
    space = space.subject_to(SumTo(total, *names))
    every = list(on_steps(space))
    assert every

    def distance(values, x):
        return sum(
            (space.parameters[n].to_unit(values[n]) - x[space.places[n].start]) ** 2
            for n in names
        )

    for x in space.domain.sample(20, np.random.default_rng(1)):
        values = space.from_unit(x)
        for name in names:
            grid = space.parameters[name].grid
            assert grid is None or values[name] == grid.nearest(values[name])
        assert sum(values[n] for n in names) == pytest.approx(total, abs=1e-9)
        nearest = min(distance(other, x) for other in every)
        if all(space.parameters[n].grid for n in names):
            assert distance(values, x) == pytest.approx(nearest, abs=1e-9)


def test_limits_beside_a_sum_of_unlike_steps_and_a_held_value_are_kept():
    space = Space(
        a=Float(0, 1, step=0.013), b=Float(0, 1, step=0.007), c=Float(0, 1, step=0.017)
    ).subject_to(SumTo(1.0, "a", "b", "c"), AtMost({"a": 1, "c": 1}, 0.8))
    for x in space.domain.sample(20, np.random.default_rng(2)):
        values = space.from_unit(x)
        assert sum(values.values()) == pytest.approx(1.0, abs=1e-9)
        assert values["a"] + values["c"] <= 0.8
        for name, value in values.items():
            assert value == space.parameters[name].grid.nearest(value)
    dials = UNLIKE[0][0].subject_to(SumTo(100, "x", "y"))
    near = np.array([0.43, 0.57])
    assert dials.from_unit(near) == {"x": 40.0, "y": 60.0}
    assert dials.from_unit(near, {"x": (45.0, 60.0)}) == {"x": 50.0, "y": 50.0}
    # Nothing within the bounds: as it was given.
    assert dials.from_unit(near, {"x": (42.0, 48.0)}) == pytest.approx(
        {"x": 43.0, "y": 57.0}
    )


def test_a_walk_ends():
    count = 30
    space = Space(
        **{f"p{k}": Float(0, 1, step=0.003 + 0.001 * (k % 7)) for k in range(count)}
    ).subject_to(SumTo(1.0005, *(f"p{k}" for k in range(count))))
    (x,) = space.domain.sample(1, np.random.default_rng(0))
    assert sum(space.from_unit(x).values()) == pytest.approx(1.0005)


SUMS_OF_NONE = [
    (dict.fromkeys("abc", Float(0.02, 1, step=0.05)), 1.0),
    ({"a": Float(0, 8, step=2), "b": Float(1, 9, step=4)}, 8),
    ({"a": Float(0, 10, step=3), "b": Float(0, 10, step=4)}, 5),
]


@pytest.mark.parametrize(("parameters", "total"), SUMS_OF_NONE)
def test_a_sum_that_no_steps_make_is_refused_for_new_agents(
    parameters, total, tmp_path
):
    space = Space(**parameters).subject_to(SumTo(total, *parameters))
    says = "Expected steps that can add up, got a .* a in steps of"
    with pytest.raises(SpaceError, match=says):
        Agent(space, goal="max")
    # A file from before has one all the same, and its agent asks between the steps.
    old = Agent.of(Setup(space=space, goal="max", method="ucb"), [])
    old.save(tmp_path / "a.json")
    again = Agent.load(tmp_path / "a.json")
    assert sum(again.ask().values.values()) == pytest.approx(total)
    again.change(within={"a": (space.parameters["a"].low, 6 * total / 8)})


@pytest.mark.parametrize(
    ("parameters", "total"),
    [
        ({"a": Float(0, 1, step=1 / 3), "b": Float(0, 1, step=0.25)}, 1.0),
        ({"a": Float(0.1, 1, step=0.1), "b": Float(0.2, 1, step=0.1)}, 0.3),
        ({"a": Float(0, 1, step=0.1), "b": Float(0, 1)}, 0.123),
        ({"a": Float(0, 1, step=0.1), "b": Float(0, 1, digits=2)}, 0.123),
        ({"a": Float(0, 1e6, step=0.007), "b": Float(0, 1e6, step=0.013)}, 1e6),
    ],
)
def test_a_sum_that_some_steps_make_is_not_refused(parameters, total):
    Agent(Space(**parameters).subject_to(SumTo(total, *parameters)), goal="max")


def test_a_site_is_not_limited_to_where_no_sum_comes_out():
    agent = Agent(UNLIKE[0][0].subject_to(SumTo(100, "x", "y")), goal="max")
    with pytest.raises(SpaceError, match="Expected steps that can add up"):
        agent.change(within={"x": (42, 48)})
    agent.change(within={"x": (42, 62)})
    assert {trial.values["x"] for trial in agent.ask(6)} <= {50.0, 60.0}

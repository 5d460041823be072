"""The best of a task inside its box, where it is known by other means."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize_scalar

from guidefbo.core.designs import sobol
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.library import make_problem
from guidefbo.problems.problem import OwnTask
from guidefbo.problems.synthetic import inbox, remember
from guidefbo.problems.synthetic.function import SyntheticFunction
from guidefbo.problems.synthetic.functions import FUNCTIONS
from guidefbo.problems.synthetic.inbox import best_in_box, optima_in_box
from guidefbo.problems.synthetic.make import Variation, make_synthetic
from guidefbo.problems.synthetic.search.climb import climb_to_the_end, climb_together
from guidefbo.problems.synthetic.search.landscape import Landscape
from guidefbo.problems.synthetic.search.lattice import ROUNDING, Lattice

MULTIMODAL = [name for name, function in FUNCTIONS.items() if function.wells]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "guidefbo"


def make(name, *, seed=0, num_agents=4, dim=10, level=3, common_shift=0.3):
    return make_problem(
        name,
        num_agents=num_agents,
        streams=Streams(seed),
        dim=dim,
        level=level,
        common_shift=common_shift,
    )


def is_inside(task):
    return bool(((task.maximiser >= 0.0) & (task.maximiser <= 1.0)).all())


def outside(name, **given):
    return [task for task in make(name, **given).tasks if not is_inside(task)]


def search(task, seed=0, effort=1):
    stream = Streams(seed).at("test")
    return best_in_box(task.objective, task.dim, task.maximiser, stream, effort=effort)


# Known by other means ---------------------------------------------------------------


def test_sphere_has_its_projection():
    """E90: a rotation keeps distances, so that the nearest point is the clipped one."""
    for task in outside("sphere", num_agents=16):
        miss = task.maximiser - np.clip(task.maximiser, 0.0, 1.0)
        assert search(task) == pytest.approx(-100.0 * miss @ miss, rel=1e-12)


def test_ellipsoid_is_bounded_least_squares():
    for task in outside("ellipsoid", num_agents=8):
        landscape = Landscape.of(task.objective, 10)
        root = np.sqrt(np.arange(1.0, 11.0))
        A, b = root[:, None] * landscape.matrix, -root * landscape.offset
        truth = lsq_linear(A, b, (0.0, 1.0), tol=1e-14).cost * -2.0
        assert search(task) == pytest.approx(truth, rel=1e-9)


def test_zakharov_is_the_best_of_its_bounds():
    """t^4 is the largest of 2 s t^2 - s^2 over s, and each of them is least squares."""
    for task in outside("zakharov"):
        landscape = Landscape.of(task.objective, 10)
        tilt = 0.5 * np.arange(1.0, 11.0)

        def bound(s, landscape=landscape, tilt=tilt):
            rows = np.vstack([np.eye(10), np.sqrt(1.0 + 2.0 * s) * tilt])
            A, b = rows @ landscape.matrix, -rows @ landscape.offset
            return s**2 - 2.0 * lsq_linear(A, b, (0.0, 1.0), tol=1e-14).cost

        found = minimize_scalar(bound, bounds=(0.0, 100.0), options={"xatol": 1e-6})
        assert search(task) == pytest.approx(found.fun, rel=1e-7)


def wells_in_box(task):
    """Return whether the origin of some period of Weierstrass lies in the box."""
    landscape = Landscape.of(task.objective, task.dim)
    low, high = landscape.ends
    ranges = [np.arange(np.ceil(a), b) for a, b in zip(low, high, strict=True)]
    Y = np.array(list(product(*ranges)))
    X = (Y - landscape.offset) @ np.linalg.inv(landscape.matrix).T
    return bool(((X >= 0.0) & (X <= 1.0)).all(axis=1).any())


def test_weierstrass_reaches_zero_in_any_of_its_periods():
    reached = {True: [], False: []}
    for seed in range(1, 4):
        for task in outside("weierstrass", dim=4, seed=seed):
            reached[wells_in_box(task)].append(search(task))
    assert min(map(len, reached.values())) >= 2
    assert min(reached[True]) == pytest.approx(0.0, abs=1e-9)
    assert max(reached[False]) < -0.01


def dense(task):
    """Return the best of a grid, laid finer around its best points again and again."""
    dim = task.dim
    num = {1: 20_001, 2: 201}[dim]
    step = 1.0 / (num - 1)
    X = np.array(list(product(np.linspace(0.0, 1.0, num), repeat=dim)))
    around = np.array(list(product(np.linspace(-1.0, 1.0, 13), repeat=dim)))
    best = -np.inf
    for _ in range(8):
        values = np.concatenate([task.evaluate(part) for part in np.array_split(X, 4)])
        best = max(best, values.max())
        top = X[np.argsort(-values)[:40]]
        X = np.clip((top[:, None] + step * around).reshape(-1, dim), 0.0, 1.0)
        step /= 4.0
    return best


@pytest.mark.parametrize(
    ("name", "dim"),
    [(n, d) for n, f in FUNCTIONS.items() for d in (1, 2) if d >= f.min_dim],
)
def test_few_dimensions_against_a_dense_grid(name, dim):
    """All but Powell, which has no term in fewer than four dimensions."""
    task = outside(name, dim=dim, num_agents=32)[0]
    size = FUNCTIONS[name].output_scale
    # The grid is a step of 1e-6 away from the truth, where the function is rough.
    assert search(task) == pytest.approx(dense(task), abs=1e-5 * size)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "michalewicz"])
def test_no_point_of_the_box_is_better(name):
    task = outside(name, dim=5)[0]
    found = search(task)
    X = sobol(4096, 5, Streams(5).at(Purpose.CANDIDATES))
    corner = np.clip(task.maximiser, 0.0, 1.0)
    near = np.clip(corner + 0.02 * (X - 0.5), 0.0, 1.0)
    assert task.evaluate(np.vstack([X, near])).max() <= found
    assert found <= FUNCTIONS[name].maximum(5) + 1e-9


def test_most_optima_off_centre_lie_outside():
    """At Level 3 with a common shift of 0.3: about 80 %, and all where it is known."""
    tasks = [t for s in range(10) for t in make("sphere", seed=s, num_agents=16).tasks]
    share = np.mean([not is_inside(task) for task in tasks])
    # 160 tasks, in tens with a shift in common: some 0.05 of standard error.
    assert share == pytest.approx(0.8, abs=0.1)


SLACK = {"michalewicz": 0.1, "griewank": 0.02, "ackley": 0.002, "weierstrass": 0.1}
"""What an ordinary search may miss: functions with very many wells near their best."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_twenty_times_the_effort_finds_little_more(name):
    tasks = outside(name, num_agents=6)[:3]
    gaps = [search(task, seed=1, effort=20) - search(task) for task in tasks]
    scale = 1e-6 * FUNCTIONS[name].output_scale
    assert np.mean(gaps) < SLACK.get(name, scale)


# The base maximum inside the box ----------------------------------------------------


def refuse(*given, **more):
    raise AssertionError("nothing is to be searched")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_known_is_not_searched(name, monkeypatch):
    monkeypatch.setattr(inbox, "best_in_box", refuse)
    problem = make(name, level=1, common_shift=0.0, dim=9)
    assert (optima_in_box(problem) == FUNCTIONS[name].maximum(9)).all()


def test_a_printed_maximum_is_no_reference(monkeypatch):
    monkeypatch.setattr(inbox, "best_in_box", refuse)
    problem = make("styblinski-tang", level=1, common_shift=0.0)
    assert problem.maximum == 391.66
    assert optima_in_box(problem) == pytest.approx(391.66166, abs=1e-5)


def test_tasks_in_and_out_of_the_box():
    problem = make("sphere", num_agents=8, common_shift=0.0)
    optima = optima_in_box(problem)
    assert optima.shape == (8,)
    inside = np.array([is_inside(task) for task in problem.tasks])
    assert 0 < inside.sum() < 8
    assert (optima[inside] == 0.0).all()
    assert (optima[~inside] < 0.0).all()


def test_global_means_that_no_raw_point_is_better():
    for name, function in FUNCTIONS.items():
        low, high = function.domain
        X = sobol(4096, 4, Streams(1).at(Purpose.CANDIDATES))
        X = low - (high - low) + 3.0 * (high - low) * X
        if function.is_global:
            assert -function(X).min() <= function.maximum(4)
        else:
            assert name == "michalewicz"
    # Outside the box of Michalewicz there are deeper valleys.
    assert -FUNCTIONS["michalewicz"](np.array([[8.009]]))[0] > 0.98
    assert FUNCTIONS["michalewicz"].maximum(1) == pytest.approx(0.801, abs=1e-3)


def slope(X):
    return -X.sum(axis=1)


RAMP = SyntheticFunction(
    name="ramp",
    domain=(0.0, 1.0),
    output_scale=1.0,
    landscape="a plane",
    function=slope,
    maximiser=np.ones,
    maximum=float,
)
"""Better the further one goes: the maximum of its box is none of a moved box."""


def test_a_maximum_that_holds_in_its_box_only():
    for seed in range(3):
        for shift in (0.0, 0.3):
            given = Variation(dim=3, level=2, common_shift=shift)
            problem = make_synthetic(RAMP, given, 4, Streams(seed))
            for task, value in zip(problem.tasks, optima_in_box(problem), strict=True):
                landscape = Landscape.of(task.objective, 3)
                # A plane is highest in the corner that its slope points to.
                rise = landscape.matrix.sum(axis=0)
                truth = landscape.offset.sum() + np.maximum(rise, 0.0).sum()
                assert value == pytest.approx(truth, rel=1e-9)


def test_an_objective_without_anything_known():
    def bowl(X):
        return -np.sum((X - np.array([1.4, -0.2, 0.3])) ** 2, axis=1)

    stream = Streams(0).at("test")
    found = best_in_box(bowl, 3, np.array([1.4, -0.2, 0.3]), stream)
    assert found == pytest.approx(-0.2, rel=1e-12)


def test_other_problems_are_refused():
    task = OwnTask(
        name="site",
        space=make("sphere").space,
        function=lambda values: 0.0,
        observer=None,
        sign=1.0,
        noise_std=0.0,
    )
    problem = replace(make("sphere"), tasks=(task,))
    with pytest.raises(SettingsError, match="Expected a synthetic problem"):
        optima_in_box(problem)


# The cache --------------------------------------------------------------------------


@pytest.fixture
def searches(monkeypatch):
    """Count the searches."""
    counted = []

    def counting(*given, **more):
        counted.append(given)
        return best_in_box(*given, **more)

    monkeypatch.setattr(inbox, "best_in_box", counting)
    return counted


def test_a_task_is_searched_once(searches, folder):
    first = optima_in_box(make("sphere", num_agents=6))
    count = len(searches)
    assert count == len(outside("sphere", num_agents=6)) > 0
    assert (optima_in_box(make("sphere", num_agents=6)) == first).all()
    # The same tasks: noise and the number of agents change nothing about them.
    assert (optima_in_box(make("sphere", num_agents=3)) == first[:3]).all()
    assert len(searches) == count
    assert [p.name for p in folder.glob("*.json")] == ["optima-sphere-10.json"]
    optima_in_box(make("sphere", num_agents=6, seed=1))
    assert len(searches) > count
    kept = json.loads((folder / "optima-sphere-10.json").read_text())
    assert len(kept) == len(searches)


def test_another_search_another_formula(searches, monkeypatch):
    few = {"num_agents": 2, "dim": 3}
    problem = make("ellipsoid", seed=1, **few)
    optima_in_box(problem)
    count = len(searches)
    assert count > 0
    monkeypatch.setattr(inbox, "VERSION", inbox.VERSION + 1)
    optima_in_box(problem)
    assert len(searches) == 2 * count
    other = make("sphere", seed=1, **few)
    optima_in_box(replace(other, name="ellipsoid"))
    assert len(searches) == 3 * count


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"KEY": "1"}', '{"KEY": null}', '{"KEY": -1e9}', "[" * 9999],
)
def test_a_spoilt_cache_is_none(text, searches, folder):
    problem = make("sphere", num_agents=1, seed=2)
    first = optima_in_box(problem)
    assert len(searches) == 1
    path = folder / "optima-sphere-10.json"
    (key,) = json.loads(path.read_text())
    path.write_text(text.replace("KEY", key))
    assert (optima_in_box(problem) == first).all()
    assert len(searches) == 2
    assert json.loads(path.read_text())[key] == first[0]


def test_a_cache_that_cannot_be_written(searches, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    problem = make("sphere", num_agents=1, seed=2)
    assert (optima_in_box(problem) == optima_in_box(problem)).all()
    assert len(searches) == 2


def test_no_home_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    remember.keep("numbers", {"a": 1.0})
    assert remember.recall("numbers") == {}


def test_numbers_are_added():
    remember.keep("numbers", {"a": 1.0, "b": 0.1})
    remember.keep("numbers", {"b": 2.0, "c": 1e-300})
    assert remember.recall("numbers") == {"a": 1.0, "b": 2.0, "c": 1e-300}
    assert remember.recall("others") == {}


# Parts of the search ----------------------------------------------------------------


def test_landscape_is_the_objective():
    task = make("levy").tasks[0]
    landscape = Landscape.of(task.objective, 10)
    X = sobol(64, 10, Streams(0).at(Purpose.CANDIDATES))
    assert landscape.value(X) == pytest.approx(task.evaluate(X), rel=1e-12)
    low, high = landscape.ends
    corners = np.array(list(product((0.0, 1.0), repeat=10)))
    Y = landscape.to_raw(corners)
    assert low == pytest.approx(Y.min(axis=0))
    assert high == pytest.approx(Y.max(axis=0))


def test_gradient_of_a_bowl():
    task = make("ellipsoid").tasks[0]
    landscape = Landscape.of(task.objective, 10)
    X = sobol(16, 10, Streams(0).at(Purpose.CANDIDATES))
    raw = -2.0 * np.arange(1.0, 11.0) * landscape.to_raw(X)
    # Central differences of a square are exact up to rounding.
    assert landscape.gradient(X) == pytest.approx(raw @ landscape.matrix, rel=1e-6)


@pytest.mark.parametrize("name", ["rosenbrock", "rastrigin", "zakharov"])
def test_climbing_goes_up_and_stays_inside(name):
    landscape = Landscape.of(make(name).tasks[1].objective, 10)
    X = sobol(32, 10, Streams(0).at(Purpose.CANDIDATES))
    few, many = (climb_together(landscape, X, n) for n in (5, 40))
    values = [landscape.value(points) for points in (X, few, many)]
    assert (np.diff(values, axis=0) >= 0.0).all()
    assert (values[2] > values[0]).all()
    for end in (many, climb_to_the_end(landscape, X[0])):
        assert ((end >= 0.0) & (end <= 1.0)).all()


@pytest.mark.parametrize("name", MULTIMODAL)
def test_wells_are_wells(name):
    """Around each a function is lower than a third of the way to its neighbours."""
    function = FUNCTIONS[name]
    dim = 6
    low, high = (np.full(dim, end) for end in function.domain)
    for grid in function.wells.grids[:1]:
        for i, places in enumerate(grid(low, high)):
            assert (np.diff(places) > 0.0).all()
            best = function.maximiser(dim)
            for k in range(1, len(places) - 1):
                at = np.tile(best, (3, 1))
                before, place, after = places[k - 1 : k + 2]
                if name == "levy" and abs(place - 1.0) < 4.0:
                    continue  # One well with the optimum's.
                at[:, i] = place, (2 * place + before) / 3, (2 * place + after) / 3
                values = function(at)
                if name == "griewank":
                    # The product may have either sign there, and two signs make one.
                    waves = at[:, i] ** 2 / 4000.0 - (function(at) - 1.0)
                    values = -np.abs(waves)
                assert values[0] < values[1:].min()


@pytest.mark.parametrize("name", MULTIMODAL)
def test_points_for_wells_lie_in_the_cube(name):
    task = outside(name)[0]
    landscape = Landscape.of(task.objective, 10)
    lattice = Lattice.of(landscape, FUNCTIONS[name].wells.grids[0])
    stream = Streams(0).at("test")
    corner = np.clip(task.maximiser, 0.0, 1.0)
    X = lattice.inside(lattice.around(corner, 500, stream), 2000, stream)
    assert 10 < len(X) <= 2500
    assert ((X >= 0.0) & (X <= 1.0)).all()
    Y = landscape.to_raw(X)
    in_well = np.stack(
        [
            np.abs(y[:, None] - places).min(axis=1) < 1e-6 * np.ptp(places)
            for y, places in zip(Y.T, lattice.positions, strict=True)
        ],
        axis=1,
    )
    on_side = np.minimum(X, 1.0 - X) <= ROUNDING
    # As many coordinates are given up as there are sides, and no more.
    assert (in_well.sum(axis=1) + on_side.sum(axis=1) >= 10).all()
    assert on_side.any(axis=1).any()

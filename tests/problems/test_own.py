"""Problems of one's own: what they may be, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import guidefbo as gf
from guidefbo.core.errors import DataError, OptimumWarning, SettingsError
from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.files import code_of, read_tasks
from guidefbo.problems.library import find_problem, make_problem

FILE = Path(__file__).with_name("own_tasks.py")
REACTION = f"{FILE}:reaction"
SPACE = gf.Space(x=gf.Float(0, 1))


def square(values):
    return values["x"] ** 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goal": "up"}, "goal"),
        ({"names": ["a"]}, "one entry a function"),
        ({"names": ["a", "a"]}, "different names"),
        ({"names": ["a b", "c"]}, "name of a site"),
        ({"optima": [1.0]}, "one entry a function"),
        ({"optima": [1.0, float("nan")]}, "optima must be numbers"),
        ({"noise": -1.0}, "noise"),
        ({"noise": float("inf")}, "noise"),
        ({"held_out": [square]}, "one entry a function"),
        ({"observers": [1, 2]}, "callable"),
        ({"metric": "a\nb"}, "metric"),
        ({"num_initial": 0}, "num_initial"),
        ({"num_rounds": -1}, "num_rounds"),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(SettingsError, match=words):
        gf.Tasks(SPACE, [square, square], **changes)


@pytest.mark.parametrize("functions", [[], square, [1], "ab"])
def test_functions_are_a_list_of_callables(functions):
    with pytest.raises(SettingsError, match="callable"):
        gf.Tasks(SPACE, functions)


def test_a_space_is_a_space():
    with pytest.raises(SettingsError, match=r"guidefbo\.Space"):
        gf.Tasks({"x": (0, 1)}, [square])


def test_values_are_oriented_and_noise_is_added():
    """Smaller is better: agents see the loss with its sign changed."""
    problem = make_problem(REACTION, noise=0.5, streams=Streams(3))
    x = problem.space.to_unit({"dose": 1.0, "days": 2, "drug": "b"})[None]
    stream = Streams(3).at(Purpose.NOISE, agent=1, t=2)
    measured = problem.tasks[1].measure(x, stream)
    assert measured.values == pytest.approx([-(0.2**2 + 0.3)])
    drawn = Streams(3).at(Purpose.NOISE, agent=1, t=2).standard_normal(1)
    assert (measured.observed == measured.values + 0.5 * drawn).all()
    assert problem.noise_std == 0.5


def test_an_observer_measures_with_its_own_noise():
    problem = make_problem(f"{FILE}:measured", streams=Streams(0))
    x = problem.space.to_unit({"water": 0.25, "oil": 0.75})[None]
    stream = Streams(0).at(Purpose.NOISE, agent=1)
    measured = problem.tasks[1].measure(x, stream)
    assert measured.values.tolist() == [1.5]
    assert measured.observed[0] == 1.5 + Streams(0).at(Purpose.NOISE, agent=1).normal()
    assert problem.noise_std is None


def test_an_entry_says_what_a_run_needs():
    entry = find_problem(REACTION)
    assert (entry.num_agents, entry.num_initial, entry.num_rounds) == (3, 4, 2)
    assert entry.digest == code_of(REACTION).digest


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "mine.py"
    text = (
        "import guidefbo as gf\n"
        "def f():\n"
        "    return gf.Tasks(gf.Space(x=gf.Float(0, 1)), [lambda v: 1.0] * SITES)\n"
    )
    path.write_text(text + "SITES = 2\n")
    assert find_problem(f"{path}:f").num_agents == 2
    path.write_text(text + "SITES = 5\n")
    assert find_problem(f"{path}:f").num_agents == 5


def test_another_seed_may_have_other_sites(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import guidefbo as gf\n"
        "def f(seed):\n"
        "    space = gf.Space(x=gf.Float(0, 1))\n"
        "    return gf.Tasks(space, [lambda v: v['x']] * (2 + seed), num_initial=2,\n"
        "                    num_rounds=0)\n"
    )
    name = f"{path}:f"
    for seed in (0, 2, 1):
        assert find_problem(name, seed).num_agents == 2 + seed
        trace = gf.simulate(name, method="ucb", seed=seed)
        assert trace.best_value.shape == (1, 2 + seed)
    with pytest.raises(SettingsError, match="has 3 sites with seed 1, got num_agents"):
        gf.simulate(name, method="ucb", seed=1, num_agents=4)


@pytest.mark.parametrize("text", ["import near\n", "def f():\n    import near.by\n"])
@pytest.mark.parametrize("place", ["near.py", "near/__init__.py"])
def test_a_module_beside_the_file_is_no_part_of_it(tmp_path, text, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("")
    (tmp_path / "mine.py").write_text(text)
    words = r"near lies beside it, and only the text .* PACKAGES = \['near'\]"
    with pytest.raises(SettingsError, match=words):
        find_problem(f"{tmp_path / 'mine.py'}:f")
    (tmp_path / place).unlink()
    with pytest.raises(SettingsError, match=r"No module named 'near'$"):
        find_problem(f"{tmp_path / 'mine.py'}:f")


@pytest.mark.parametrize(("goal", "optima"), [("max", [0.5, 9.0]), ("min", [9.0, 0.5])])
def test_a_stated_optimum_that_is_beaten_gives_a_warning(tmp_path, goal, optima):
    path = tmp_path / "mine.py"
    path.write_text(
        "import guidefbo as gf\n"
        "def f():\n"
        "    space = gf.Space(x=gf.Float(0, 1))\n"
        f"    return gf.Tasks(space, [lambda v: 1.0 + 0 * v['x']] * 2, goal={goal!r},\n"
        f"                    optima={optima}, num_initial=2, num_rounds=0)\n"
    )
    words = "site-0 reached 1, better than its stated optimum"
    with pytest.warns(OptimumWarning, match=words) as caught:
        trace = gf.simulate(f"{path}:f", method="ucb")
    assert len(caught) == 1
    assert trace.mean_simple_regret is not None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.py:f", "Cannot read the problem nowhere.py"),
        (f"{FILE}:reactions", "no function 'reactions'.*reaction"),
        (f"{FILE}:HELPER", "no function 'HELPER'"),
        (f"{FILE}:nothing", "must return guidefbo.Tasks, got int"),
    ],
)
def test_a_file_that_brings_no_tasks_is_refused(name, words):
    with pytest.raises(SettingsError, match=words):
        find_problem(name)


def test_a_file_that_fails_names_the_line(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("x = 1\ny = 1 / 0\n")
    with pytest.raises(SettingsError, match=r"line 2.*ZeroDivisionError"):
        read_tasks(f"{path}:f")


def test_no_number_is_an_error_that_names_site_and_values():
    problem = make_problem(f"{FILE}:broken", streams=Streams(0))
    x = np.array([[0.5, 0.5, 1.0, 0.0]])
    with pytest.raises(DataError, match="site-0 must return a finite number, got nan"):
        problem.tasks[0].evaluate(x)


@pytest.mark.parametrize("field", ["level", "dim", "common_shift", "noise_units"])
def test_real_sites_have_no_level(field):
    with pytest.raises(SettingsError, match=f"has no {field}"):
        make_problem(REACTION, streams=Streams(0), **{field: 1})


def test_no_more_sites_than_there_are():
    assert make_problem(REACTION, num_agents=2, streams=Streams(0)).num_agents == 2
    with pytest.raises(SettingsError, match="has 3 sites, got num_agents 4"):
        make_problem(REACTION, num_agents=4, streams=Streams(0))


def test_an_error_of_a_function_names_site_and_values(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import guidefbo as gf\n"
        "def f():\n"
        "    return gf.Tasks(gf.Space(x=gf.Float(0, 1)), [lambda v: v['y']])\n"
        "def g():\n"
        "    raise OSError('no disk')\n"
        "def h():\n"
        "    raise SystemExit(3)\n"
        "def leaves():\n"
        "    return gf.Tasks(gf.Space(x=gf.Float(0, 1)), [lambda v: exit(3)])\n"
    )
    leaves = make_problem(f"{path}:leaves", streams=Streams(0))
    with pytest.raises(DataError, match=r"failed at {'x': 0.5}: SystemExit: 3"):
        leaves.tasks[0].evaluate(np.array([[0.5]]))
    problem = make_problem(f"{path}:f", streams=Streams(0))
    with pytest.raises(DataError, match=r"site-0 failed at {'x': 0.5}: KeyError: 'y'"):
        problem.tasks[0].evaluate(np.array([[0.5]]))
    for name, words in (("g", "OSError: no disk"), ("h", "SystemExit: 3")):
        with pytest.raises(SettingsError, match=f"cannot make its tasks: {words}"):
            find_problem(f"{path}:{name}")

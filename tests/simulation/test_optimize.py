"""Users' own functions, one agent each."""

import math

import numpy as np
import pytest
from tests.simulation.light import known_to

from guidefbo import Float, Space, optimize
from guidefbo.core.errors import SettingsError, UnknownNameError
from guidefbo.methods.default import DEFAULT_METHOD

SQUARE = Space(x=Float(-1, 1), y=Float(0.1, 10, log=True))
LIGHT = {
    "num_paths": 60,
    "num_features": 64,
    "num_candidates": 120,
    "num_raw": 24,
    "num_starts": 4,
    "num_iterations": 8,
}


def quadratic(x, y):
    def function(values):
        return (values["x"] - x) ** 2 + math.log10(values["y"] / y) ** 2

    return function


def negated(function):
    return lambda values: -function(values)


def constant(value):
    return lambda values: value


CENTERS = [(0.3, 1.0), (0.4, 2.0), (0.2, 0.5)]
QUADRATICS = [quadratic(*center) for center in CENTERS]


def light(functions, space=SQUARE, **given):
    settings = known_to(given.get("method", DEFAULT_METHOD), LIGHT)
    options = {"goal": "min", "initial": 4, "rounds": 3, "settings": settings}
    return optimize(functions, space, **{**options, **given})


@pytest.mark.parametrize("method", ["guide-ucb", "guide-nei", "guide-ts", "shape-ucb"])
def test_minimising_is_maximising_the_negative(method):
    low = light(QUADRATICS, goal="min", method=method, rounds=2)
    high = light(list(map(negated, QUADRATICS)), goal="max", method=method, rounds=2)
    assert [e.values for e in low.history] == [e.values for e in high.history]
    assert [e.value for e in low.history] == [-e.value for e in high.history]
    assert [e.values for e in low.best] == [e.values for e in high.best]


@pytest.mark.parametrize("method", ["guide-ucb", "guide-nei", "ucb", "shape-ucb"])
def test_finds_the_optimum_of_quadratics(method):
    result = light(QUADRATICS, method=method, initial=6, rounds=10)
    for best, (x, y) in zip(result.best, CENTERS, strict=True):
        # A tenth of the box in each coordinate; the values there are below 0.05.
        assert best.values["x"] == pytest.approx(x, abs=0.2)
        assert math.log10(best.values["y"]) == pytest.approx(math.log10(y), abs=0.2)
        assert best.value < 0.05
        assert best.value == QUADRATICS[best.agent](best.values)


def test_history_is_in_the_order_of_the_calls():
    calls = []

    def spy(n):
        def function(values):
            calls.append((n, dict(values)))
            return values["x"] + n

        return function

    result = light([spy(0), spy(1)], initial=3, rounds=2)
    assert [(e.agent, e.values) for e in result.history] == calls
    assert [e.agent for e in result.history] == [0] * 3 + [1] * 3 + [0, 1, 0, 1]
    assert [e.round for e in result.history] == [0] * 6 + [1, 1, 2, 2]
    assert all(-1 <= e.values["x"] <= 1 for e in result.history)
    assert all(0.1 <= e.values["y"] <= 10 for e in result.history)


def test_functions_get_a_dict_of_their_own():
    def greedy(values):
        x = values.pop("x")
        values.clear()
        return x

    result = light([greedy, greedy])
    assert all(set(e.values) == {"x", "y"} for e in result.history)


@pytest.mark.parametrize("goal", ["min", "max"])
def test_best_is_the_best_of_the_history(goal):
    result = light(QUADRATICS, goal=goal)
    pick = {"min": min, "max": max}[goal]
    for n, best in enumerate(result.best):
        assert best.agent == n
        assert best.value == pick(e.value for e in result.history if e.agent == n)


def test_same_seed_same_result_and_other_seed_another():
    first, again, other = (light(QUADRATICS, seed=seed) for seed in (1, 1, 2))
    assert first.history == again.history
    assert first.history != other.history


def queries(method, **settings):
    """Return every query of a run whose agents disagree about the optimum."""
    spread = [quadratic(n / 3 - 0.8, 10 ** (n / 3 - 0.9)) for n in range(6)]
    given = known_to(method, {**LIGHT, "packet_size": 2}) | settings
    result = light(spread, method=method, rounds=3, initial=5, settings=given)
    return [e.values for e in result.history if e.round > 0]


def test_guidance_of_strength_zero_gives_the_queries_of_the_plain_rule():
    """E16: S = 1; and a strength of 1 does change them."""
    plain = queries("ucb")
    assert queries("guide-ucb", max_strength=0) == plain
    assert queries("guide-ucb") != plain


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("belief", "single-gaussian"),
        ("reweighting", "mass-only"),
        ("dispatch", "broadcast"),
        ("intervention", "uniform"),
        ("covariance", "full"),
        ("sampler", "exact"),
        ("schedule", "constant"),
        ("fit", "likelihood"),
    ],
)
def test_every_part_changes_the_queries(part, name, guided_queries):
    """A name that was wired to the default part would change nothing."""
    assert queries("guide-ucb", **{part: name}) != guided_queries


@pytest.fixture(scope="module")
def guided_queries():
    return queries("guide-ucb")


def test_merging_changes_the_queries():
    """With a threshold at which something merges."""
    merged = queries("guide-ucb", merge_threshold=0.5)
    assert merged != queries("guide-ucb", merge_threshold=0.5, merging="none")


@pytest.mark.parametrize("noise", [None, 0.0, 0.1])
def test_noise_known_or_not(noise):
    assert len(light(QUADRATICS, noise=noise).history) == 3 * 7


def test_constant_functions_are_no_trouble():
    assert light([constant(2.5), constant(0)]).best[0].value == 2.5


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_units_of_the_values_hardly_matter(size):
    scaled = [lambda v, f=f: size * f(v) for f in QUADRATICS]
    result = light(scaled, rounds=5, initial=6)
    assert all(best.value < 0.5 * size for best in result.best)


def test_one_function_one_parameter_no_rounds():
    result = light([lambda v: v["x"]], Space(x=Float(0, 1)), rounds=0, initial=1)
    assert len(result.history) == 1
    assert result.best[0] is result.history[0]


def test_progress_is_told_the_best_values():
    seen = []
    result = light(QUADRATICS, progress=lambda t, best: seen.append((t, list(best))))
    assert [t for t, _ in seen] == [1, 2, 3]
    assert seen[-1][1] == [e.value for e in result.best]


def test_result_reads_well():
    text = str(light(QUADRATICS))
    lines = text.splitlines()
    assert lines[0] == "shape-ucb, goal min: 3 agents, 7 evaluations each"
    assert len(lines) == 4
    assert lines[1].startswith("  agent 0: ")
    assert "x=" in lines[1]
    assert "(round " in lines[1]


@pytest.mark.parametrize("goal", ["min", "max"])
def test_plot_draws_the_best_so_far(tmp_path, goal):
    result = light(QUADRATICS, goal=goal)
    figure = result.plot(tmp_path / "best.png")
    assert (tmp_path / "best.png").read_bytes().startswith(b"\x89PNG")
    for n, line in enumerate(figure.axes[0].lines):
        values = line.get_ydata()
        assert len(values) == 7
        assert values[-1] == result.best[n].value
        assert (np.diff(values) * (1 if goal == "max" else -1) >= 0).all()


@pytest.mark.parametrize(
    "returned",
    [math.nan, math.inf, -math.inf, None, "bad", "0.7", [1, 2], 1j, {}, 10**400, 1e200],
    ids=lambda value: repr(value)[:9],
)
def test_what_is_no_finite_number_is_a_failure(returned):
    result = light([QUADRATICS[0], constant(returned)])
    assert len(result.history) == len(result.failures) == 7
    assert result.best[0] is not None
    assert result.best[1] is None
    failure = result.failures[-1]
    assert (failure.agent, failure.round, set(failure.values)) == (1, 3, {"x", "y"})
    assert "expected a finite number" in failure.reason
    assert repr(returned)[:9] in failure.reason
    assert not result.interrupted


def test_numpy_numbers_are_numbers():
    result = light([lambda v: np.float32(v["x"]), lambda v: np.int64(3)])
    assert all(type(e.value) is float for e in result.history)


def sometimes(function, error, every=3):
    """Return a function that raises in every third call."""
    calls = []

    def called(values):
        calls.append(values)
        if len(calls) % every == 0:
            raise error
        return function(values)

    return called


def test_function_that_raises_now_and_then_is_optimised():
    error = RuntimeError("pump\nbroke \x1b[31m\ud800")
    functions = [sometimes(QUADRATICS[0], error), QUADRATICS[1]]
    result = light(functions, rounds=5)
    assert [f.agent for f in result.failures] == [0, 0, 0]
    assert {f.reason for f in result.failures} == {
        r"RuntimeError: pump broke \x1b[31m\ud800"
    }
    assert [e.agent for e in result.history].count(0) == 6
    assert [e.agent for e in result.history].count(1) == 9
    assert result.best[0].value == min(e.value for e in result.history if e.agent == 0)
    assert "9 evaluations each, 3 of them failed" in str(result)
    # Where it failed it was not asked again.
    failed = [f.values for f in result.failures]
    assert all(e.values not in failed for e in result.history if e.agent == 0)


@pytest.mark.parametrize(
    "method", ["ucb", "guide-ucb", "fts", "fts-de", "fmtbo", "consensus-ucb"]
)
@pytest.mark.parametrize("num_broken", [1, 2])
def test_function_that_always_fails_is_said_and_stops_nobody(method, num_broken):
    def broken(values):
        raise ValueError("no power")

    functions = [*[broken] * num_broken, *QUADRATICS[num_broken:2]]
    seen = []
    result = light(functions, method=method, progress=lambda t, best: seen.append(best))
    assert [best is None for best in result.best] == [True, num_broken == 2]
    assert (
        "agent 0: no value, all 7 evaluations failed, the last with: ValueError: "
        in (str(result))
    )
    assert all(math.isnan(best[0]) for best in seen)
    assert len(result.plot().axes[0].get_legend().get_texts()) == 2


@pytest.mark.parametrize("stop_at", [0, 3, 8, 11])
def test_interrupted_run_returns_what_there_is(stop_at):
    calls = []

    def watched(function):
        def called(values):
            if len(calls) == stop_at:
                raise KeyboardInterrupt
            calls.append(values)
            return function(values)

        return called

    whole = light(QUADRATICS[:2])
    result = light([watched(f) for f in QUADRATICS[:2]])
    assert result.interrupted
    assert not whole.interrupted
    assert result.history == whole.history[:stop_at]
    assert len(result.best) == 2
    assert "; interrupted" in str(result)
    if stop_at < 5:
        assert "agent 1: not evaluated" in str(result)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goal": "both"}, r"goal must be 'max' or 'min', got 'both'"),
        ({"functions": []}, r"at least one callable"),
        ({"functions": [3]}, r"at least one callable"),
        ({"rounds": -1}, r"rounds must be a whole number of at least 0, got -1"),
        ({"rounds": 1.5}, r"rounds must be a whole number of at least 0, got 1\.5"),
        ({"initial": 0}, r"initial must be a whole number of at least 1, got 0"),
        ({"noise": -1.0}, r"noise must be a finite .* got -1\.0"),
        ({"noise": math.nan}, r"noise must be a finite .* got nan"),
        ({"noise": "0.1"}, r"noise must be a finite"),
        ({"seed": -1}, r"seed must be .* got -1"),
        ({"seed": 1.5}, r"seed"),
        ({"settings": {"beta": -1}}, r"beta must be"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_before_any_call(changes, words):
    calls = []
    given = {"functions": [calls.append], **changes}
    with pytest.raises(SettingsError, match=words):
        light(given.pop("functions"), **given)
    assert not calls


def test_unknown_method_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'guide-ucb'"):
        light(QUADRATICS, method="guide-ubc")

"""No data make an agent raise; bad data leave the good ones their worth."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.site.sites import LIGHT, SPACES, in_space, make, quietly
from tests.strategies import seeds

from guidefbo import Agent, Bool, Choice, Float, Int, Space
from guidefbo.core.errors import FallbackWarning
from guidefbo.site.trial import Origin, TrialState

SQUARE = Space(x=Float(0, 1), y=Float(0, 1))
RULES = ("guide-ucb", "guide-nei", "guide-ts")


def fed(y, X=None, std=None, **options):
    """Return an agent that was brought these results."""
    if X is None:
        X = np.random.default_rng(0).random((len(y), 2))
    agent = make(SQUARE, **options)
    for k, (x, value) in enumerate(zip(X, y, strict=True)):
        own = None if std is None else std[k]
        agent.tell({"x": float(x[0]), "y": float(x[1])}, float(value), std=own)
    return agent


def check(agent):
    """An agent answers every question, with finite numbers and by its model."""
    best = agent.best()
    assert np.isfinite([best.mean, best.std or 0.0]).all()
    assert best.std is None or best.std >= 0.0
    assert agent.upload() is not None
    assert str(agent)
    for trial in agent.ask(3):
        assert in_space(agent.space, trial.values)
        assert trial.origin == Origin.MODEL
    return best


noise = np.random.default_rng(1).standard_normal(12)
LISTS = {
    "constant": np.full(8, 3.0),
    "zero": np.zeros(8),
    "huge constant": np.full(8, -1e99),
    "one": [2.0],
    "two": [2.0, 5.0],
    "two equal": [2.0, 2.0],
    "1e12": 1e12 * noise,
    "1e-12": 1e-12 * noise,
    "1e-150": 1e-150 * noise,
    "1e-320": 1e-320 * noise,
    "far from zero": 1e15 + noise,
    "largest": [1e100, -1e100] * 4,
    "one huge": [*noise, 1e99],
    "one terrible": [*noise, -1e99],
    "half terrible": [*noise[:6], *[-1e99] * 6],
    "mostly terrible": [*noise[:3], *[-1e99] * 9],
    "one unlike": [1.0] * 7 + [2.0],
    "one worse": [2.0] * 7 + [1.0],
    "neighbours in floating point": [1.0] * 5 + [1.0 + 2e-16, 1.0 - 1e-16],
    "two values": [0.0, 1.0] * 5,
    "all scales": [10.0**k for k in range(-90, 90, 15)],
    "all scales below": [-(10.0**k) for k in range(-90, 90, 15)],
}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "guide-ucb") for name in LISTS),
        *(
            (name, method)
            for name in ("constant", "one", "1e12", "1e-320", "largest", "all scales")
            for method in ("guide-nei", "guide-ts")
        ),
    ],
)
def test_any_values(name, method):
    y = LISTS[name]
    agent = fed(y, method=method, initial=1)
    best = check(agent)
    assert best.observed.value == max(y)


@pytest.mark.parametrize("fit", ["map", "likelihood"])
@pytest.mark.parametrize("given_noise", [None, 0.0, 1e-9, 0.5, 1e6])
def test_any_known_noise(given_noise, fit):
    options = {"noise": given_noise, "settings": LIGHT | {"fit": fit}, "goal": "min"}
    check(fed(noise, **options))
    check(fed(np.full(6, 2.0), **options))


PLACES = {
    "one place": np.full((10, 2), 0.4),
    "two places": np.repeat([[0.2, 0.2], [0.9, 0.4]], 5, axis=0),
    "two clusters": np.vstack(
        [c + 1e-9 * np.random.default_rng(2).random((5, 2)) for c in (0.1, 0.8)]
    ),
    "corners": np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 3)[:10],
    "a line": np.column_stack([np.linspace(0, 1, 10), np.full(10, 0.5)]),
}


@pytest.mark.parametrize("method", RULES)
@pytest.mark.parametrize("name", PLACES)
def test_any_places(name, method):
    X = PLACES[name]
    check(fed(noise[:10], X, method=method))
    check(fed(np.ones(10), X, method=method, noise=0.0))


STDS = {
    "none": [0.0] * 10,
    "some none": [0.0, None] * 5,
    "mixed": [0.0, None, 0.1, 1e6, 1e-200] * 2,
    "huge": [1e100] * 10,
    "one huge": [1e100] + [None] * 9,
}


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
@pytest.mark.parametrize("name", STDS)
def test_any_known_spreads(name, scale):
    check(fed(scale * noise[:10], std=STDS[name]))
    check(fed(scale * noise[:10], PLACES["one place"], std=STDS[name]))
    check(fed(np.full(10, scale), std=STDS[name], noise=0.1))


@pytest.mark.parametrize(
    ("scale", "std", "given_noise"),
    [(1e-60, 1e100, None), (1e-60, None, 1e100), (1.0, None, 1e99)],
)
def test_spread_that_no_float_can_hold_in_units_of_the_values(scale, std, given_noise):
    agent = fed(scale * noise, std=[std] * 12, noise=given_noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        agent.upload()
        for trial in agent.ask(2):
            assert in_space(SQUARE, trial.values)
        assert np.isfinite(agent.best().mean)


values = st.one_of(
    st.floats(-1e100, 1e100), st.floats(-1.0, 1.0), st.sampled_from([0.0, 1.0, -1e100])
)


@settings(max_examples=40)
@given(
    told=st.lists(
        st.tuples(values, st.none() | st.floats(0.0, 1e100), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    ),
    method=st.sampled_from(RULES),
    seed=seeds,
)
def test_any_results_at_all(told, method, seed):
    X = np.random.default_rng(seed).random((4, 2))
    agent = fed(
        [y for y, _, _ in told],
        X[[k for _, _, k in told]],
        [s for _, s, _ in told],
        method=method,
        initial=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        agent.upload()
        assert in_space(SQUARE, agent.ask().values)
        assert np.isfinite([agent.best().mean, agent.best().std or 0.0]).all()


# Terrible values.


@pytest.mark.parametrize("penalty", [-1e3, -1e6, -1e15, -1e30, -1e99])
def test_a_penalty_does_not_hide_the_good_values(penalty):
    """Some sites tell a huge number where an evaluation broke."""
    rng = np.random.default_rng(3)
    X = rng.random((20, 2))
    y = -((X - 0.7) ** 2).sum(axis=1)
    y[:4] = penalty
    best = check(fed(y, X, noise=1e-3))
    assert best.trial.value == y.max()
    assert best.mean == pytest.approx(y.max(), abs=0.05)


@pytest.mark.parametrize("penalty", [1e2, 1e4])
def test_optimum_is_found_beside_a_cliff(penalty):
    """A third of the square costs a penalty; the optimum of the rest is found."""
    agent = Agent(SQUARE, goal="min", method="ucb", seed=1, settings={"num_raw": 50})
    for _ in range(22):
        trial = agent.ask()
        x, y = trial.values["x"], trial.values["y"]
        agent.tell(trial, penalty if x > 0.67 else (x - 0.5) ** 2 + (y - 0.3) ** 2)
    assert agent.best().observed.value < 0.01
    assert agent.best().mean < 0.05


# Failures.


@pytest.mark.parametrize("name", SPACES)
def test_all_failures(name):
    agent = make(name, method="guide-ucb")
    with quietly():
        for k in range(12):
            trial = agent.ask()
            assert in_space(agent.space, trial.values)
            agent.tell(trial, failed=f"no {k}")
        assert agent.best() is None
        assert agent.upload() is None
        # One success among them, and the model takes what there is.
        agent.tell(agent.ask(), 1.0)
        agent.ask(2)


def test_everything_failed_everywhere_is_survived():
    """Failures that forbid the whole line."""
    agent = make(Space(x=Float(0, 1)), method="ucb")
    for x in np.linspace(0.0, 1.0, 30):
        agent.tell({"x": float(x)}, failed="no")
    with pytest.warns(FallbackWarning, match="one of them is asked again"):
        agent.ask(2)
    agent.tell({"x": 0.5}, 1.0)
    with quietly():
        agent.ask(2)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_third_of_failures_at_random_and_the_optimum_is_found(goal):
    sign = 1.0 if goal == "max" else -1.0
    rng = np.random.default_rng(4)
    agent = make(SQUARE, goal, method="ucb", initial=5, noise=0.01)
    for _ in range(40):
        trial = agent.ask()
        if rng.random() < 0.3:
            agent.tell(trial, failed="the pump broke")
            continue
        x, y = trial.values["x"], trial.values["y"]
        agent.tell(trial, sign * -((x - 0.3) ** 2 + (y - 0.8) ** 2))
    failed = [t for t in agent.trials if t.state == TrialState.FAILED]
    assert 6 <= len(failed) <= 18
    assert sign * agent.best().observed.value > -0.01
    assert (
        np.linalg.norm(np.subtract([0.3, 0.8], [*agent.best().values.values()])) < 0.1
    )


def test_forbidden_half_is_learnt():
    """Where everything fails, fewer questions are asked as time goes on."""
    agent = make(SQUARE, method="ucb", initial=5, noise=0.01)
    fails = []
    for _ in range(40):
        trial = agent.ask()
        x, y = trial.values["x"], trial.values["y"]
        fails.append(x > 0.5)
        if x > 0.5:
            agent.tell(trial, failed="burst")
        else:
            agent.tell(trial, -((x - 0.4) ** 2) - (y - 0.5) ** 2)
    assert sum(fails[-15:]) <= 7
    assert agent.best().observed.value > -0.01


# Small and large.


@pytest.mark.parametrize(
    ("space", "method"),
    [
        (Space(b=Bool()), "guide-ucb"),
        (Space(n=Int(0, 1)), "guide-nei"),
        (Space(c=Choice("a", "b")), "guide-ts"),
        (Space(b=Bool(), n=Int(1, 2), c=Choice("a", "b")), "guide-ucb"),
        (Space(b=Bool(), n=Int(1, 2), c=Choice("a", "b")), "guide-nei"),
    ],
    ids=str,
)
def test_tiny_space_told_over_and_over(space, method):
    agent = make(space, method=method)
    for k in range(12):
        with quietly():
            trials = agent.ask(1 + k % 3)
        for trial in trials:
            if k % 4 == 3:
                agent.tell(trial, failed="no")
            elif k % 4 != 2:
                agent.tell(trial, float(k % 2), std=0.0 if k % 2 else None)
        with quietly():
            agent.upload()


@pytest.mark.parametrize("count", [1000, pytest.param(2000, marks=pytest.mark.slow)])
def test_many_results(count):
    rng = np.random.default_rng(5)
    X = rng.random((count, 2))
    y = -((X - 0.6) ** 2).sum(axis=1) + 0.05 * rng.standard_normal(count)
    best = check(fed(y, X))
    assert best.mean == pytest.approx(0.0, abs=0.03)
    assert best.trial.id != best.observed.id or best.observed.value < 0.1

"""A query that was observed before: asked again, or a uniform point in its place."""

import numpy as np
import pytest
from tests.agent.numerics import make_data

from guidefbo import Agent, Bool, Choice, Float, Int, Space
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.repeats import (
    NUM_DRAWS,
    ask_again,
    ask_anywhere,
    is_repeat,
)
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.missing import Missing
from guidefbo.agent.policy import Policy
from guidefbo.agent.strategies.independent.agent import IndependentAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.domain import Domain
from guidefbo.core.space.parameters import Choice as Options
from guidefbo.core.space.polytope import Polytope
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.registry import find_method, method_names

MODEL = Model(noise_std=0.1, priors=Priors())
CORNER = np.ones(2)
ADDRESS = Streams(3).of(5, 4)


def stream(t=1):
    return Streams(0).at(Purpose.REPEAT, agent=0, t=t)


def test_a_repeat_agrees_in_every_digit_of_every_coordinate():
    observed = np.array([[0.2, 0.5], [0.5, 0.2]])
    assert is_repeat(np.array([0.5, 0.2]), observed)
    assert not is_repeat(np.array([0.2, 0.2]), observed)
    assert not is_repeat(np.array([0.2, np.nextafter(0.5, 1.0)]), observed)
    assert not is_repeat(np.array([0.2, 0.5]), np.empty((0, 2)))


def test_the_point_in_its_place_is_uniform_over_the_box():
    """E79: mean 1/2 and variance 1/12 in every coordinate, by 2000 rounds."""
    box = Domain.box(2)
    drawn = np.array([ask_anywhere(CORNER, box, stream(t)) for t in range(2000)])
    # Standard errors 0.0065 of a mean, and 0.0017 of a variance (kurtosis 9/5).
    assert drawn.mean(axis=0) == pytest.approx([0.5, 0.5], abs=4 * 0.0065)
    assert drawn.var(axis=0) == pytest.approx([1 / 12, 1 / 12], abs=4 * 0.0017)


def test_it_is_uniform_over_options_and_keeps_constraints():
    """E79: a choice of three, and x1 + x2 <= 0.4 beside it."""
    polytope = Polytope.of(
        2, A=np.ones((1, 2)), b=[0.4], E=np.empty((0, 2)), e=np.empty(0)
    )
    domain = Domain(
        dim=5,
        blocks=((0, Options("a", "b", "c")),),
        columns=np.array([3, 4]),
        polytope=polytope,
    )
    drawn = np.array([ask_anywhere(np.zeros(5), domain, stream(t)) for t in range(300)])
    assert (np.sort(drawn[:, :3], axis=1) == [0.0, 0.0, 1.0]).all()
    # Standard error √(2/9 / 300) = 0.027.
    assert drawn[:, :3].mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=4 * 0.027)
    assert (drawn[:, 3:].sum(axis=1) <= 0.4 + 1e-9).all()


def test_what_may_not_be_asked_is_passed_over():
    """E79: the first allowed of the draws; the repeat itself where none is."""
    box = Domain.box(2)
    drawn = box.sample(NUM_DRAWS, stream())
    third = drawn[:, 0] <= np.sort(drawn[:, 0])[2]
    found = ask_anywhere(CORNER, box, stream(), lambda X: X[:, 0] > X[third, 0].max())
    assert (found == drawn[np.flatnonzero(third)[0]]).all()
    found = ask_anywhere(CORNER, box, stream(), lambda X: np.ones(len(X), dtype=bool))
    assert found is CORNER


class Rising:
    """A rule whose acquisition rises towards the corner (1, 1)."""

    def acquisition(self, posterior, stream):
        return self

    def value(self, X):
        return X.sum(axis=1)

    def value_and_gradient(self, X):
        return self.value(X), np.ones_like(X)


def policy(on_repeat, rule=None):
    return Policy(
        domain=Domain.box(2),
        model=MODEL,
        side=IndependentAgent(),
        rule=rule or Rising(),
        search=SearchSettings(num_raw=20, num_starts=3),
        on_repeat=on_repeat,
    )


def observations(with_corner):
    X, y = make_data(6, 2)
    if with_corner:
        X[2] = CORNER
    return MODEL.fit(Dataset(X=X, y=y))


def test_a_corner_observed_before_is_replaced():
    """E79: the search ends at (1, 1) exactly, which was observed."""
    fitted = observations(with_corner=True)
    assert (policy(ask_again).decide(fitted, None, 4, ADDRESS) == CORNER).all()
    x = policy(ask_anywhere).decide(fitted, None, 4, ADDRESS)
    drawn = Streams(3).at(Purpose.REPEAT, agent=5, t=4).random((NUM_DRAWS, 2))
    assert (x == drawn[0]).all()


def test_no_point_that_is_pending_takes_its_place():
    fitted = observations(with_corner=True)
    drawn = Streams(3).at(Purpose.REPEAT, agent=5, t=4).random((NUM_DRAWS, 2))
    pending, nothing = drawn[:2], np.empty((0, 2))
    missing = Missing(pending=pending, failed=nothing, radii=np.empty(0), known=nothing)
    x = policy(ask_anywhere).decide(fitted, None, 4, ADDRESS, missing)
    assert (x == drawn[2]).all()


def test_a_corner_not_observed_before_is_asked():
    fitted = observations(with_corner=False)
    assert (policy(ask_anywhere).decide(fitted, None, 4, ADDRESS) == CORNER).all()


@pytest.mark.parametrize("name", method_names())
def test_only_fts_and_fmtbo_replace_repeats(name):
    """As they are meant, and as they were run for the paper's tables."""
    built = find_method(name).policy({}, Domain.box(2), MODEL)
    replaces = name.removesuffix("-as-run") in ("fts", "fmtbo")
    assert built.on_repeat is (ask_anywhere if replaces else ask_again)


SMALL = Space(drug=Choice("a", "b"), often=Bool())
MIXED = Space(drug=Choice("a", "b"), days=Int(1, 16, log=True), dose=Float(0.0, 1.0))


@pytest.mark.parametrize("method", ["fts", "fmtbo"])
@pytest.mark.parametrize("noise", [0.1, None])
def test_a_site_goes_on_when_everything_was_tried(method, noise):
    """Four points in all: asked by turns at random, and never the best one alone."""
    agent = Agent(SMALL, goal="max", method=method, noise=noise, initial=4, seed=1)
    asked = []
    for _ in range(24):
        trial = agent.ask()
        asked.append(tuple(trial.values.values()))
        agent.tell(trial, float(trial.values["drug"] == "a"))
    assert len(set(asked)) == 4
    # Of 20 uniform draws each point gets 5 on average, with std 1.9.
    counts = [asked[4:].count(point) for point in set(asked)]
    assert max(counts) <= 5 + 4 * 1.94


def test_a_site_knows_its_own_points_again():
    """Steps, options and floats come back from natural units as they were asked."""
    agent = Agent(MIXED, goal="max", method="fts", noise=0.1, initial=3, seed=0)
    for _ in range(3):
        trial = agent.ask()
        agent.tell(trial, 0.0)
    agent.tell({"drug": "b", "days": 4, "dose": 1.0}, 1.0)
    x = agent.space.to_unit({"drug": "b", "days": 4, "dose": 1.0})
    fitted = agent.fitted
    assert fitted is not None
    assert is_repeat(x, fitted.data.X)
    assert is_repeat(agent.space.domain.snap(x[None])[0], fitted.data.X)

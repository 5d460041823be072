"""The contract of an agent: ask, tell, best, guidance, and which way is better."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.site.sites import (
    LIGHT,
    METHODS,
    SPACES,
    handed,
    in_space,
    make,
    measure,
    packet,
    quietly,
    told,
)

from guidefbo import Agent, AtMost, Bool, Choice, FedBOError, Float, Int, Space, SumTo
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.core.component import Components
from guidefbo.core.errors import (
    DataError,
    FallbackWarning,
    GuidanceWarning,
    SettingsError,
    SpaceError,
)
from guidefbo.server.exchange import merge
from guidefbo.site.trial import Origin, TrialState
from guidefbo.wire.guide import GuidancePacket

NAN, INF = float("nan"), float("inf")
BOX = SPACES["box"]


def points(agent, trials):
    return np.array([agent.space.to_unit(t.values) for t in trials])


def snapshot(agent):
    """Return everything an agent would do next, without doing it."""
    return agent.trials, agent.guidance, agent.t, agent.best(), str(agent)


# What is asked.


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "guide-ucb") for name in SPACES),
        *((name, "nei") for name in ("mixed", "grid")),
        *((name, "ts") for name in ("mixed", "grid", "cut")),
    ],
)
def test_every_question_is_in_the_space(name, method):
    agent = make(name, method=method)
    for k in range(6):
        for trial in agent.ask(1 + k % 2):
            assert in_space(agent.space, trial.values)
            agent.tell(trial, measure(agent.space, trial.values))
        if k == 4 and method == "guide-ucb":
            agent.receive(handed(agent, packet(agent.space.dim)))
    assert {t.origin for t in agent.trials} >= {Origin.DESIGN, Origin.MODEL}


@pytest.mark.parametrize(
    "space",
    [
        Space(a=Float(0, 100), b=Float(0, 100), c=Float(0, 0.1)).subject_to(
            SumTo(100.0, "a", "b", "c")
        ),
        Space(a=Float(0, 1000), b=Float(0, 1)).subject_to(SumTo(1.0, "a", "b")),
        Space(a=Float(-5, 5), b=Float(-5, 5), n=Int(1, 9)).subject_to(
            SumTo(3.0, "a", "b")
        ),
        Space(
            a=Float(0, 1), b=Float(0, 1), c=Float(0, 1), d=Float(0, 1), k=Choice(1, 2)
        ).subject_to(SumTo(1.0, "a", "b"), SumTo(1.2, "b", "c", "d")),
        Space(a=Float(0, 1), b=Float(0, 1), w=Bool()).subject_to(
            AtMost({"a": 1, "b": 1}, 1.0), AtMost({"a": -1, "b": -1}, -0.999)
        ),
        Space(a=Float(0, 1), b=Float(0, 1)).subject_to(SumTo(2.0, "a", "b")),
    ],
    ids=["percent", "scales", "signs", "two sums", "slab", "one point"],
)
def test_constraints_hold_for_every_question(space):
    agent = make(space, method="guide-ucb", initial=3)
    for k in range(7):
        trial = agent.ask()
        assert in_space(space, trial.values)
        agent.tell(trial, math.sin(5.0 * k))
        agent.receive(handed(agent, packet(space.dim, center=1.0, variance=1e-4)))


def test_constrained_optimum_is_found_on_its_face():
    """Best at water = 0.7, soap = 0: the corner of a mixture with a bound."""
    space = Space(water=Float(0, 0.7), oil=Float(0, 1), soap=Float(0, 0.3))
    space = space.subject_to(SumTo(1.0, "water", "oil", "soap"))
    agent = make(space, method="ucb", initial=5, noise=1e-3)
    for _ in range(14):
        trial = agent.ask()
        agent.tell(trial, 2.0 * trial.values["water"] - trial.values["soap"])
    assert agent.best().mean > 1.35


def test_mixed_space_is_searched_to_its_optimum():
    """The best option, count and dose together, among 4 * 30 combinations."""
    space = Space(
        dose=Float(0.1, 10, log=True),
        n=Int(1, 30),
        drug=Choice("a", "b", "c", "d"),
    )

    def yield_of(v):
        bonus = {"a": 0.0, "b": 1.0, "c": 0.3, "d": 0.1}[v["drug"]]
        return bonus - ((v["n"] - 19) / 15) ** 2 - math.log10(v["dose"] / 2.0) ** 2

    agent = Agent(space, goal="max", method="ucb", seed=3, noise=1e-3)
    for _ in range(32):
        trial = agent.ask()
        agent.tell(trial, yield_of(trial.values))
    assert agent.best().values["drug"] == "b"
    assert agent.best().mean > 0.97


def test_many_options_are_never_multiplied():
    """60 options in each of 10 choices are 6e17 points."""
    space = Space(**{f"c{i}": Choice(*range(60)) for i in range(10)})
    agent = make(space, method="ucb", initial=2)
    for _ in range(3):
        agent.tell(trial := agent.ask(), float(sum(trial.values.values())))
    assert agent.trials[-1].origin == Origin.MODEL


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("box", method) for method in METHODS),
        *((name, "guide-ucb") for name in ("line", "mixed", "shares")),
        *((name, "nei") for name in ("line", "mixed")),
    ],
)
def test_questions_before_an_answer_differ(method, name):
    agent = told(name, 4, method=method)
    X = points(agent, agent.ask(5))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    assert distances[np.triu_indices(5, 1)].min() > 1e-4


def test_batch_is_as_many_single_questions():
    one, other = told(num_results=5), told(num_results=5)
    singles = [other.ask() for _ in range(4)]
    assert [t.values for t in one.ask(4)] == [t.values for t in singles]
    assert len(one.ask(1)) == 1


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True, NAN])
def test_size_of_a_batch_is_a_count(n):
    agent = make()
    with pytest.raises(SettingsError, match="n must be a whole number of at least 1"):
        agent.ask(n)
    assert agent.trials == ()


@pytest.mark.parametrize("num_agents", [None, 2])
def test_tiny_space_is_exhausted_before_it_repeats(num_agents):
    agent = make("tiny", num_agents=num_agents)
    seen = [tuple(t.values.values()) for t in agent.ask(4)]
    assert len(set(seen)) == 4
    with pytest.warns(FallbackWarning, match="one of them is asked again"):
        agent.ask(3)
    for trial in agent.trials:
        agent.tell(trial, float(trial.values["b"]))
    seen = [tuple(t.values.values()) for t in agent.ask(4)]
    assert len(set(seen)) == 4
    assert agent.best().values["b"] is True


def test_large_grid_is_exhausted_before_it_repeats():
    agent = make(Space(n=Int(1, 40)), method="ucb", expire_after=1000)
    agent.tell({"n": 7}, 1.0)
    values = [t.values["n"] for t in agent.ask(40)]
    assert len(set(values)) == 40


def test_same_seed_same_questions_and_another_seed_others():
    first, again, other = (told(seed=s, num_results=5).trials for s in (1, 1, 2))
    assert first == again
    assert first != other


# The initial design.


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("num_agents", [1, 4])
def test_designs_of_a_federation_interlock(num_agents, dim):
    space = Space(**{f"x{i}": Float(-2, 3) for i in range(dim)})
    designs = []
    for n in range(num_agents):
        agent = Agent(
            space, goal="max", agent_id=n, num_agents=num_agents, initial=5, seed=9
        )
        designs.append(points(agent, agent.ask(5)))
        cells = np.sort(np.floor(designs[-1] * 5), axis=0)
        assert (cells == np.arange(5)[:, None]).all()
    cells = np.sort(np.floor(np.vstack(designs) * 5 * num_agents), axis=0)
    assert (cells == np.arange(5 * num_agents)[:, None]).all()


def test_lone_design_fills_halves_and_quarters():
    """The first 4 points of a shifted Sobol sequence: one in each quarter."""
    agent = Agent(
        Space(x=Float(0, 1), y=Float(0, 1)), goal="max", initial=8, num_agents=None
    )
    X = points(agent, agent.ask(4))
    assert (np.sort(np.floor(X * 4), axis=0) == np.arange(4)[:, None]).all()


def test_own_results_start_the_design():
    agent = make(initial=4)
    for x in (0.1, 0.3, 0.5, 0.9):
        agent.tell({"x": x, "y": 10.0}, x)
    assert agent.ask().origin == Origin.MODEL


def test_own_results_count_towards_the_design():
    agent = make(initial=4)
    agent.tell({"x": 0.1, "y": 10.0}, 0.1)
    origins = [t.origin for t in agent.ask(4)]
    assert origins == [Origin.DESIGN] * 3 + [Origin.MODEL]


def test_design_point_that_is_known_is_not_asked():
    first = make().ask()
    agent = make()
    agent.tell(dict(first.values), 1.0)
    assert agent.ask().values != first.values


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (Space(x=Float(0, 1)), 5),
        (Space(**{f"x{i}": Float(0, 1) for i in range(4)}), 8),
        (Space(**{f"x{i}": Float(0, 1) for i in range(30)}), 20),
        (Space(c=Choice(*range(50))), 5),
    ],
)
def test_default_size_of_the_design(space, size):
    assert Agent(space, goal="max").setup.num_initial == size


# What is told.


def test_tell_by_trial_by_id_and_by_values():
    agent = make()
    a, _, c = agent.ask(3)
    assert agent.tell(a, 1.0).id == 1
    assert agent.tell(2, 2).value == 2.0
    assert agent.tell(json.loads(json.dumps(c.values)), 3.0).id == 3
    assert [t.state for t in agent.trials] == [TrialState.DONE] * 3
    own = agent.tell({"x": 0.25, "y": 50}, 4.0)
    assert (own.id, own.origin, own.values["y"]) == (4, Origin.OWN, 50.0)


def test_repeats_are_trials_of_their_own():
    agent = make()
    trial = agent.ask()
    for value in (1.0, 2.0, 1.0):
        agent.tell(dict(trial.values), value)
    assert [t.value for t in agent.trials] == [1.0, 2.0, 1.0]
    assert [t.origin for t in agent.trials] == ["design", "own", "own"]


def test_correction_counts_and_the_old_record_is_kept():
    agent = told(num_results=6)
    worst = min(agent.trials, key=lambda t: t.value)
    corrected = agent.tell(worst, 50.0, std=0.1)
    assert [r.value for r in corrected.records] == [worst.value, 50.0]
    assert (corrected.value, corrected.std) == (50.0, 0.1)
    assert agent.best().trial.id == worst.id
    assert agent.tell(worst.id, failed="wrong flask").state == TrialState.FAILED
    assert agent.best().trial.id != worst.id
    assert agent.tell(worst.id, 2.0).state == TrialState.DONE
    assert [r.order for r in agent.trials[worst.id - 1].records][1:] == [7, 8, 9]


def test_corrected_value_decides_as_if_it_had_been_told_at_once():
    """Only what is now known of the points decides; the address stays the trial's."""
    once, late = make(method="ucb"), make(method="ucb")
    for k in range(5):
        value = math.sin(4.0 * k)
        once.tell(once.ask(), value)
        trial = late.ask()
        if k == 2:
            late.tell(trial, 9.0)
        late.tell(trial, value)
    a, b = once.ask(), late.ask()
    assert (a.values, a.id) == (b.values, b.id)


def test_telling_the_same_again_changes_nothing():
    agent = told(num_results=4)
    before = snapshot(agent)
    agent.tell(2, agent.trials[1].value)
    assert snapshot(agent) == before


@pytest.mark.parametrize(
    "value",
    [
        *(NAN, INF, -INF, None, "1.0", True, np.True_, 1.0 + 0j, [1.0], b"1", {}),
        *(10**400, 1e101, -2e100, object(), np.float64("nan"), np.complex128(1)),
        np.array([1.0, 2.0]),
    ],
    ids=lambda v: type(v).__name__ + repr(v)[:12].replace("<object obje", ""),
)
def test_what_is_no_finite_number_is_refused(value):
    agent = told(num_results=4)
    trial = agent.ask()
    before = snapshot(agent)
    for target in (trial, 1, {"x": 0.5, "y": 2.0}):
        with pytest.raises(DataError, match=r"finite number.*failed='reason'"):
            agent.tell(target, value)
    assert snapshot(agent) == before


@pytest.mark.parametrize("std", [NAN, INF, -1.0, -1e-300, "1", True, 1j, [1.0], 1e101])
def test_std_must_be_a_spread(std):
    agent = told(num_results=3)
    before = snapshot(agent)
    with pytest.raises(DataError, match="standard deviation from 0 to"):
        agent.tell(agent.trials[0], 1.0, std=std)
    assert snapshot(agent) == before


@pytest.mark.parametrize(
    ("value", "std", "failed"),
    [(1.0, None, "x"), (None, 1.0, "x"), (None, None, True), (None, None, b"no")],
)
def test_a_trial_has_a_value_or_failed(value, std, failed):
    agent = make()
    trial = agent.ask()
    with pytest.raises(DataError, match="either a value or failed='reason'"):
        agent.tell(trial, value, std=std, failed=failed)
    assert agent.trials == (trial,)


@pytest.mark.parametrize(
    "number",
    [np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int8(3), 7, np.uint64(5)],
    ids=lambda v: type(v).__name__,
)
def test_numbers_of_numpy_are_numbers(number, tmp_path):
    agent = make()
    done = agent.tell(agent.ask(), number, std=number)
    assert (done.value, done.std) == (float(number), float(number))
    assert type(done.value) is type(done.std) is float
    own = agent.tell({"x": np.float32(0.5), "y": number + 1}, number)
    assert {type(v) for v in own.values.values()} == {float}
    agent.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").trials == agent.trials


@pytest.mark.parametrize(
    "trial", [0, -1, 2, True, 1.0, "1", None, [1], NAN, 10**400], ids=repr
)
def test_unknown_trial_is_refused(trial):
    agent = make()
    agent.ask()
    for act in (lambda: agent.tell(trial, 1.0), lambda: agent.abandon(trial)):
        with pytest.raises(DataError, match=r"its id \(1 to 1\) or values"):
            act()
    assert len(agent.trials) == 1


def test_trial_of_another_agent_is_refused():
    agent, other = make(seed=1), make(seed=2)
    agent.ask()
    with pytest.raises(DataError, match="other values; was it asked from another"):
        agent.tell(other.ask(), 1.0)
    assert agent.trials[0].state == TrialState.PENDING


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"x": 0.5},
        {"x": 0.5, "y": 10.0, "z": 1.0},
        {"x": 1.5, "y": 10.0},
        {"x": NAN, "y": 10.0},
        {"x": None, "y": 10.0},
        {"x": "0.5", "y": 10.0},
        {"x": True, "y": 10.0},
        {"x": [0.5], "y": 10.0},
    ],
)
def test_values_outside_the_space_are_refused(values):
    agent = make()
    with pytest.raises(SpaceError):
        agent.tell(values, 1.0)
    assert agent.trials == ()


def test_own_mixture_may_miss_its_sum_by_rounding_on_a_scale_only():
    agent = make("shares")
    agent.tell({"water": 0.501, "oil": 0.3, "soap": 0.202, "n": 1}, 1.0)
    for values in ({"water": 0.5, "oil": 0.3, "soap": 0.1, "n": 1},):
        with pytest.raises(SpaceError, match="water \\+ oil \\+ soap = 1, missed by"):
            agent.tell(values, 1.0)
    for _ in range(4):
        trial = agent.ask()
        assert in_space(agent.space, trial.values)
        agent.tell(trial, 0.0)


def test_values_of_a_trial_cannot_be_changed():
    trial = make().ask()
    for change in (
        lambda v: v.update(x=1.0),
        lambda v: v.__setitem__("x", 1.0),
        lambda v: v.pop("x"),
        lambda v: v.clear(),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change(trial.values)
    assert dict(trial.values) | {"x": 1.0} != trial.values


@pytest.mark.parametrize("method", METHODS)
def test_agent_can_be_sent_to_another_process_and_copied(method):
    """With what it worked out for its last answer, and its next one is the same."""
    agent = told(num_results=4, method=method)
    agent.upload()
    others = pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)
    expected = agent.ask().values
    assert [other.ask().values for other in others] == [expected] * 2


def test_trial_can_be_sent_to_another_process_and_copied():
    """A pool of workers that evaluates trials pickles them."""
    agent = told(num_results=4)
    for trial in (agent.ask(), agent.trials[0]):
        for other in (
            pickle.loads(pickle.dumps(trial)),
            copy.deepcopy(trial),
            copy.copy(trial),
        ):
            assert other == trial
            with pytest.raises(TypeError, match="cannot be changed"):
                other.values["x"] = 0.0
    assert agent.tell(pickle.loads(pickle.dumps(agent.ask())), 1.0).value == 1.0


# Trials that come to nothing.


def test_failed_point_is_not_courted_again():
    agent = told("box", 6, noise=0.01)
    best = points(agent, [agent.best().trial])
    failed = [agent.tell(agent.ask(), failed="burst") for _ in range(6)]
    Z = points(agent, failed)
    distances = np.linalg.norm(Z[:, None] - Z, axis=2)
    assert distances[np.triu_indices(6, 1)].min() > 0.05
    assert np.isfinite(best).all()


def test_failures_are_no_observations():
    agent, other = told(num_results=5), told(num_results=5)
    agent.tell(agent.ask(), failed="burst")
    assert agent.best() == other.best()


def test_late_answer_to_an_expired_or_abandoned_trial_is_welcome():
    agent = make(expire_after=3)
    slow, given_up = agent.ask(2)
    assert agent.abandon(given_up).state == TrialState.ABANDONED
    # Two were out, and three more make five.
    for k in range(5):
        assert agent.trials[0].state == TrialState.PENDING
        agent.tell({"x": k / 6, "y": 10.0}, float(k))
    assert agent.trials[0].state == TrialState.EXPIRED
    assert agent.tell(slow, 30.0).state == TrialState.DONE
    assert agent.tell(given_up, 40.0).state == TrialState.DONE
    assert agent.best().trial.id == given_up.id
    late = make(expire_after=1)
    trial = late.ask()
    for value in (1.0, 2.0):
        late.tell({"x": 0.5, "y": 10.0}, value)
    assert late.trials[0].state == TrialState.EXPIRED
    assert late.tell(dict(trial.values), 2.0).id == trial.id


def test_abandoned_region_is_free_again():
    effort = LIGHT | {"num_raw": 200, "num_iterations": 50}
    agent, other = (told(settings=effort, method="ucb", noise=0.1) for _ in range(2))
    first = agent.ask()
    agent.abandon(first)
    # The next question has another number and so other random numbers, no more.
    assert points(agent, [agent.ask()]) == pytest.approx(
        points(other, [other.ask()]), abs=0.02
    )


def test_what_was_answered_cannot_be_abandoned():
    agent = told(num_results=1)
    agent.tell(agent.ask(), failed="no")
    for trial_id in (1, 2):
        with pytest.raises(DataError, match=r"cannot be abandoned. Tell a correction"):
            agent.abandon(trial_id)


def test_abandoning_values_opens_nothing():
    agent = make()
    with pytest.raises(DataError):
        agent.abandon({"x": 0.5, "y": 10.0})
    assert agent.trials == ()


# What is best.


def test_nothing_is_best_without_a_result():
    agent = make()
    assert agent.best() is None
    agent.tell(agent.ask(), failed="no")
    assert agent.best() is None
    assert "no result yet" in str(agent)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_repeated_good_point_is_better_than_a_lucky_one(goal):
    sign = 1.0 if goal == "max" else -1.0
    agent = Agent(Space(x=Float(0, 1)), goal=goal, noise=1.0)
    for value in (2.6, 3.9, 2.1, 3.3, 4.1, 1.9, 2.9, 3.2):
        agent.tell({"x": 0.8}, sign * value)
    for x, values in ((0.2, (1.3, 3.4, 2.4, 1.7)), (0.1, (2.5, 1.2, 3.1))):
        for value in values:
            agent.tell({"x": x}, sign * value)
    agent.tell({"x": 0.15}, sign * 4.2)
    best = agent.best()
    assert best.values == {"x": 0.8}
    assert best.observed.values == {"x": 0.15}
    assert sign * best.mean == pytest.approx(3.0, abs=0.4)
    assert best.value == best.mean
    assert 0.0 < best.std < 1.0


def test_lucky_point_is_not_believed_where_the_noise_is_fitted():
    """Repeats show a noise of 0.8; two of them above its neighbours is luck."""
    believed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        agent = Agent(Space(x=Float(0, 1)), goal="max")
        for x, level in [(0.8, 3.0)] * 8 + [(0.1, 2.2)] * 3 + [(0.2, 2.2)] * 4:
            agent.tell({"x": x}, min(level + 0.8 * rng.standard_normal(), 3.75))
        lucky = agent.tell({"x": 0.15}, 3.8)
        assert agent.best().observed == lucky
        believed += agent.best().trial == lucky
    assert believed <= 3


def test_known_spread_says_whom_to_believe():
    agent = Agent(Space(x=Float(0, 1)), goal="max", noise=0.1)
    for x in (0.0, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0):
        agent.tell({"x": x}, 0.0, std=0.01)
    agent.tell({"x": 0.85}, 1.0, std=0.01)
    lucky = agent.tell({"x": 0.3}, 1.2, std=5.0)
    assert agent.best().values == {"x": 0.85}
    assert agent.best().observed.values == {"x": 0.3}
    agent.tell(lucky, 1.2, std=0.01)
    assert agent.best().values == {"x": 0.3}


def test_best_is_in_units_of_the_site():
    agent = Agent(Space(x=Float(0, 1)), goal="min", noise=1.0)
    for k in range(11):
        agent.tell({"x": k / 10}, 5e6 + 1e3 * (k - 6) ** 2)
    best = agent.best()
    assert best.values == {"x": 0.6}
    assert best.mean == pytest.approx(5e6, abs=50.0)
    assert best.std < 50.0


# Which way is better.


@pytest.mark.parametrize("goal", [None, "", "Max", "maximise", 1, True, [], "max "])
def test_goal_is_one_of_two_words(goal):
    with pytest.raises(SettingsError, match="goal must be 'max' or 'min', got"):
        Agent(BOX, goal=goal)


def test_goal_has_no_default():
    with pytest.raises(TypeError, match="goal"):
        Agent(BOX)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_goal_stands_in_every_output(goal, tmp_path):
    agent = told(goal=goal, num_results=4)
    agent.tell(agent.ask(), failed="no")
    assert agent.goal == agent.setup.goal == agent.best().goal == goal
    assert {t.goal for t in agent.trials} == {agent.ask().goal} == {goal}
    for text in (str(agent), str(agent.best()), *map(str, agent.trials)):
        assert f"goal {goal}" in text
    agent.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["setup"]["goal"] == goal


def run(goal, sign, method, name, seed):
    """Return all that a site with failures, spreads, batches and guidance sees."""
    agent = make(name, goal, method=method, seed=seed, noise=None)
    rng = np.random.default_rng(seed)
    seen = []
    with quietly():
        for k in range(6):
            for trial in agent.ask(1 + k % 2):
                value = measure(agent.space, trial.values)
                draw = rng.random()
                if draw < 0.15:
                    agent.tell(trial, failed="no")
                else:
                    std = 0.2 if draw < 0.5 else None
                    agent.tell(trial, sign * value, std=std)
            if k == 3:
                agent.receive(handed(agent, packet(agent.space.dim, 0.3)))
        seen += [(t.values, t.guided, t.origin, t.state) for t in agent.trials]
        upload, best = agent.upload(), agent.best()
    seen.append(None if upload is None else upload.to_bytes())
    seen += [best.trial.id, best.observed.id, sign * best.mean, best.std]
    return seen


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("box", method) for method in METHODS),
        ("mixed", "guide-ucb"),
        ("mixed", "guide-nei"),
        ("mixed", "guide-ts"),
        ("shares", "guide-ucb"),
    ],
)
def test_minimising_is_maximising_the_negative(method, name):
    assert run("min", 1.0, method, name, 5) == run("max", -1.0, method, name, 5)


# Guidance.


def test_guidance_changes_the_questions():
    agent, alone = told("box", 5), told("box", 5)
    said = agent.receive(
        handed(agent, packet(2, center=0.9, weight=1.0, variance=0.01))
    )
    assert (said.state, said.packet.dim) == ("active", 2)
    trial, other = agent.ask(), alone.ask()
    assert trial.guided
    assert not other.guided
    assert trial.values != other.values
    assert "guidance active: received after 5 results" in str(agent)


def test_a_correction_is_no_result_in_what_is_said_of_guidance():
    agent = told("box", 5)
    agent.tell(1, 0.25)
    agent.receive(handed(agent, packet(2, center=0.9, weight=1.0, variance=0.01)))
    assert "guidance active: received after 5 results" in str(agent)


def test_guidance_leads_where_it_points():
    """Strong guidance over flat values outweighs the unknown corners."""
    distances = []
    for is_guided in (True, False):
        space = Space(x=Float(0, 1), y=Float(0, 1))
        agent = make(space, settings={**LIGHT, "num_raw": 64, "max_strength": 10.0})
        for k in range(5):
            agent.tell(agent.ask(), 0.1 * (-1) ** k)
        if is_guided:
            agent.receive(
                handed(agent, packet(2, center=0.35, weight=1.0, variance=0.02))
            )
        X = points(agent, agent.ask(3))
        distances.append(np.linalg.norm(X - 0.35, axis=1).max())
    assert distances[0] < 0.35 < distances[1]


def test_without_guidance_the_agent_says_that_it_works_alone():
    agent = make()
    assert agent.guidance.state == "none"
    assert "no packet was received; working alone" in str(agent)
    assert agent.receive(None).state == "none"
    assert "working alone" in str(agent.guidance)


def test_where_nothing_comes_what_is_held_stays():
    agent = told("box", 4)
    agent.receive(handed(agent, packet(2)))
    assert agent.receive(None).state == "active"


def test_stale_guidance_is_set_aside_and_says_so():
    agent, alone = (told("box", 4, packet_lifetime=2) for _ in range(2))
    agent.receive(handed(agent, packet(2)))
    for k in range(2):
        assert agent.guidance.state == "active"
        for each in (agent, alone):
            each.tell({"x": 0.1 * k, "y": 3.0}, 0.0)
    assert agent.guidance.state == "stale"
    assert "2 results came after the upload" in str(agent.guidance)
    with pytest.warns(GuidanceWarning, match=r"stale: .*; working alone"):
        trial = agent.ask()
    assert (trial.values, trial.guided) == (alone.ask().values, False)
    agent.receive(handed(agent, packet(2)))
    assert agent.ask().guided


def forced(**parts):
    """Return a packet whose checks were passed by."""
    message = packet(2)
    given = {
        "weights": np.array([0.5]),
        "centers": np.full((1, 2), 0.5),
        "variances": np.full((1, 2), 0.1),
    } | parts
    object.__setattr__(message, "components", Components(**given))
    return handed(FRESH, message)


class Shy:
    def __repr__(self):
        raise RuntimeError("no")


FRESH = told("box", 4)
GOOD = handed(FRESH, packet(2)).to_bytes()
HOSTILE = {
    "empty": b"",
    "no text": b"\xff\xfe\x00",
    "no json": b"hello",
    "half": GOOD[: len(GOOD) // 2],
    "deep": b"[" * 100_000,
    "megabytes": b" " * (3 << 20) + GOOD,
    "megabytes of text": " " * (3 << 20),
    "long number": b"1" * 100_000,
    "lone surrogate": "\ud800",
    "text with a lone surrogate": GOOD.decode().replace("guide", "\udfff"),
    "nan": GOOD.replace(b"0.9", b"NaN"),
    "infinity": GOOD.replace(b"0.9", b"1e999"),
    "weight above one": GOOD.replace(b"0.9", b"7"),
    "weight below zero": GOOD.replace(b"0.9", b"-1"),
    "true": GOOD.replace(b"0.9", b"true"),
    "text": GOOD.replace(b"0.9", b'"0.9"'),
    "null": GOOD.replace(b"0.9", b"null"),
    "outside": GOOD.replace(b"0.8", b"1.8"),
    "no spread": GOOD.replace(b"0.05", b"0.0"),
    "wrong dimension": handed(FRESH, packet(3)).to_bytes(),
    "wrong kind": GOOD.replace(b"guide.packet", b"guide.upload"),
    "future": GOOD.replace(b'"version":2', b'"version":3'),
    "of yesterday's version": GOOD.replace(b'"version":2', b'"version":1'),
    "of nobody": GOOD.replace(b'"site":"site-0",', b""),
    "other format": GOOD.replace(b"guidefbo-message", b"x"),
    "twice": GOOD.replace(b'{"weights"', b'{"weights":[0.1],"weights"'),
    "list": b"[]",
    "number": b"3",
    "an int": 3,
    "a bool": True,
    "a float": NAN,
    "a list": [GOOD],
    "a dict": json.loads(GOOD),
    "an array": np.ones(3),
    "a class": GuidancePacket,
    "an object": object(),
    "an object without a text": Shy(),
    "bytes of another kind": bytearray(GOOD),
    "a body alone": packet(2),
    "an upload": FRESH.upload(),
    "forced nan": forced(weights=np.array([NAN])),
    "forced infinity": forced(centers=np.full((1, 2), INF)),
    "forced dimension": forced(centers=np.full((1, 3), 0.5)),
    "forced empty": forced(
        weights=np.empty(0), centers=np.empty((0, 2)), variances=np.empty((0, 2))
    ),
}


@pytest.fixture(scope="module")
def alone():
    """What an agent with the guidance that is held asks and uploads."""
    agent = told("box", 4)
    agent.receive(handed(agent, packet(2)))
    return agent.upload().to_bytes(), agent.ask()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_packet_is_refused_and_what_is_held_stays(name, alone, tmp_path):
    agent = told("box", 4)
    agent.receive(handed(agent, packet(2)))
    before = agent.trials, agent.t, agent.best()
    with pytest.warns(GuidanceWarning, match=r"(?s)the packet was refused: ."):
        said = agent.receive(HOSTILE[name])
    assert said.state == "active"
    assert said.refusal
    assert "the last packet was refused" in str(said)
    assert len(str(said)) < 1500
    assert (agent.trials, agent.t, agent.best()) == before
    agent.save(tmp_path / "a.json")
    loaded = Agent.load(tmp_path / "a.json")
    assert loaded.guidance == agent.guidance
    assert (agent.upload().to_bytes(), agent.ask()) == alone


def test_method_without_guidance_refuses_every_packet():
    agent = told("box", 4, method="ucb")
    with pytest.warns(GuidanceWarning, match="this method takes no guidance"):
        agent.receive(handed(agent, packet(2)))
    assert not agent.ask().guided
    assert agent.upload() is None


@settings(max_examples=25)
@given(
    weights=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5),
    center=st.floats(0.0, 1.0),
    variance=st.floats(1e-12, 1e2),
)
def test_field_never_exceeds_one_whatever_the_weights(weights, center, variance):
    count = len(weights)
    message = GuidancePacket(
        components=Components(
            weights=np.array(weights),
            centers=np.full((count, 2), center),
            variances=np.full((count, 2), variance),
        )
    )
    agent = make()
    assert agent.receive(handed(agent, message).to_bytes()).state == "active"
    G = GuidanceField.of(agent.guidance.packet.components)
    X = np.vstack([np.full((1, 2), center), np.random.default_rng(0).random((20, 2))])
    assert ((G(X) >= 0.0) & (G(X) <= 1.0)).all()


@pytest.mark.parametrize("count", [6, 101, 3000])
def test_more_components_than_packet_size_are_refused(count):
    """A decision evaluates every component many times."""
    rng = np.random.default_rng(0)
    agent = told("box", 4)
    data = handed(agent, packet(2)).to_bytes()
    form = json.loads(data)
    form["body"] = {
        "weights": [1.0] * count,
        "centers": rng.random((count, 2)).round(4).tolist(),
        "variance": [[1e-12, 1e-12]] * count,
    }
    with pytest.warns(GuidanceWarning, match="at most"):
        assert agent.receive(json.dumps(form).encode()).state == "none"


def test_as_many_components_as_packet_size_are_survived():
    count = 100
    rng = np.random.default_rng(0)
    message = GuidancePacket(
        components=Components(
            weights=np.ones(count),
            centers=rng.random((count, 2)).round(4),
            variances=np.full((count, 2), 1e-12),
        )
    )
    agent = told("box", 4, settings={**LIGHT, "packet_size": count})
    assert agent.receive(handed(agent, message).to_bytes()).state == "active"
    assert in_space(BOX, agent.ask().values)


# What is uploaded.


@pytest.mark.parametrize("name", ["box", "mixed", "shares"])
def test_upload_is_a_function_of_the_data(name, tmp_path):
    agent, other = told(name, 6), told(name, 6)
    message = agent.upload().to_bytes()
    assert agent.upload().to_bytes() == message
    other.ask(2)
    other.abandon(other.ask())
    other.receive(handed(other, packet(other.space.dim, 0.1)))
    assert other.upload().to_bytes() == message
    other.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").upload().to_bytes() == message
    agent.tell(agent.ask(), 0.3)
    assert agent.upload().to_bytes() != message


def test_upload_holds_no_observation():
    space = Space(x=Float(0, 1), y=Float(2, 7))
    agent = told(space, 8)
    agent.tell({"x": 0.123456789, "y": 6.54321}, 3.1415926, std=0.2718281)
    message = agent.upload().to_bytes().decode()
    body = json.loads(message)["body"]
    assert set(body) == {"mass", "center", "variance", "value_score"}
    sent = [body["mass"], *body["center"], *body["variance"], body["value_score"]]
    known = []
    for trial in agent.trials:
        known += [trial.value, *trial.values.values(), *space.to_unit(trial.values)]
    known += [0.2718281]
    gaps = np.abs(np.array(known)[:, None] - np.array(sent))
    assert gaps.min() > 1e-9
    assert len(sent) == 2 * space.dim + 2


def test_nothing_to_upload_without_a_result():
    agent = make()
    assert agent.upload() is None
    agent.tell(agent.ask(), failed="no")
    assert agent.upload() is None


@pytest.mark.parametrize("name", ["box", "mixed"])
def test_sites_exchange_through_the_coordinator(name):
    sites = {
        f"site {n}": told(name, 5, agent_id=n, num_agents=3, seed=4) for n in range(3)
    }
    uploads = {n: a.upload().to_bytes() for n, a in sites.items()}
    packets = merge(uploads)
    assert packets == merge(dict(reversed(uploads.items())))
    for n, agent in sites.items():
        assert agent.receive(packets[n]).state == "active"
        assert agent.ask().guided


# What an agent is made of.


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("space", None),
        ("space", {"x": Float(0, 1)}),
        ("method", "guide"),
        ("method", None),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", None),
        ("noise", NAN),
        ("noise", -0.1),
        ("noise", "0.1"),
        ("noise", True),
        ("initial", 0),
        ("initial", 2.5),
        ("agent_id", -1),
        ("num_agents", 0),
        ("expire_after", 0),
        ("packet_lifetime", 0),
        ("packet_lifetime", None),
        ("settings", {"bta": 1}),
        ("settings", {"beta": NAN}),
        ("settings", {"num_raw": 0}),
        ("settings", {"belief": "hope"}),
        ("settings", 5),
        ("settings", "beta=4"),
    ],
    ids=repr,
)
def test_setup_is_checked(option, value):
    given = {"space": BOX, "goal": "max"} | {option: value}
    with pytest.raises(FedBOError, match=r"(?s).+"):
        Agent(given.pop("space"), **given)


def test_agent_beyond_the_federation_is_refused():
    with pytest.raises(SettingsError, match=r"num_agents must be .* at least 4, got 3"):
        Agent(BOX, goal="max", agent_id=3, num_agents=3)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("seed", lambda: np.int64(3)),
        ("initial", lambda: np.int32(2)),
        ("noise", lambda: np.float32(0.5)),
        ("settings", lambda: {**LIGHT, "beta": np.float32(2), "num_raw": np.int8(9)}),
        ("space", lambda: Space(x=Float(np.float32(0), np.float32(1)))),
        ("space", lambda: Space(x=Float(np.float64(0), np.int64(1)))),
        ("space", lambda: Space(n=Int(np.int64(1), np.int64(5)))),
        ("space", lambda: Space(c=Choice(np.int64(1), np.float32(2.5), np.str_("a")))),
        ("agent_id", lambda: np.int64(0)),
        ("num_agents", lambda: np.int64(2)),
        ("expire_after", lambda: np.int64(9)),
        ("packet_lifetime", lambda: np.int64(9)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_numpy_numbers_in_the_setup_are_saved(option, value, tmp_path):
    given = {"space": BOX, "goal": "max", "method": "guide-ucb", "settings": LIGHT}
    given[option] = value()
    agent = Agent(given.pop("space"), **given)
    agent.tell(agent.ask(), 1.0)
    agent.save(tmp_path / "a.json")
    loaded = Agent.load(tmp_path / "a.json")
    assert loaded.setup == agent.setup
    assert loaded.ask() == agent.ask()

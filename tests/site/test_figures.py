"""The numbers behind an agent's picture, and that it is drawn whatever the data."""

import re
import warnings

import numpy as np
import pytest
from tests.site.sites import handed

from guidefbo import (
    Agent,
    AtMost,
    Bool,
    Choice,
    FedBOError,
    Float,
    Int,
    Outcome,
    Space,
    SumTo,
)
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.canvas import caption
from guidefbo.core.component import Components
from guidefbo.core.errors import FallbackWarning, NumericalError, SettingsError
from guidefbo.site.figures import MAX_PANELS
from guidefbo.site.slices import MAX_POINTS, importance_of, slices_of
from guidefbo.site.trial import TrialState
from guidefbo.wire.consensus import ConsensusPacket
from guidefbo.wire.fts import FeatureWeights
from guidefbo.wire.guide import GuidancePacket
from guidefbo.wire.shape import ShapePacket

MIXED = Space(
    dose=Float(0.1, 100, log=True),
    heat=Float(20, 110),
    solvent=Choice("water", "ethanol", "a solvent with a long name"),
    cycles=Int(1, 12),
    speed=Int(50, 900),
    stirred=Bool(),
)
LINE = Space(x=Float(0, 1))


def measure(values):
    found = 50.0 - 5.0 * (np.log10(values["dose"]) - 0.3) ** 2
    found -= 0.01 * (values["heat"] - 70.0) ** 2 + abs(values["cycles"] - 7)
    return found + 4.0 * (values["solvent"] == "ethanol") + 2.0 * values["stirred"]


def told(space, function, num_results, goal="max", **options):
    # Packets of these tests are of guide.
    agent = Agent(space, goal=goal, **{"method": "guide-ucb"} | options)
    for _ in range(num_results):
        trial = agent.ask()
        agent.tell(trial, float(function(trial.values)))
    return agent


def mixed(goal="max", sign=1.0, num_results=10):
    return told(MIXED, lambda v: sign * measure(v), num_results, goal, initial=8)


def packet(space, values, weight=0.8):
    return GuidancePacket(
        components=Components(
            weights=np.array([weight]),
            centers=space.to_unit(values)[None],
            variances=np.full((1, space.dim), 0.05),
        )
    )


def words(figure):
    """Everything written in a figure and its parts."""
    found = {
        text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))
    }
    return "\n".join(sorted(found))


def test_slices_pass_through_the_recommendation():
    agent = mixed()
    best = agent.best()
    for piece in slices_of(agent):
        assert piece.mean[piece.at] == pytest.approx(best.mean, rel=1e-9)
        assert piece.std[piece.at] == pytest.approx(best.std, rel=1e-6)
        at = piece.labels[piece.at] if piece.labels else piece.x[piece.at]
        wanted = best.values[piece.name]
        assert at == (str(wanted) if piece.labels else wanted)


def test_slices_are_in_natural_units():
    agent = mixed()
    done = [t for t in agent.trials if t.state == TrialState.DONE]
    by_name = {piece.name: piece for piece in slices_of(agent)}
    assert list(by_name) == list(MIXED.parameters)
    dose = by_name["dose"]
    assert (dose.x[0], dose.x[-1]) == pytest.approx((0.1, 100.0))
    assert np.diff(np.log(dose.x)).min() > 0.0
    assert dose.observed_x.tolist() == [t.values["dose"] for t in done]
    assert dose.observed.tolist() == [t.value for t in done]
    assert by_name["cycles"].x.tolist() == list(range(1, 13))
    assert all(x == int(x) for x in by_name["speed"].x)
    assert by_name["solvent"].labels == MIXED.parameters["solvent"].options
    assert by_name["stirred"].labels == ("False", "True")
    assert all(piece.feasible.all() for piece in by_name.values())


def test_slices_are_the_models_own_predictions():
    """A number's slice is the posterior of exact data: it meets every result."""
    agent = told(LINE, lambda v: 3.0 + np.sin(6.0 * v["x"]), 8, noise=0.0)
    (piece,) = slices_of(agent)
    at = np.interp(piece.observed_x, piece.x, piece.mean)
    assert at == pytest.approx(piece.observed, abs=0.02)


def test_mirrored_goals_give_mirrored_slices():
    high, low = mixed(), mixed("min", -1.0)
    for a, b in zip(slices_of(high), slices_of(low), strict=True):
        assert b.x == pytest.approx(a.x)
        assert b.mean == pytest.approx(-a.mean)
        assert b.std == pytest.approx(a.std)
        assert b.low == pytest.approx(-a.high)
        assert b.at == a.at
    assert importance_of(low).names == importance_of(high).names


def test_values_in_other_units_give_the_same_slices_in_them():
    plain = told(LINE, lambda v: v["x"] ** 2, 6, seed=1)
    scaled = told(LINE, lambda v: 1000.0 + 50.0 * v["x"] ** 2, 6, seed=1)
    (a,), (b,) = slices_of(plain), slices_of(scaled)
    assert b.mean == pytest.approx(1000.0 + 50.0 * a.mean, rel=1e-4)
    assert b.std == pytest.approx(50.0 * a.std, rel=1e-2)


def test_bands_hold_the_mean_and_are_cut_where_they_run_away():
    """Terrible values are tempered: their band is lopsided, and may be huge."""
    agent = told(LINE, lambda v: -1e6 if v["x"] < 0.3 else v["x"], 8)
    (piece,) = slices_of(agent)
    assert (piece.low <= piece.mean).all()
    assert (piece.mean <= piece.high).all()
    low, high = agent.plot().axes[2].get_ylim()
    assert low >= -2.2e6
    assert high >= 1.0


def test_bands_of_well_behaved_values_are_two_standard_deviations():
    agent = Agent(LINE, goal="max")
    for x in (0.2, 0.5, 0.8):
        agent.tell({"x": x}, 3.0)
    (piece,) = slices_of(agent)
    assert piece.high - piece.mean == pytest.approx(2.0 * piece.std)
    assert piece.mean - piece.low == pytest.approx(2.0 * piece.std)


def test_importance_is_the_share_of_inverse_lengthscales():
    agent = mixed()
    found = importance_of(agent)
    assert set(found.names) == set(MIXED.parameters)
    assert found.shares.sum() == pytest.approx(1.0)
    assert (np.diff(found.shares) <= 0.0).all()
    ell = agent.fitted.posterior.hyper.lengthscales
    rates = {name: 1.0 / ell[place][0] for name, place in MIXED.places.items()}
    wanted = [rates[name] / sum(rates.values()) for name in found.names]
    assert found.shares == pytest.approx(wanted)


def test_a_parameter_that_does_nothing_matters_less():
    space = Space(idle=Float(0, 1), busy=Float(0, 1))
    agent = told(space, lambda v: np.sin(9.0 * v["busy"]), 25, method="ucb")
    assert importance_of(agent).names == ("busy", "idle")


def test_guidance_at_the_recommendation_is_the_field_along_the_slice():
    agent = mixed()
    assert all(piece.guidance is None for piece in slices_of(agent))
    best = agent.best().values
    agent.receive(handed(agent, packet(MIXED, best)))
    for piece in slices_of(agent):
        assert piece.guidance[piece.at] == pytest.approx(0.8)
        assert piece.guidance.max() <= 0.8 + 1e-9
        assert piece.guidance.min() >= 0.0
    cycles = next(piece for piece in slices_of(agent) if piece.name == "cycles")
    field = GuidanceField.of(agent.guidance.packet.components)
    assert cycles.guidance[0] == field(MIXED.to_unit({**best, "cycles": 1})[None])[0]


def test_guidance_is_drawn_wherever_it_is():
    """Far from the recommendation the slice does not meet it, and the strip does."""
    space = Space(**{f"x{i}": Float(0, 1) for i in range(8)}, kind=Choice("a", "b"))
    agent = told(space, lambda v: -sum((v[f"x{i}"] - 0.2) ** 2 for i in range(8)), 6)
    far = {f"x{i}": 0.9 for i in range(8)} | {"kind": "b"}
    agent.receive(handed(agent, packet(space, far)))
    for piece in slices_of(agent):
        assert piece.guidance.max() == pytest.approx(0.8, rel=1e-2)
        top = piece.x[np.argmax(piece.guidance)]
        assert top == pytest.approx(1.0 if piece.labels else 0.9, abs=0.01)
        assert piece.guidance.min() < 0.1
    assert "no guidance" not in words(agent.plot())


def test_strips_show_every_component_and_no_more_than_the_field():
    space = Space(x=Float(0, 1), y=Float(0, 1))
    agent = told(space, lambda v: v["x"], 4)
    two = Components(
        weights=np.array([0.6, 0.4]),
        centers=np.array([[0.1, 0.9], [0.8, 0.2]]),
        variances=np.full((2, 2), 0.01),
    )
    agent.receive(handed(agent, GuidancePacket(components=two)))
    x, y = slices_of(agent)
    for piece, ends in ((x, (0.1, 0.8)), (y, (0.9, 0.2))):
        for at, height in zip(ends, (0.6, 0.4), strict=True):
            found = piece.guidance[np.argmin(np.abs(piece.x - at))]
            assert found == pytest.approx(height, rel=0.02)
    # Projected over a fine grid, the field is what the strips show.
    grid = np.linspace(0.0, 1.0, 101)
    G = GuidanceField.of(two)(np.array([(a, b) for a in grid for b in grid]))
    highest = G.reshape(101, 101).max(axis=1)
    assert np.interp(grid, x.x, x.guidance) == pytest.approx(highest, abs=0.02)


def consensus_packet(dim, center):
    return ConsensusPacket(
        components=Components(
            weights=np.ones(1),
            centers=np.full((1, dim), center),
            variances=np.full((1, dim), 0.02),
        )
    )


@pytest.mark.parametrize("aim", ["blend", "others"])
def test_guidance_of_a_consensus_is_drawn_where_the_agent_looks(aim, tmp_path):
    space = Space(**{f"x{i}": Float(0, 1) for i in range(5)})
    agent = told(
        space,
        lambda v: -sum((x - 0.3) ** 2 for x in v.values()),
        8,
        method="consensus-ucb",
        settings={"aim": aim},
    )
    agent.receive(handed(agent, consensus_packet(5, 0.85)))
    assert agent.guidance.state == "active"
    side, posterior = agent.setup.policy().side, agent.fitted.posterior
    aimed = side.aimed(side.study(posterior), agent.guidance.packet)
    (center,) = aimed.components.centers
    for piece, at in zip(slices_of(agent), center, strict=True):
        assert piece.guidance.max() == pytest.approx(1.0, abs=0.01)
        assert piece.x[np.argmax(piece.guidance)] == pytest.approx(at, abs=0.011)
    if aim == "others":
        assert center == pytest.approx(0.85)
    assert "no guidance" not in words(agent.plot(tmp_path / "agent.png"))


def test_guidance_of_a_shape_is_drawn_where_it_points():
    space = Space(x=Float(0, 1), y=Float(0, 1), kind=Choice("a", "b"))
    agent = told(
        space, lambda v: -((v["x"] - 0.3) ** 2) - v["y"] ** 2, 8, method="shape-ucb"
    )
    agent.receive(handed(agent, shape_packet(agent, place=0.3)))
    assert agent.guidance.state == "active"
    x, y, kind = slices_of(agent)
    side, posterior = agent.setup.policy().side, agent.fitted.posterior
    place = side.aimed(side.study(posterior), agent.guidance.packet).told
    # Between the own estimate and the 0.8 of the others, wherever that is.
    for piece, at in ((x, place.center[0]), (y, place.center[1])):
        assert piece.x[np.argmax(piece.guidance)] == pytest.approx(at, abs=0.006)
    assert np.ptp(kind.guidance) < 1e-3
    assert "a function or a model" not in words(agent.plot())


def shape_packet(agent, place):
    """Return what the others expect: nothing of trends, the optimum at a place."""
    sent = agent.upload().body
    means = [np.zeros(size) for size in sent.sizes]
    means[-1] = np.full(sent.sizes[-1], place)
    spreads = [np.full(size, 0.01) for size in sent.sizes]
    return ShapePacket(kinds=sent.kinds, means=tuple(means), variances=tuple(spreads))


def test_bands_end_where_the_outcome_does():
    def percent(values):
        return 99.0 if values["x"] > 0.5 else 40.0

    free = told(LINE, percent, 8)
    (before,) = slices_of(free)
    assert before.high.max() > 100.0
    bounded = told(LINE, percent, 8, outcome_bounds=(0, 100))
    (after,) = slices_of(bounded)
    assert after.high.max() == 100.0
    assert after.low.min() >= 0.0
    assert (after.mean <= 100.0).all()
    # All that is possible is as it was, and the model knows nothing of it.
    inside = before.high < 100.0
    assert (after.high[inside] == before.high[inside]).all()
    assert bounded.ask().values == free.ask().values


def test_error_bars_end_where_the_outcome_does():
    for goal, bounds in (("max", (None, 1.0)), ("min", (0.0, None))):
        agent = Agent(LINE, goal=goal, outcome_bounds=bounds)
        for x, value in ((0.1, 0.05), (0.5, 0.5), (0.9, 0.95)):
            agent.tell({"x": x}, value, std=0.2)
        heights = [
            y
            for bars in agent.plot().axes[0].containers
            for line in bars.lines[2]
            for segment in line.get_segments()
            for y in segment[:, 1]
        ]
        assert max(heights) == (1.0 if goal == "max" else pytest.approx(1.35))
        assert min(heights) == (0.0 if goal == "min" else pytest.approx(-0.35))


@pytest.mark.parametrize(
    "bounds", [(1, 0), (1, 1), (0,), "0,1", (np.nan, 1), (0, 1e300), ("a", 1), 3, None]
)
def test_wrong_bounds_of_the_outcome_are_refused(bounds):
    with pytest.raises(SettingsError, match="outcome_bounds must be the least and"):
        Agent(LINE, goal="max", outcome_bounds=bounds)


def test_bounds_of_the_outcome_are_kept(tmp_path):
    agent = Agent(LINE, goal="max", outcome_bounds=(np.float32(0), None))
    agent.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").setup == agent.setup
    assert agent.setup.outcome_bounds == (0.0, None)


def test_importance_has_the_error_of_a_jackknife():
    """Each share without the results k, k + 10, ... in turn."""
    agent = mixed(num_results=23)
    found = importance_of(agent)
    data, units = agent.fitted.data, agent.fitted.units
    model, y = agent.setup.policy().model, units.to_site(data.y)
    shares = []
    for k in range(10):
        kept = np.arange(23) % 10 != k
        ell = model.fit(Dataset(X=data.X[kept], y=y[kept])).posterior.hyper.lengthscales
        rates = {name: 1.0 / ell[place][0] for name, place in MIXED.places.items()}
        shares.append([rates[n] / sum(rates.values()) for n in found.names])
    wanted = np.sqrt(0.9 * ((shares - np.mean(shares, axis=0)) ** 2).sum(axis=0))
    assert found.errors == pytest.approx(wanted)
    names, folded, errors = found.top(2)
    assert names == [*found.names[:2], "4 others"]
    assert folded.sum() == pytest.approx(1.0)
    # What is left together is known as well as the two before it are together.
    pair = np.array(shares)[:, :2].sum(axis=1)
    assert errors[2] == pytest.approx(np.sqrt(0.9 * ((pair - pair.mean()) ** 2).sum()))
    share = f"{found.shares[0]:.0%} ± {100 * found.errors[0]:.0f}"
    assert share in words(agent.plot())


def test_importance_of_too_few_results_has_no_error():
    found = importance_of(told(Space(x=Float(0, 1), y=Float(0, 1)), sum_of, 2))
    assert np.isnan(found.errors).all()


def sum_of(values):
    return sum(values.values())


def test_guidance_that_is_no_place_is_said_to_be_one_thing_or_another():
    agent = told(LINE, lambda v: v["x"], 6, method="fts", settings={"num_shared": 8})
    agent.receive(handed(agent, FeatureWeights(weights=np.ones(8))))
    assert slices_of(agent)[0].guidance is None
    assert "guidance active: a function or a model" in words(agent.plot())


def test_low_guidance_is_drawn_up_to_its_own_height():
    """Sites that disagree on an option point between them, where none is."""
    agent = told(Space(kind=Choice("a", "b", "c"), x=Float(0, 1)), lambda v: v["x"], 5)
    between = Components(
        weights=np.ones(1),
        centers=np.array([[0.6, 0.4, 0.0, 0.9]]),
        variances=np.full((1, 4), 0.03),
    )
    agent.receive(handed(agent, GuidancePacket(components=between)))
    kind, x = slices_of(agent)
    assert x.guidance.max() == pytest.approx(1.0, abs=0.01)
    assert np.argmax(kind.guidance) == 0
    assert 1e-3 < kind.guidance[0] < 0.1
    assert f"{kind.guidance[0]:.1g}" in words(agent.plot())
    nowhere = Components(
        weights=np.ones(1), centers=between.centers, variances=np.full((1, 4), 1e-4)
    )
    agent.receive(handed(agent, GuidancePacket(components=nowhere)))
    assert "G is below 1e-06 throughout" in words(agent.plot())


def test_stale_guidance_is_not_drawn():
    agent = told(LINE, lambda v: v["x"], 3, packet_lifetime=1)
    agent.receive(handed(agent, packet(LINE, {"x": 0.5})))
    assert slices_of(agent)[0].guidance is not None
    agent.tell({"x": 0.25}, 0.0)
    assert slices_of(agent)[0].guidance is None
    assert "no guidance (stale)" in words(agent.plot())


def test_slices_know_where_they_leave_the_constraints():
    space = Space(a=Float(0, 10), b=Float(0, 5), c=Int(1, 3))
    space = space.subject_to(AtMost({"a": 1, "b": 2}, 9))
    agent = told(space, lambda v: v["a"] * v["b"], 6)
    best = agent.best().values
    a, b, c = slices_of(agent)
    assert a.feasible.tolist() == (a.x + 2.0 * best["b"] <= 9.0 + 1e-6).tolist()
    assert b.feasible.tolist() == (best["a"] + 2.0 * b.x <= 9.0 + 1e-6).tolist()
    assert c.feasible.all()
    assert not a.feasible.all()
    assert a.mean[a.at] == pytest.approx(agent.best().mean)


def test_where_a_sum_is_fixed_the_others_make_room():
    space = Space(water=Float(0, 1), oil=Float(0, 1), soap=Float(0, 0.3))
    space = space.subject_to(SumTo(1.0, "water", "oil", "soap"))
    agent = told(space, lambda v: -((v["water"] - 0.5) ** 2) - v["soap"], 6)
    for piece in slices_of(agent):
        assert piece.feasible[piece.at]
        assert piece.feasible.sum() > 5
        assert piece.mean[piece.at] == pytest.approx(agent.best().mean)


def test_a_told_mixture_that_misses_its_sum_a_little_is_allowed():
    space = Space(water=Float(0, 1), oil=Float(0, 1)).subject_to(
        SumTo(1.0, "water", "oil")
    )
    agent = Agent(space, goal="max")
    agent.tell({"water": 0.502, "oil": 0.503}, 1.0)
    assert all(piece.feasible[piece.at] for piece in slices_of(agent))


def test_of_very_many_options_the_tried_ones_are_kept():
    options = [f"option {i}" for i in range(40)]
    agent = Agent(Space(kind=Choice(*options)), goal="max")
    for i in (3, 3, 3, 17, 39):
        agent.tell({"kind": options[i]}, float(i))
    (piece,) = slices_of(agent)
    assert piece.labels == ("option 3", "option 17", "option 39")
    assert piece.observed_x.tolist() == [0.0, 0.0, 0.0, 1.0, 2.0]
    for option in options[:30]:
        agent.tell({"kind": option}, 0.0)
    (piece,) = slices_of(agent)
    assert len(piece.labels) == MAX_POINTS
    assert piece.labels[piece.at] == agent.best().values["kind"]
    assert f"({MAX_POINTS} of 40 options)" in words(agent.plot())


def test_drawing_changes_nothing(tmp_path):
    drawn, alone = mixed(num_results=9), mixed(num_results=9)
    for agent in (drawn, alone):
        agent.receive(handed(agent, packet(MIXED, agent.best().values)))
    before = drawn.trials, drawn.guidance, drawn.t
    drawn.plot(tmp_path / "agent.png")
    assert (drawn.trials, drawn.guidance, drawn.t) == before
    drawn.save(tmp_path / "drawn.json")
    alone.save(tmp_path / "alone.json")
    texts = [(tmp_path / f"{n}.json").read_text() for n in ("drawn", "alone")]
    # But for the time of day, by which nothing goes.
    files = [re.sub(r'"(asked|told)_at": "[^"]*"', "", text) for text in texts]
    assert files[0] == files[1]
    assert [t.values for t in drawn.ask(2)] == [t.values for t in alone.ask(2)]


def test_the_figure_says_what_it_shows(tmp_path):
    agent = mixed()
    agent.tell(agent.ask(), failed="the pump broke")
    agent.ask()
    agent.tell(dict(agent.best().values), 40.0)
    # Below two results a parameter importance is mostly the prior's.
    assert "importance: after\n12 results" in words(agent.plot())
    agent.tell(dict(agent.best().values), 41.0)
    text = words(agent.plot(tmp_path / "agent.pdf"))
    assert (tmp_path / "agent.pdf").read_bytes().startswith(b"%PDF")
    for word in (
        "site-0: max value (guide-ucb), 12 results, 1 failed, 1 pending",
        "initial design",
        "own",
        "failed",
        "best so far",
        f"recommended: trial {agent.best().trial.id}",
        "importance (from lengthscales)",
        "no guidance",
        "dose = ",
        "stirred = ",
    ):
        assert word in text


def test_known_spreads_are_drawn():
    agent = told(LINE, lambda v: v["x"], 3)
    assert len(agent.plot().axes[0].containers) == 1  # the recommendation's
    agent.tell({"x": 0.5}, 0.5, std=0.1)
    assert len(agent.plot().axes[0].containers) == 2


def test_failures_stand_at_the_unwanted_end():
    for goal, height in (("max", 0.04), ("min", 0.96)):
        agent = told(LINE, lambda v: v["x"], 2, goal)
        agent.tell(agent.ask(), failed="no")
        axes = agent.plot().axes[0]
        (crosses,) = [line for line in axes.lines if line.get_label() == "failed"]
        assert (crosses.get_xdata(), crosses.get_ydata()) == ([3.0], [height])


@pytest.mark.parametrize("goal", ["max", "min"])
def test_best_so_far_follows_the_goal(goal):
    agent = Agent(LINE, goal=goal)
    for x, y in ((0.1, 2.0), (0.5, 1.0), (0.9, 3.0)):
        agent.tell({"x": x}, y)
    axes = agent.plot().axes[0]
    (steps,) = [line for line in axes.lines if line.get_label() == "best so far"]
    wanted = [2.0, 2.0, 3.0, 3.0] if goal == "max" else [2.0, 1.0, 1.0, 1.0]
    assert list(steps.get_ydata()) == wanted


def test_no_results():
    agent = Agent(LINE, goal="max")
    assert slices_of(agent) == ()
    assert importance_of(agent) is None
    text = words(agent.plot())
    assert "0 results" in text
    assert "no results yet" in text


def test_failures_only(tmp_path):
    agent = Agent(MIXED, goal="min")
    agent.tell(agent.ask(), failed="no")
    assert slices_of(agent) == ()
    assert "0 results, 1 failed" in words(agent.plot(tmp_path / "agent.png"))


@pytest.mark.parametrize("num_results", [1, 2])
def test_few_results(num_results, tmp_path):
    agent = told(MIXED, measure, num_results)
    agent.plot(tmp_path / "agent.png")
    assert len(slices_of(agent)) == 6
    assert importance_of(agent).shares.sum() == pytest.approx(1.0)


def test_constant_values(tmp_path):
    agent = told(MIXED, lambda v: 2.0, 6)
    agent.plot(tmp_path / "agent.png")
    for piece in slices_of(agent):
        assert piece.mean == pytest.approx(np.full(len(piece.x), 2.0))


def test_a_model_that_cannot_be_fitted(monkeypatch, tmp_path):
    agent = told(LINE, lambda v: v["x"], 4)

    def fail():
        raise NumericalError("no factor")

    monkeypatch.setattr(agent._workings.learner, "fit", fail)
    assert slices_of(agent) == ()
    assert importance_of(agent) is None
    text = words(agent.plot(tmp_path / "agent.png"))
    assert "No model could be fitted" in text
    assert "4 results" in text
    with pytest.warns(FallbackWarning):
        told_again = [agent.ask() for _ in range(2)]
    assert len(told_again) == 2


def test_many_parameters_with_long_names(tmp_path):
    name = "the $very$ long name of a parameter that nobody would want to read; number"
    space = Space(**{f"{name} {i}": Float(0, 1) for i in range(15)})
    agent = told(space, lambda v: sum(v.values()), 30, initial=30)
    figure = agent.plot(tmp_path / "agent.png")
    assert len(slices_of(agent)) == 15
    text = words(figure)
    assert f"the {MAX_PANELS} most important of 15 parameters" in text
    assert "6 others" in text
    assert len(figure.axes) == 2 + MAX_PANELS


def test_extreme_values_are_drawn(tmp_path):
    space = Space(
        x=Float(-1e150, 1e150),
        y=Float(1e-140, 1e140, log=True),
        z=Float(3, 8, log=True),
        n=Int(-(10**12), 10**12),
        m=Int(1, 3, log=True),
    )
    agent = told(space, lambda v: v["x"] * 1e-51, 5)
    agent.plot(tmp_path / "agent.png")


def test_no_global_state_of_matplotlib_is_touched():
    from matplotlib import _pylab_helpers, rcParams

    before = dict(rcParams), dict(_pylab_helpers.Gcf.figs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told(LINE, lambda v: v["x"], 3).plot()
    assert (dict(rcParams), dict(_pylab_helpers.Gcf.figs)) == before


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(FedBOError, match="ending"):
        Agent(LINE, goal="max").plot(tmp_path / "agent.docx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "length", "wanted"),
    [
        ("dose", 10, "dose"),
        ("a\n b", 10, "a b"),
        ("", 10, "(empty)"),
        ("5 $ or 6 $", 20, r"5 \$ or 6 \$"),
        ("temperature of the reactor", 12, "temper…actor"),
        (True, 9, "True"),
    ],
)
def test_captions(text, length, wanted):
    assert caption(text, length) == wanted


def test_results_far_from_a_slice_are_faint():
    """Near is within a lengthscale in all other parameters together."""
    agent = mixed()
    best, ell = agent.best(), agent.fitted.posterior.hyper.lengthscales
    x = agent.space.to_unit(best.values)
    for piece in slices_of(agent):
        place = agent.space.places[piece.name]
        for trial, is_near in zip(agent.trials, piece.near, strict=True):
            apart = (agent.space.to_unit(trial.values) - x) / ell
            apart[place] = 0.0
            assert is_near == (np.linalg.norm(apart) <= 1.0)
        assert piece.near[best.trial.id - 1]
    figure = agent.plot()
    alphas = {line.get_alpha() for axes in figure.get_axes() for line in axes.lines}
    assert {0.18, 0.75} <= alphas


@pytest.mark.parametrize(("high", "least"), [(20, 3), (50, 4), (400, 5), (5000, 5)])
def test_logarithmic_axes_have_numbers_enough(high, least):
    agent = told(Space(x=Float(1, high, log=True)), lambda v: v["x"], 3, method="ucb")
    figure = agent.plot()
    (axes,) = [a for a in figure.get_axes() if a.get_title().startswith("x = ")]
    figure.canvas.draw()
    inside = [t for t in axes.get_xticks() if 1 <= t <= high]
    assert len(inside) >= least


def test_results_beyond_a_limit_are_marked_and_never_the_best_so_far():
    agent = Agent(LINE, goal="max", outcomes=[Outcome("dirt", at_most=1)])
    for x, dirt in ((0.1, 0.5), (0.9, 2.0), (0.5, 0.7)):
        agent.tell({"x": x}, x, outcomes={"dirt": dirt})
    axes = agent.plot().get_axes()[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines["beyond a limit"].get_ydata()) == [0.9]
    assert max(lines["best so far"].get_ydata()) == 0.5

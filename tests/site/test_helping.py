"""Do the others help: what is held, what it changes, and whether it paid."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.site.sites import SPACES, handed, make, packet, quietly, told
from tests.site.test_judgement import bowl, exchanged, federation
from typer.testing import CliRunner

import guidefbo as gf
from guidefbo.cli.app import app
from guidefbo.methods.words import shape_place
from guidefbo.site.exchange import doubted
from guidefbo.site.guidance import GuidanceState
from guidefbo.site.helping import Surprise, help_of, surprise_of
from guidefbo.wire.shape import ShapePacket

LABELLED = gf.Space(
    heat=gf.Float(20, 120, unit="degC"), catalyst=gf.Choice("P1", "P2", "P3")
)


def guided(space=LABELLED, goal="max", **options):
    """Return an agent with six results and guidance to one corner."""
    agent = told(space, 6, goal, initial=3, unit="%", objective="yield", **options)
    body = packet(space.dim, 0.9)
    centers = np.array(body.components.centers)
    centers[0, -3:] = 0.1, 0.8, 0.1
    body = replace(body, components=replace(body.components, centers=centers))
    agent.receive(handed(agent, body, round=4, num_uploads=5))
    return agent


def test_what_is_held_is_told_in_own_units():
    helped = help_of(guided())
    # One of the five uploads is the site's own.
    assert helped.held.num_others == 4
    assert helped.held.place == {"heat": pytest.approx(110.0), "catalyst": "P2"}
    (line,) = helped.lines(guided().setup.labels)
    assert line.startswith("the others (4 sites) point to heat=110 degC, catalyst=P2")
    assert "; your own model expects " in line
    assert line.endswith(" % of your results")
    assert helped.held.expected is not None
    assert 0.0 <= helped.held.rank <= 1.0


def test_a_site_alone_has_nothing_to_be_told():
    helped = help_of(told("box", 4))
    assert helped.lines(gf.Agent(LABELLED, goal="max").setup.labels) == []
    assert helped.held.num_others == 0
    assert help_of(make("line")).held.expected is None


def test_the_question_without_the_others_is_the_one_a_lone_site_asks():
    """Deciding twice: the same draws, without the packet."""
    agent, lone = guided(), guided()
    lone._workings.guidance = type(lone._workings.guidance)()
    trial, other = agent.ask(), lone.ask()
    assert trial.guided
    assert trial.basis.alone == other.values
    assert other.basis.alone is None
    assert (trial.basis.round, trial.basis.num_uploads) == (4, 5)
    (detour,) = help_of(agent).detours
    heat = abs(trial.values["heat"] - other.values["heat"]) / 100.0
    is_other = float(trial.values["catalyst"] != other.values["catalyst"])
    assert detour.distance == pytest.approx((heat + is_other) / 2)
    said = help_of(agent).lines(agent.setup.labels)[1]
    assert f"trial {trial.id} by {detour.distance:.2f}" in said


@pytest.mark.parametrize("goal", ["max", "min"])
def test_results_are_compared_with_what_was_expected(goal):
    agent = guided(goal=goal)
    sign = 1.0 if goal == "max" else -1.0
    for better in (2.0, 1.0, -0.5):
        trial = agent.ask()
        value = trial.basis.mean + sign * better * trial.basis.std
        told_trial = agent.tell(trial, value)
        assert surprise_of(told_trial) == pytest.approx(better)
    helped = help_of(agent)
    assert (helped.guided.num_results, helped.guided.num_better) == (3, 2)
    assert helped.guided.mean == pytest.approx(2.5 / 3)
    assert helped.alone.num_results == 3
    said = helped.lines(agent.setup.labels)[-1]
    assert said.startswith("guided results better than your model expected: 2 of 3")
    assert "; asked alone: " in said


def test_a_result_from_elsewhere_is_not_compared_with_what_was_expected():
    agent = guided(goal="max")
    before = help_of(agent)
    rounded, elsewhere = agent.ask(), agent.ask()
    heat = rounded.values["heat"]
    agent.tell(rounded, rounded.basis.mean + 1.0, values={"heat": heat + 1e-5})
    assert help_of(agent).guided.num_results == before.guided.num_results + 1
    moved = 140.0 - elsewhere.values["heat"]
    agent.tell(elsewhere, elsewhere.basis.mean + 9.0, values={"heat": moved})
    assert help_of(agent).guided.num_results == before.guided.num_results + 1
    assert [t.id for t in agent.followed][-1] == rounded.id


def turned(**options):
    """Return a site whose own data speak against the others."""
    return exchanged(federation(num_results=20, packet_lifetime=50, **options))[0]


def test_odds_against_for_three_rounds_and_the_site_works_alone():
    agent = turned()
    assert agent.guidance.odds < 0.1
    states = []
    for _ in range(5):
        with quietly():
            trial = agent.ask()
        states.append(trial.guided)
        assert trial.basis.odds < 0.1
        agent.tell(trial, bowl(trial.values, -1.0))
    assert states == [True, True, False, False, False]
    assert agent.guidance.state == "doubted"
    with pytest.warns(UserWarning, match="guidance doubted: .*in 3 rounds; working"):
        agent.ask()
    assert "guidance doubted" in str(agent)


def test_questions_of_one_batch_are_one_round():
    agent = turned()
    assert [trial.guided for trial in agent.ask(4)] == [True] * 4
    assert agent.guidance.state == "active"


def in_doubt():
    """Return a site whose data spoke against the others in three rounds, and what it
    holds, before that is asked."""
    agent = turned()
    for _ in range(2):
        trial = agent.ask()
        agent.tell(trial, bowl(trial.values, -1.0))
    held = replace(agent.guidance, state=GuidanceState.ACTIVE)
    assert doubted(held, agent._setup, agent._book).state == "doubted"
    return agent, held


def test_rounds_without_a_word_break_the_series():
    agent, held = in_doubt()
    # A round in which nothing of others was held.
    with quietly():
        trial = agent.ask()
    agent._book.enter(replace(trial, basis=replace(trial.basis, odds=None)))
    agent.tell(trial.id, bowl(trial.values, -1.0))
    assert doubted(held, agent._setup, agent._book).state == "active"


def test_words_about_another_federation_do_not_count():
    agent, held = in_doubt()
    agent.rename(federation="another")
    assert doubted(held, agent._setup, agent._book).state == "active"


def test_patience_is_a_setting():
    agent = turned(patience=0)
    for _ in range(4):
        trial = agent.ask()
        assert trial.guided
        agent.tell(trial, bowl(trial.values, -1.0))
    with pytest.warns(UserWarning, match="in 1 rounds"):
        assert not turned(patience=1).ask().guided
    with pytest.raises(gf.FedBOError, match="patience"):
        make("line", patience=-1)


def test_a_word_for_the_others_breaks_the_series():
    agent = turned()
    for _ in range(2):
        trial = agent.ask()
        agent.tell(trial, bowl(trial.values, -1.0))
    held = agent.guidance
    assert held.state == "doubted"
    for_them = replace(held.judgement, weights={"others": 0.6, "none": 0.4})
    held = replace(held, state=type(held.state).ACTIVE, judgement=for_them)
    assert doubted(held, agent._setup, agent._book).state == "active"


def test_doubts_are_kept_in_the_file(tmp_path):
    agent = turned()
    for _ in range(3):
        with quietly():
            trial = agent.ask()
        agent.tell(trial, bowl(trial.values, -1.0))
    agent.save(tmp_path / "a.json")
    again = gf.Agent.load(tmp_path / "a.json")
    assert again.guidance.state == agent.guidance.state == "doubted"
    with quietly():
        assert again.ask() == agent.ask()


def test_the_place_of_a_shape_packet():
    space = SPACES["mixed"]
    body = ShapePacket(
        kinds=("slopes", "bends", "choice", "place"),
        means=(
            np.zeros(3),
            np.zeros(3),
            np.array([0.1, 0.2, 0.9]),
            np.array([0.3, -0.5, 0.5]),
        ),
        variances=(np.ones(3), np.ones(3), np.ones(3), np.ones(3)),
    )
    values = space.from_unit(space.domain.admit(shape_place(body, space)[None])[0])
    assert values == {"x": pytest.approx(0.8), "n": 1, "drug": "c", "warm": True}
    nothing = ShapePacket(kinds=(), means=(), variances=())
    assert shape_place(nothing, space) is None


def test_it_stands_in_show_and_in_the_picture(tmp_path):
    agent = guided()
    agent.tell(agent.ask(), 0.4)
    agent.save(tmp_path / "a.json")

    def show(*words):
        done = CliRunner().invoke(app, ["show", str(tmp_path / "a.json"), *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    said = show()
    for words in ("point to heat=110 degC", "without the others", "guided results"):
        assert words in said
    form = json.loads(show("--json"))["guidance"]
    assert form["num_others"] == 4
    assert form["place"]["catalyst"] == "P2"
    assert form["surprise"]["guided"]["results"] == 1
    # GUIDE compares no models.
    assert form["foretold"] == {"results": 0, "better": 0, "record": 0.0}
    assert form["detours"][0]["alone"].keys() == {"heat", "catalyst"}
    figure = agent.plot()
    texts = [sub.get_suptitle() for sub in figure.subfigs]
    assert any("point to heat=110 degC" in text.replace("\n", " ") for text in texts)


def test_guided_questions_of_the_old_bounds_can_still_be_told_of():
    agent = guided()
    for _ in range(3):
        agent.tell(agent.ask(), 0.3)
    agent.change(bounds={"heat": (60, 61)})
    assert any(not 60 <= t.values["heat"] <= 61 for t in agent.trials if t.guided)
    assert len(help_of(agent).detours) == 3
    agent.plot()


def test_a_surprise_of_absurd_size_is_told_in_few_digits():
    surprise = Surprise(num_results=1, num_better=1, mean=3.00455e98)
    assert str(surprise) == "1 of 1, on average by +3e+98"
    assert str(replace(surprise, mean=-0.5)) == "1 of 1, on average by -0.50"

"""Further measured outcomes that must keep a limit."""

import json

import numpy as np
import pytest
from tests.cli.test_site_commands import call as call
from tests.site.sites import LIGHT, handed, packet

import guidefbo as gf
from guidefbo.core.errors import DataError, SettingsError

SPACE = gf.Space(x=gf.Float(0, 1), y=gf.Float(0, 1))
IMPURITY = gf.Outcome("impurity", at_most=2.0, unit="%")
SHORT = {"num_raw": 64, "num_starts": 4, "num_iterations": 10}


def measure(values):
    """The better, the dirtier: the best clean point lies on a line."""
    x, y = values["x"], values["y"]
    return 10.0 * x - (y - 0.5) ** 2, 4.0 * x + y


def run(goal="max", method="ucb", num_results=14, outcomes=(IMPURITY,), **options):
    settings = {"settings": SHORT | options.pop("settings", {})} | options
    agent = gf.Agent(
        SPACE,
        goal=goal,
        method=method,
        initial=4,
        seed=3,
        outcomes=outcomes,
        **settings,
    )
    for _ in range(num_results):
        trial = agent.ask()
        value, impurity = measure(trial.values)
        sign = 1.0 if goal == "max" else -1.0
        agent.tell(trial, sign * value, outcomes={"impurity": impurity})
    return agent


@pytest.mark.parametrize("method", ["ucb", "nei", "ts", "guide-ucb", "shape-ucb"])
def test_the_best_clean_point_is_found(method):
    options = {"settings": LIGHT} if method == "guide-ucb" else {}
    agent = run(method=method, **options)
    best = agent.best()
    assert best.keeps_limits
    assert best.trial.outcomes["impurity"] <= 2.0
    clean = [t for t in agent.trials if t.outcomes["impurity"] <= 2.0]
    assert best.observed.value == max(t.value for t in clean)
    # The best there is: x = 0.5 - y / 4, some 4.6 with y near 0.1.
    assert best.observed.value > 3.3
    dirty = max(agent.trials, key=lambda t: t.value)
    assert dirty.outcomes["impurity"] > 2.0


def test_goals_are_mirror_images_to_the_bit():
    for method in ("ucb", "nei"):
        high, low = (run(goal, method, 9) for goal in ("max", "min"))
        assert [t.values for t in high.trials] == [t.values for t in low.trials]
        assert high.best().trial.id == low.best().trial.id
        assert high.best().mean == -low.best().mean


def test_at_least_is_at_most_of_the_negative():
    def asked(outcome, sign):
        agent = gf.Agent(
            SPACE,
            goal="max",
            method="ucb",
            initial=3,
            outcomes=[outcome],
            settings=SHORT,
        )
        for _ in range(6):
            trial = agent.ask()
            value, impurity = measure(trial.values)
            agent.tell(trial, value, outcomes={outcome.name: sign * impurity})
        return [t.values for t in agent.trials]

    assert asked(gf.Outcome("a", at_most=2), 1) == asked(
        gf.Outcome("a", at_least=-2), -1
    )


def test_nothing_clean_yet_is_said():
    agent = gf.Agent(SPACE, goal="max", outcomes=[IMPURITY])
    agent.tell({"x": 0.9, "y": 0.1}, 9.0, outcomes={"impurity": 3.7})
    agent.tell({"x": 0.6, "y": 0.1}, 6.0, outcomes={"impurity": 2.5})
    agent.tell({"x": 0.1, "y": 0.1}, 11.0)  # never measured
    best = agent.best()
    assert not best.keeps_limits
    assert best.trial.id == 2
    assert str(best).startswith("no result keeps the limits yet; best by")
    agent.tell(3, 1.0, outcomes={"impurity": 0.5})
    assert agent.best().trial.id == 3
    assert agent.best().keeps_limits
    # A correction of the value keeps what was measured beside it.
    assert agent.tell(3, 1.5).outcomes == {"impurity": 0.5}


@pytest.mark.parametrize("at_most", [0.2, 2.0])
@pytest.mark.parametrize("method", ["shape-ucb", "nei"])
def test_a_batch_spreads_out(method, at_most):
    """Whether or not a result keeps the limit yet."""
    limit = gf.Outcome("c", at_most=at_most)
    agent = gf.Agent(SPACE, goal="max", method=method, initial=5, outcomes=[limit])
    points = ((0.9, 0.9), (0.8, 0.3), (0.3, 0.7), (0.5, 0.5), (0.6, 0.9), (0.4, 0.2))
    for x, y in points:
        c = 2.0 * (x - 0.1) ** 2 + 2.0 * (y - 0.15) ** 2 + 0.15 + 0.5 * x
        agent.tell({"x": x, "y": y}, x + y, outcomes={"c": c})
    assert agent.best().keeps_limits is (at_most > 1.0)
    asked = np.array([list(trial.values.values()) for trial in agent.ask(4)])
    apart = np.abs(asked[:, None] - asked).max(axis=2) + np.eye(4)
    assert apart.min() > 0.015


def test_a_lucky_measurement_is_not_recommended():
    """Its value and outcome stand beside the result that the models trust more."""
    agent = gf.Agent(SPACE, goal="max", method="ucb", outcomes=[IMPURITY])
    for x in np.linspace(0.0, 1.0, 11):
        values = {"x": float(x), "y": 0.5}
        value, impurity = measure(values)
        impurity += 0.1 * (-1) ** round(10 * x)
        lucky = 1.99 if x == 0.8 else impurity
        agent.tell(values, value, outcomes={"impurity": lucky})
    best = agent.best()
    assert best.observed.values["x"] == pytest.approx(0.8)
    assert best.trial.values["x"] < 0.5
    assert best.keeps_limits
    assert best.observed_was_lucky
    assert str(best).endswith("but the models expect it beyond a limit")


def test_results_without_the_outcome_do_not_count_as_clean():
    agent = gf.Agent(SPACE, goal="max", method="ucb", initial=2, outcomes=[IMPURITY])
    for x, impurity in ((0.1, 0.5), (0.3, 1.3), (0.5, None), (0.7, 2.9), (0.9, 3.7)):
        told = {} if impurity is None else {"impurity": impurity}
        agent.tell({"x": x, "y": 0.2}, 10 * x, outcomes=told)
    assert agent.best().trial.values["x"] == 0.3
    agent.tell(3, 5.0, outcomes={"impurity": 1.9})
    assert agent.best().trial.values["x"] == 0.5


def test_outcomes_never_leave_the_site():
    """A message is the same whatever the further outcomes are."""
    agent, other = run(method="guide-ucb", settings=LIGHT, num_results=6), None
    other = gf.Agent(
        SPACE, goal="max", method="guide-ucb", initial=4, seed=3, settings=SHORT | LIGHT
    )
    for trial in agent.trials:
        other.tell(dict(trial.values), trial.value)
    assert agent.upload().to_bytes() == other.upload().to_bytes()
    assert agent.setup.terms == other.setup.terms


def test_guidance_and_limits_go_together():
    agent = run(method="guide-ucb", settings=LIGHT, num_results=8)
    agent.receive(handed(agent, packet(2, 0.9)))
    trial = agent.ask()
    assert trial.guided
    assert trial.basis.alone is not None


def test_outcomes_are_kept_in_the_file(tmp_path):
    agent = run(num_results=6)
    agent.save(tmp_path / "a.json")
    again = gf.Agent.load(tmp_path / "a.json")
    assert again.trials == agent.trials
    assert again.setup.outcomes == (IMPURITY,)
    assert again.ask() == agent.ask()
    assert again.best() == agent.best()
    form = json.loads((tmp_path / "a.json").read_text())
    for wrong in ({"impurity": "1"}, {"other": 1.0}, [1.0]):
        form["trials"][0]["records"][0]["outcomes"] = wrong
        (tmp_path / "b.json").write_text(json.dumps(form))
        with pytest.raises(ValueError, match="damaged"):
            gf.Agent.load(tmp_path / "b.json")


@pytest.mark.parametrize(
    ("outcomes", "says"),
    [
        ({"purity": 1.0}, "of \\['impurity'\\]"),
        ({"impurity": float("nan")}, "finite number"),
        ({"impurity": "1"}, "finite number"),
        ({"impurity": 1e200}, "finite number"),
        ([1.0], "by name"),
    ],
)
def test_what_is_no_outcome_is_refused(outcomes, says):
    agent = gf.Agent(SPACE, goal="max", outcomes=[IMPURITY])
    agent.ask()
    with pytest.raises(DataError, match=says):
        agent.tell(1, 1.0, outcomes=outcomes)
    assert agent.trials[0].state == "pending"


@pytest.mark.parametrize(
    "outcomes",
    [
        [gf.Outcome(name, at_most=1) for name in "abcd"],
        [gf.Outcome("x", at_most=1)],
        [gf.Outcome("a", at_most=1), gf.Outcome("a", at_least=0)],
        ["impurity <= 2"],
        [gf.Outcome("yield", at_most=1)],
    ],
)
def test_outcomes_have_names_of_their_own(outcomes):
    with pytest.raises(SettingsError, match="outcomes must be at most 3"):
        gf.Agent(SPACE, goal="max", outcomes=outcomes, objective="yield")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "a"},
        {"name": "a", "at_most": 1, "at_least": 0},
        {"name": "a", "at_most": float("nan")},
        {"name": "a=b", "at_most": 1},
        {"name": "", "at_most": 1},
        {"name": "std", "at_most": 1},
    ],
)
def test_a_limit_is_one_finite_number(arguments):
    with pytest.raises(gf.FedBOError):
        gf.Outcome(**arguments)


def test_limits_in_words():
    assert gf.Outcome.parse("impurity [%] <= 2") == IMPURITY
    assert gf.Outcome.parse("yield>=-1e3") == gf.Outcome("yield", at_least=-1000.0)
    for wrong in ("impurity", "impurity < 2", "<= 2", "a <= two", "a=1"):
        with pytest.raises(SettingsError):
            gf.Outcome.parse(wrong)


def test_three_outcomes_at_once():
    outcomes = [gf.Outcome(n, at_most=b) for n, b in (("a", 0.8), ("b", 0.8), ("c", 1))]
    agent = gf.Agent(
        SPACE, goal="max", method="nei", initial=3, outcomes=outcomes, settings=SHORT
    )
    for _ in range(8):
        trial = agent.ask()
        x, y = trial.values["x"], trial.values["y"]
        agent.tell(trial, x + y, outcomes={"a": x, "b": y, "c": x + y})
    best = agent.best()
    assert best.keeps_limits
    assert best.observed.value > 0.6
    assert np.isfinite(best.mean)


def test_a_wrong_outcome_is_named():
    with pytest.raises(SettingsError, match="got 'x' twice"):
        gf.Agent(SPACE, goal="max", outcomes=[gf.Outcome("x", at_most=1)])
    four = [gf.Outcome(name, at_most=1) for name in "abcd"]
    with pytest.raises(SettingsError, match=", got 4"):
        gf.Agent(SPACE, goal="max", outcomes=four)


def test_results_outside_a_changed_space_are_named():
    agent = run(num_results=5)
    assert agent.unused == ()
    agent.change(bounds={"x": (0.0, 0.3)})
    gone = tuple(t.id for t in agent.trials if t.values["x"] > 0.3 * 1.05)
    assert agent.unused == gone
    assert gone


LINE = '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'


def test_outcomes_from_the_shell(call, tmp_path):
    (tmp_path / "s.toml").write_text(LINE)
    words = ["--goal", "max", "--outcome", "impurity [%] <= 2"]
    assert "limit: impurity [%] <= 2" in call("init", "s.json", "s.toml", *words).out
    asked = call("ask", "s.json", "-n", 2)
    assert "then tell: guidefbo tell s.json 1 VALUE impurity=VALUE" in asked.err
    said = call("tell", "s.json", 1, 70)
    assert "trial 1 counts as keeping no limit until impurity is told too" in said.err
    said = call("tell", "s.json", 1, 70, "impurity=1.3")
    assert "corrected trial 1: impurity not told -> 1.3" in said.out
    assert not said.err
    said = call("tell", "s.json", 1, 70, "impurity=1.4", 2, 80, "impurity=2.5", "x=0.9")
    assert "-> 70, impurity=1.4 %" in said.out
    assert gf.Agent.load("s.json").trials[1].as_run == {"x": 0.9}
    shown = call("show", "s.json", "--trials").out
    assert "limit: impurity [%] <= 2" in shown
    assert "best single observation: trial 1, 70" in shown
    assert "\timpurity [%] <= 2\t" in shown
    form = json.loads(call("show", "s.json", "--json", "--trials").out)
    assert form["trials"][0]["outcomes"] == {"impurity": 1.4}
    assert form["best"]["keeps_limits"] is True
    call("export", "s.json", "-o", "t.csv")
    assert "impurity [%]" in (tmp_path / "t.csv").read_text("utf-8-sig").splitlines()[0]
    call("init", "t.json", "s.toml", *words, "--results", "t.csv", "--ignore-extra")
    assert [t.outcomes["impurity"] for t in gf.Agent.load("t.json").trials] == [
        1.4,
        2.5,
    ]
    said = call("init", "u.json", "s.toml", "--goal", "max", "--outcome", "a", code=2)
    assert "such as 'impurity [%] <= 2'" in said.err

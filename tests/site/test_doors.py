"""What an agent refuses at its door: texts, numbers and counts nobody can keep."""

import json

import numpy as np
import pytest
from tests.site.sites import make

from guidefbo import Agent, AtMost, Bool, Choice, FedBOError, Float, Int, Space, SumTo
from guidefbo.core.errors import DataError, SettingsError, SpaceError
from guidefbo.simulation.spec import RunSpec

UNPRINTABLE = ["\x00", "a\x1b[31m", "a\x7f", "a\u0085b", "a\ud800", "a\u2028b"]
HALF = np.longdouble("0.5")


@pytest.mark.parametrize("text", UNPRINTABLE, ids=ascii)
def test_text_that_cannot_be_printed_is_refused(text):
    with pytest.raises(SpaceError, match="control characters"):
        Space(**{f"x{text}x": Bool()})
    with pytest.raises(SpaceError, match="control characters"):
        Choice("a", f"x{text}x")
    agent = make(method="ucb")
    trial = agent.ask()
    if text in ("a\u0085b", "a\u2028b"):
        return  # Line breaks of a reason become blanks.
    with pytest.raises(DataError, match="control characters"):
        agent.tell(trial, failed=f"x{text}x")
    assert agent.trials == (trial,)


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "a\rb"], ids=ascii)
def test_line_breaks_in_names_and_options_are_refused(text):
    with pytest.raises(SpaceError, match="line breaks"):
        Space(**{text: Bool()})
    with pytest.raises(SpaceError, match="one line"):
        Choice("a", text)


def test_lines_of_a_reason_become_one(tmp_path):
    agent = make(method="ucb")
    told = agent.tell(agent.ask(), failed="Traceback:\n\t line 3\r\n\u2028 no power\n")
    assert told.failed == "Traceback: line 3 no power"
    # Telling the same again changes nothing.
    assert agent.tell(1, failed="Traceback:\n line 3\n no power") == told
    agent.save(tmp_path / "a.json")
    assert Agent.load(tmp_path / "a.json").trials == agent.trials


@pytest.mark.parametrize("reason", ["", "   ", "\n", "\u00a0"], ids=ascii)
def test_a_blank_reason_is_refused_and_an_old_one_read(reason, tmp_path):
    agent = make(method="ucb")
    trial = agent.ask()
    with pytest.raises(DataError, match="Expected the reason of a failure, got"):
        agent.tell(trial, failed=reason)
    assert agent.trials == (trial,)
    agent.tell(trial, failed="pump broke")
    agent.save(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()
    assert "pump broke" in text
    (tmp_path / "a.json").write_text(text.replace('"pump broke"', json.dumps(reason)))
    assert Agent.load(tmp_path / "a.json").trials[0].state == "failed"


def test_long_doubles_are_saved_as_floats(tmp_path):
    space = Space(
        a=Float(np.longdouble(0), np.longdouble(1)),
        b=Choice(np.longdouble(1) / 3, "b"),
        n=Int(np.int64(1), np.int16(5)),
        c=Float(0, 1),
    ).subject_to(AtMost({"a": HALF, "c": 1.0}, np.longdouble(0.9)))
    agent = Agent(
        space, goal="max", noise=HALF, settings={"beta": np.longdouble(2)}, initial=3
    )
    agent.tell(agent.ask(), HALF, std=HALF)
    agent.tell({"a": HALF, "b": "b", "n": 2, "c": np.float16(0.25)}, np.longdouble(1))
    agent.save(tmp_path / "a.json")
    loaded = Agent.load(tmp_path / "a.json")
    assert (loaded.setup, loaded.trials) == (agent.setup, agent.trials)
    assert json.loads((tmp_path / "a.json").read_text())["setup"]["noise"] == 0.5
    assert SumTo(HALF, "a", "c").total == 0.5


def test_options_that_are_one_float_are_one_option():
    with pytest.raises(SpaceError, match="different options"):
        Choice(1 / 3, np.longdouble(1) / 3)


def test_long_double_beyond_a_float_is_refused():
    if np.finfo(np.longdouble).max == np.finfo(float).max:
        return
    with pytest.raises(SpaceError), np.errstate(over="ignore"):
        Float(0, np.longdouble("1e4000"))


@pytest.mark.parametrize(
    "options",
    [
        {"num_agents": 10_001},
        {"num_agents": 10**30},
        {"num_agents": 10_000, "agent_id": 10_000},
        {"initial": 10**9},
        {"num_agents": 10_000, "initial": 10_000},
        {"seed": 2**128},
        {"seed": 10**5000},
        {"expire_after": 10**30},
        {"packet_lifetime": 10**30},
    ],
    ids=lambda options: "-".join(options),
)
def test_counts_of_an_agent_have_an_upper_limit(options):
    with pytest.raises(SettingsError, match=r"at most 1?\d+") as caught:
        make(method="ucb", **options)
    assert len(str(caught.value)) < 300


def test_batch_has_an_upper_limit():
    with pytest.raises(SettingsError, match=r"n must be .* at most 10000"):
        make(method="ucb").ask(10**9)


@pytest.mark.parametrize(
    "fields",
    [
        {"num_agents": 10**9},
        {"num_initial": 10**9},
        {"num_rounds": 10**9},
        {"dim": 10**9},
        {"seed": 2**128},
        {"num_agents": 10_000, "num_rounds": 100_000},
        {"num_agents": 10_000, "dim": 900},
    ],
    ids=lambda fields: "-".join(fields),
)
def test_counts_of_a_run_have_an_upper_limit(fields):
    with pytest.raises(FedBOError, match="at most"):
        RunSpec(**fields)


def test_large_runs_pass():
    RunSpec(num_agents=1000, num_initial=100, num_rounds=500, dim=30)

"""What notebooks show: HTML that is well formed and has nobody else's tags in it."""

import math
from html.parser import HTMLParser

import pytest

import guidefbo as gf
from guidefbo.core.html import MAX_ROWS, table_html
from guidefbo.experiments.run import run_study
from guidefbo.experiments.study import parse_study

EVIL = "<img src=x onerror=alert(1)>&\"'</td></pre>"
OURS = {"pre", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Rows of a text's tables, and its other text; refuses what is not ours."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.text, self.open = [], "", []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in OURS
        assert {name for name, _ in attrs} <= {"colspan"}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        else:
            self.text += data


def read(thing):
    return Reader(thing._repr_html_())


def hostile_agent():
    space = gf.Space(**{EVIL.replace("=", ""): gf.Choice(EVIL, "b"), "x": gf.Int(0, 9)})
    return gf.Agent(space, goal="max", initial=3, seed=1, method="ucb")


def test_an_agent_and_its_trials():
    agent = hostile_agent()
    assert read(agent).rows == []
    assert "no result yet" in read(agent).text
    first = agent.ask()
    agent.tell(first, failed=EVIL)
    agent.tell({**first.values, "x": 3}, 0.25, std=0.5)
    pending = agent.ask()
    shown = read(agent)
    head, *rows = shown.rows
    assert head == ["trial", *first.values, "value", "state", "origin"]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert rows[0][-3:] == [EVIL, "failed", "design"]
    assert rows[1][-3:] == ["0.25 ± 0.5", "done", "own"]
    assert rows[2][1:3] == [str(value) for value in pending.values.values()]
    assert rows[2][-3:-1] == ["", "pending"]
    assert str(agent).splitlines()[0] in shown.text
    assert read(pending).rows == [head, rows[2]]


def test_a_long_table_shows_its_ends():
    rows = [[str(k)] for k in range(3 * MAX_ROWS)]
    shown = Reader(table_html(["k"], rows)).rows[1:]
    half = MAX_ROWS // 2
    assert shown[:half] + shown[half + 1 :] == rows[:half] + rows[-half:]
    assert shown[half] == [f"{2 * MAX_ROWS} more"]
    assert Reader(table_html(["k"], rows[:MAX_ROWS])).rows[1:] == rows[:MAX_ROWS]


def test_a_result():
    def fail(values):
        raise ValueError(EVIL)

    space = gf.Space(kind=gf.Choice(EVIL, EVIL + EVIL), x=gf.Float(0, 1))
    result = gf.optimize(
        [lambda v: v["x"], fail], space, goal="max", initial=2, rounds=1, method="ucb"
    )
    shown = read(result)
    assert shown.rows[0] == ["agent", "kind", "x", "best", "round"]
    assert shown.rows[1][1] == result.best[0].values["kind"]
    assert shown.rows[1][3] == f"{result.best[0].value:.6g}"
    assert shown.rows[2] == ["1", "", "", "", ""]
    assert "2 agents" in shown.text


def test_a_trace():
    size = {"dim": 2, "num_agents": 2, "num_initial": 3, "num_rounds": 2}
    trace = gf.simulate("sphere", level=1, method="ucb", **size)
    shown = read(trace)
    assert shown.text == str(trace)
    assert [row[0] for row in shown.rows] == ["round", "0", "1", "2"]
    final = shown.rows[-1]
    assert float(final[1]) == pytest.approx(trace.mean_simple_regret[-1], rel=1e-5)
    assert float(final[3]) == pytest.approx(trace.best_value[-1].max(), rel=1e-5)
    assert math.isfinite(float(final[2]))


def test_a_study(tmp_path):
    form = {
        "name": "few",
        "repetitions": 2,
        "grid": [
            {
                "problem": "sphere",
                "level": 1,
                "dim": 2,
                "num_agents": 2,
                "num_initial": 3,
                "num_rounds": 1,
                "method": ["ucb", "ts"],
            }
        ],
    }
    run_study(parse_study(form), tmp_path / "out", jobs=1)
    shown = read(gf.read_study(tmp_path / "out"))
    assert shown.text == "study few: 4 runs"
    assert shown.rows[1:] == [
        ["sphere", "ucb", "2", "2", "0"],
        ["sphere", "ts", "2", "2", "0"],
    ]

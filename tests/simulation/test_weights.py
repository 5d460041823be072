"""What agents of a run thought of their models: in the trace, its record, its plot."""

import json

import numpy as np
import pytest

from guidefbo.simulation.simulate import simulate

LIGHT = {"num_raw": 16, "num_starts": 2, "num_iterations": 4}
SMALL = {"dim": 2, "num_agents": 3, "num_initial": 5, "num_rounds": 2}


def small(method="shape-ucb", **changes):
    given = {**SMALL, **changes}
    settings = LIGHT | given.pop("settings", {})
    return simulate("sphere", level=1, method=method, settings=settings, **given)


def test_weights_of_every_agent_and_round():
    trace = small()
    assert list(trace.weights) == ["others", "own", "none"]
    whole = np.stack([*trace.weights.values()])
    assert whole.shape == (3, 2, 3)
    assert whole.sum(axis=0) == pytest.approx(np.ones((2, 3)))
    assert (whole > 0.0).all()


@pytest.mark.parametrize("method", ["ucb", "guide-ucb", "consensus-ucb"])
def test_methods_that_compare_no_models(method):
    trace = small(method, num_rounds=1)
    assert trace.weights == {}
    assert not [name for name in trace.evaluations if name.startswith("weight.")]


def test_one_site_alone_hears_nobody():
    trace = small(num_agents=1)
    assert list(trace.weights) == ["own", "none"]


def test_the_record_has_them(tmp_path):
    trace = small()
    trace.save(tmp_path / "run.json")
    form = json.loads((tmp_path / "run.json").read_text())
    for name, weights in trace.weights.items():
        assert form[f"weight.{name}"] == weights.tolist()
    assert not [name for name in trace.to_record() if name.startswith("weight.")]


def test_what_was_not_compared_is_null(tmp_path):
    trace = small(num_rounds=1)
    trace.weights["others"][0, 1] = np.nan
    trace.save(tmp_path / "run.json")
    form = json.loads((tmp_path / "run.json").read_text())
    first, second, third = form["weight.others"][0]
    assert second is None
    assert (first, third) == tuple(trace.weights["others"][0, [0, 2]])


def test_the_plot_has_a_line():
    pytest.importorskip("matplotlib")
    trace = small()
    axes, right = trace.plot().axes
    (line,) = right.get_lines()
    assert line.get_xdata().tolist() == [1, 2]
    assert line.get_ydata() == pytest.approx(trace.weights["others"].mean(axis=1))
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "the others' model (right)" in words
    assert len(small("ucb").plot().axes) == 1

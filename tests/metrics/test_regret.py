import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.metrics.regret import (
    best_so_far,
    cumulative_regret,
    inference_regret,
    mean_simple_regret,
    simple_regret,
)

TABLES = arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.floats(-1e6, 1e6),
)


def test_best_so_far_by_hand():
    values = np.array([[1.0, 5.0], [3.0, 4.0], [2.0, 6.0]])
    assert best_so_far(values).tolist() == [[1, 5], [3, 5], [3, 6]]


def test_simple_regret_by_hand():
    """E33: the maximum less the best value."""
    assert simple_regret(np.array([7.5, 10.0]), 10.0).tolist() == [2.5, 0.0]


def test_mean_simple_regret_by_hand():
    """E34: averaged over agents, one figure per round."""
    best = np.array([[-4.0, -2.0], [-1.0, -2.0]])
    assert mean_simple_regret(best, 0.0).tolist() == [3.0, 1.5]


@given(TABLES)
@settings(deadline=None)
def test_regret_of_the_best_so_far_never_grows(values):
    # E34. A mean of equal or smaller terms can round up by an ulp of the terms.
    regret = mean_simple_regret(best_so_far(values), 1e6)
    assert (np.diff(regret) <= 1e-9).all()
    assert regret.shape == (len(values),)


VALUES = np.array([[1.0, 5.0, 4.0, 7.0], [2.0, 0.0, 6.0, 3.0]])
"""Two agents, two initial evaluations and two rounds."""


def test_inference_regret_by_hand():
    chosen = np.array([[1, 0], [1, 2], [2, 2]])
    found = inference_regret(VALUES, chosen, 10.0)
    assert found.tolist() == [[5, 8], [5, 4], [6, 4]]
    each = inference_regret(VALUES, chosen, np.array([7.0, 6.0]))
    assert each.tolist() == [[2, 4], [2, 0], [3, 0]]


def test_cumulative_regret_by_hand():
    found = cumulative_regret(VALUES, 2, 10.0)
    assert found.tolist() == [[0, 0], [6, 4], [9, 11]]
    each = cumulative_regret(VALUES, 2, np.array([7.0, 6.0]))
    assert each.tolist() == [[0, 0], [3, 0], [3, 3]]


@given(TABLES, st.data())
def test_a_choice_is_never_better_than_the_best_so_far(values, data):
    num_agents, count = values.shape
    last = np.full(num_agents, data.draw(st.integers(1, count)))
    picks = st.integers(0, int(last[0]) - 1)
    chosen = np.array([data.draw(st.tuples(*[picks] * num_agents))])
    simple = simple_regret(best_so_far(values.T)[last[0] - 1], 1e6)
    assert (inference_regret(values, chosen, 1e6)[0] >= simple).all()

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

from guidefbo.core.errors import DataError
from guidefbo.metrics.similarity import task_similarity


def test_similarity_by_hand():
    """E35, with ranks 1234, 2134 and 4321.

    Squared rank differences sum to 2, 20 and 18, and rho = 1 - 6 sum / (4 * 15) gives
    0.8, -1.0 and -0.8: their mean is -1/3.
    """
    values = np.array(
        [[0.0, 1.0, 5.0, 9.0], [2.0, 1.0, 3.0, 4.0], [9.0, 4.0, 1.0, 0.5]]
    )
    # Three roundings of numbers near one.
    assert task_similarity(values) == pytest.approx(-1 / 3, abs=1e-15)


def test_ties_share_their_mean_rank():
    # E35. Ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
    values = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    assert task_similarity(values) == pytest.approx(np.sqrt(0.75), abs=1e-15)


@given(
    row=arrays(float, st.integers(2, 300), elements=st.floats(-1e9, 1e9)),
    copies=st.integers(2, 16),
)
@settings(deadline=None)
def test_identical_rows_are_exactly_one(row, copies):
    if (row == row[0]).all():
        row = np.arange(float(len(row)))
    assert task_similarity(np.tile(row, (copies, 1))) == 1.0


@given(arrays(float, (4, 12), elements=st.integers(0, 8)))
@settings(deadline=None)
def test_agrees_with_scipys_pairs(values):
    values[:, 0] = 9.0  # No row is constant then: the others are at most 8.
    pairs = [spearmanr(values[i], values[j])[0] for i in range(4) for j in range(i)]
    # Both round a handful of numbers below one.
    assert task_similarity(values) == pytest.approx(np.mean(pairs), abs=1e-13)


def test_scale_does_not_matter():
    values = np.array([[1.0, 4.0, 2.0, 8.0], [3.0, 1.0, 2.0, 5.0]])
    assert task_similarity(values) == task_similarity(np.exp(values) * 1e6 - 7.0)


def test_constant_row_is_refused():
    with pytest.raises(DataError, match="constant row for agent 1"):
        task_similarity(np.array([[1.0, 2.0], [3.0, 3.0]]))


@pytest.mark.parametrize(
    "values", [np.ones((1, 3)), np.array([[1.0, np.nan], [1.0, 2.0]])]
)
def test_one_agent_or_missing_values_are_refused(values):
    with pytest.raises(DataError, match="at least two agents"):
        task_similarity(values)

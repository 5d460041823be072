import numpy as np
import pytest

from guidefbo.core.errors import DataError
from guidefbo.metrics.ranks import average_ranks


def test_average_ranks_by_hand():
    table = np.array([[0.1, 0.3, 0.2], [5.0, 5.0, 1.0]])
    # First row ranks 1, 3, 2; in the second the two equal ones share 2.5.
    assert average_ranks(table).tolist() == [1.75, 2.75, 1.5]


def test_all_equal_methods_share_the_middle_rank():
    assert average_ranks(np.zeros((4, 5))).tolist() == [3.0] * 5


@pytest.mark.parametrize("table", [np.array([[1.0, np.nan]]), np.empty((0, 3))])
def test_an_incomplete_table_is_refused(table):
    with pytest.raises(DataError, match="a number for every benchmark and method"):
        average_ranks(table)

import numpy as np
import pytest
from jaxtyping import TypeCheckError
from tests.shapes import check_arrays, check_once

from guidefbo.core.arrays import Matrix, Points, Values, frozen_array
from guidefbo.core.component import Components
from guidefbo.server.strategies.guide.reweighting import temperature


def test_suite_checks_shapes_of_fields():
    """The import hook of conftest.py is alive."""
    with pytest.raises(TypeCheckError):
        Components(weights=np.ones(2), centers=np.ones((3, 2)), variances=np.ones(3))


def test_suite_checks_shapes_and_types_of_arguments():
    for scores in (np.ones((2, 1)), np.ones(2, dtype=np.float32), [1.0, 2.0]):
        with pytest.raises(TypeCheckError):
            temperature(scores)


@check_once(typechecker=check_arrays)
def first_rows(X: Points, y: Values, *, count: int = 1) -> Points:
    return X[:count]


@check_once(typechecker=check_arrays)
def rows_above(X: Points, least: float) -> Points | None:
    kept = X[X[:, 0] > least]
    return kept if len(kept) else None


def test_shapes_that_have_passed_are_not_looked_at_again_and_others_are():
    X, y = np.ones((3, 2)), np.ones(3)
    for _ in range(2):
        assert first_rows(X, y, count=3) is not None
        with pytest.raises(TypeCheckError, match="return value"):
            first_rows(X, y)
        with pytest.raises(TypeCheckError, match="parameters"):
            first_rows(X, np.ones(2), count=3)
        with pytest.raises(TypeCheckError, match="parameters"):
            first_rows(X=X.astype(np.float32), y=y, count=3)
    assert first_rows(y=y, X=X, count=3) is not None


def test_what_comes_out_is_looked_at_whenever_it_is_new():
    X = np.arange(6.0).reshape(3, 2)
    assert rows_above(X, -1.0) is not None
    assert rows_above(X, 9.0) is None
    with pytest.raises(TypeCheckError, match="return value"):
        rows_above(X, 1.0)
    assert rows_above(X, -1.0) is not None


def test_a_function_within_a_function_is_checked_each_time():
    def outer(result):
        @check_once(typechecker=check_arrays)
        def inner(X: Points) -> Matrix:
            return result

        return inner

    assert outer(np.ones((1, 1)))(np.ones((2, 2))) is not None
    with pytest.raises(TypeCheckError, match="return value"):
        outer(np.ones(1))(np.ones((2, 2)))


def test_frozen_array_is_a_read_only_copy():
    source = np.arange(3)
    copy = frozen_array(source)
    source[0] = 7
    assert copy.tolist() == [0.0, 1.0, 2.0]
    assert copy.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        copy[0] = 1.0


def test_components_keep_their_own_read_only_arrays():
    weights = np.array([0.25, 0.5])
    components = Components(
        weights=weights, centers=np.eye(2), variances=np.ones((2, 2))
    )
    weights[0] = 9.0
    assert components.weights.tolist() == [0.25, 0.5]
    for name in ("weights", "centers", "variances"):
        assert not getattr(components, name).flags.writeable


def test_components_are_taken_in_the_order_asked_for():
    components = Components(
        weights=np.array([0.1, 0.2, 0.3]),
        centers=np.arange(6.0).reshape(3, 2),
        variances=np.stack([np.eye(2), 2 * np.eye(2), 3 * np.eye(2)]),
    )
    taken = components.take(np.array([2, 0]))
    assert len(taken) == 2
    assert taken.is_full
    assert taken.weights.tolist() == [0.3, 0.1]
    assert taken.centers.tolist() == [[4.0, 5.0], [0.0, 1.0]]
    assert taken.variances[0].tolist() == [[3.0, 0.0], [0.0, 3.0]]

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.synthetic.functions import FUNCTIONS
from guidefbo.problems.synthetic.maps import (
    Negate,
    Noise,
    Rotate,
    ScaleOutput,
    Shift,
    Stack,
    ToRaw,
    ToSearch,
)

POINTS = arrays(float, (5, 2), elements=st.floats(-10, 10))
QUARTER_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def test_each_map_by_hand():
    X = np.array([[0.25, 1.0]])
    assert Shift(vector=np.array([0.25, -1.0]))(X).tolist() == [[0.0, 2.0]]
    assert Rotate(matrix=QUARTER_TURN)(X).tolist() == [[-1.0, 0.25]]
    assert ToSearch(corner=np.array([-0.5, 0.0]))(X).tolist() == [[-0.25, 1.0]]
    assert ToRaw(width=np.array([4.0, 2.0]))(X).tolist() == [[1.0, 2.0]]
    assert ScaleOutput(scale=20.0)(np.array([5.0])).tolist() == [0.25]
    assert Negate()(np.array([3.0])).tolist() == [-3.0]


def test_negating_zero_gives_plain_zero():
    assert not np.signbit(Negate()(np.array([0.0])))[0]


def test_stack_applies_shift_before_rotation():
    """E32: the argument is R (x - z), by hand.

    (3, 1) less (1, 1) is (2, 0), a quarter turn makes it (0, 2), and the ellipsoid
    counts the second square twice.
    """
    stack = Stack(
        inputs=(Shift(vector=np.ones(2)), Rotate(matrix=QUARTER_TURN)),
        function=FUNCTIONS["ellipsoid"],
        outputs=(Negate(),),
    )
    assert stack(np.array([[3.0, 1.0]])).tolist() == [-8.0]


def test_repr_reads_as_the_stack():
    stack = Stack(
        inputs=(Shift(vector=np.array([3.0, 4.0])), Rotate(matrix=np.eye(2))),
        function=FUNCTIONS["ackley"],
        outputs=(Negate(), ScaleOutput(scale=20.0)),
    )
    assert repr(stack) == "scale_output[20](negate(ackley(rotate[0](shift[5](x)))))"
    assert repr(Noise(std=0.1)) == "noise[0.1]"


@given(POINTS)
@settings(deadline=None)
def test_empty_shift_and_rotation_change_nothing(X):
    assert (Shift(vector=np.zeros(2))(X) == X).all()
    assert (Rotate(matrix=np.eye(2))(X) == X).all()


@given(POINTS)
@settings(deadline=None)
def test_rotation_keeps_distances(X):
    turned = Rotate(matrix=QUARTER_TURN)(X)
    assert (np.linalg.norm(turned, axis=1) == np.linalg.norm(X[:, ::-1], axis=1)).all()


@given(values=arrays(float, 4, elements=st.floats(-1e6, 1e6)))
@settings(deadline=None)
def test_no_noise_is_exact(values):
    assert (Noise(std=0.0)(values, Streams(0).at(Purpose.NOISE)) == values).all()


def test_noise_has_its_spread():
    noise = Noise(std=0.3)(np.zeros(20_000), Streams(0).at(Purpose.NOISE))
    # Relative error of a standard deviation: 1 / sqrt(2 * 20000) = 0.005; mean: 0.0021.
    assert noise.std() == pytest.approx(0.3, rel=4 * 0.005)
    assert abs(noise.mean()) < 4 * 0.0021


def test_arrays_are_copied_and_frozen():
    vector = np.zeros(2)
    shift = Shift(vector=vector)
    vector[0] = 1.0
    assert shift.vector.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        shift.vector[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        shift.vector = vector

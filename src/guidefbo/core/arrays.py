"""Names for array shapes, checked at run time by the test suite.

The aliases are jaxtyping annotations where jaxtyping was loaded first, as the suite
does, and plain arrays elsewhere: an agent needs NumPy, SciPy and threadpoolctl only,
and does not wait for the rest.
A letter stands for one length within a call: n points, m other points, d coordinates.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Point = Points = Others = Values = OtherValues = Matrix = NDArray[np.float64]
else:
    if "jaxtyping" not in sys.modules:
        Point = Points = Others = Values = OtherValues = Matrix = np.ndarray
    else:
        from jaxtyping import Float64

        Point = Float64[np.ndarray, "d"]
        Points = Float64[np.ndarray, "n d"]
        Others = Float64[np.ndarray, "m d"]
        Values = Float64[np.ndarray, "n"]
        OtherValues = Float64[np.ndarray, "m"]
        Matrix = Float64[np.ndarray, "_ _"]


def frozen_array(values: Any) -> NDArray[np.float64]:
    """Return a read-only float64 copy of `values`."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array

"""The points of the Sobol sequence as whole numbers, without loading `scipy.stats`.

To load that package takes longer than most commands. Its table of direction numbers is
a file, which is read here; the recurrence and the order of the points are those of
SciPy, number for number. Where the file is not found, SciPy itself is asked.

References:
    Bratley and Fox, 1988: the recurrence of the direction numbers.
    Antonov and Saleev, 1979: the order, by Gray codes.
    Joe and Kuo, 2008: the table.
"""

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BITS = 30
"""Binary digits of a coordinate; SciPy's own default."""
MAX_DIM = 256
"""Most coordinates for which the recurrence, a Python loop, is the faster way."""
TABLE = ("stats", "_sobol_direction_numbers.npz")
"""Where SciPy has the table, from its own folder on."""

Words = NDArray[np.int64]


def sobol_words(num_points: int, dim: int) -> Words:
    """Return the first points, unscrambled, as integers below 2**30."""
    table = _find_table()
    if dim > MAX_DIM or table is None:
        return words_of_scipy(num_points, dim)
    # Those of fewer coordinates are the first of more.
    V = _direction_numbers(table, 1 << (dim - 1).bit_length())[:dim]
    words = np.zeros((1, dim), dtype=np.int64)
    # A Gray code goes on with itself, backwards, and the next bit set.
    for k in range((num_points - 1).bit_length()):
        words = np.concatenate([words, words[::-1] ^ V[:, k]])
    return words[:num_points]


def words_of_scipy(num_points: int, dim: int) -> Words:
    """Return the same from SciPy."""
    from scipy.stats import qmc

    # A whole power of two is drawn and cut: SciPy warns about any other number.
    engine = qmc.Sobol(dim, scramble=False, bits=BITS)
    points = engine.random_base2((num_points - 1).bit_length())[:num_points]
    return np.rint(points * (1 << BITS)).astype(np.int64)


def _find_table() -> Path | None:
    spec = find_spec("scipy")
    folders = [] if spec is None else spec.submodule_search_locations or []
    paths = [Path(folder, *TABLE) for folder in folders]
    return next((path for path in paths if path.is_file()), None)


@lru_cache(maxsize=16)
def _direction_numbers(table: Path, dim: int) -> Words:
    """Return the direction numbers, (dim, BITS), each a binary fraction of 2**BITS.

    Cached and read-only: to read the table takes longer than many a search.
    """
    with np.load(table, allow_pickle=False) as stored:
        polynomials = stored["poly"][:dim].tolist()
        first = stored["vinit"][:dim].tolist()
    V = np.ones((dim, BITS), dtype=np.int64)
    for j in range(1, dim):
        polynomial, degree = polynomials[j], polynomials[j].bit_length() - 1
        taps = [i for i in range(1, degree + 1) if polynomial >> (degree - i) & 1]
        v = first[j][:degree]
        for k in range(degree, BITS):
            new = v[k - degree]
            for i in taps:
                new ^= v[k - i] << i
            v.append(new)
        V[j] = v[:BITS]
    V <<= np.arange(BITS - 1, -1, -1)
    V.setflags(write=False)
    return V

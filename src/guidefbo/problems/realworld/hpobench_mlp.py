"""Settings of a neural network on eight data sets, looked up in a complete table.

Every setting on the grid was trained with five seeds. The objective is the mean of the
five validation accuracies; an observation is the accuracy of one of them, so that its
noise is that of real training runs. The best entry of a table is the known optimum.

References:
    Eggensperger et al., "HPOBench: A Collection of Reproducible Multi-Fidelity
    Benchmark Problems for HPO", NeurIPS Datasets and Benchmarks (2021).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError
from guidefbo.core.npz import read_arrays
from guidefbo.core.space.parameters import Int
from guidefbo.core.space.space import Space
from guidefbo.problems.datasets.find import find_dataset
from guidefbo.problems.own import Tasks

FILE = "hpobench_mlp_val_acc.npz"
"""File of the data set that holds one array a site."""
SITES = (
    "car",
    "phoneme",
    "vehicle",
    "australian",
    "kc1",
    "segment",
    "blood_transfusion",
    "credit_g",
)
"""The data sets the network is trained on, each a site."""
LEVELS = {"alpha": 10, "batch_size": 10, "depth": 3, "learning_rate": 10, "width": 10}
"""Parameters in the order of the axes, and the number of increasing levels of each."""
NUM_SEEDS = 5
"""Training runs of each setting."""
MAX_BYTES = 20_000_000
"""Most bytes of the file; the real one has 3.2 million."""

Table = NDArray[np.float64]
"""One accuracy a setting and seed: a grid of settings, seeds on the last axis."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Validation accuracy of the network on one data set, read off its table."""

    table: Table
    """Accuracies on the grid, seeds on the last axis."""

    def mean(self, values: dict[str, Any]) -> float:
        """Return the mean accuracy over the seeds."""
        return float(np.mean(self._runs(values)))

    def observe(self, values: dict[str, Any], stream: np.random.Generator) -> float:
        """Return the accuracy with one seed, each as likely as the others."""
        return float(self._runs(values)[int(stream.integers(NUM_SEEDS))])

    def best(self) -> float:
        """Return the largest mean over the seeds that any setting has."""
        return float(np.mean(self.table, axis=-1).max())

    def _runs(self, values: dict[str, Any]) -> Table:
        return self.table[tuple(int(values[name]) for name in LEVELS)]


def hpobench_mlp(seed: int = 0) -> Tasks:
    """Return eight sites that each tune a neural network by looking up a table.

    Args:
        seed: Not used: the tables are the same in every run.
    """
    del seed
    lookups = [Lookup(table) for table in read_tables(find_dataset("hpobench_mlp"))]
    return Tasks(
        Space(**{name: Int(0, levels - 1) for name, levels in LEVELS.items()}),
        [lookup.mean for lookup in lookups],
        goal="max",
        names=SITES,
        observers=[lookup.observe for lookup in lookups],
        optima=[lookup.best() for lookup in lookups],
        metric="validation accuracy",
        source=(
            "HPOBench (Eggensperger et al. 2021): a multilayer perceptron on eight "
            "data sets, complete table of 30 000 settings, an observation is one of "
            "five training runs"
        ),
    )


def read_tables(folder: Path) -> list[Table]:
    """Return the table of each site, or refuse a file that is not of this form."""
    path, shape = folder / FILE, (*LEVELS.values(), NUM_SEEDS)
    try:
        expected = {site: (shape, np.dtype("<f8")) for site in SITES}
        tables = read_arrays(path, MAX_BYTES, expected)
        for site, table in tables.items():
            if not np.all((table >= 0.0) & (table <= 1.0)):
                raise InputError(f"{site} holds numbers that are no accuracies")
    except InputError as error:
        raise DataError(
            f"Expected {path} to be a NumPy archive with an array for each of "
            f"{', '.join(SITES)}, but {error}. Get the file again: "
            "`guidefbo data fetch hpobench_mlp`."
        ) from error
    return list(tables.values())

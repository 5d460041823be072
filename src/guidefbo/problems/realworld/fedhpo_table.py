"""The table of finished trainings behind the problem fedhpo, and numbers between them.

The table was regenerated for this package by scripts/fedhpo_table.py; it is not the
official one. A row is one training with one seed. What is returned is the mean over the
seeds, interpolated between the levels of dropout and of the logarithm of the learning
rate, apart for every number of local steps and every weight decay.
"""

import csv
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file

GRAPHS = ("cora", "citeseer", "pubmed")
"""The citation graphs, each a site."""
COLUMNS = ("graph", "seed", "dropout", "lr", "step", "wd", "val_acc", "test_acc")
"""Columns that are read; the table may have more."""
TABLE = "fedhpo_table.csv"
"""The table of the package, beside this file."""
MAX_BYTES = 2_000_000
"""Most bytes of a table; the full grid with three seeds would have 0.5 million."""

Level = tuple[float, ...]
Key = tuple[int, float]
"""Number of local steps and weight decay."""


@dataclass(frozen=True, slots=True)
class Surface:
    """A score over all settings, from its values on a grid.

    >>> flat, steep = np.zeros((2, 2)), np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> s = Surface((0.0, 0.5), (0.01, 1.0), {(1, 0.0): flat, (2, 0.0): steep})
    >>> s({"dropout": 0.0, "lr": 0.1, "step": 2, "wd": 0.0})
    0.5
    """

    dropouts: Level
    """Levels of the dropout, increasing."""
    lrs: Level
    """Levels of the learning rate, increasing."""
    scores: Mapping[Key, NDArray[np.float64]]
    """Scores by steps and decay: a row a dropout, a column a learning rate."""

    def __call__(self, values: dict[str, Any]) -> float:
        """Return the score of a setting."""
        grid = self.scores[int(values["step"]), float(values["wd"])]
        i, s = _between(float(values["dropout"]), np.array(self.dropouts))
        j, t = _between(np.log(float(values["lr"])), np.log(self.lrs))
        ends = (1.0 - s) * grid[i] + s * grid[i + 1]
        return float((1.0 - t) * ends[j] + t * ends[j + 1])

    def best(self) -> float:
        """Return the largest score: no value between levels is above both of them."""
        return float(max(grid.max() for grid in self.scores.values()))


@dataclass(frozen=True, slots=True)
class Trained:
    """What the trainings on one graph came to."""

    validation: Surface
    """Accuracy on the validation nodes: what is tuned."""
    test: Surface
    """Accuracy on the test nodes."""
    seeds: tuple[int, ...]
    """Seeds that every cell is the mean of."""


def table_text() -> str:
    """Return the table of the package."""
    return files(__package__ or "").joinpath(TABLE).read_text(encoding="utf-8")


def read_trained(path: Path | None = None) -> dict[str, Trained]:
    """Return the trainings by graph, from the table of the package or another one."""
    if path is None:
        return _trained(table_text(), TABLE)
    try:
        return _trained(read_file(path, MAX_BYTES).decode("utf-8"), str(path))
    except (InputError, UnicodeDecodeError) as error:
        raise DataError(
            f"Expected {path} to be a table of scripts/fedhpo_table.py, but {error}."
        ) from error


def _between(x: float, levels: NDArray[np.float64]) -> tuple[int, float]:
    """Return the level below x, and how far x is on the way to the next one.

    Beyond the ends it is the end.
    """
    i = int(np.clip(np.searchsorted(levels, x, side="right") - 1, 0, len(levels) - 2))
    share = (x - levels[i]) / (levels[i + 1] - levels[i])
    return i, float(np.clip(share, 0.0, 1.0))


def _trained(text: str, name: str) -> dict[str, Trained]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    # By graph: setting -> seed -> (validation, test).
    cells: dict[str, dict[tuple[float, ...], dict[int, tuple[float, float]]]]
    cells = {graph: defaultdict(dict) for graph in GRAPHS}
    try:
        for row in csv.DictReader(lines):
            graph, seed, *rest = (row[column] for column in COLUMNS)
            *setting, validation, test = map(float, rest)
            if not (0.0 <= validation <= 1.0 and 0.0 <= test <= 1.0):
                raise ValueError("an accuracy is not from 0 to 1")
            cells[graph][tuple(setting)][int(seed)] = validation, test
        trained = {graph: _on_grid(cells[graph]) for graph in GRAPHS}
        if len({tuple(part.validation.scores) for part in trained.values()}) > 1:
            raise ValueError("graphs have other local steps or weight decays")
        return trained
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise DataError(
            f"Expected {name} to hold a complete grid of trainings for each of "
            f"{', '.join(GRAPHS)} in the columns {', '.join(COLUMNS)}, but this is "
            f"wrong: {error}. Make it again with scripts/fedhpo_table.py."
        ) from error


def _on_grid(
    cells: Mapping[tuple[float, ...], Mapping[int, tuple[float, float]]],
) -> Trained:
    """Return the means over seeds as surfaces, or refuse a grid with gaps."""
    dropouts, lrs, steps, wds = (tuple(sorted({c[k] for c in cells})) for k in range(4))
    seeds = tuple(sorted({seed for cell in cells.values() for seed in cell}))
    if min(len(dropouts), len(lrs)) < 2 or min(lrs) <= 0.0:
        raise ValueError("a graph needs two dropouts and two positive learning rates")

    def surface(which: int) -> Surface:
        def mean(*setting: float) -> float:
            return sum(cells[setting][seed][which] for seed in seeds) / len(seeds)

        scores: dict[Key, NDArray[np.float64]] = {
            (int(step), wd): np.array(
                [[mean(p, lr, step, wd) for lr in lrs] for p in dropouts]
            )
            for step in steps
            for wd in wds
        }
        return Surface(dropouts, lrs, scores)

    return Trained(surface(0), surface(1), seeds)

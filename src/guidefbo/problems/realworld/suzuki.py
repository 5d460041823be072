"""Yield of four Suzuki couplings, emulated: a catalyst and three conditions to choose.

An emulator is fitted to the experiments of each reaction and stands in for it. What an
agent observes is its value plus noise of the size that the emulator finds in the
experiments; both are yields, so that they are kept between 0 and 100 %.

References:
    Reizman, Wang, Buchwald and Jensen, "Suzuki-Miyaura cross-coupling optimization
    enabled by automated feedback", React. Chem. Eng. 1:658-666 (2016).
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from guidefbo.core.arrays import Matrix, Others, Point, Points, Values
from guidefbo.core.checks import shown
from guidefbo.core.errors import DataError
from guidefbo.core.files import InputError, read_file
from guidefbo.core.space.parameters import Choice, Float
from guidefbo.core.space.space import Space
from guidefbo.problems.datasets.find import find_dataset
from guidefbo.problems.emulator import Emulator, fit_emulator, groups_of
from guidefbo.problems.own import Tasks

NUM_REACTIONS = 4
"""Reactions, each a site with a file of its own."""
CATALYSTS = ("P1-L1", "P1-L2", "P1-L3", "P1-L4", "P1-L5", "P1-L6", "P1-L7", "P2-L1")
"""Palladium precursor and ligand."""
COLUMNS = ("catalyst", "t_res", "temperature", "catalyst_loading", "yld")
"""Columns that are read: catalyst, seconds, degrees Celsius, mol %, yield in %."""
NUMBERS = ("time", "temperature", "loading")
"""Parameters that are numbers, in the order of their columns."""
SLACK = 1.05
"""Conditions up to this factor beyond a bound are taken as the bound: what was metered
differs a little from what was meant."""
MAX_BYTES = 100_000
"""Most bytes of a file; the real ones have 3400."""
GRID = (5, 17, 5)
"""Points of the grid on which the optimum is looked for with each catalyst. Yields
change fastest with the temperature."""
NUM_STARTS = 8
"""Best points of that grid from which a local search starts."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """The emulated yield of one reaction, in %."""

    space: Space
    """Catalyst and conditions."""
    emulator: Emulator
    """Function fitted to the experiments."""

    @property
    def noise_std(self) -> float:
        """Standard deviation of a measurement, as the emulator found it."""
        return float(np.sqrt(self.emulator.hyper.noise) * np.std(self.emulator.y))

    def value(self, values: dict[str, Any]) -> float:
        """Return the emulated yield."""
        return float(self.at(self.space.to_unit(values)[None])[0])

    def observe(self, values: dict[str, Any], stream: np.random.Generator) -> float:
        """Return the yield as one experiment would measure it."""
        measured = self.value(values) + self.noise_std * stream.standard_normal()
        return float(np.clip(measured, 0.0, 100.0))

    def at(self, X: Others) -> Values:
        """Return the emulated yields at points of the unit cube."""
        return np.clip(self.emulator.predict(X), 0.0, 100.0)

    def optimum(self) -> Point:
        """Return the point of the highest yield, from a grid and local searches."""
        corner = np.meshgrid(*(np.linspace(0.0, 1.0, n) for n in GRID), indexing="ij")
        numbers = np.stack(corner, axis=-1).reshape(-1, len(GRID))
        parts = [_with_catalyst(numbers, n) for n in range(len(CATALYSTS))]
        grid = np.concatenate(parts)
        yields = np.concatenate([self.at(part) for part in parts])
        starts = grid[np.argsort(-yields, kind="stable")[:NUM_STARTS]]
        ends = np.array([self._climb(start) for start in starts])
        return ends[np.argmax(self.at(ends))]

    def _climb(self, start: Point) -> Point:
        """Return the point a local search over the numbers ends at."""
        first = len(CATALYSTS)

        def loss(numbers: Point) -> float:
            point = np.concatenate([start[:first], numbers])
            return -float(self.emulator.predict(point[None])[0])

        found: OptimizeResult = minimize(
            loss, start[first:], method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(NUMBERS)
        )
        return np.concatenate([start[:first], np.clip(found.x, 0.0, 1.0)])


def suzuki(seed: int = 0) -> Tasks:
    """Return the four reactions, each looking for the catalyst and conditions.

    Args:
        seed: Not used: the emulators are the same in every run.
    """
    del seed
    space = reaction_space()
    folder = find_dataset("suzuki")
    reactions: list[Reaction] = []
    for number in range(1, NUM_REACTIONS + 1):
        X, y = read_reaction(folder / f"reizman_suzuki_case_{number}.csv", space)
        reactions.append(Reaction(space, fit_emulator(X, y, groups_of(space))))
    return Tasks(
        space,
        [reaction.value for reaction in reactions],
        goal="max",
        names=[f"case-{number}" for number in range(1, NUM_REACTIONS + 1)],
        observers=[reaction.observe for reaction in reactions],
        optima=[float(r.at(r.optimum()[None])[0]) for r in reactions],
        metric="yield",
        unit="%",
        source=(
            "Reizman et al. (React. Chem. Eng. 1:658, 2016): four Suzuki couplings, "
            "each emulated by a Gaussian process fitted to about 96 experiments; "
            "cross-validated error 10.6, 8.0, 10.4 and 13.6 points of yield"
        ),
    )


def reaction_space() -> Space:
    """Return the catalysts and the ranges of the experiments.

    Times and loadings were spaced by their logarithms.
    """
    return Space(
        catalyst=Choice(*CATALYSTS),
        time=Float(60.0, 600.0, log=True),
        temperature=Float(30.0, 110.0),
        loading=Float(0.5, 2.5, log=True),
    )


def read_reaction(path: Path, space: Space) -> tuple[Points, Values]:
    """Return the settings, in the unit cube, and yields of one reaction's file.

    The first line names the columns and the second one says what kind they are.
    """
    try:
        text = read_file(path, MAX_BYTES).decode("utf-8")
        lines = [line for line in csv.reader(io.StringIO(text)) if line]
        head, rows = (lines or [list[str]()])[0], lines[2:]
        absent = [name for name in COLUMNS if name not in head]
        if absent:
            raise DataError(f"the first line does not name the columns {absent}")
        places = [head.index(name) for name in COLUMNS]
        found = [_experiment(line, places, space) for line in rows]
        if not found:
            raise DataError("there is no experiment in it")
    except (InputError, DataError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"Cannot use {path}: {error}. Get the file again: "
            "`guidefbo data fetch suzuki`."
        ) from error
    return np.array([x for x, _ in found]), np.array([y for _, y in found])


def _experiment(
    line: list[str], places: list[int], space: Space
) -> tuple[Point, float]:
    if len(line) <= max(places):
        raise DataError(f"the line {shown(line)} is too short")
    catalyst, *cells = (line[place].strip() for place in places)
    try:
        *numbers, measured = map(float, cells)
    except ValueError:
        raise DataError(
            f"the line {shown(line)} has an entry that is no number"
        ) from None
    values: dict[str, Any] = {"catalyst": catalyst}
    for name, number in zip(NUMBERS, numbers, strict=True):
        parameter = space.parameters[name]
        assert isinstance(parameter, Float)
        if not parameter.low / SLACK <= number <= parameter.high * SLACK:
            raise DataError(
                f"{name} is {number:g}, not between {parameter.low:g} and "
                f"{parameter.high:g}"
            )
        values[name] = min(max(number, parameter.low), parameter.high)
    if catalyst not in CATALYSTS or not 0.0 <= measured <= 100.0:
        raise DataError(
            f"expected one of {', '.join(CATALYSTS)} and a yield from 0 to 100, got "
            f"{shown(catalyst)} and {measured:g}"
        )
    return space.to_unit(values), measured


def _with_catalyst(numbers: Points, place: int) -> Matrix:
    """Return points of the unit cube with one catalyst and these numbers."""
    options = np.zeros((len(numbers), len(CATALYSTS)))
    options[:, place] = 1.0
    return np.hstack([options, numbers])

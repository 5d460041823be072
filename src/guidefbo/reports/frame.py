"""A study's runs laid out for tables: conditions, problems, contenders, seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from guidefbo.core.arrays import Values
from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.results import StudyResults
from guidefbo.experiments.study_json import Row
from guidefbo.reports.conditions import Conditions, Field, field_of
from guidefbo.reports.contenders import Contender, contenders_of, identity_of
from guidefbo.reports.measure import REGRET, Measure, measure_of

Samples = Mapping[Field, Outcome | None]
"""The seeds that were asked for, None where there is no result."""
Place = tuple[Conditions, str]
"""Conditions and a problem: one row of a table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """All runs of a study by conditions, problem, contender and seed."""

    results: StudyResults
    """Where they come from."""
    cells: Mapping[tuple[Conditions, str, Contender], Samples]
    """In the order of the study."""
    sizes: Mapping[Place, Conditions]
    """What the specs of a problem say in full; tables of tasks leave sizes out."""
    others: frozenset[tuple[Conditions, str, Contender]]
    """Cells with a result that other code computed."""
    measures: Mapping[Place, Measure]
    """What the values of a problem are, where there is a run."""
    in_box: frozenset[Place]
    """Problems whose runs all have a regret against the best point in the box."""

    @property
    def conditions(self) -> tuple[Conditions, ...]:
        """Every set of conditions, in order."""
        return tuple(sorted({c for c, _, _ in self.cells}, key=lambda c: c.order))

    @property
    def views(self) -> list["View"]:
        """The runs under each set of conditions, in the same order."""
        return [View(self, conditions) for conditions in self.conditions]

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems that were asked for, in the order of the study."""
        return tuple(dict.fromkeys(p for _, p, _ in self.cells))

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """All contenders that were asked for, in the order of the study."""
        return tuple(dict.fromkeys(k for _, _, k in self.cells))


@dataclass(frozen=True, slots=True)
class View:
    """The runs of a frame under one set of conditions."""

    frame: Frame
    """All runs."""
    conditions: Conditions
    """Those of the ones in view."""
    is_papers: bool = False
    """Whether regrets are against the maximum of the base function, as the paper's,
    even where one against the best point in the box is there."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that were asked for, in the order of the study."""
        named = (p for c, p, _ in self.frame.cells if c == self.conditions)
        return tuple(dict.fromkeys(named))

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The contenders that were asked for, in the order of the study."""
        named = (k for c, _, k in self.frame.cells if c == self.conditions)
        return tuple(dict.fromkeys(named))

    @property
    def in_box(self) -> list[str]:
        """Problems whose runs all have a regret against the best point in the box."""
        return [p for p in self.problems if (self.conditions, p) in self.frame.in_box]

    @property
    def others(self) -> list[tuple[str, Contender]]:
        """Problems and contenders with a result that other code computed."""
        places = self.frame.others
        return [(p, who) for c, p, who in places if c == self.conditions]

    @property
    def has_run(self) -> bool:
        """Whether any run is there."""
        return any(place[0] == self.conditions for place in self.frame.measures)

    def samples(self, problem: str, who: Contender) -> Samples:
        """Return the runs of a cell; none where nothing was asked for."""
        return self.frame.cells.get((self.conditions, problem, who), {})

    def outcomes(self, problem: str, who: Contender) -> list[Outcome]:
        """Return what is there of the runs of a cell."""
        samples = self.samples(problem, who).values()
        return [outcome for outcome in samples if outcome is not None]

    def measure(self, problem: str) -> Measure:
        """Return what the values of a problem are."""
        return self.frame.measures.get((self.conditions, problem), REGRET)

    def curves(self, problem: str, who: Contender) -> dict[Field, Values]:
        """Return the main curves that are there, by seed."""
        measure = self.measure(problem)
        place = (self.conditions, problem)
        is_in_box = not self.is_papers and place in self.frame.in_box
        found: dict[Field, Values] = {}
        for seed, outcome in self.samples(problem, who).items():
            if outcome is None or outcome.curve is None:
                continue
            # What was measured otherwise cannot stand beside the rest.
            if measure_of(outcome) == measure:
                inside = outcome.curve_inbox if is_in_box else None
                found[seed] = outcome.curve if inside is None else inside
        return found

    def finals(self, problem: str, who: Contender) -> dict[Field, float]:
        """Return the ends of the main curves that are there, by seed."""
        curves = self.curves(problem, who)
        return {seed: float(curve[-1]) for seed, curve in curves.items()}

    def regrets(self, who: Contender) -> dict[str, dict[Field, float]]:
        """Return the final regrets that are there, by problem and seed.

        None of a problem whose optimum is not known.
        """
        return {problem: self._regrets(problem, who) for problem in self.problems}

    def _regrets(self, problem: str, who: Contender) -> dict[Field, float]:
        if self.measure(problem) == REGRET:
            return self.finals(problem, who)
        return {
            seed: float(outcome.curve_regret[-1])
            for seed, outcome in self.samples(problem, who).items()
            if outcome is not None and outcome.curve_regret is not None
        }

    def left_out(self, problem: str) -> dict[Contender, list[Field]]:
        """Return the seeds of runs that are there, and whose values are others.

        The goal, the metric or the unit of a problem may change with its file.
        """
        found: dict[Contender, list[Field]] = {}
        for who in self.contenders:
            for seed, outcome in self.samples(problem, who).items():
                if outcome is None or outcome.curve is None:
                    continue
                if measure_of(outcome) != self.measure(problem):
                    found.setdefault(who, []).append(seed)
        return found

    def is_complete(self, problem: str, who: Contender) -> bool:
        """Whether every run of a cell that was asked for is there, and one was."""
        asked = self.samples(problem, who)
        return bool(asked) and len(self.curves(problem, who)) == len(asked)

    def complete(self, problem: str) -> set[Contender]:
        """Return the contenders that have all their runs on a problem."""
        return {who for who in self.contenders if self.is_complete(problem, who)}


def lay_out(results: StudyResults, rows: Iterable[Row] | None = None) -> Frame:
    """Return the frame of a study, or of some of its rows."""
    chosen = tuple(results.rows if rows is None else rows)
    named = contenders_of(chosen, results.methods)
    cells: dict[tuple[Conditions, str, Contender], dict[Field, Outcome | None]] = {}
    sizes: dict[Place, Conditions] = {}
    others: set[tuple[Conditions, str, Contender]] = set()
    found: dict[Place, list[tuple[bool, Outcome]]] = {}
    for row, conditions in zip(chosen, _conditions(chosen), strict=True):
        problem = _problem(row)
        place = (conditions, problem, named[identity_of(row)])
        seed = field_of(row.spec.get("seed"))
        outcome = results.outcomes.get(row.key)
        cells.setdefault(place, {})[seed] = outcome
        sizes.setdefault((conditions, problem), Conditions.of(row.spec))
        is_other = row.key in results.other_code
        if outcome is not None and is_other:
            others.add(place)
        if outcome is not None and outcome.curve is not None:
            runs = found.setdefault((conditions, problem), [])
            runs.append((is_other, outcome))
    return Frame(
        results=results,
        cells=cells,
        sizes=sizes,
        others=frozenset(others),
        # What the newest code measures, where that has changed.
        measures={
            place: measure_of(min(runs, key=lambda run: run[0])[1])
            for place, runs in found.items()
        },
        in_box=frozenset(
            place
            for place, runs in found.items()
            if all(run.curve_inbox is not None for _, run in runs)
        ),
    )


def _conditions(rows: Sequence[Row]) -> list[Conditions]:
    """Return the conditions of each row.

    Tasks come in different sizes, and still belong into one table: for them a field is
    left out if every task has one value of it.
    """
    found = [Conditions.of(row.spec) for row in rows]
    values: dict[tuple[str, str], set[Field]] = {}
    for row, conditions in zip(rows, found, strict=True):
        if conditions.is_task:
            for name in Conditions.__slots__:
                seen = values.setdefault((name, _problem(row)), set())
                seen.add(getattr(conditions, name))
    varied = {name for (name, _), seen in values.items() if len(seen) > 1}
    own = dict.fromkeys(name for name in Conditions.__slots__ if name not in varied)
    return [replace(c, **own) if c.is_task else c for c in found]


def _problem(row: Row) -> str:
    return str(row.spec.get("problem", ""))

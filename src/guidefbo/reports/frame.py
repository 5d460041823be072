"""A study's runs laid out for tables: conditions, problems, contenders, seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from guidefbo.core.arrays import Values
from guidefbo.experiments.results import Outcome, Row, StudyResults
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

    def problems(self, conditions: Conditions | None = None) -> tuple[str, ...]:
        """Return the problems that were asked for, in the order of the study."""
        named = (p for c, p, _ in self.cells if conditions in (None, c))
        return tuple(dict.fromkeys(named))

    def contenders(self, conditions: Conditions | None = None) -> tuple[Contender, ...]:
        """Return the contenders that were asked for, in the order of the study."""
        named = (k for c, _, k in self.cells if conditions in (None, c))
        return tuple(dict.fromkeys(named))

    def samples(self, conditions: Conditions, problem: str, who: Contender) -> Samples:
        """Return the runs of a cell; none where nothing was asked for."""
        return self.cells.get((conditions, problem, who), {})

    def measure(self, conditions: Conditions, problem: str) -> Measure:
        """Return what the values of a problem are."""
        return self.measures.get((conditions, problem), REGRET)

    def curves(
        self,
        conditions: Conditions,
        problem: str,
        who: Contender,
        *,
        is_papers: bool = False,
    ) -> dict[Field, Values]:
        """Return the main curves that are there, by seed.

        Args:
            conditions: Conditions of the cell.
            problem: Its problem.
            who: Its contender.
            is_papers: Take regrets against the maximum of the base function, as the
                paper does, even where one against the best point in the box is there.
        """
        measure = self.measure(conditions, problem)
        is_in_box = not is_papers and (conditions, problem) in self.in_box
        found: dict[Field, Values] = {}
        for seed, outcome in self.samples(conditions, problem, who).items():
            if outcome is None or outcome.curve is None:
                continue
            # What was measured otherwise cannot stand beside the rest.
            if measure_of(outcome) == measure:
                inside = outcome.curve_inbox if is_in_box else None
                found[seed] = outcome.curve if inside is None else inside
        return found

    def finals(
        self,
        conditions: Conditions,
        problem: str,
        who: Contender,
        *,
        is_papers: bool = False,
    ) -> dict[Field, float]:
        """Return the ends of the main curves that are there, by seed."""
        curves = self.curves(conditions, problem, who, is_papers=is_papers)
        return {seed: float(curve[-1]) for seed, curve in curves.items()}

    def regrets(
        self,
        conditions: Conditions,
        problem: str,
        who: Contender,
        *,
        is_papers: bool = False,
    ) -> dict[Field, float]:
        """Return the final regrets that are there; none where no optimum is known."""
        if self.measure(conditions, problem) == REGRET:
            return self.finals(conditions, problem, who, is_papers=is_papers)
        found = self.samples(conditions, problem, who).items()
        return {
            seed: float(outcome.curve_regret[-1])
            for seed, outcome in found
            if outcome is not None and outcome.curve_regret is not None
        }

    def is_complete(self, conditions: Conditions, problem: str, who: Contender) -> bool:
        """Whether every run of a cell that was asked for is there, and one was."""
        asked = self.samples(conditions, problem, who)
        return bool(asked) and len(self.curves(conditions, problem, who)) == len(asked)

    def has_run(self, conditions: Conditions) -> bool:
        """Whether any run under these conditions is there."""
        return any(place[0] == conditions for place in self.measures)


def lay_out(results: StudyResults, rows: Iterable[Row] | None = None) -> Frame:
    """Return the frame of a study, or of some of its rows."""
    chosen = tuple(results.rows if rows is None else rows)
    named = contenders_of(chosen, results.methods)
    cells: dict[tuple[Conditions, str, Contender], dict[Field, Outcome | None]] = {}
    sizes: dict[Place, Conditions] = {}
    others: set[tuple[Conditions, str, Contender]] = set()
    for row, conditions in zip(chosen, _conditions(chosen), strict=True):
        problem = _problem(row)
        place = (conditions, problem, named[identity_of(row)])
        seed = field_of(row.spec.get("seed"))
        cells.setdefault(place, {})[seed] = results.outcomes.get(row.key)
        sizes.setdefault((conditions, problem), Conditions.of(row.spec))
        if row.key in results.outcomes and row.key in results.other_code:
            others.add(place)
    found: dict[Place, list[Outcome]] = {}
    for (conditions, problem, _), samples in cells.items():
        runs = [o for o in samples.values() if o is not None and o.curve is not None]
        if runs:
            found.setdefault((conditions, problem), []).extend(runs)
    return Frame(
        results=results,
        cells=cells,
        sizes=sizes,
        others=frozenset(others),
        measures={place: measure_of(runs[0]) for place, runs in found.items()},
        in_box=frozenset(
            place
            for place, runs in found.items()
            if all(run.curve_inbox is not None for run in runs)
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

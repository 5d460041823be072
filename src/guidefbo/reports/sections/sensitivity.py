"""One setting changed at a time, beside the paper's scans."""

from collections.abc import Sequence
from dataclasses import dataclass

from guidefbo.experiments.study_json import Row
from guidefbo.reports.conditions import Conditions, Field, field_of, short
from guidefbo.reports.contenders import setting_text, settings_of
from guidefbo.reports.drawings import Scan, draw_scans
from guidefbo.reports.formats import (
    PAPERS_LINE,
    gain_text,
    has_papers,
    mean_cell,
    number,
)
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import sensitivity
from guidefbo.reports.statistics import (
    Difference,
    holm,
    paired_difference,
    summarise,
)
from guidefbo.reports.table import Block, Cell, Figure, Section, Table

NAME = "sensitivity"
LEAST = 3
"""Values that make a scan where the study does not say that it is one."""
Runs = dict[tuple[Field, str], dict[Field, float | None]]
"""By value and problem: final regrets by seed, None where missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The runs along one setting."""

    axis: str
    """Name of the setting."""
    conditions: Conditions
    method: str
    runs: Runs
    fixed: tuple[tuple[str, Field], ...] = ()
    """Other settings that all its runs have in common."""
    usual: Field = None
    """The setting's default, None where it is not known."""

    @property
    def values(self) -> list[Field]:
        """The setting's values in order."""
        found = dict.fromkeys(value for value, _ in self.runs)
        return sorted(found, key=lambda v: (isinstance(v, str), v is None, v or 0))

    @property
    def problems(self) -> list[str]:
        """Problems in the order of the study."""
        return list(dict.fromkeys(problem for _, problem in self.runs))

    def is_default(self, value: Field) -> bool:
        """Whether a value is the setting's default."""
        return self.usual is not None and value == _tidy(self.usual)

    def from_default(self, value: Field, problem: str) -> Difference | None:
        """Return by how much runs end above those with the default, paired by seed."""
        if self.usual is None:
            return None
        ours, usual = (
            {
                seed: final
                for seed, final in self.runs.get((v, problem), {}).items()
                if final is not None
            }
            for v in (value, _tidy(self.usual))
        )
        return paired_difference(ours, usual)

    def papers(self, value: Field, problem: str) -> float | None:
        """Return the paper's number, if the setting is the paper's."""
        is_papers = self.conditions == Conditions(level=3) and not self.fixed
        if not is_papers or self.method != "guide-ucb" or not _is_number(value):
            return None
        return sensitivity(self.axis, float(value or 0), problem)


def sensitivity_section(frame: Frame) -> Section | None:
    """Return a table and panels for each setting that is scanned."""
    grids = find_grids(frame)
    if not grids:
        return None
    tables = [_table(grid) for grid in grids]
    opening = (
        "Final mean values when one setting is changed and all others stay as they "
        "are, at their default unless the title says otherwise; mean over seeds ± "
        "standard error. Runs in which two settings vary at once belong to no scan."
    )
    opening += PAPERS_LINE if has_papers(tables) else ""
    shown = [grid for grid in grids if _has_run(grid)]
    figures = [_figure(frame, shown)] if shown else []
    blocks: tuple[Block, ...] = (*figures, opening, *tables, *_beside_default(grids))
    return Section(name=NAME, title="Sensitivity", blocks=blocks)


def find_grids(frame: Frame) -> list[Grid]:
    """Return the scans: in each group of rows, the settings that vary in it."""
    groups: dict[tuple[str | None, Conditions, str], list[Row]] = {}
    for row in frame.results.rows:
        if "method" in row.spec:
            method = str(row.spec["method"])
            group = (row.group, Conditions.of(row.spec), method)
            groups.setdefault(group, []).append(row)
    grids = [
        _grid(frame, conditions, method, rows, axis)
        for (name, conditions, method), rows in groups.items()
        for axis in _axes(rows, 2 if name is not None else LEAST)
    ]
    return [grid for grid in grids if grid.runs]


def _axes(rows: Sequence[Row], least: int) -> list[str]:
    """Return the settings of which rows have so many values or more."""
    told = [settings_of(row) for row in rows]
    names = dict.fromkeys(name for settings in told for name in settings)
    return [
        name
        for name in names
        if len({settings.get(name) for settings in told}) >= least
        and any(_is_number(settings.get(name)) for settings in told)
    ]


def _grid(
    frame: Frame, conditions: Conditions, method: str, rows: Sequence[Row], axis: str
) -> Grid:
    note = frame.results.methods.get(method)
    usual = None if note is None else field_of(note.settings.get(axis))
    runs: Runs = {}
    fixed: dict[str, Field] = {}
    for row in rows:
        settings = settings_of(row)
        others = {k: v for k, v in settings.items() if k != axis}
        if any(settings_of(r).get(k) != v for k, v in others.items() for r in rows):
            continue
        fixed = others
        value = settings.get(axis, "default" if usual is None else usual)
        place = (_tidy(value), str(row.spec.get("problem", "")))
        outcome = frame.results.outcomes.get(row.key)
        has_curve = outcome is not None and outcome.curve is not None
        final = outcome.final if outcome is not None and has_curve else None
        runs.setdefault(place, {})[field_of(row.spec.get("seed"))] = final
    return Grid(
        axis=axis,
        conditions=conditions,
        method=method,
        runs=runs,
        fixed=tuple(sorted(fixed.items())),
        usual=usual,
    )


def _tidy(value: Field) -> Field:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _table(grid: Grid) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for value in grid.values:
        cells = [_value_cell(grid, value)]
        for problem in grid.problems:
            samples = grid.runs.get((value, problem), {})
            found = [final for final in samples.values() if final is not None]
            papers = grid.papers(value, problem)
            cells.append(mean_cell(found, len(samples), papers))
        rows.append(tuple(cells))
    note = "" if grid.usual is None else f"The default is {short(grid.usual)}."
    return Table(
        name=f"{NAME}-{grid.axis}-{grid.method}-{grid.conditions.slug}",
        title=", ".join(
            [
                f"{grid.axis}: {grid.method}",
                grid.conditions.label,
                *(setting_text(name, value) for name, value in grid.fixed),
            ]
        ),
        columns=(grid.axis, *grid.problems),
        rows=tuple(rows),
        notes=(note,) if note else (),
    )


def _beside_default(grids: Sequence[Grid]) -> list[Table]:
    """Return how far each value is from the default, by paired seeds."""
    found = {
        (place, value, problem): difference
        for place, grid in enumerate(grids)
        for value in grid.values
        for problem in grid.problems
        if not grid.is_default(value)
        if (difference := grid.from_default(value, problem)) is not None
    }
    if not found:
        return []
    adjusted = dict(zip(found, holm([d.p for d in found.values()]), strict=True))
    problems = list(
        dict.fromkeys(problem for grid in grids for problem in grid.problems)
    )
    rows: list[tuple[Cell, ...]] = []
    for place, value in dict.fromkeys((place, value) for place, value, _ in found):
        grid = grids[place]
        text = f"{grid.axis} {short(value)}, {grid.method}, {grid.conditions.label}"
        cells = [Cell(text=text, data=(("", text),))]
        for problem in problems:
            key = (place, value, problem)
            cells.append(
                _difference_cell(found[key], adjusted[key])
                if key in found
                else Cell(text="-")
            )
        rows.append(tuple(cells))
    return [
        Table(
            name=f"{NAME}-from-default",
            title="Difference from the default",
            columns=("setting", *problems),
            rows=tuple(rows),
            notes=(
                "Mean difference of the final values, paired by seed, ± its standard "
                "error; p of the paired t-test, in brackets adjusted for the number of "
                "comparisons of this table by Holm.",
            ),
        )
    ]


def _difference_cell(difference: Difference, adjusted: float | None) -> Cell:
    p = "" if difference.p is None else f"p {number(difference.p, 2)}"
    p += "" if adjusted is None else f" ({number(adjusted, 2)})"
    data = (
        ("", difference.mean),
        ("SE", difference.error),
        ("p", difference.p),
        ("p Holm", adjusted),
    )
    return Cell(text=gain_text(difference), under=p, value=difference.mean, data=data)


def _value_cell(grid: Grid, value: Field) -> Cell:
    is_default = grid.is_default(value)
    text = short(value) + (" (default)" if is_default else "")
    number = float(value or 0) if _is_number(value) else None
    return Cell(text=text, value=number, data=(("", value),))


def _has_run(grid: Grid) -> bool:
    return any(
        f is not None for samples in grid.runs.values() for f in samples.values()
    )


def _figure(frame: Frame, grids: Sequence[Grid]) -> Figure:
    scans: dict[tuple[str, str], Scan] = {}
    for grid in grids:
        for problem in grid.problems:
            title = f"{problem}, {grid.conditions.label}"
            scans[grid.axis, title] = _scan(grid, problem)
    measures = {
        frame.measures[place]
        for place in frame.measures
        if any(place[1] in grid.problems for grid in grids)
    }
    label = measures.pop().label if len(measures) == 1 else "mean value"
    return Figure(
        name=NAME,
        title="Final values along each setting",
        draw=lambda: draw_scans(scans, f"final {label}"),
        notes=("The values of a setting stand at equal distances.",),
    )


def _scan(grid: Grid, problem: str) -> Scan:
    summaries = [
        summarise(
            [f for f in grid.runs.get((v, problem), {}).values() if f is not None]
        )
        for v in grid.values
    ]
    return Scan(
        values=[short(value) for value in grid.values],
        means=[None if s is None else s.mean for s in summaries],
        errors=[None if s is None else s.error for s in summaries],
        papers=[grid.papers(value, problem) for value in grid.values],
    )

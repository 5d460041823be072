"""How long the whole main study would take on two cores."""

from dataclasses import dataclass

from guidefbo.reports.formats import MISSING, join, number
from guidefbo.reports.frame import Frame
from guidefbo.reports.paper import (
    LEVELS,
    METHODS,
    REPETITIONS,
    mean_seconds,
    method_behind,
    paper_tables,
    total_hours,
)
from guidefbo.reports.sections.runtime import REFERENCE, run_seconds
from guidefbo.reports.statistics import summarise
from guidefbo.reports.table import Cell, Section, Table, words

NAME = "extrapolation"
CORES = 2
HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a method of the main study takes."""

    method: str
    by_level: dict[int, float]
    """Mean seconds of a run at each level with runs."""
    runs: int
    """Runs behind it."""

    @property
    def hours(self) -> float | None:
        """Hours of all its runs on all cores; levels without a run as the mean."""
        if not self.by_level:
            return None
        mean = sum(self.by_level.values()) / len(self.by_level)
        seconds = sum(self.by_level.get(level, mean) for level in LEVELS)
        return hours_of(seconds)


def hours_of(seconds: float) -> float:
    """Return the hours of a method, given a run's seconds summed over the levels."""
    functions = len(paper_tables()["runtime_seconds_level2"])
    return seconds * functions * REPETITIONS / CORES / HOUR


def estimate(frame: Frame) -> list[Estimate]:
    """Return what each of the twelve methods takes, by the runs of full size."""
    estimates: list[Estimate] = []
    for method in METHODS:
        by_level: dict[int, float] = {}
        runs = 0
        for level in LEVELS:
            means: list[float] = []
            for c, problem, who in frame.cells:
                is_it = method_behind(who.method, who.settings) == method
                if not is_it or c.level != level or not c.is_papers_size:
                    continue
                found = run_seconds(frame, c, problem, who)
                summary = summarise(found)
                means += [] if summary is None else [summary.mean]
                runs += len(found)
            if means:
                by_level[level] = sum(means) / len(means)
        estimates.append(Estimate(method=method, by_level=by_level, runs=runs))
    return estimates


def extrapolation_section(frame: Frame) -> Section | None:
    """Return the table of hours and what it adds up to."""
    estimates = estimate(frame)
    known = {e.method: e.hours for e in estimates if e.hours is not None}
    if not known:
        return None
    guesses = _guesses(estimates)
    blocks = (
        "The main study is 12 methods on 12 functions at 3 levels with 10 repetitions: "
        f"{len(METHODS) * 12 * 3 * REPETITIONS} runs, two at a time on {CORES} cores. "
        "Seconds are means over the functions and seeds that were run at full size (10 "
        "dimensions, 16 agents, 30 + 50 evaluations).",
        _table(estimates, guesses),
        *_sums(known, guesses),
    )
    return Section(name=NAME, title="Time of the whole study", blocks=blocks)


def _guesses(estimates: list[Estimate]) -> dict[str, float]:
    """Return hours of methods without a run: our ucb times the paper's ratio."""
    hours = {e.method: e.hours for e in estimates}
    base = hours[REFERENCE]
    if base is None:
        return {}
    scale = base / mean_seconds(REFERENCE)
    return {m: mean_seconds(m) * scale for m, found in hours.items() if found is None}


def _table(estimates: list[Estimate], guesses: dict[str, float]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for e in estimates:
        cells = [words(e.method)]
        cells += [_seconds(e.by_level.get(level)) for level in LEVELS]
        cells.append(Cell(text=str(e.runs), value=e.runs, data=(("", e.runs),)))
        if e.hours is not None:
            cells.append(_hours(e.hours, "measured"))
        elif e.method in guesses:
            cells.append(_hours(guesses[e.method], "by the paper's ratio to ucb"))
        else:
            cells.append(Cell(text="unknown", data=(("hours", None),)))
        papers = mean_seconds(e.method)
        total = papers * 12 * len(LEVELS) * REPETITIONS / HOUR
        cells += [_seconds(papers), _hours(total, "")]
        rows.append(tuple(cells))
    return Table(
        name=NAME,
        title=f"Hours of the main study on {CORES} cores",
        columns=(
            "method",
            *(f"seconds, Level {level}" for level in LEVELS),
            "runs",
            f"hours on {CORES} cores",
            "paper: seconds",
            "paper: hours, one after another",
        ),
        rows=tuple(rows),
        notes=(
            "A level without runs counts with the mean of the others. The paper's "
            "seconds are those of its Level 2 table, taken for all levels.",
        ),
    )


def _seconds(value: float | None) -> Cell:
    if value is None:
        return Cell(text=MISSING)
    return Cell(text=number(value, 3), value=value, data=(("", value),))


def _hours(value: float, source: str) -> Cell:
    data = (("hours", value), ("source", source)) if source else (("hours", value),)
    return Cell(text=number(value, 3), under=source, value=value, data=data)


def _sums(known: dict[str, float], guesses: dict[str, float]) -> list[str]:
    total = sum(known.values())
    lines = [
        f"Measured: {len(known)} of {len(METHODS)} methods, {number(total, 3)} hours "
        f"on {CORES} cores."
    ]
    if guesses:
        whole = total + sum(guesses.values())
        lines.append(
            f"Estimated: {number(whole, 3)} hours with {join(list(guesses))}, which "
            "have no run here and are taken at the paper's ratio to ucb. That is a "
            "guess about another implementation, not a measurement."
        )
    elif len(known) < len(METHODS):
        absent = [method for method in METHODS if method not in known]
        lines.append(
            f"Unknown: {join(absent)}; without a run of ucb nothing is guessed."
        )
    lines.append(
        f"The paper's run times add up to {number(total_hours(), 3)} hours, one run "
        "after another."
    )
    return lines

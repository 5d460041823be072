"""One task as a report needs it: final values, paired gains, who the rivals are."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from guidefbo.core.arrays import Values
from guidefbo.experiments.results import Outcome
from guidefbo.reports.conditions import Conditions
from guidefbo.reports.contenders import Contender
from guidefbo.reports.families import (
    ceiling_of,
    is_ceiling,
    is_federated,
    plain_of,
)
from guidefbo.reports.frame import Frame
from guidefbo.reports.measure import REGRET, Measure, measure_of
from guidefbo.reports.paper import column_of, real_world
from guidefbo.reports.shares import Share, share_of
from guidefbo.reports.statistics import (
    LEVEL_OF_SIGNIFICANCE,
    Difference,
    Summary,
    holm,
    paired_difference,
    summarise,
)

RIVALS = ("optuna-tpe", "optuna-gp")
"""Methods of another tool, each site for itself."""
PAPERS_EVALUATIONS = (30, 50)
"""Initial evaluations and rounds of the paper's real tasks."""
LEAST_SITES = 8
"""Sites from which a test goes over sites; of fewer it could say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How much better one contender is than another, in the unit of the task."""

    over: Contender
    """The other one."""
    difference: Difference
    """Above zero is better, whichever the direction of the metric."""
    adjusted: float | None
    """The p-value after Holm over the gains of one question."""

    @property
    def is_told(self) -> bool:
        """Whether it is told apart from nothing."""
        return self.adjusted is not None and self.adjusted <= LEVEL_OF_SIGNIFICANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """The results of one problem."""

    name: str
    conditions: Conditions
    """Those of the frame."""
    size: Conditions
    """What its specs say of its size."""
    measure: Measure
    finals: Mapping[Contender, Summary]
    """Final values over seeds of everybody with a run."""
    whole: frozenset[Contender]
    """Those with all their seeds."""
    unit: str
    """What the pairs of the tests are: sites or seeds."""
    over_plain: Mapping[Contender, Gain]
    """Gains over the contender's own lone rule."""
    over_rival: Mapping[Contender, Gain]
    """Gains over the best rival."""
    rival: Contender | None
    """The rival with the best mean, None where no rival ran."""
    shares: Mapping[Contender, Share]
    """What a contender gains over its lone rule, as a share of what sharing everything
    gains."""
    regret_left: Mapping[Contender, Summary]
    """Share of the regret of the initial design that is left, if optima are known."""
    held_out: Mapping[Contender, Summary]
    """Scores of the final choices on data the objective never saw, if there are any."""
    source: str
    """Where the numbers of the task come from, empty where the runs do not say."""
    mixed: tuple[str, ...]
    """Code of which the runs have several versions, so that they are not compared."""

    @property
    def best(self) -> Contender | None:
        """The best of ours by its mean, among those with all their seeds."""
        known = [w for w in self.finals if w in self.whole]
        ours = [w for w in known if not is_rival(w) and not is_ceiling(w)]
        return best_of(ours, self.finals, self.measure)


def is_rival(who: Contender) -> bool:
    """Whether a contender is another tool."""
    return who.method in RIVALS


def best_of(
    contenders: Iterable[Contender],
    finals: Mapping[Contender, Summary],
    measure: Measure,
) -> Contender | None:
    """Return the contender with the best mean."""
    return min(contenders, key=lambda w: measure.cost(finals[w].mean), default=None)


def papers_metric(task: Task, who: Contender) -> float | None:
    """Return the paper's number for a contender, if the budget is the paper's."""
    given = (task.size.num_initial, task.size.num_rounds)
    pairs = zip(given, PAPERS_EVALUATIONS, strict=True)
    column = column_of(who)
    if column is None or any(ours not in (None, papers) for ours, papers in pairs):
        return None
    return real_world(task.name, column)


def find_tasks(frame: Frame) -> list[Task]:
    """Return every task with a run, in the order of the study."""
    places = dict.fromkeys((c, p) for c, p, _ in frame.cells if c.is_task)
    return [_task(frame, c, p) for c, p in places if (c, p) in frame.measures]


def _task(frame: Frame, conditions: Conditions, problem: str) -> Task:
    measure = frame.measure(conditions, problem)
    everyone = frame.contenders(conditions)
    finals = _summaries(
        {w: frame.finals(conditions, problem, w).values() for w in everyone}
    )
    ran = list(finals)
    whole = frozenset(w for w in ran if frame.is_complete(conditions, problem, w))
    unit, values = _paired_values(frame, conditions, problem, ran)
    plains = {w: plain_of(w, ran) for w in ran if is_federated(w)}
    rivals = [who for who in ran if is_rival(who) and who in whole]
    rival = best_of(rivals, finals, measure)
    others = {w: rival for w in ran if not is_rival(w)}
    outcomes = {w: _outcomes(frame, conditions, problem, w) for w in ran}
    mixed = _mixed(o for found in outcomes.values() for o in found)
    if mixed:
        plains, others = {}, {}
    sources = [o.source for found in outcomes.values() for o in found if o.source]
    return Task(
        name=problem,
        conditions=conditions,
        size=frame.sizes[conditions, problem],
        measure=measure,
        finals=finals,
        whole=whole,
        unit=unit,
        over_plain=_gains(plains, values, measure),
        over_rival=_gains(others, values, measure),
        shares=_shares(plains, values, measure),
        rival=rival,
        regret_left=_summaries({w: map(_regret_left, o) for w, o in outcomes.items()}),
        held_out=_summaries({w: map(_held_out, o) for w, o in outcomes.items()}),
        source=next(iter(sources), ""),
        mixed=mixed,
    )


def _mixed(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Return the parts of the code that are not the same in all runs that have them.

    A plugin is a part of the runs of its methods only.
    """
    versions: dict[str, set[str]] = {}
    for outcome in outcomes:
        for part, version in outcome.parts.items():
            versions.setdefault(part, set()).add(version)
    return tuple(sorted(part for part, seen in versions.items() if len(seen) > 1))


def _outcomes(
    frame: Frame, conditions: Conditions, problem: str, who: Contender
) -> list[Outcome]:
    samples = frame.samples(conditions, problem, who).values()
    return [outcome for outcome in samples if outcome is not None]


def _gains(
    over: Mapping[Contender, Contender | None],
    values: Mapping[Contender, Mapping[Any, float]],
    measure: Measure,
) -> dict[Contender, Gain]:
    """Return the gains of one question, their p-values adjusted for their number."""
    found: list[tuple[Contender, Contender, Difference]] = []
    for who, other in over.items():
        if other is None:
            continue
        ours, theirs = values[who], values[other]
        pair = (theirs, ours) if measure.cost(1.0) > 0.0 else (ours, theirs)
        difference = paired_difference(*pair)
        if difference is not None:
            found.append((who, other, difference))
    adjusted = holm([difference.p for _, _, difference in found])
    return {
        who: Gain(over=other, difference=difference, adjusted=p)
        for (who, other, difference), p in zip(found, adjusted, strict=True)
    }


def _shares(
    plains: Mapping[Contender, Contender | None],
    values: Mapping[Contender, Mapping[Any, float]],
    measure: Measure,
) -> dict[Contender, Share]:
    """Return the shares of those beside whom everything was shared."""
    found: dict[Contender, Share] = {}
    for who, plain in plains.items():
        ceiling = ceiling_of(who, values)
        if plain is None or ceiling is None:
            continue
        ours, most = (
            {
                key: measure.cost(values[plain][key]) - measure.cost(value)
                for key, value in values[k].items()
                if key in values[plain]
            }
            for k in (who, ceiling)
        )
        share = share_of(ours, most, ceiling=ceiling, plain=plain)
        found |= {} if share is None else {who: share}
    return found


def _paired_values(
    frame: Frame, conditions: Conditions, problem: str, ran: Sequence[Contender]
) -> tuple[str, dict[Contender, dict[Any, float]]]:
    """Return what the pairs are, and of every contender the values by it.

    Sites, each the mean over the seeds that all contenders have, where there are
    enough of them and every run says what its sites reached; seeds elsewhere.
    """
    by_seed = {who: frame.finals(conditions, problem, who) for who in ran}
    common = [s for s in by_seed[ran[0]] if all(s in by_seed[who] for who in ran)]
    by_site: dict[Contender, dict[Any, float]] = {}
    for who in ran:
        samples = frame.samples(conditions, problem, who)
        sites = [_site_values(samples[seed]) for seed in common]
        known = [values for values in sites if values is not None]
        sizes = {len(values) for values in known}
        if not known or len(known) < len(sites) or len(sizes) > 1:
            return "seeds", dict(by_seed)
        by_site[who] = {n: float(v) for n, v in enumerate(np.mean(known, axis=0))}
    counts = {len(values) for values in by_site.values()}
    if len(counts) > 1 or min(counts) < LEAST_SITES:
        return "seeds", dict(by_seed)
    return "sites", by_site


def _site_values(outcome: Outcome | None) -> Values | None:
    """Return the final values of the sites if they are those behind the curve."""
    if outcome is None or outcome.site_finals is None:
        return None
    values, final = outcome.site_finals, outcome.final
    for sign in (1.0, -1.0):
        mean = sign * float(values.mean())
        if math.isclose(mean, final, rel_tol=1e-5, abs_tol=1e-9):
            return sign * values
    return None


def _regret_left(outcome: Outcome) -> float | None:
    is_regret = measure_of(outcome) == REGRET
    curve = outcome.curve if is_regret else outcome.curve_regret
    if curve is None or curve[0] <= 0.0:
        return None
    return float(curve[-1] / curve[0])


def _held_out(outcome: Outcome) -> float | None:
    return None if outcome.held_out is None else float(outcome.held_out.mean())


def _summaries(
    values: Mapping[Contender, Iterable[float | None]],
) -> dict[Contender, Summary]:
    """Return the means of what is there, nobody without a value."""
    found: dict[Contender, Summary] = {}
    for who, listed in values.items():
        summary = summarise([value for value in listed if value is not None])
        if summary is not None:
            found[who] = summary
    return found

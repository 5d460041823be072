"""How long a study will take: from its own finished runs, or from the methods' records.

The records tell seconds of one machine. How fast this one is beside it is measured by a
run of a tenth of a second.
"""

from collections.abc import Callable, Iterable, Mapping
from statistics import mean
from typing import Any

from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.pace import SAMPLE, sample_seconds
from guidefbo.experiments.study_json import Row
from guidefbo.methods.registry import find_method

FULL_RUN = {"num_agents": 16, "num_rounds": 50, "num_initial": 30, "dim": 10}
"""The run whose time the records of strategies and rules tell."""
FIXED, FIXED_DIM = 0.6, 0.9
"""Share of the time of a query that depends neither on the number of observations, or
not on that of coordinates; the rest is in proportion to it."""
SIMILARITY_SECONDS = 0.3


def slowness() -> float:
    """Return how many times as long as by the records a run takes on this machine."""
    return sample_seconds() / _recorded_seconds({"method": "ucb", **SAMPLE})


def estimate_seconds(
    rows: Iterable[Row],
    known: Mapping[str, Outcome],
    slowness: Callable[[], float] = slowness,
) -> float:
    """Return the seconds of one process for all rows that have no outcome yet.

    Args:
        rows: Rows of the study.
        known: Outcomes of finished rows, by key. Their mean time per agent and round
            counts for rows of the same method; where there is none, the method's
            record does.
        slowness: What the seconds of records are multiplied by.
    """
    listed = {row.key: row for row in rows}
    pace: dict[str, list[float]] = {}
    for key, row in listed.items():
        outcome = known.get(key)
        if outcome is not None and "total" in outcome.seconds:
            seconds = outcome.seconds["total"]
            pace.setdefault(_kind(row), []).append(seconds / _work(row.spec))
    left = [row for key, row in listed.items() if key not in known]
    by_pace = [row for row in left if _kind(row) in pace]
    seconds = sum(mean(pace[_kind(row)]) * _work(row.spec) for row in by_pace)
    by_record = [row for row in left if _kind(row) not in pace]
    if by_record:
        seconds += slowness() * sum(_recorded_seconds(row.spec) for row in by_record)
    return seconds


def _recorded_seconds(spec: Mapping[str, Any]) -> float:
    """Return what a run takes by the records of its method."""
    if "method" not in spec:
        return SIMILARITY_SECONDS
    method = find_method(spec["method"])
    # Of a strategy with a rule of its own, the time is known as it is.
    extra = 0.0 if method.strategy.rules else method.rule.seconds
    seconds = method.strategy.seconds + extra
    return seconds * _work(spec) / _work({"method": "", **FULL_RUN})


def _kind(row: Row) -> str:
    return row.spec.get("method", "similarity")


def _work(spec: Mapping[str, Any]) -> float:
    """Return the queries of a run, each weighed by what it costs beside others."""
    if "method" not in spec:
        return 1.0
    run = {name: float(spec.get(name) or full) for name, full in FULL_RUN.items()}
    seen, full = (r["num_initial"] + r["num_rounds"] / 2 for r in (run, FULL_RUN))
    by_data = FIXED + (1.0 - FIXED) * seen / full
    by_dim = FIXED_DIM + (1.0 - FIXED_DIM) * run["dim"] / FULL_RUN["dim"]
    return max(run["num_agents"] * run["num_rounds"], 1.0) * by_data * by_dim

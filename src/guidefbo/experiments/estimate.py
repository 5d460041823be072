"""How long a study will take: from its own finished runs, or from a reference."""

from collections.abc import Iterable, Mapping
from statistics import mean
from typing import Any

from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.study_json import Row
from guidefbo.methods.registry import find_method

FULL_RUN = {"num_agents": 16, "num_rounds": 50, "num_initial": 30, "dim": 10}
"""The run whose time the records of strategies and rules tell."""
FIXED, FIXED_DIM = 0.6, 0.9
"""Share of the time of a query that depends neither on the number of observations, or
not on that of coordinates; the rest is in proportion to it."""
SIMILARITY_SECONDS = 0.3


def estimate_seconds(rows: Iterable[Row], known: Mapping[str, Outcome]) -> float:
    """Return the seconds of one process for all rows that have no outcome yet.

    Args:
        rows: Rows of the study.
        known: Outcomes of finished rows, by key. Their mean time per agent and round
            counts for rows of the same method; where there is none, a reference does.
    """
    listed = {row.key: row for row in rows}
    pace: dict[str, list[float]] = {}
    for key, row in listed.items():
        outcome = known.get(key)
        if outcome is not None and "total" in outcome.seconds:
            seconds = outcome.seconds["total"]
            pace.setdefault(_kind(row), []).append(seconds / _work(row.spec))
    return sum(_seconds(row, pace) for key, row in listed.items() if key not in known)


def _seconds(row: Row, pace: Mapping[str, list[float]]) -> float:
    kind = _kind(row)
    if kind in pace:
        return mean(pace[kind]) * _work(row.spec)
    if "method" not in row.spec:
        return SIMILARITY_SECONDS
    method = find_method(row.spec["method"])
    # Of a strategy with a rule of its own, the time is known as it is.
    extra = 0.0 if method.strategy.rules else method.rule.seconds
    seconds = method.strategy.seconds + extra
    return seconds * _work(row.spec) / _work({"method": "", **FULL_RUN})


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

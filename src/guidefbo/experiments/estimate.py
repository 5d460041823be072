"""How long a study will take: from its own finished runs, or from a reference."""

from collections.abc import Iterable, Mapping
from statistics import mean
from typing import Any

from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.study_json import Row
from guidefbo.methods.registry import find_method

FULL_RUN = 16 * 50
"""Agents times rounds of the run whose time a strategy's record tells."""
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
    seconds = find_method(row.spec["method"]).strategy.seconds
    return seconds * _work(row.spec) / FULL_RUN


def _kind(row: Row) -> str:
    return row.spec.get("method", "similarity")


def _work(spec: Mapping[str, Any]) -> int:
    if "method" not in spec:
        return 1
    return max(int(spec["num_agents"]) * int(spec["num_rounds"]), 1)

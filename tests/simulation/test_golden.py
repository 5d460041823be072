"""A small run compared field by field with stored numbers.

A change of the numbers is a change of every user's results: it is made on purpose, told
in the changelog, and stored anew with

    python tests/simulation/test_golden.py --write
"""

import json
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).with_name("golden.json")
METHODS = ("ucb", "guide-ucb", "guide-nei", "guide-ts")
TOLERANCE = 1e-6
"""Relative. Other BLAS builds differ by 1e-16 per sum; fits and searches stop where
their own tolerances (1e-5 of a value whose slope is zero) let them, so that queries
agree to about 1e-8 and values to better than that. A changed formula or stream moves
the third digit."""


def make():
    """Return the traces to be compared: 3 agents, 2-D, 3 rounds."""
    from guidefbo import simulate

    records = {}
    for method in METHODS:
        trace = simulate(
            "ackley",
            method=method,
            dim=2,
            level=2,
            num_agents=3,
            num_initial=5,
            num_rounds=3,
            seed=1,
        )
        record = trace.to_record()
        # Bytes count printed digits, and times and versions are the machine's.
        for name in ("seconds", "environment", "bytes"):
            del record[name]
        records[method] = record
    return records


@pytest.fixture(scope="module")
def fresh():
    return make()


@pytest.mark.parametrize("method", METHODS)
def test_golden_run(fresh, method):
    stored = json.loads(GOLDEN.read_text())[method]
    record = fresh[method]
    assert list(record) == list(stored)
    for name in ("format", "version", "spec", "scalars"):
        assert record[name] == stored[name]
    assert record["mean_simple_regret"] == pytest.approx(
        stored["mean_simple_regret"], rel=TOLERANCE
    )
    for row, expected in zip(record["best_value"], stored["best_value"], strict=True):
        assert row == pytest.approx(expected, rel=TOLERANCE)


def test_golden_run_is_worth_storing():
    """Every method improved in some round, and no two give the same numbers."""
    stored = json.loads(GOLDEN.read_text())
    finals = [record["mean_simple_regret"][-1] for record in stored.values()]
    assert len(set(finals)) == len(METHODS)
    for record in stored.values():
        assert record["mean_simple_regret"][-1] < record["mean_simple_regret"][0]


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/simulation/test_golden.py --write")
    GOLDEN.write_text(json.dumps(make(), indent=1) + "\n")

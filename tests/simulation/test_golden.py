"""Small runs compared field by field with stored numbers.

A change of the numbers is a change of every user's results: it is made on purpose, told
in the changelog, and stored anew with

    python tests/simulation/test_golden.py --write
"""

import json
import math
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).with_name("golden.json")
METHODS = ("ucb", "guide-ucb", "guide-nei", "guide-ts")
SEED = 0


def simulated(method, seed=SEED):
    """Return a run record: 3 agents, 2-D, 3 rounds."""
    from guidefbo import simulate

    trace = simulate(
        "ackley",
        method=method,
        dim=2,
        num_agents=3,
        num_initial=5,
        num_rounds=3,
        seed=seed,
    )
    record = trace.to_record()
    # Bytes count printed digits, and times and versions are the machine's.
    for name in ("seconds", "environment", "bytes"):
        del record[name]
    return record


def optimised(method, seed=SEED):
    """Return every evaluation of three shifted bowls: agent, round, x, y, value.

    Best values stay the same while nothing improves; queries tell every decision.
    """
    from guidefbo import Float, Space, optimize

    def bowl(center):
        return lambda v: (v["x"] - center) ** 2 + math.log(v["y"]) ** 2

    result = optimize(
        [bowl(center) for center in (0.2, 0.3, 0.4)],
        Space(x=Float(-1, 1), y=Float(0.1, 10, log=True)),
        goal="min",
        method=method,
        initial=5,
        rounds=3,
        seed=seed,
    )
    return [
        [e.agent, e.round, e.values["x"], e.values["y"], e.value]
        for e in result.history
    ]


def make(seed=SEED):
    """Return what is stored."""
    return {
        "simulate": {method: simulated(method, seed) for method in METHODS},
        "optimize": {method: optimised(method, seed) for method in METHODS},
    }


@pytest.fixture(scope="module")
def stored():
    return json.loads(GOLDEN.read_text())


TOLERANCE = 1e-6
"""Relative, for best values. Measured with five other BLAS kernels at this seed: at
most 1e-11 for the rules compared in full. It is not so at every seed: of twelve, one
differed by 9 % for guide-ucb in the last round, after an upload that differed by 1e-4.
Under guide-ts half of the seeds differ from round 2 on, so only its first round is
compared."""
QUERY_TOLERANCE = {"ucb": 1e-6, "guide-ucb": 0.02, "guide-nei": 0.02, "guide-ts": 0.02}
"""Absolute, in units in which the box has width 2 and 4.6. Measured with three other
kernels at this seed: 2e-12 for ucb and up to 3e-3 for the guided methods. One of 500
sampled optima that moves to another candidate moves the centre sent by a few
thousandths; a changed formula or stream moves the queries by more."""


@pytest.mark.parametrize("method", METHODS)
def test_record(stored, method):
    expected, record = stored["simulate"][method], simulated(method)
    assert list(record) == list(expected)
    for name in ("format", "version", "spec", "scalars"):
        assert record[name] == expected[name]
    rows = 2 if method == "guide-ts" else 4
    for name in ("mean_simple_regret", "best_value"):
        assert len(record[name]) == len(expected[name]) == 4
        for row, stored_row in zip(record[name][:rows], expected[name], strict=False):
            assert row == pytest.approx(stored_row, rel=TOLERANCE)


@pytest.mark.parametrize("method", METHODS)
def test_queries(stored, method):
    expected, history = stored["optimize"][method], optimised(method)
    assert [row[:2] for row in history] == [row[:2] for row in expected]
    for (_, t, x, y, _), (_, _, stored_x, stored_y, _) in zip(
        history, expected, strict=True
    ):
        slack = 1e-12 if t == 0 else QUERY_TOLERANCE[method]
        assert x == pytest.approx(stored_x, abs=slack)
        assert math.log(y) == pytest.approx(math.log(stored_y), abs=slack)


def test_stored_runs_differ_between_methods(stored):
    queries = [str(stored["optimize"][method][-3:]) for method in METHODS]
    assert len(set(queries)) == len(METHODS)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/simulation/test_golden.py --write")
    GOLDEN.write_text(json.dumps(make(), indent=1) + "\n")

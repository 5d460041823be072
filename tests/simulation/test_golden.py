"""The stages of a run compared with stored numbers.

A change of the numbers is a change of every user's results: it is made on purpose, told
in the changelog, and stored anew with

    python -m tests.simulation.test_golden --write

Whole runs are compared with themselves only (`test_simulate`, `experiments/test_run`):
rounding parts two machines within a few rounds.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.simulation.stages import STAGES, make

GOLDEN = Path(__file__).with_name("stages.json")
SEED = 0

EXACT = 0.0
"""Labels, numbers of components, who is sent what: whole numbers."""
ARITHMETIC = 1e-12
"""A few dozen additions and elementary functions of numbers up to 20, each rounded by
1e-16 of its size. Measured: 5e-14."""
SOLVED = 1e-10
"""A factor of twelve points with a noise of 0.01 beside values of 1.5: a condition of
at most 12 * 1.5 / 0.01 = 1800, so 12 * 1800 * 1e-16 = 2e-12, times slopes of up to
ten. Measured: 2e-13."""
NOISE_FREE = 1e-6
"""Fantasies are values without noise: a factor of condition 2e4, so an error of 2e-11,
and the variance left beside them is a difference of nearly equal numbers, 1e-4 of
either. Measured: 7e-9."""
SINGLE = 5e-5
"""Single precision rounds by 6e-8: the sum over 64 features of amplitude 0.2, with
weights of up to 3 and slopes of up to 10, by up to 64 * 30 * 0.2 * 6e-8 = 2e-5.
Measured: 7e-6."""
HEIGHT = 1e-6
"""A search ends when a step gains less than 2.2e-9 of a height of up to 20. Rounding
may end it a step sooner or later, for that gain and a few more."""
STOP = 1e-3
"""Where it ends: a height of 4e-8 is a distance of √(2 * 4e-8 / bend), 9e-4 for a bend
of 0.1 and less for a sharper one."""

TOLERANCES = {
    "start": {"": ARITHMETIC},
    "fitted": {"theta": STOP, "mean": STOP, "height": HEIGHT},
    "predicted": {"": SOLVED},
    "paths": {"": SINGLE},
    "mixture": {"": SOLVED, "number": EXACT},
    "score": {"": SOLVED},
    "peak": {"": SOLVED, "place": STOP, "height": HEIGHT, "variance": STOP},
    "merged": {"": ARITHMETIC, "labels": EXACT, "packets": EXACT},
    "fused": {"": ARITHMETIC},
    "scored": {"ucb": SOLVED, "nei": NOISE_FREE, "ts": SINGLE, "starts": EXACT},
    "searched": {"ends": STOP, "height": HEIGHT, "ts: height": SINGLE},
}
"""By stage and a word of the part's name; the last word that fits holds. All absolute:
the numbers are of order one. Measured is the largest difference over twelve seeds and
six kernels, from an SSE3 to an AVX-512 one."""


def tolerance(stage, part):
    """Return how far a part may lie from what is stored."""
    return [slack for word, slack in TOLERANCES[stage].items() if word in part][-1]


@pytest.fixture(scope="module")
def stored():
    return json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("stage", STAGES)
def test_stage(stored, stage):
    found = make(stage, SEED)
    assert list(found) == list(stored[stage])
    for part, numbers in found.items():
        expected, slack = np.array(stored[stage][part]), tolerance(stage, part)
        assert np.array(numbers) == pytest.approx(expected, rel=0, abs=slack), part


@pytest.mark.parametrize("stage", STAGES)
def test_tolerances_tell_one_seed_from_another(stored, stage):
    """Nothing agrees because a tolerance is wide."""
    other = make(stage, SEED + 1)
    far = {
        part: np.abs(np.array(numbers) - stored[stage][part]).max()
        / tolerance(stage, part)
        for part, numbers in other.items()
        if tolerance(stage, part) != EXACT
    }
    assert min(far.values()) > 20.0, far
    assert np.median(list(far.values())) > 100.0


def test_every_stage_is_stored(stored):
    assert list(stored) == list(STAGES) == list(TOLERANCES)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.simulation.test_golden --write")
    GOLDEN.write_text(json.dumps({s: make(s, SEED) for s in STAGES}, indent=1) + "\n")

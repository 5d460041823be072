"""The search for the maximum of an acquisition with narrow peaks."""

from dataclasses import dataclass

import numpy as np
import pytest

import guidefbo as gf
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.decision.steep import maximise_steep
from guidefbo.core.domain import Domain
from guidefbo.core.space.form import space_from_form, space_to_form

NOWHERE = np.empty((0, 3))


@dataclass
class Needle:
    """A narrow peak, the only place that is worth anything, as a logarithm."""

    at: np.ndarray
    width: float = 0.01

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        away = (X - self.at) / self.width
        return -0.5 * (away**2).sum(axis=1), -away / self.width


def search(maximise, needle, domain, seed=0, **options):
    stream = np.random.default_rng(seed)
    return maximise(needle, domain, SearchSettings(), stream, **options)


@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_peak_is_found_to_the_digit(seed):
    at = np.random.default_rng(100 + seed).random(3)
    x = search(maximise_steep, Needle(at), Domain.box(3), seed, near=NOWHERE)
    assert x == pytest.approx(at, abs=1e-4)


def test_every_start_climbs_by_itself():
    """Steep tails, as those of a probability, stop a climb with a common step."""
    rng, nowhere = np.random.default_rng(5), np.empty((0, 6))
    for seed in range(5):
        needle = Needle(rng.random(6), 3e-3)
        steep = search(maximise_steep, needle, Domain.box(6), seed, near=nowhere)
        assert needle.value(steep[None])[0] > -1e-6


@dataclass
class TwoPeaks:
    """A peak that no spread of points meets, beside a wide and lower one."""

    narrow: np.ndarray

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        narrow, slope = Needle(self.narrow, 5e-3).value_and_gradient(X)
        wide, wide_slope = Needle(np.full(3, 0.5), 0.3).value_and_gradient(X)
        wide -= 5.0
        is_narrow = narrow > wide
        slopes = np.where(is_narrow[:, None], slope, wide_slope)
        return np.where(is_narrow, narrow, wide), slopes


def test_the_best_results_are_looked_at_closely():
    best = np.array([0.9, 0.1, 0.8])
    peaks = TwoPeaks(best + 0.01)
    x = search(maximise_steep, peaks, Domain.box(3), near=best[None])
    assert x == pytest.approx(best + 0.01, abs=1e-5)
    x = search(maximise_steep, peaks, Domain.box(3), near=NOWHERE)
    assert x == pytest.approx(np.full(3, 0.5), abs=1e-3)


def test_steps_options_and_shares_are_respected():
    space = gf.Space(
        a=gf.Float(0, 1, step=0.25),
        drug=gf.Choice("x", "y", "z"),
        water=gf.Float(0, 1),
        oil=gf.Float(0, 1),
    ).subject_to(gf.SumTo(1.0, "water", "oil"))
    space = space_from_form(space_to_form(space))
    wanted = {"a": 0.75, "drug": "y", "water": 0.3, "oil": 0.7}
    at = space.to_unit(wanted)
    x = search(maximise_steep, Needle(at, 0.05), space.domain, near=at[None])
    found = space.from_unit(x)
    assert found["a"] == 0.75
    assert found["drug"] == "y"
    assert found["water"] == pytest.approx(0.3, abs=1e-3)
    assert found["water"] + found["oil"] == pytest.approx(1.0)


def test_what_is_forbidden_is_not_returned():
    at = np.full(3, 0.5)

    def close(X):
        return np.abs(X - at).max(axis=1) < 0.1

    x = search(maximise_steep, Needle(at), Domain.box(3), near=at[None], forbids=close)
    assert 0.1 <= np.abs(x - at).max() < 0.3

    def everything(X):
        return np.ones(len(X), dtype=bool)

    options = {"near": NOWHERE, "forbids": everything}
    assert search(maximise_steep, Needle(at), Domain.box(3), **options) is None

"""Theorem 1 and Proposition 1 on runs where their assumptions hold.

The objective is drawn from the GP prior on a finite grid, kernel and noise are known,
and the confidence event is checked in every round, so that what is left to chance is
nothing and a violated inequality is a mistake.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import pytest
from tests.agent.theory import regret_bound, selection_threshold

from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.guidance.schedule import decaying
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.core.component import Components

NUM_ROUNDS = 40
NOISE = 0.01
BETAS = np.array([1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0]) ** 2
"""Tried in turn: the smallest for which the event holds makes the sharpest test."""
MAX_STRENGTH = 2.0
NUM_RUNS = 6
GRIDS = {
    "1-D": np.linspace(0.0, 1.0, 60)[:, None],
    "2-D": np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 11)] * 2), -1).reshape(-1, 2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScaling:
    """S = 1 + excess, an excess given for every grid point: any guidance at all."""

    grid: np.ndarray
    excess: np.ndarray

    def __call__(self, X):
        index = squared_distances(X, self.grid, np.ones(X.shape[1])).argmin(axis=1)
        return 1.0 + self.excess[index]

    def with_gradient(self, X):
        return self(X), np.zeros_like(X)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round: the query, and the field and uncertainty it was chosen by."""

    beta: float
    gap: float
    strength: float
    std: float
    std_at_optimum: float
    field: float
    field_at_optimum: float

    @property
    def threshold(self):
        return selection_threshold(
            gap=self.gap,
            beta=self.beta,
            strength=self.strength,
            field_at_query=self.field,
            field_at_optimum=self.field_at_optimum,
            std_at_optimum=self.std_at_optimum,
        )

    @property
    def regret_limit(self):
        """Lemma B.1: √β [2σ(x) + λ G(x) σ(x) - λ G(x*) σ(x*)]."""
        inner = 2.0 * self.std + self.strength * self.field * self.std
        inner -= self.strength * self.field_at_optimum * self.std_at_optimum
        return sqrt(self.beta) * inner


def components_at(*centers, weights):
    """Narrow components with these weights, which the field must clamp."""
    return Components(
        weights=np.array(weights),
        centers=np.array(centers),
        variances=np.full((len(centers), len(centers[0])), 0.01),
    )


def worst_point(f, grid, strength, t, rng):
    """The whole weight on the worst point: the most misleading field there is."""
    del t, rng
    excess = np.zeros(len(grid))
    excess[np.argmin(f)] = strength
    return TableScaling(grid=grid, excess=excess)


def chequerboard(f, grid, strength, t, rng):
    """Full strength on a random half of the points, another half every round."""
    del f, t
    return TableScaling(grid=grid, excess=strength * rng.integers(0, 2, len(grid)))


def away_from_optimum(f, grid, strength, t, rng):
    """Full strength everywhere but at the best tenth of the points."""
    del t, rng
    return TableScaling(grid=grid, excess=strength * (f < np.quantile(f, 0.9)))


def informative(f, grid, strength, t, rng):
    """Full strength at the optimum only."""
    del t, rng
    return TableScaling(grid=grid, excess=strength * (f == f.max()))


def false_components(f, grid, strength, t, rng):
    """What the agent really builds, from a hostile packet whose weights sum to 3."""
    del t
    packet = components_at(
        grid[np.argmin(f)], grid[rng.integers(len(grid))], weights=[1.0, 2.0]
    )
    observed = np.full((1, grid.shape[1]), 2.0)
    return LocalScaling.widening(GuidanceField.of(packet), strength, observed)


def unbounded(f, grid, strength, t, rng):
    """No agent's field: a thousandfold strength at the worst point, and growing."""
    bounded = worst_point(f, grid, strength, t, rng)
    return TableScaling(grid=grid, excess=1000.0 * t * bounded.excess)


BOUNDED = [worst_point, chequerboard, away_from_optimum, informative, false_components]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run in which the confidence event held from beginning to end."""

    beta: float
    steps: list[Step]
    information_gain: float

    @property
    def regret(self):
        return sum(step.gap for step in self.steps)

    @property
    def bound(self):
        return regret_bound(
            num_rounds=NUM_ROUNDS,
            beta=self.beta,
            information_gain=self.information_gain,
            noise_variance=NOISE,
            max_strength=MAX_STRENGTH,
        )


def play(grid, guidance, seed):
    """Return the run with the smallest β that keeps the confidence event."""
    runs = (play_with(float(beta), grid, guidance, seed) for beta in BETAS)
    return next(run for run in runs if run is not None)


def play_with(beta, grid, guidance, seed):
    """Play GUIDE-UCB on one drawn objective; None if a round was not confident."""
    rng = np.random.default_rng(seed)
    ell = np.full(grid.shape[1], 0.2)
    K = matern52(squared_distances(grid, grid, ell), 1.0)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(len(grid)))
    f = root @ rng.standard_normal(len(grid))
    hyper = Hyperparameters(
        lengthscales=ell, outputscale=1.0, mean=0.0, noise_variance=NOISE
    )
    rule = UpperConfidenceBound(beta=beta)
    best = int(np.argmax(f))
    queries = [int(rng.integers(len(grid)))]
    y = [f[queries[0]] + sqrt(NOISE) * rng.standard_normal()]
    steps, gain = [], 0.0
    for t in range(1, NUM_ROUNDS + 1):
        strength = decaying(MAX_STRENGTH, t)
        local = GaussianProcess.condition(grid[queries], np.array(y), hyper)
        mean, std = local.predict(grid)
        if (np.abs(f - mean) > sqrt(beta) * std).any():
            return None
        scaling = guidance(f, grid, strength, t, rng)
        figp = InterventionalPosterior(local=local, scaling=scaling)
        x = int(np.argmax(rule.acquisition(figp, rng).value(grid)))
        # The field the theory may assume: what the agent reports, clamped to one.
        G = np.minimum((scaling(grid) - 1.0) / strength, 1.0)
        steps.append(
            Step(
                beta=beta,
                gap=float(f[best] - f[x]),
                strength=strength,
                std=float(std[x]),
                std_at_optimum=float(std[best]),
                field=float(G[x]),
                field_at_optimum=float(G[best]),
            )
        )
        gain += 0.5 * np.log1p(std[x] ** 2 / NOISE)
        queries.append(x)
        y.append(f[x] + sqrt(NOISE) * rng.standard_normal())
    return Run(beta=beta, steps=steps, information_gain=float(gain))


def greedy_information_gain(grid, num_rounds):
    """Return the gain of the greedy set, at least (1 - 1/e) of the largest one."""
    cov = matern52(squared_distances(grid, grid, np.full(grid.shape[1], 0.2)), 1.0)
    gain = 0.0
    for _ in range(num_rounds):
        x = int(np.argmax(np.diag(cov)))
        gain += 0.5 * np.log1p(cov[x, x] / NOISE)
        cov = cov - np.outer(cov[x], cov[x]) / (cov[x, x] + NOISE)
    return gain


@pytest.fixture(scope="module", params=GRIDS)
def grid(request):
    return GRIDS[request.param]


@pytest.fixture(scope="module")
def runs(grid):
    """Runs with every bounded field, by field."""
    return {
        guidance: [play(grid, guidance, seed) for seed in range(NUM_RUNS)]
        for guidance in BOUNDED
    }


def test_regret_stays_below_theorem_1(grid, runs):
    """E36: with the run's own information gain, and so with the largest possible."""
    largest = greedy_information_gain(grid, NUM_ROUNDS) / (1.0 - 1.0 / np.e)
    shares = []
    for run in (run for each in runs.values() for run in each):
        assert run.information_gain <= largest
        shares.append(run.regret / run.bound)
    assert max(shares) <= 1.0
    # The bound is not empty: the misleading fields use a fair part of it.
    assert max(shares) > 0.08


def test_cumulative_variance_stays_below_the_information_gain(runs):
    """E36: Lemma B.2, Σ σ² <= C γ with C = 2 / log(1 + 1/noise)."""
    C = 2.0 / log(1.0 + 1.0 / NOISE)
    shares = [
        sum(step.std**2 for step in run.steps) / (C * run.information_gain)
        for each in runs.values()
        for run in each
    ]
    assert max(shares) <= 1.0
    assert max(shares) > 0.5


def test_every_suboptimal_query_is_uncertain_enough(runs):
    """E37: Proposition 1, and Lemma B.1 for every query."""
    ratios = []
    for run in (run for each in runs.values() for run in each):
        for step in run.steps:
            assert step.gap <= step.regret_limit + 1e-9
            if step.gap > 0.0:
                ratios.append(step.std / step.threshold)
    assert min(ratios) >= 1.0 - 1e-9
    # The threshold is not empty: some query comes close to it.
    assert min(ratios) < 1.3


def test_unbounded_guidance_breaks_both_guarantees(grid):
    """E36, E37: the assertions above can fail, and do where the field is not clamped.

    The runs are confident; only the scaling is not the one the theory is told of.
    """
    runs = [play(grid, unbounded, seed) for seed in range(NUM_RUNS)]
    assert all(run.regret > run.bound for run in runs)
    for run in runs:
        ratios = [step.std / step.threshold for step in run.steps if step.gap > 0.0]
        assert min(ratios) < 0.1


def test_informative_guidance_asks_more_of_a_suboptimal_query(runs):
    """E37: with G = 1 at the optimum and 0 elsewhere, above GP-UCB's Δ / (2 √β)."""
    for step in (step for run in runs[informative] for step in run.steps):
        if step.gap > 0.0:
            plain = step.gap / (2.0 * sqrt(step.beta))
            extra = 0.5 * step.strength * step.std_at_optimum
            assert step.threshold == pytest.approx(plain + extra, rel=1e-12)


def test_regret_bound_by_hand():
    """E36: T = 4, β = 4, γ = log 3, noise 1/8 so C = 2 / log 9, λ G = 3."""
    bound = regret_bound(
        num_rounds=4,
        beta=4.0,
        information_gain=log(3.0),
        noise_variance=1.0 / 8.0,
        max_strength=6.0,
        max_field=0.5,
    )
    inside = 16.0 + 12.0 * 3.0 + 9.0 * (1.0 + log(4.0))
    assert bound == pytest.approx(2.0 * sqrt(inside), rel=1e-14)


def test_regret_bound_without_guidance_is_that_of_gp_ucb():
    """E36: √(4 T β C γ), and guidance only adds to it."""
    known = {
        "num_rounds": 9,
        "beta": 2.0,
        "information_gain": 3.0,
        "noise_variance": 0.1,
    }
    plain = regret_bound(**known, max_strength=0.0)
    assert plain == pytest.approx(sqrt(36.0 * 2.0 * 2.0 / log(11.0) * 3.0), rel=1e-13)
    assert regret_bound(**known, max_strength=1.0) > plain
    assert regret_bound(**known, max_strength=1.0, max_field=0.0) == plain


@pytest.mark.parametrize("max_strength", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("num_rounds", [1, 2, 50])
def test_regret_bound_covers_the_sum_over_rounds(num_rounds, max_strength):
    """E36: the closed form lies above Σ (2 + λ_max / √t)², tightly for one round."""
    t = np.arange(1, num_rounds + 1)
    exact = ((2.0 + max_strength / np.sqrt(t)) ** 2).sum()
    C = 2.0 / log(1.0 + 1.0 / NOISE)
    bound = regret_bound(
        num_rounds=num_rounds,
        beta=1.0,
        information_gain=1.0,
        noise_variance=NOISE,
        max_strength=max_strength,
    )
    assert bound >= sqrt(C * exact) * (1.0 - 1e-12)
    assert bound <= sqrt(C * exact) * (1.0 + 1e-12 if num_rounds == 1 else 1.1)


def test_selection_threshold_by_hand():
    """E37: (Δ + λ √β G* σ*) / (√β (2 + λ G)) = (1.2 + 0.6) / (3 * 2.5)."""
    threshold = selection_threshold(
        gap=1.2,
        beta=9.0,
        strength=0.5,
        field_at_query=1.0,
        field_at_optimum=0.8,
        std_at_optimum=0.5,
    )
    assert threshold == pytest.approx(1.8 / 7.5, rel=1e-14)

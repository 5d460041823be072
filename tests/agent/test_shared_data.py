"""The agent of the control shared-data, against the formulas of a multi-task process.

The oracle has one covariance matrix of all sites' functions, written out entry by
entry, and conditions it as any normal distribution is conditioned.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.agent.numerics import differences, differences_at, make_gp
from tests.site.sites import SPACES

import guidefbo as gf
from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.shared_data.agent import NUM_NEAR
from guidefbo.agent.strategies.shared_data.pool import Pool, fit_pooled
from guidefbo.agent.strategies.shared_data.posterior import (
    CORRELATIONS,
    SharedPosterior,
)
from guidefbo.agent.strategies.shared_data.settings import SharedDataSettings
from guidefbo.agent.surrogate.fantasies import NUGGET
from guidefbo.agent.surrogate.fit import LogPosterior
from guidefbo.agent.surrogate.model import Model, site_model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Streams
from guidefbo.methods.registry import find_method
from guidefbo.testing import check_agent_side, check_posterior
from guidefbo.wire.shared_data import (
    LARGEST,
    MAX_ROWS,
    SharedPacket,
)

MODEL = Model(noise_std=0.1, priors=Priors())


def agent(model=MODEL):
    return SharedDataSettings().build(Domain.box(3), model, SearchSettings())


def other(n=6, dim=2, seed=1, shift=0.0):
    """Return what a site sends whose function is like that of `make_gp`."""
    gp = make_gp(n, dim, seed=seed, level=shift)
    return upload(gp)


def upload(gp):
    data = Dataset(X=gp.X, y=gp.y)
    return agent().upload(gp, data, None, None, Streams(0).of(0, 1))


def pool_of(sizes=(7, 5, 6), dim=2):
    own, *rest = sizes
    others = [other(n, dim, seed=2 + k) for k, n in enumerate(rest)]
    return Pool.of(make_gp(own, dim, level=3.0), others)


HYPER = make_gp(3, 2).hyper


def kernel(x, z):
    """Return the Matern-5/2 kernel of two points, written out."""
    q = sum((x[j] - z[j]) ** 2 / HYPER.lengthscales[j] ** 2 for j in range(len(x)))
    a = np.sqrt(5.0 * q)
    return HYPER.outputscale * (1.0 + a + a**2 / 3.0) * np.exp(-a)


def prior(points, rho):
    """Return the covariance of (site, point) pairs, entry by entry."""
    return np.array(
        [
            [(1.0 if n == m else rho) * kernel(x, z) for m, z in points]
            for n, x in points
        ]
    )


def oracle(pool, rho, X, *, constants, own_values=None):
    """Return mean and covariance of site 0's function at X, and the evidence.

    Args:
        pool: All observations.
        rho: Correlation of the sites.
        X: Where.
        constants: Of each site.
        own_values: Noise-free values in the place of the own observations.
    """
    seen = list(zip(pool.site, pool.X, strict=True))
    noise, y = pool.noise.copy(), pool.y.copy()
    if own_values is not None:
        noise[: pool.num_own] = NUGGET * HYPER.outputscale
        y[: pool.num_own] = own_values
    asked = [(0, x) for x in X]
    joint = prior([*asked, *seen], rho)
    b = len(asked)
    K = joint[b:, b:] + np.diag(noise)
    residual = y - np.array([constants[n] for n in pool.site])
    gain = joint[:b, b:] @ np.linalg.inv(K)
    mean = constants[0] + gain @ residual
    evidence = multivariate_normal(np.zeros(len(y)), K).logpdf(residual)
    return mean, joint[:b, :b] - gain @ joint[b:, :b], evidence


def least_squares(pool, rho):
    """Return each site's constant by generalised least squares."""
    seen = list(zip(pool.site, pool.X, strict=True))
    K_inv = np.linalg.inv(prior(seen, rho) + np.diag(pool.noise))
    M = np.array([[float(n == m) for m in range(pool.num_sites)] for n in pool.site])
    return np.linalg.solve(M.T @ K_inv @ M, M.T @ K_inv @ pool.y)


X = np.random.default_rng(9).random((5, 2))


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.99])
def test_moments_are_those_of_the_multi_task_process(rho):
    """E99, E100: means and variances, joint and pointwise, by the direct formula."""
    pool = pool_of()
    posterior = SharedPosterior.fit(pool, HYPER, [rho])
    constants = least_squares(pool, rho)
    mean, cov, _ = oracle(pool, rho, X, constants=constants)
    assert np.allclose(posterior.constants, constants, rtol=1e-8)
    got_mean, got_cov = posterior.joint(X)
    assert np.allclose(got_mean, mean, rtol=1e-8)
    assert np.allclose(got_cov, cov, rtol=0.0, atol=1e-9)
    mean_alone, std = posterior.predict(X)
    assert np.allclose(mean_alone, mean, rtol=1e-8)
    assert np.allclose(std, np.sqrt(np.diagonal(cov)), rtol=1e-6)
    by_sums = posterior.by_sums()
    assert np.allclose(by_sums.finish(by_sums.sums.at(X)), (mean_alone, std))


def test_gradients_are_those_of_finite_differences():
    """E100."""
    posterior = SharedPosterior.fit(pool_of(), HYPER, [0.8])
    mean, std, mean_gradient, std_gradient = posterior.moments(X)
    assert np.allclose(posterior.predict(X), (mean, std))
    want = [differences(lambda Z, k=k: posterior.predict(Z)[k], X) for k in (0, 1)]
    assert np.allclose(mean_gradient, want[0], rtol=1e-6, atol=1e-7)
    assert np.allclose(std_gradient, want[1], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("sizes", [(7,), (7, 5), (1, 1, 9), (12, 3, 1, 4)], ids=str)
@pytest.mark.parametrize("rho", [0.0, 0.99])
def test_contract_of_a_posterior(sizes, rho):
    check_posterior(SharedPosterior.fit(pool_of(sizes), HYPER, [rho]))


def test_sites_without_anything_in_common_are_left_alone():
    """E99: with ρ = 0 the own data decide, as in a process that has nothing else."""
    pool = pool_of()
    posterior = SharedPosterior.fit(pool, HYPER, [0.0])
    n = pool.num_own
    alone = SharedPosterior.fit(
        Pool(X=pool.X[:n], y=pool.y[:n], noise=pool.noise[:n], site=pool.site[:n]),
        HYPER,
        [0.9],
    )
    assert np.allclose(posterior.predict(X), alone.predict(X))


def test_likeliest_correlation_is_used():
    """The evidence of every ρ, by the direct formula, names the one that is taken."""
    for make in (lambda seed: seed, lambda seed: 1):
        gp = make_gp(14, 2, seed=1)
        others = [upload(make_gp(14, 2, seed=20 + make(k))) for k in range(3)]
        flipped = [replace(o, values=-o.values) for o in others[:2]]
        for sites in (others, [*flipped, others[2]]):
            pool = Pool.of(gp, sites)
            evidence = [
                oracle(pool, rho, X[:1], constants=least_squares(pool, rho))[2]
                for rho in CORRELATIONS
            ]
            best = CORRELATIONS[int(np.argmax(evidence))]
            assert SharedPosterior.fit(pool, HYPER).rho == best
    assert len(CORRELATIONS) == len(set(CORRELATIONS))
    assert {0.0, 0.99} <= set(CORRELATIONS)


def test_like_sites_are_found_alike_and_unlike_ones_not():
    gp = make_gp(20, 2, seed=1)
    like = [other(20, seed=30 + k) for k in range(4)]
    assert SharedPosterior.fit(Pool.of(gp, like), HYPER).rho == 0.99
    rng = np.random.default_rng(0)
    unlike = [replace(o, values=rng.permutation(o.values)) for o in like]
    assert SharedPosterior.fit(Pool.of(gp, unlike), HYPER).rho == 0.0


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.99])
def test_fantasies_condition_on_own_draws_and_the_others_data(rho):
    """E101: the own values are drawn at the own inputs, the others' data stay."""
    pool = pool_of()
    posterior = SharedPosterior.fit(pool, HYPER, [rho])
    fantasies = posterior.fantasise(4, Streams(0).of(0, 1).at("rule"))
    n = pool.num_own
    assert np.array_equal(fantasies.observed, pool.X[:n])
    assert fantasies.draws.shape == (n, 4)
    moments = fantasies.moments(X)
    for k in range(4):
        mean, cov, _ = oracle(
            pool,
            rho,
            X,
            constants=posterior.constants,
            own_values=fantasies.draws[:, k],
        )
        assert np.allclose(moments.means[:, k], mean, rtol=1e-5, atol=1e-6)
        assert np.allclose(moments.std**2, np.diagonal(cov), atol=1e-6)


def test_fantasies_are_drawn_from_the_posterior_at_the_own_inputs():
    """E101: quasi-random draws have its mean and covariance."""
    pool = pool_of((4, 6))
    posterior = SharedPosterior.fit(pool, HYPER, [0.8])
    draws = posterior.fantasise(4096, Streams(0).of(0, 1).at("rule")).draws
    mean, cov = posterior.joint(pool.X[:4])
    assert np.allclose(draws.mean(axis=1), mean, atol=0.01)
    assert np.allclose(np.cov(draws), cov, atol=0.01)


def test_paths_have_the_law_of_the_posterior():
    """Mean and covariance of many paths, by Matheron's rule over all sites."""
    pool = pool_of((4, 6, 5))
    posterior = SharedPosterior.fit(pool, HYPER, [0.8])
    streams = Streams(3)
    paths = np.array(
        [
            posterior.sample_path(300, streams.of(0, t).at("rule")).value(X)
            for t in range(1, 1500)
        ]
    )
    mean, cov = posterior.joint(X)
    spread = np.sqrt(np.diagonal(cov))
    assert (np.abs(paths.mean(axis=0) - mean) < 4.5 * spread / np.sqrt(1499)).all()
    # Features approximate the kernel to about 1 / √300, a sample variance to √(2/1499).
    assert np.allclose(np.cov(paths.T), cov, atol=0.12 * spread.max() ** 2)


def test_others_are_read_in_the_own_units():
    """A standard deviation of theirs is one of ours, and so is their noise."""
    gp, sent = make_gp(8, 2, level=50.0), other()
    pool = Pool.of(gp, [sent])
    mean, scale = gp.y.mean(), gp.y.std(ddof=1)
    assert np.allclose(pool.y[8:], mean + scale * sent.values)
    assert np.allclose(pool.noise[8:], scale**2 * sent.noise)
    assert np.array_equal(pool.y[:8], gp.y)
    assert (pool.num_own, pool.num_sites) == (8, 2)
    assert pool.site.tolist() == [0] * 8 + [1] * 6


@pytest.mark.parametrize(("factor", "level"), [(1e-6, 0.0), (1e5, -300.0)])
def test_uploads_do_not_depend_on_a_sites_unit(factor, level):
    gp = make_gp(9, 2)
    scaled = replace(gp, y=level + factor * gp.y, noise=factor**2 * gp.noise)
    first, second = upload(gp), upload(scaled)
    assert np.allclose(first.values, second.values, atol=1e-6)
    assert np.allclose(first.noise, second.noise)
    assert first.values.mean() == pytest.approx(0.0, abs=1e-12)
    assert first.values.std(ddof=1) == pytest.approx(1.0)


def test_odd_values_are_sent_within_the_limits_of_the_wire():
    gp = make_gp(4, 2)
    for y in (np.full(4, 3.0), 1e99 * (1.0 + 1e-15 * np.arange(4))):
        sent = upload(replace(gp, y=y))
        assert np.abs(sent.values).max() <= LARGEST
    tiny = upload(replace(gp, y=1e-60 * gp.y))
    assert np.isfinite(tiny.noise).all()


def test_long_records_are_thinned_to_what_a_message_holds():
    n = MAX_ROWS + 100
    gp = make_gp(n, 2, noise_variance=1.0)
    sent = upload(replace(gp, y=np.arange(n, dtype=float)))
    assert len(sent) == MAX_ROWS
    assert (sent.values[0], sent.values[-1]) == (sent.values.min(), sent.values.max())


def test_hyperparameters_are_those_of_all_sites_together():
    """The pooled fit is a maximum of the sum of the sites' likelihoods and priors."""
    pool, model = pool_of((12, 14, 13, 2)), MODEL
    start = HYPER
    found = fit_pooled(pool, start, model)

    def objective(theta):
        value, _ = model.priors.log_density(theta, np.exp(theta), 2)
        for n in range(3):  # the fourth site has too few observations to count
            rows = pool.site == n
            part = LogPosterior.of(
                pool.X[rows], pool.y[rows], 0.0, None, own_noise=pool.noise[rows]
            )
            value += part(theta)[0]
        return value

    best = np.log([*found.lengthscales, found.outputscale])
    first = np.log([*start.lengthscales, start.outputscale])
    assert objective(best) > objective(first)
    assert np.abs(differences_at(objective, best)).max() < 0.05
    assert (found.mean, found.noise_variance) == (start.mean, start.noise_variance)


def test_without_enough_data_anywhere_the_own_fit_stays():
    assert fit_pooled(pool_of((2, 2, 1)), HYPER, MODEL) is HYPER


def test_options_of_a_choice_share_a_lengthscale():
    domain = SPACES["mixed"].domain
    rng = np.random.default_rng(0)
    U = domain.place(rng.random((40, domain.num_parameters)), rng)
    model = site_model(domain, None, {})
    y = U @ np.linspace(-1.0, 1.0, domain.dim) + 0.01 * rng.standard_normal(40)
    fitted = model.fit(Dataset(X=U[:20], y=y[:20])).posterior
    sent = upload(model.fit(Dataset(X=U[20:], y=y[20:])).posterior)
    hyper = fit_pooled(Pool.of(fitted, [sent]), fitted.hyper, model)
    for group in np.unique(domain.groups):
        assert len(set(hyper.lengthscales[domain.groups == group])) == 1
    assert not np.array_equal(hyper.lengthscales, fitted.hyper.lengthscales)


def test_agent_side():
    packets = [
        SharedPacket(sites=()),
        SharedPacket(sites=(other(6, 3), other(9, 3, seed=5))),
    ]
    misfits = [SharedPacket(sites=(other(6, 2),))]
    check_agent_side(agent(), packets=packets, misfits=misfits)


def test_a_site_alone_decides_on_its_own_posterior():
    gp = make_gp(6, 3)
    for packet in (None, SharedPacket(sites=())):
        decided = agent().decision_posterior(gp, packet, 1, Streams(0).of(0, 1))
        assert decided is gp
    assert agent().landmarks(SharedPacket(sites=())) is None


def test_search_starts_where_others_did_best():
    sites = (other(20, 3), other(20, 3, seed=8))
    places = agent().landmarks(SharedPacket(sites=sites))
    values = np.concatenate([site.values for site in sites])
    inputs = np.vstack([site.inputs for site in sites])
    assert len(places) == NUM_NEAR
    best = inputs[np.argsort(-values)[:NUM_NEAR]]
    assert np.array_equal(places, best)


def test_no_real_site_may_use_it():
    for rule in ("ucb", "nei", "ts"):
        with pytest.raises(SettingsError, match=r"simulations only.*every observation"):
            gf.Agent(
                gf.Space(x=gf.Float(0, 1)), goal="max", method=f"shared-data-{rule}"
            )
    record = find_method("shared-data-nei").strategy
    assert record.is_ceiling
    assert not record.is_control


@pytest.mark.parametrize("rule", ["ucb", "nei", "ts", "ts-grid"])
def test_runs_with_every_rule_on_a_box(rule):
    trace = gf.simulate(
        "sphere",
        method=f"shared-data-{rule}",
        dim=2,
        num_agents=3,
        num_initial=5,
        num_rounds=2,
    )
    assert (np.diff(trace.mean_simple_regret) <= 0.0).all()
    # Round t: t + 4 observations of two others, 4 numbers each.
    assert trace.scalars == {
        "up_per_agent_round": 4 * 5.5,
        "down_per_agent_round": 2 * 4 * 5.5,
    }


OPTIONS = """
import guidefbo as gf

WORTH = dict(zip("abcdefghij", [0, 1, 0, 2, 1, 0, 9, 1, 2, 0], strict=True))


class Site:
    def __init__(self, offset, scale):
        self.offset, self.scale = offset, scale

    def __call__(self, values):
        return self.offset + self.scale * (WORTH[values["drug"]] - values["warm"])


def options(seed=0):
    space = gf.Space(drug=gf.Choice(*"abcdefghij"), warm=gf.Bool())
    sites = [Site(0.0, 1.0), Site(100.0, 5.0), Site(-3.0, 0.1)]
    return gf.Tasks(space, sites, goal="max", optima=[9.0, 145.0, -2.1])
"""
"""Ten options of which one is far the best, at all sites, whatever their scales."""


@pytest.mark.parametrize("rule", ["ucb", "nei", "ts"])
def test_sharing_helps_on_options(rule, tmp_path):
    """One site's luck with an option is every site's next question."""
    file = tmp_path / "options.py"
    file.write_text(OPTIONS)
    best_option = [8.0 - 1e-9, 140.0 - 1e-9, -2.2 - 1e-9]

    def waits(method, seed):
        """Return how many rounds the sites wait for the best option, in all."""
        best = gf.simulate(
            f"{file}:options", method=method, num_initial=4, num_rounds=8, seed=seed
        ).best_value
        return int((np.array(best) < best_option).sum())

    seeds = (1, 3, 4)
    alone = [waits(rule, seed) for seed in seeds]
    shared = [waits(f"shared-data-{rule}", seed) for seed in seeds]
    assert all(s < a for s, a in zip(shared, alone, strict=True))
    assert sum(shared) < 0.5 * sum(alone)

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from tests.agent.numerics import make_gp

from guidefbo.agent.belief import dpgmm, kmeans
from guidefbo.agent.belief.dpgmm import (
    ACTIVE_SHARE,
    REGULARISATIONS,
    DirichletProcessMixture,
)
from guidefbo.agent.belief.geometry import Diagonal, Full
from guidefbo.agent.belief.mixture import OptimumBelief
from guidefbo.agent.belief.single_gaussian import EXTRA_VARIANCE, SingleGaussian
from guidefbo.agent.belief.value_score import lower_confidence, value_score
from guidefbo.agent.belief.variational import (
    Data,
    Factors,
    VariationalSettings,
    evidence_bound,
    infer,
    maximise,
    respond,
)
from guidefbo.agent.paths.maximise import OptimumSamples
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters

GEOMETRIES = {"diag": Diagonal(), "full": Full()}
kinds = pytest.mark.parametrize("kind", GEOMETRIES)


def stream(seed=0):
    return np.random.default_rng(seed)


def blobs(sizes=(60, 30, 10), d=2, seed=0, std=0.03):
    """Return well-separated clouds, the first the heaviest."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0.2, 0.2], [0.8, 0.3], [0.4, 0.9]])[:, :d]
    parts = [
        center + std * rng.standard_normal((size, d))
        for center, size in zip(centers, sizes, strict=True)
    ]
    return np.clip(np.vstack(parts), 0.0, 1.0), centers


def as_samples(X):
    return OptimumSamples(points=X, counts=np.ones(len(X)))


def random_memberships(n, k, seed=0):
    return stream(seed).dirichlet(np.ones(k), n)


def scikit_learn_twin(X, memberships, kind):
    """Return their mixture with parameters from the given memberships."""
    k = memberships.shape[1]
    ours = VariationalSettings()
    twin = BayesianGaussianMixture(
        n_components=k,
        covariance_type=kind,
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=ours.concentration,
        mean_precision_prior=ours.mean_precision,
        reg_covar=ours.regularisation,
        max_iter=1,
        random_state=0,
    )
    # One sweep sets the priors from the data; the parameters are then replaced.
    with pytest.warns(ConvergenceWarning):
        twin.fit(X)
    twin._m_step(X, np.log(memberships))
    twin._set_parameters(twin._get_parameters())
    return twin


def weighted(memberships, counts=1.0):
    """Return responsibilities times counts with a leading axis for the start."""
    return (memberships * np.reshape(counts, (-1, 1))).T[None]


def sweep(data, factors):
    """Return the next factors, and the bound they reach with their own responses."""
    responses = respond(data, factors)
    factors = maximise(data, responses.R, VariationalSettings())
    return factors, evidence_bound(data, factors, responses)


def vars_of(factors):
    return [getattr(factors, field.name) for field in fields(factors)]


def as_one_start(factors):
    """Return the factors of a single start with its axis back in front."""
    names = [field.name for field in fields(factors)]
    parts = [part[np.newaxis] for part in vars_of(factors)]
    return Factors(**dict(zip(names, parts, strict=True)))


@kinds
@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 5), (6, 4)])
def test_maximisation_agrees_with_scikit_learn(kind, d, k):
    """E11: the M step, parameter by parameter."""
    X = stream(1).random((50, d))
    memberships = random_memberships(50, k)
    twin = scikit_learn_twin(X, memberships, kind)
    data = Data.of(X, np.ones(50), GEOMETRIES[kind])
    factors = maximise(data, weighted(memberships), VariationalSettings())
    a, b = twin.weight_concentration_
    assert factors.a[0] == pytest.approx(a, rel=1e-9)
    assert factors.b[0] == pytest.approx(b, rel=1e-9)
    assert factors.beta[0] == pytest.approx(twin.mean_precision_, rel=1e-9)
    assert factors.nu[0] == pytest.approx(twin.degrees_of_freedom_, rel=1e-9)
    assert data.mean + factors.means[0] == pytest.approx(twin.means_, rel=1e-9)
    covariances = GEOMETRIES[kind].unflatten(factors.C[0], d)
    assert covariances == pytest.approx(twin.covariances_, rel=1e-8, abs=1e-12)
    assert factors.masses()[0] == pytest.approx(twin.weights_, rel=1e-9)
    assert factors.masses().sum() == pytest.approx(1.0, rel=1e-12)


@kinds
@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 5), (6, 4)])
def test_responsibilities_agree_with_scikit_learn(kind, d, k):
    """E11: the E step from the same parameters."""
    X = stream(2).random((50, d))
    memberships = random_memberships(50, k, seed=1) ** 4
    memberships /= memberships.sum(axis=1)[:, None]
    twin = scikit_learn_twin(X, memberships, kind)
    _, log_resp = twin._e_step(X)
    data = Data.of(X, np.ones(50), GEOMETRIES[kind])
    factors = maximise(data, weighted(memberships), VariationalSettings())
    shares = respond(data, factors).R[0].T
    assert shares == pytest.approx(np.exp(log_resp), abs=1e-8)


@kinds
def test_bound_agrees_with_scikit_learn(kind):
    """E11: after every sweep, from three different memberships."""
    X = stream(3).random((40, 2))
    data = Data.of(X, np.ones(40), GEOMETRIES[kind])
    ours, theirs = [], []
    for seed in range(3):
        memberships = random_memberships(40, 4, seed)
        twin = scikit_learn_twin(X, memberships, kind)
        factors = maximise(data, weighted(memberships), VariationalSettings())
        for _ in range(4):
            _, log_resp = twin._e_step(X)
            twin._m_step(X, log_resp)
            theirs.append(twin._compute_lower_bound(log_resp, 0.0))
            factors, bound = sweep(data, factors)
            ours.append(bound[0])
    # Both leave out constants of the data, so only differences are comparable.
    assert np.diff(ours) == pytest.approx(np.diff(theirs), abs=1e-8)


@kinds
def test_bound_never_falls_from_sweep_to_sweep(kind):
    """E11: coordinate ascent rises; the regularisation of 1e-6 costs next to nothing.

    Overlapping components keep the sweeps moving for a long time.
    """
    X = stream(4).random((120, 3))
    data = Data.of(X, np.ones(120), GEOMETRIES[kind])
    R = weighted(random_memberships(120, 5))
    factors = maximise(data, R, VariationalSettings())
    bounds = []
    for _ in range(40):
        factors, bound = sweep(data, factors)
        bounds.append(bound[0])
    assert (np.diff(bounds) > -1e-3).all()
    assert bounds[-1] - bounds[0] > 1.0


def overlapping(seed):
    """Return ten-dimensional samples as an uncertain posterior scatters them."""
    rng = stream(seed)
    X = rng.random((1000, 10))
    weights = np.exp(-6.0 * ((X - 0.6) ** 2).sum(axis=1))
    counts = rng.multinomial(500, weights / weights.sum()).astype(float)
    X, counts = X[counts > 0.0], counts[counts > 0.0]
    start = kmeans.assign(X, counts, 10, 1, rng)
    return Data.of(X, counts, Diagonal()), start


def rise_after(data, factors, num_sweeps=5):
    """Return how much the bound still rises from where a start has stopped."""
    factors = as_one_start(factors)
    bounds = []
    for _ in range(num_sweeps + 1):
        factors, bound = sweep(data, factors)
        bounds.append(bound[0])
    return bounds[-1] - bounds[0]


@pytest.mark.parametrize("seed", range(5))
def test_a_start_from_kmeans_stops_where_the_bound_rises_no_more(seed):
    """E11: below 1e-3 per sweep, with a factor for the sweeps to come."""
    data, start = overlapping(seed)
    found = infer(data, start, VariationalSettings(max_sweeps=2000))
    assert found is not None
    assert rise_after(data, found) < 5 * 5e-3


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_any_start_stops_where_the_bound_rises_no_more(seed, tolerance):
    """E11: five more sweeps raise the bound by about five tolerances at most."""
    X = stream(seed).random((120, 2))
    data = Data.of(X, np.ones(120), Diagonal())
    settings_ = VariationalSettings(max_sweeps=20_000, tolerance=tolerance)
    found = infer(data, weighted(random_memberships(120, 5, seed)), settings_)
    assert found is not None
    assert rise_after(data, found) < 6 * tolerance


@kinds
def test_inference_ends_where_scikit_learn_ends(kind):
    """E11: many sweeps from the same memberships lead to the same mixture."""
    X, _ = blobs(seed=3)
    memberships = random_memberships(100, 4, seed=2)
    twin = scikit_learn_twin(X, memberships, kind)
    for _ in range(300):
        _, log_resp = twin._e_step(X)
        twin._m_step(X, log_resp)
    twin._set_parameters(twin._get_parameters())
    data = Data.of(X, np.ones(100), GEOMETRIES[kind])
    settings_ = VariationalSettings(max_sweeps=3000, tolerance=1e-12)
    found = infer(data, weighted(memberships), settings_)
    assert found is not None
    # Both have stopped moving: what is left is the last sweeps' contraction.
    assert found.masses() == pytest.approx(twin.weights_, abs=1e-5)
    assert data.mean + found.means == pytest.approx(twin.means_, abs=1e-5)


@kinds
@given(seed=st.integers(0, 10_000), d=st.integers(1, 3))
@settings(deadline=None, max_examples=25)
def test_counts_equal_repetition(kind, seed, d):
    """E11: a point with count c is c equal points."""
    rng = stream(seed)
    X = rng.random((12, d))
    counts = rng.integers(1, 6, 12)
    memberships = rng.dirichlet(np.ones(3), 12)
    once = Data.of(X, counts.astype(float), GEOMETRIES[kind])
    repeated = Data.of(
        np.repeat(X, counts, axis=0), np.ones(counts.sum()), GEOMETRIES[kind]
    )
    settings_ = VariationalSettings()
    one = maximise(once, weighted(memberships, counts), settings_)
    many = maximise(repeated, weighted(np.repeat(memberships, counts, 0)), settings_)
    for ours, theirs in zip(vars_of(one), vars_of(many), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    memberships_of_many = respond(repeated, many).R
    summed = np.add.reduceat(memberships_of_many, np.cumsum(counts) - counts, axis=2)
    assert summed == pytest.approx(respond(once, one).R, abs=1e-10)
    assert sweep(once, one)[1] == pytest.approx(sweep(repeated, many)[1], rel=1e-10)


@kinds
@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_order_of_the_samples_does_not_matter(kind, seed):
    """E11: permuted points with permuted memberships give the same mixture."""
    rng = stream(seed)
    X, _ = blobs(seed=seed)
    counts = rng.integers(1, 4, len(X)).astype(float)
    memberships = rng.dirichlet(np.ones(4), len(X))
    order = rng.permutation(len(X))
    found = [
        infer(
            Data.of(X[i], counts[i], GEOMETRIES[kind]),
            weighted(memberships[i], counts[i]),
            VariationalSettings(tolerance=1e-2),
        )
        for i in (np.arange(len(X)), order)
    ]
    if found[0] is None or found[1] is None:
        assert found == [None, None]
        return
    # Rounding grows over the sweeps, by the rate at which starts part.
    for one, other in zip(*(vars_of(f) for f in found), strict=True):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("is_full", [False, True])
def test_separated_blobs_are_recovered(is_full):
    """E11, E12: centres, spreads and masses; the dominant one is the heaviest."""
    X, centers = blobs()
    mixture = DirichletProcessMixture(is_full=is_full)(as_samples(X), stream())
    assert mixture.centers[mixture.dominant] == pytest.approx(centers[0], abs=0.02)
    assert mixture.masses[mixture.dominant] == mixture.masses.max()
    for center in centers:
        distance = np.linalg.norm(mixture.centers - center, axis=1)
        assert distance.min() < 0.05
    # 60 points of std 0.03, pulled a little to the spread of the whole.
    spread = mixture.variances[mixture.dominant]
    if is_full:
        spread = np.diag(spread)
        assert np.allclose(mixture.variances, mixture.variances.transpose(0, 2, 1))
    assert ((np.sqrt(spread) > 0.02) & (np.sqrt(spread) < 0.12)).all()


@given(seed=st.integers(0, 10_000), u=st.integers(1, 40), d=st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_any_samples_make_a_proper_mixture(seed, u, d):
    """E11: positive spreads, masses that sum to at most one, centres in the hull."""
    rng = stream(seed)
    X = rng.random((u, d))
    samples = OptimumSamples(points=X, counts=rng.integers(1, 50, u).astype(float))
    for is_full in (False, True):
        mixture = DirichletProcessMixture(is_full=is_full)(samples, stream(seed))
        K = min(10, u)
        assert 1 <= len(mixture.masses) <= K
        assert (mixture.masses > ACTIVE_SHARE / K).all()
        # Inactive ones may keep at most K times the threshold.
        assert 1.0 - ACTIVE_SHARE - 1e-9 <= mixture.masses.sum() <= 1.0 + 1e-9
        assert (mixture.centers >= X.min(axis=0) - 1e-9).all()
        assert (mixture.centers <= X.max(axis=0) + 1e-9).all()
        if is_full:
            assert (np.linalg.eigvalsh(mixture.variances) > 0.0).all()
        else:
            assert (mixture.variances > 0.0).all()


def test_components_without_samples_are_not_active():
    """E11: two heavy points leave nothing for the other components of the stick."""
    points = np.vstack([np.full((1, 2), 0.1), np.full((1, 2), 0.9), blobs()[0][:8]])
    counts = np.array([50_000.0, 40_000.0, *np.ones(8)])
    mixture = DirichletProcessMixture()(
        OptimumSamples(points=points, counts=counts), stream()
    )
    assert len(mixture.masses) < 10
    assert (mixture.masses > ACTIVE_SHARE / 10).all()
    assert mixture.masses.sum() > 0.99
    assert len(mixture.centers) == len(mixture.variances) == len(mixture.masses)


@pytest.mark.parametrize("is_full", [False, True])
def test_one_distinct_point_is_one_narrow_component(is_full):
    """E11: with no spread at all the regularisation is left."""
    samples = OptimumSamples(points=np.array([[0.3, 0.7]]), counts=np.array([500.0]))
    mixture = DirichletProcessMixture(is_full=is_full)(samples, stream())
    assert mixture.masses == pytest.approx([1.0], rel=1e-12)
    assert mixture.centers == pytest.approx(np.array([[0.3, 0.7]]), rel=1e-12)
    expected = REGULARISATIONS[0] * 500.0 / 502.0 * (np.eye(2) if is_full else 1.0)
    assert mixture.variances[0] == pytest.approx(expected, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("is_full", [False, True])
def test_two_points(is_full):
    """E11: the heavier of two points carries the dominant component."""
    samples = OptimumSamples(
        points=np.array([[0.1, 0.2], [0.9, 0.7]]), counts=np.array([400.0, 100.0])
    )
    mixture = DirichletProcessMixture(is_full=is_full)(samples, stream())
    k = mixture.dominant
    assert mixture.centers[k] == pytest.approx([0.1, 0.2], abs=1e-3)
    # The concentration of 100 draws mass from a stick of 500 samples.
    assert 0.7 < mixture.masses[k] < 0.9


@pytest.mark.parametrize("is_full", [False, True])
def test_without_convergence_one_gaussian_is_left(is_full, monkeypatch):
    """E11: every regularisation is tried, then the samples' own moments serve."""
    tried = []

    def never(data, R, settings):
        del data, R
        tried.append(settings.regularisation)

    monkeypatch.setattr(dpgmm, "infer", never)
    X, _ = blobs()
    mixture = DirichletProcessMixture(is_full=is_full)(as_samples(X), stream())
    assert tuple(tried) == REGULARISATIONS
    assert mixture.masses.tolist() == [1.0]
    assert mixture.centers[0] == pytest.approx(X.mean(axis=0), rel=1e-12)
    covariance = np.cov(X.T) + EXTRA_VARIANCE * np.eye(2)
    expected = covariance if is_full else np.diag(covariance)
    assert mixture.variances[0] == pytest.approx(expected, rel=1e-12)


def test_inference_gives_up_after_its_last_sweep():
    # E11: too few sweeps for overlapping components.
    X = stream(4).random((120, 3))
    data = Data.of(X, np.ones(120), Diagonal())
    R = weighted(random_memberships(120, 5))
    assert infer(data, R, VariationalSettings(max_sweeps=5, tolerance=1e-9)) is None
    assert infer(data, R, VariationalSettings(max_sweeps=2000)) is not None


def test_inference_prefers_the_start_with_the_higher_bound():
    """E11: blobs told apart against blobs lumped together, in either order."""
    X, _ = blobs()
    data = Data.of(X, np.ones(100), Diagonal())
    apart = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    lumped = np.tile([1.0, 0.0, 0.0], (100, 1))
    for starts in ((apart, lumped), (lumped, apart)):
        R = np.concatenate([weighted(m) for m in starts])
        found = infer(data, R, VariationalSettings())
        assert isinstance(found, Factors)
        centre = data.mean + found.means[np.argmax(found.masses())]
        assert centre == pytest.approx([0.2, 0.2], abs=0.02)


@pytest.mark.parametrize("is_full", [False, True])
def test_one_gaussian_counts_repetitions(is_full):
    points = np.array([[0.1, 0.5], [0.3, 0.1], [0.8, 0.4]])
    samples = OptimumSamples(points=points, counts=np.array([3.0, 1.0, 2.0]))
    mixture = SingleGaussian(is_full=is_full)(samples, stream())
    repeated = np.repeat(points, [3, 1, 2], axis=0)
    covariance = np.cov(repeated.T) + EXTRA_VARIANCE * np.eye(2)
    expected = covariance if is_full else np.diag(covariance)
    assert mixture.centers[0] == pytest.approx(repeated.mean(axis=0), rel=1e-12)
    assert mixture.variances[0] == pytest.approx(expected, rel=1e-12)
    assert mixture.dominant == 0


def test_one_gaussian_of_one_sample_is_the_extra_variance():
    samples = OptimumSamples(points=np.array([[0.5]]), counts=np.ones(1))
    assert SingleGaussian()(samples, stream()).variances.tolist() == [[EXTRA_VARIANCE]]


def test_dominant_component_by_hand():
    """E12: the largest mass, the first of equals."""
    centers = np.zeros((4, 1))
    variances = np.ones((4, 1))
    for masses, expected in (
        ([0.1, 0.5, 0.2, 0.2], 1),
        ([0.3, 0.1, 0.3, 0.3], 0),
    ):
        mixture = OptimumBelief(
            masses=np.array(masses), centers=centers, variances=variances
        )
        assert mixture.dominant == expected


def test_lower_confidence_bound_by_hand():
    """E13: mean 1.7 less κ std, std² = 0.4, at the only observation."""
    hyper = Hyperparameters(
        lengthscales=np.array([0.25]), outputscale=2.0, mean=0.5, noise_variance=0.5
    )
    gp = GaussianProcess.condition(np.array([[0.5]]), np.array([2.0]), hyper)
    found = lower_confidence(gp, np.array([0.5]), 1.5)
    assert found == pytest.approx(1.7 - 1.5 * np.sqrt(0.4), rel=1e-13)


def test_value_score_by_hand():
    """E14: (LCB - mean of y) / (std of y with n - 1, plus 1e-6)."""
    gp, center = make_gp(5, 2), np.array([0.4, 0.6])
    y = np.array([1.0, 2.0, 3.0, 6.0])
    lcb = lower_confidence(gp, center, 1.0)
    expected = (lcb - 3.0) / (np.sqrt(14.0 / 3.0) + 1e-6)
    assert value_score(gp, center, y, 1.0) == pytest.approx(expected, rel=1e-13)


def test_value_score_of_one_observation_is_finite():
    # E14: no spread is known yet; the score is in the units of the value itself.
    gp = make_gp(1, 2)
    center = np.array([0.1, 0.9])
    expected = lower_confidence(gp, center, 1.0) - 5.0
    found = value_score(gp, center, np.array([5.0]), 1.0)
    assert found == pytest.approx(expected, rel=2e-6)


def test_kmeans_starts_hold_every_point_once():
    """E11: memberships are one cluster per point, times its count."""
    X, _ = blobs()
    counts = stream(1).integers(1, 5, len(X)).astype(float)
    R = kmeans.assign(X, counts, 3, 4, stream())
    assert R.shape == (4, 3, 100)
    assert (R.sum(axis=1) == counts).all()
    assert np.isin(R / counts, [0.0, 1.0]).all()
    # Squared-distance seeding tells three far blobs apart nearly always.
    sizes = np.sort([counts[:60].sum(), counts[60:90].sum(), counts[90:].sum()])
    assert (np.sort(R.sum(axis=2), axis=1) == sizes).all(axis=1).mean() >= 0.75


def test_kmeans_survives_more_clusters_than_it_can_fill():
    X = np.array([[0.5], [0.5 + 1e-12], [0.5 + 2e-12]])
    R = kmeans.assign(X, np.ones(3), 3, 2, stream())
    assert np.isfinite(R).all()
    assert (R.sum(axis=1) == 1.0).all()

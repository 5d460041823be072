import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f as f_law
from scipy.stats import kstest
from tests.agent.numerics import differences, make_gp

from guidefbo.agent.paths.features import FeatureMap
from guidefbo.agent.paths.frequencies import draw_frequencies
from guidefbo.agent.paths.maximise import (
    BLOCK,
    ExactSampler,
    FeatureSampler,
    OptimumSamples,
)
from guidefbo.agent.paths.path import FeaturePath
from guidefbo.agent.paths.weights import WeightPosterior, draw_normals
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.core.streams import Streams

UNEQUAL = np.array([0.25, 0.6, 1.8])


def kernel(A, B, lengthscales, outputscale=1.0):
    return matern52(squared_distances(A, B, lengthscales), outputscale)


@pytest.mark.parametrize(
    ("distance", "expected"), [(0.2, 0.936), (0.5, 0.694), (1.0, 0.306)]
)
@pytest.mark.parametrize("direction", [[1, 0, 0], [1, 1, 1], [3, -1, 2]])
def test_frequencies_follow_the_multivariate_t_law(distance, expected, direction):
    """E06: the characteristic function is the kernel in every direction.

    Coordinates drawn as independent t variables would have it along the axes only.
    """
    ell = np.log(2.0)
    delta = distance * np.array(direction) / np.linalg.norm(direction)
    w = draw_frequencies(150_000, np.full(3, ell), np.random.default_rng(0))
    k, twice = kernel(np.stack([delta, 2.0 * delta]), np.zeros((1, 3)), np.full(3, ell))
    # Four standard errors with Var cos(w'δ) = (1 + k(2δ)) / 2 - k(δ)².
    tolerance = 4.0 * np.sqrt((0.5 * (1.0 + twice[0]) - k[0] ** 2) / len(w))
    assert k[0] == pytest.approx(expected, abs=6e-4)
    assert np.cos(w @ delta).mean() == pytest.approx(k[0], abs=tolerance)
    if direction == [1, 1, 1]:
        each = kernel(delta[:1, None], np.zeros((1, 1)), np.array([ell]))[0, 0]
        assert abs(each**3 - k[0]) > 1.1 * tolerance


def test_radii_follow_their_law():
    """E06: |ℓ w|² / d is u/d over v/5, an F variable with (d, 5) degrees."""
    w = draw_frequencies(20_000, UNEQUAL, np.random.default_rng(1))
    radii = ((w * UNEQUAL) ** 2).sum(axis=1) / 3.0
    # 1.95 / √n is exceeded with probability 0.001 at a seed that is fixed.
    assert kstest(radii, f_law(3, 5).cdf).statistic < 1.95 / np.sqrt(20_000)


@given(
    dim=st.integers(1, 6), num_features=st.integers(1, 20), seed=st.integers(0, 1000)
)
@settings(deadline=None, max_examples=40)
def test_directions_are_orthogonal_within_blocks(dim, num_features, seed):
    """E06: also where the number of features is no multiple of d."""
    lengthscales = np.linspace(0.2, 2.0, dim)
    w = draw_frequencies(num_features, lengthscales, np.random.default_rng(seed))
    assert w.shape == (num_features, dim)
    q = w * lengthscales
    q /= np.linalg.norm(q, axis=1)[:, None]
    for start in range(0, num_features, dim):
        block = q[start : start + dim]
        assert block @ block.T == pytest.approx(np.eye(len(block)), abs=1e-10)


def test_directions_are_uniform_on_the_sphere():
    # E06: a direction's coordinates have mean 0 and variance 1/d; the fourth moment
    # 3 / (d (d + 2)) = 0.2 gives standard errors √(0.2 / n) and less.
    w = draw_frequencies(30_000, np.ones(3), np.random.default_rng(2))
    q = w / np.linalg.norm(w, axis=1)[:, None]
    tolerance = 4.0 * np.sqrt(0.34 / 30_000)
    assert np.abs(q.mean(axis=0)).max() < tolerance
    assert q.T @ q / 30_000 == pytest.approx(np.eye(3) / 3.0, abs=tolerance)


def test_features_by_hand():
    """E07: √(2 s / D) cos(w'x + b)."""
    features = FeatureMap(
        frequencies=np.array([[1.0, 2.0], [0.0, -3.0]]),
        phases=np.array([0.5, 1.0]),
        amplitude=float(np.sqrt(2.0 * 0.9 / 2)),
    )
    x = np.array([[0.3, 0.1]])
    expected = np.sqrt(0.9) * np.cos([1.0, 0.7])
    assert features(x)[0] == pytest.approx(expected, rel=1e-14)
    assert features.single(x).dtype == np.float32
    assert features.single(x)[0] == pytest.approx(expected, rel=1e-6)


def test_feature_map_draws_amplitude_and_phases():
    """E07: the amplitude carries the output scale, phases fill [0, 2π)."""
    features = FeatureMap.draw(5000, UNEQUAL, 3.0, np.random.default_rng(0))
    assert features.amplitude == pytest.approx(np.sqrt(6.0 / 5000), rel=1e-14)
    phases = features.phases / (2.0 * np.pi)
    assert kstest(phases, "uniform").statistic < 1.95 / np.sqrt(5000)


def rms_kernel_error(num_features, num_maps=12):
    rng = np.random.default_rng(5)
    A, B = rng.random((15, 3)), rng.random((15, 3))
    exact = kernel(A, B, UNEQUAL, 2.0)
    squares = []
    for seed in range(num_maps):
        features = FeatureMap.draw(
            num_features, UNEQUAL, 2.0, np.random.default_rng(seed)
        )
        squares.append(np.mean((features(A) @ features(B).T - exact) ** 2))
    return np.sqrt(np.mean(squares))


def test_kernel_error_falls_with_the_root_of_the_number_of_features():
    """E07: error c / √D for d = 3 and unequal lengthscales.

    One feature's product is s (cos(w'δ) + cos(w'(x + x') + 2b)), of variance
    s² (1/2 + (1 + k(2δ)) / 2 - k(δ)²) <= s², so c = s; half of it, from the phases,
    is there even at δ = 0, so c >= s √½.
    """
    sizes = [200, 800, 3200]
    scaled = np.array([rms_kernel_error(D) * np.sqrt(D) / 2.0 for D in sizes])
    # Twelve maps, some twenty independent pairs each: a few per cent of noise.
    assert (scaled < 1.1).all()
    assert (scaled > 0.9 * np.sqrt(0.5)).all()


def draw_weights(Phi, noise_variance, num_paths, seed=1):
    noise = np.full(len(Phi), noise_variance)
    stream = np.random.default_rng(seed)
    return WeightPosterior.of(Phi, noise).draw_centred(num_paths, stream)


def test_weights_have_the_posterior_law():
    """E08: centred draws with covariance (Φ'Φ / noise + I)^-1."""
    Phi = np.random.default_rng(0).standard_normal((4, 6))
    noise, M = 0.3, 100_000
    w = draw_weights(Phi, noise, M)
    assert w.shape == (M, 6)
    C = np.linalg.inv(Phi.T @ Phi / noise + np.eye(6))
    scale = np.diag(C)
    # Standard errors √(C_ii / M) and √((C_ii C_jj + C_ij²) / M); five of them.
    assert (np.abs(w.mean(axis=0)) < 5.0 * np.sqrt(scale / M)).all()
    spread = np.sqrt((np.outer(scale, scale) + C**2) / M)
    assert (np.abs(w.T @ w / M - C) < 5.0 * spread).all()


def test_weights_without_information_keep_the_prior():
    # E08: with a noise of 1e12 the data say nothing.
    w = draw_weights(np.ones((3, 4)), 1e12, 50_000)
    assert w.T @ w / 50_000 == pytest.approx(np.eye(4), abs=5 * np.sqrt(2 / 50_000))


@pytest.mark.parametrize("ratio", [1e-2, 1e-5, 1e-6, 1e-9])
def test_weights_keep_their_law_when_noise_is_small(ratio):
    """E08: the residual's std, at sixty data points and between them.

    The ratio is that of noise variance to output scale; values that are not
    standardised reach 1e-9 with an output scale of 1000.
    """
    gp = make_gp(60, 2)
    features = FeatureMap.draw(500, np.array([0.5, 0.8]), 1.0, np.random.default_rng(0))
    Phi = features(gp.X)
    X = np.vstack([gp.X[:20], np.random.default_rng(1).random((20, 2))])
    phi, M = features(X), 2000
    found = (draw_weights(Phi, ratio, M) @ phi.T).std(axis=0)
    # In double precision, with the factor of the n x n matrix, from the formula.
    K = Phi @ Phi.T + ratio * np.eye(60)
    white = np.linalg.solve(np.linalg.cholesky(K), Phi @ phi.T)
    exact = np.sqrt((phi**2).sum(axis=1) - (white**2).sum(axis=0))
    # A standard deviation from M draws is right to 1 / √(2 M); five of those.
    assert (np.abs(found / exact - 1.0) < 5.0 / np.sqrt(2.0 * M)).all()


@pytest.mark.parametrize("count", [1, 2, 99_999, 100_000])
def test_normals_are_standard_and_independent(count):
    # E08: moments within four standard errors, the law within 1.95 / √n.
    z = draw_normals(count, np.random.default_rng(0))
    assert z.shape == (count,)
    assert z.dtype == np.float32
    if count > 2:
        assert abs(z.mean()) < 4.0 / np.sqrt(count)
        assert abs(z.var() - 1.0) < 4.0 * np.sqrt(2.0 / count)
        assert kstest(z, "norm").statistic < 1.95 / np.sqrt(count)
        # Neighbours, and the two halves that share a radius, and their squares.
        half = count // 2
        for one, other in ((z[1:], z[:-1]), (z[:half], z[-half:])):
            for power in (1, 2):
                r = np.corrcoef(one**power, other**power)[0, 1]
                assert abs(r) < 4.0 / np.sqrt(len(one))


def test_path_is_the_mean_plus_a_feature_residual():
    """E09: value, residual and gradient belong together."""
    gp = make_gp(8, 2)
    path = FeaturePath.draw(gp, 50, np.random.default_rng(0))
    X = np.random.default_rng(1).random((6, 2))
    value, gradient = path.value_and_gradient(X)
    expected = gp.predict(X)[0] + path.features(X) @ path.weights
    assert value == pytest.approx(expected, rel=1e-12)
    assert path.residual(X)[0] == pytest.approx(value - gp.predict(X)[0], abs=1e-12)
    # Frequencies reach some tens: third derivatives of 1e4 at most, 1e4 STEP² = 1e-6.
    by_steps = differences(lambda x: path.value_and_gradient(x)[0], X, step=2e-6)
    assert gradient == pytest.approx(by_steps, abs=1e-6)


def test_paths_have_the_posterior_mean_and_covariance():
    """E09: over draws of map and weights, the GP's mean and nearly its covariance."""
    gp = make_gp(6, 2, noise_variance=0.05)
    X = np.random.default_rng(3).random((5, 2))
    mean, cov = gp.joint(X)
    M, D = 1500, 300
    stream = np.random.default_rng(0)
    values = np.array(
        [FeaturePath.draw(gp, D, stream).value_and_gradient(X)[0] for _ in range(M)]
    )
    std = np.sqrt(np.diag(cov))
    spread = np.sqrt((np.outer(std**2, std**2) + cov**2) / M)
    # Five standard errors, and a bias of the feature posterior of order s / D.
    bias = 5.0 * gp.hyper.outputscale / D
    assert (np.abs(values.mean(axis=0) - mean) < 5.0 * std / np.sqrt(M)).all()
    assert (np.abs(np.cov(values.T) - cov) < 5.0 * spread + bias).all()


def test_paths_pass_through_exact_data():
    """E09: with hardly any noise every path goes through the observations."""
    gp = make_gp(6, 2, noise_variance=1e-6)
    path = FeaturePath.draw(gp, 200, np.random.default_rng(0))
    value, _ = path.value_and_gradient(gp.X)
    # The residual at the data has the noise's standard deviation, 1e-3.
    assert value == pytest.approx(gp.predict(gp.X)[0], abs=6e-3)
    far, _ = path.residual(np.random.default_rng(1).random((20, 2)))
    assert np.abs(far).max() > 0.05


def test_path_depends_on_its_stream_only():
    gp, X = make_gp(5, 2), np.array([[0.2, 0.9]])
    one, two, other = (
        FeaturePath.draw(gp, 30, np.random.default_rng(s)).value_and_gradient(X)[0]
        for s in (4, 4, 5)
    )
    assert one == two
    assert one != other


def test_samples_collect_winners_with_counts():
    """E10: each distinct maximiser once, with the number of paths that peak there."""
    candidates = np.array([[0.1], [0.2], [0.3], [0.4]])
    samples = OptimumSamples.at(candidates, np.array([3, 1, 3, 3]))
    assert samples.points.tolist() == [[0.2], [0.4]]
    assert samples.counts.tolist() == [1.0, 3.0]


SAMPLERS = {
    "features": FeatureSampler(num_paths=400, num_features=200),
    "exact": ExactSampler(num_paths=400),
}


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_samples_are_candidates_and_count_every_path(sampler):
    # E10
    gp = make_gp(6, 2)
    candidates = np.random.default_rng(0).random((50, 2))
    samples = sampler(gp, candidates, Streams(3).of(1, 2))
    assert samples.counts.sum() == 400
    assert (samples.counts >= 1.0).all()
    index = [np.flatnonzero((candidates == p).all(axis=1)) for p in samples.points]
    assert all(len(i) == 1 for i in index)
    assert (np.diff(np.concatenate(index)) > 0).all()
    again = sampler(gp, candidates, Streams(3).of(1, 2))
    assert (again.counts == samples.counts).all()
    assert (sampler(gp, candidates, Streams(3).of(1, 3)).points[0] == 0).sum() == 0


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_a_certain_posterior_has_one_maximiser(sampler):
    # E10: the argmax, not the argmin; the std of 1e-3 is far below the differences.
    gp = make_gp(12, 1, noise_variance=1e-6)
    samples = sampler(gp, gp.X[np.argsort(gp.X[:, 0])], Streams(0).of(0, 1))
    best = gp.X[np.argmax(gp.predict(gp.X)[0])]
    assert samples.points.tolist() == [best.tolist()]


def test_number_of_paths_need_not_fill_its_blocks():
    # E10: blocks are worked off one by one; the last may be short.
    gp = make_gp(6, 2)
    candidates = np.random.default_rng(0).random((50, 2))
    for num_paths in (1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7):
        sampler = FeatureSampler(num_paths=num_paths, num_features=20)
        samples = sampler(gp, candidates, Streams(0).of(0, 1))
        assert samples.counts.sum() == num_paths


def winners(samples, candidates, num_paths):
    frequencies = np.zeros(len(candidates))
    for point, count in zip(samples.points, samples.counts, strict=True):
        frequencies[np.flatnonzero((candidates == point).all(axis=1))] = count
    return frequencies / num_paths


def test_both_samplers_draw_from_the_law_of_the_maximiser():
    """E10: total variation within Monte Carlo error, and of a plain simulation.

    Between two samples of M draws in k cells E TV <= ½ Σ √(2 p / M) <= ½ √(2 k / M);
    the features of several maps add an error of order 1 / √(maps D).
    """
    gp = make_gp(4, 1, noise_variance=0.05, lengthscales=np.array([0.2]))
    candidates = np.linspace(0.0, 1.0, 30)[:, None]
    M, D, maps = 20_000, 2000, 8
    mean, cov = gp.joint(candidates)
    plain = np.random.default_rng(0).multivariate_normal(mean, cov, M, method="eigh")
    law = np.bincount(plain.argmax(axis=1), minlength=30) / M
    exact = ExactSampler(num_paths=M)(gp, candidates, Streams(0).of(0, 1))
    sampler = FeatureSampler(num_paths=M // maps, num_features=D)
    rounds = [sampler(gp, candidates, Streams(0).of(0, t)) for t in range(maps)]
    by_features = np.mean([winners(r, candidates, M // maps) for r in rounds], axis=0)
    noise = 0.5 * np.sqrt(2.0 * 30 / M)
    assert 0.5 * np.abs(winners(exact, candidates, M) - law).sum() < noise
    tolerance = noise + 2.0 / np.sqrt(maps * D)
    assert 0.5 * np.abs(by_features - law).sum() < tolerance
    assert law.max() < 0.5


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_samples_do_not_depend_on_the_level_of_the_values(sampler):
    """E10: adding 1e7 to every observation moves no maximiser."""
    candidates = np.random.default_rng(0).random((200, 2))
    low, high = make_gp(6, 2), make_gp(6, 2, level=1e7)
    address = Streams(0).of(0, 1)
    one, two = (sampler(gp, candidates, address) for gp in (low, high))
    # At most a tie or two may fall the other way.
    difference = winners(one, candidates, 400) - winners(two, candidates, 400)
    assert np.abs(difference).sum() < 0.02

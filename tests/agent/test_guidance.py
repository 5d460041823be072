import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import qmc
from tests.agent.numerics import differences, make_gp
from tests.strategies import components, dims, strengths, unit_points

from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import KNOWN_RADIUS, LocalScaling, UniformScaling
from guidefbo.agent.guidance.schedule import SCHEDULES, constant, decaying
from guidefbo.core.component import Components
from guidefbo.core.errors import WireError
from guidefbo.wire.guide import GuidancePacket

ANY_WEIGHT = st.one_of(
    st.floats(0.0, 1.0), st.floats(allow_nan=False), st.just(1.0), st.just(1e300)
)
GPS = {d: make_gp(6, d) for d in range(1, 5)}


@st.composite
def situations(draw, weights=ANY_WEIGHT):
    """A dimension, what was received, and where it is looked at."""
    dim = draw(dims)
    received = draw(components(dim, weights))
    X = draw(unit_points(draw(st.integers(1, 6)), dim))
    return dim, received, X


def make_components(dim=2, is_full=False, seed=0, size=3):
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0.02, 0.2, (size, dim))
    if is_full:
        A = rng.standard_normal((size, dim, dim)) * 0.2
        variances = A @ A.transpose(0, 2, 1) + 0.02 * np.eye(dim)
    return Components(
        weights=rng.dirichlet(np.ones(size)) * 0.9,
        centers=rng.random((size, dim)),
        variances=variances,
    )


def intervene(gp, received, strength, intervention=LocalScaling.widening):
    scaling = intervention(GuidanceField.of(received), strength, gp.X)
    return InterventionalPosterior(local=gp, scaling=scaling)


def test_field_by_hand():
    """E15: Σ ω exp(-½ (x-μ)' Σ^-1 (x-μ))."""
    field = GuidanceField.of(
        Components(
            weights=np.array([0.6, 0.3]),
            centers=np.array([[0.5, 0.5], [0.0, 1.0]]),
            variances=np.array([[0.01, 0.04], [0.25, 1.0]]),
        )
    )
    X = np.array([[0.5, 0.5], [0.6, 0.1]])
    second = [0.3 * np.exp(-0.5 * (1.0 + 0.25)), 0.3 * np.exp(-0.5 * (1.44 + 0.81))]
    expected = [0.6 + second[0], 0.6 * np.exp(-0.5 * (1.0 + 4.0)) + second[1]]
    assert field(X) == pytest.approx(expected, rel=1e-13)


def test_full_field_by_hand():
    """E15: a correlated component, inverse [[4, -2], [-2, 4]] / 3 / 0.04."""
    covariance = 0.04 * np.array([[[1.0, 0.5], [0.5, 1.0]]])
    field = GuidanceField.of(
        Components(
            weights=np.array([0.8]),
            centers=np.array([[0.5, 0.5]]),
            variances=covariance,
        )
    )
    X = np.array([[0.7, 0.7], [0.7, 0.3]])
    # Along the correlation the squared distance is 4/3, against it 4.
    expected = 0.8 * np.exp([-2.0 / 3.0, -2.0])
    assert field(X) == pytest.approx(expected, rel=1e-12)


@given(situations())
@settings(deadline=None, max_examples=200)
def test_field_lies_between_zero_and_one_for_any_weights(situation):
    """E15: whatever the other side sends, also sums above one and negative weights."""
    _, received, X = situation
    field = GuidanceField.of(received)
    everywhere = np.vstack([X, received.centers])
    G, dG = field.with_gradient(everywhere)
    assert ((G >= 0.0) & (G <= 1.0)).all()
    assert np.isfinite(dG).all()
    assert (field(everywhere) == G).all()


@given(situations(st.floats(0.0, 0.2)))
@settings(deadline=None)
def test_honest_weights_are_used_as_they_are(situation):
    # E15: five weights of at most 0.2 sum to at most one and pass unchanged.
    _, received, _ = situation
    assert (GuidanceField.of(received).weights == received.weights).all()


def test_weights_beyond_one_are_scaled_down_together():
    # E15: 1 and 3 are clipped to 1 each, then share the mass.
    received = Components(
        weights=np.array([3.0, 1.0, -2.0]),
        centers=np.zeros((3, 1)),
        variances=np.ones((3, 1)),
    )
    assert GuidanceField.of(received).weights.tolist() == [0.5, 0.5, 0.0]


def test_field_does_not_exceed_one_by_rounding():
    # E15: shares of one may add up to one plus an ulp where the components agree.
    over = 0
    for seed in range(200):
        weights = np.random.default_rng(seed).random(7)
        received = Components(
            weights=weights, centers=np.full((7, 1), 0.5), variances=np.ones((7, 1))
        )
        field = GuidanceField.of(received)
        over += field.weights.sum() > 1.0
        assert field(np.array([[0.5]]))[0] <= 1.0
    assert over > 0


def test_a_packet_with_an_undefined_weight_never_becomes_a_field():
    received = Components(
        weights=np.array([np.nan]),
        centers=np.array([[0.5]]),
        variances=np.array([[0.1]]),
    )
    with pytest.raises(WireError, match="weight must be"):
        GuidancePacket(components=received)


def hostile_covariance(smallest, largest, is_full, rng):
    """Return variances between these two, in any direction if full."""
    variances = np.geomspace(smallest, largest, 6)
    if not is_full:
        return variances
    Q, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    covariance = (Q * variances) @ Q.T
    return 0.5 * (covariance + covariance.T)


@pytest.mark.parametrize(
    ("is_full", "largest"), [(False, 1.0), (False, 1e2), (True, 1.0), (True, 1e2)]
)
def test_hostile_shapes_leave_the_field_and_its_gradient_finite(is_full, largest):
    """E15: whatever passes the wire's checks keeps G in [0, 1] and dG finite.

    Narrower shapes have inverses that overflow, or that rounding makes indefinite.
    """
    rng = np.random.default_rng(0)
    accepted = 0
    for smallest in 10.0 ** -np.repeat(np.arange(2, 14), 60 if largest > 1.0 else 5):
        received = Components(
            weights=np.ones(1),
            centers=np.full((1, 6), 0.5),
            variances=hostile_covariance(smallest, largest, is_full, rng)[None],
        )
        try:
            packet = GuidancePacket(components=received)
        except WireError:
            continue
        accepted += 1
        X = np.vstack([np.full(6, 0.5), rng.random((20, 6))])
        G, dG = GuidanceField.of(packet.components).with_gradient(X)
        assert ((G >= 0.0) & (G <= 1.0)).all()
        assert np.isfinite(dG).all()
        assert G[0] == 1.0
    # Honest spreads are at least the mixture's regularisation of 1e-6.
    assert accepted >= 25


@pytest.mark.parametrize("variance", [5e-324, 1e-310, 1e300])
def test_spreads_that_no_arithmetic_survives_are_refused(variance):
    received = Components(
        weights=np.ones(1),
        centers=np.full((1, 2), 0.5),
        variances=np.full((1, 2), variance),
    )
    with pytest.raises(WireError, match="variance"):
        GuidancePacket(components=received)


@given(situations())
@settings(deadline=None)
def test_diagonal_and_full_components_agree(situation):
    # E15: a diagonal matrix is a list of variances.
    dim, received, X = situation
    if received.is_full:
        diagonal = np.diagonal(received.variances, axis1=1, axis2=2).copy()
    else:
        diagonal = received.variances
    forms = (diagonal, diagonal[:, :, None] * np.eye(dim))
    (G, dG), (full_G, full_dG) = (
        GuidanceField.of(
            Components(weights=received.weights, centers=received.centers, variances=v)
        ).with_gradient(X)
        for v in forms
    )
    assert full_G == pytest.approx(G, abs=1e-12)
    # Slopes of a bump of std 0.01 reach 60.
    assert full_dG == pytest.approx(dG, abs=1e-10)


@pytest.mark.parametrize("is_full", [False, True])
def test_field_and_scaling_gradients_are_central_differences(is_full):
    """E15, E16: third derivatives of a bump of std 0.14 reach 1e3, an error of 2e-8."""
    field = GuidanceField.of(make_components(is_full=is_full))
    X = np.random.default_rng(1).random((8, 2))
    _, gradient = field.with_gradient(X)
    assert gradient == pytest.approx(differences(field, X), abs=2e-7)
    scaling = LocalScaling.widening(field, 1.5, np.array([[0.5, 0.5]]))
    _, gradient = scaling.with_gradient(X)
    assert gradient == pytest.approx(differences(scaling, X), abs=3e-7)


@given(situations(), strengths, st.integers(1, 100))
@settings(deadline=None, max_examples=150)
def test_scaling_lies_between_one_and_one_plus_strength(situation, max_strength, t):
    """E16, E17, E21: 1 <= S <= 1 + λ_t, local and uniform."""
    dim, received, X = situation
    strength = decaying(max_strength, t)
    field = GuidanceField.of(received)
    for intervention in (LocalScaling.widening, UniformScaling.averaging):
        factor = intervention(field, strength, GPS[dim].X)(X)
        assert (factor >= 1.0).all()
        assert (factor <= 1.0 + strength).all()


def test_scaling_by_hand():
    """E16: 1 + λ G away from the data."""
    field = GuidanceField.of(make_components())
    scaling = LocalScaling.widening(field, 0.7, np.array([[0.9, 0.9]]))
    X = np.array([[0.1, 0.2], [0.6, 0.4]])
    assert scaling(X) == pytest.approx(1.0 + 0.7 * field(X), rel=1e-14)


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_nothing_is_widened_at_observed_inputs(level):
    """E16: S = 1 within the known radius, in every corner of the cube."""
    received = Components(
        weights=np.ones(1),
        centers=np.full((1, 3), level),
        variances=np.full((1, 3), 0.5),
    )
    observed = np.vstack([np.full(3, level), np.full(3, 0.4)])
    scaling = LocalScaling.widening(GuidanceField.of(received), 2.0, observed)
    inward = 1.0 if level < 1.0 else -1.0
    step = inward * np.array([KNOWN_RADIUS, 0.0, 0.0])
    X = observed[0] + np.outer([0.0, 0.9, 1.1], step)
    S, dS = scaling.with_gradient(X)
    assert S[:2].tolist() == [1.0, 1.0]
    assert (dS[:2] == 0.0).all()
    assert S[2] > 2.9


def test_known_points_are_found_among_many_with_a_coordinate_in_common():
    """E16: as the distances to all observed inputs say."""
    rng = np.random.Generator(np.random.PCG64(0))
    observed = rng.random((40, 3))
    observed[::2, 0] = 0.0
    received = Components(
        weights=np.ones(1), centers=np.full((1, 3), 0.5), variances=np.ones((1, 3))
    )
    field = GuidanceField.of(received)
    near = observed + 0.4 * KNOWN_RADIUS
    aside = observed + np.array([0.0, 0.1, 0.0])
    X = np.vstack([observed, near, aside, rng.random((20, 3))])
    gaps = np.linalg.norm(X[:, None] - observed, axis=2).min(axis=1)
    lam = np.where(gaps < KNOWN_RADIUS, 0.0, 2.0)
    assert (lam == 0.0).sum() == 80
    G, dG = field.with_gradient(X)
    S, dS = LocalScaling.widening(field, 2.0, observed).with_gradient(X)
    np.testing.assert_array_equal(S, 1.0 + lam * G)
    np.testing.assert_array_equal(dS, lam[:, None] * dG)


def test_schedules_by_hand():
    """E17: λ_max / √t, or λ_max."""
    assert [decaying(3.0, t) for t in (1, 4, 9)] == [3.0, 1.5, 1.0]
    assert [constant(3.0, t) for t in (1, 4, 9)] == [3.0, 3.0, 3.0]
    assert (SCHEDULES["decaying"], SCHEDULES["constant"]) == (decaying, constant)


@pytest.mark.parametrize("is_full", [False, True])
def test_uniform_scaling_averages_the_field_over_512_sobol_points(is_full):
    """E21"""
    field = GuidanceField.of(make_components(dim=3, is_full=is_full))
    scaling = UniformScaling.averaging(field, 0.8, np.zeros((1, 3)))
    mean = field(qmc.Sobol(3, scramble=False).random_base2(9)).mean()
    X = np.random.default_rng(0).random((4, 3))
    factor, dS = scaling.with_gradient(X)
    assert factor == pytest.approx(np.full(4, 1.0 + 0.8 * mean), rel=1e-13)
    assert (scaling(X) == factor).all()
    assert (dS == 0.0).all()


INTERVENTIONS = {"local": LocalScaling.widening, "uniform": UniformScaling.averaging}
interventions = pytest.mark.parametrize(
    "intervention", INTERVENTIONS.values(), ids=INTERVENTIONS
)


@interventions
@given(situation=situations(), strength=strengths)
@settings(deadline=None)
def test_intervention_keeps_the_mean_and_scales_the_std(
    intervention, situation, strength
):
    """E18: mean~ = mean, cov~ = S cov S, std~ = S std, and still a covariance."""
    dim, received, X = situation
    gp = GPS[dim]
    figp = intervene(gp, received, strength, intervention)
    S = figp.scaling(X)
    mean, std = gp.predict(X)
    wide_mean, wide_std = figp.predict(X)
    assert (wide_mean == mean).all()
    assert wide_std == pytest.approx(S * std, rel=1e-14)
    moments = figp.moments(X)
    assert moments.mean == pytest.approx(mean, rel=1e-12)
    assert moments.std == pytest.approx(wide_std, rel=1e-9)
    joint_mean, cov = figp.joint(X)
    assert joint_mean == pytest.approx(mean, rel=1e-12)
    assert cov == pytest.approx(np.outer(S, S) * gp.joint(X)[1], abs=1e-12)
    assert np.linalg.eigvalsh(cov).min() >= -1e-9
    assert np.sqrt(np.diag(cov)) == pytest.approx(wide_std, rel=1e-8)
    assert figp.dim == dim


@interventions
@given(situation=situations(st.floats(0.0, 1.0)), is_empty=st.booleans())
@settings(deadline=None, max_examples=30)
def test_intervention_collapses_to_the_local_posterior(
    intervention, situation, is_empty
):
    """E18, E19: strength 0, or nothing received, and FI-GP is the local GP."""
    dim, received, X = situation
    gp = GPS[dim]
    if is_empty:
        received = received.take(np.arange(0))
    figp = intervene(gp, received, 2.0 if is_empty else 0.0, intervention)
    assert (figp.predict(X)[1] == gp.predict(X)[1]).all()
    assert (figp.joint(X)[1] == gp.joint(X)[1]).all()
    for ours, local in zip(figp.moments(X), gp.moments(X), strict=True):
        assert (ours == local).all()
    ours, local = (p.sample_path(10, np.random.default_rng(0)) for p in (figp, gp))
    for one, other in zip(
        ours.value_and_gradient(X), local.value_and_gradient(X), strict=True
    ):
        assert one == pytest.approx(other, abs=1e-10)
    ours, local = (p.fantasise(4, np.random.default_rng(0)) for p in (figp, gp))
    assert ours.draws == pytest.approx(local.draws, abs=1e-12)
    assert ours.moments(X).means == pytest.approx(local.moments(X).means, abs=1e-10)
    assert (ours.moments(X).std == local.moments(X).std).all()


@interventions
@pytest.mark.parametrize("is_full", [False, True])
def test_interventional_gradients_are_central_differences(intervention, is_full):
    """E18, E19: of mean, std and path; third derivatives reach 1e3, errors 2e-8."""
    gp = GPS[2]
    figp = intervene(gp, make_components(is_full=is_full), 1.5, intervention)
    X = np.random.default_rng(4).random((6, 2))
    moments = figp.moments(X)
    by_mean = differences(lambda x: figp.predict(x)[0], X)
    by_std = differences(lambda x: figp.predict(x)[1], X)
    assert moments.mean_gradient == pytest.approx(by_mean, abs=3e-7)
    assert moments.std_gradient == pytest.approx(by_std, abs=3e-7)
    path = figp.sample_path(40, np.random.default_rng(0))
    _, gradient = path.value_and_gradient(X)
    by_path = differences(lambda x: path.value_and_gradient(x)[0], X, step=2e-6)
    assert gradient == pytest.approx(by_path, abs=2e-6)


@interventions
def test_interventional_path_scales_the_departure_from_the_mean(intervention):
    """E19: mean + S (path - mean), with the local path of the same stream."""
    gp = GPS[2]
    figp = intervene(gp, make_components(), 1.5, intervention)
    X = np.vstack([np.random.default_rng(0).random((5, 2)), gp.X[:2]])
    wide, local = (
        p.sample_path(30, np.random.default_rng(7)).value_and_gradient(X)[0]
        for p in (figp, gp)
    )
    mean, S = gp.predict(X)[0], figp.scaling(X)
    assert wide == pytest.approx(mean + S * (local - mean), abs=1e-12)


@interventions
def test_interventional_fantasies_are_brute_force_conditioning(intervention):
    """E18, E22: conditioning the joint Gaussian of covariance S k S on its own draws.

    The lengthscales are short, so that k(X, X) is regular and the nugget of 1e-7 of
    the output scale moves nothing by more than some 1e-6.
    """
    gp = make_gp(6, 2, noise_variance=0.1, lengthscales=np.array([0.15, 0.2]))
    figp = intervene(gp, make_components(), 1.5, intervention)
    fantasies = figp.fantasise(5, np.random.default_rng(0))
    assert (fantasies.observed == gp.X).all()
    X = np.random.default_rng(8).random((7, 2))
    n = len(gp.X)
    mean, cov = figp.joint(np.vstack([gp.X, X]))
    gain = np.linalg.solve(cov[:n, :n], cov[:n, n:]).T
    expected = mean[n:, None] + gain @ (fantasies.draws - mean[:n, None])
    left = np.diag(cov[n:, n:] - gain @ cov[:n, n:])
    moments = fantasies.moments(X)
    assert moments.means == pytest.approx(expected, abs=1e-5)
    assert moments.std**2 == pytest.approx(left, abs=1e-5)


@interventions
def test_interventional_draws_have_the_law_of_the_interventional_posterior(
    intervention,
):
    """E18: draws at the observed inputs have mean and covariance of FI-GP there."""
    gp = make_gp(3, 2, noise_variance=0.3)
    figp = intervene(gp, make_components(), 1.5, intervention)
    M = 4096
    F = figp.fantasise(M, np.random.default_rng(0)).draws
    mean, cov = figp.joint(gp.X)
    # Quasi-random: better than the plain standard errors, so two of those suffice.
    std = np.sqrt(np.diag(cov))
    assert F.mean(axis=1) == pytest.approx(mean, abs=2.0 * std.max() / np.sqrt(M))
    tolerance = 2.0 * np.sqrt(2.0) * cov.max() / np.sqrt(M)
    assert np.cov(F) == pytest.approx(cov, abs=tolerance)


@interventions
def test_fantasy_gradients_are_central_differences(intervention):
    """E18, E22: pull_back turns sensitivities of the means into input gradients."""
    gp = make_gp(5, 2, noise_variance=0.1)
    X = np.random.default_rng(2).random((6, 2))
    weights = np.array([0.3, -1.0, 0.5, 1.2])
    sensitivity = np.tile(weights, (6, 1))
    for posterior in (gp, intervene(gp, make_components(), 1.5, intervention)):
        fantasies = posterior.fantasise(4, np.random.default_rng(1))
        moments = fantasies.moments(X)
        by_means = differences(lambda x, f=fantasies: f.moments(x).means @ weights, X)
        by_std = differences(lambda x, f=fantasies: f.moments(x).std, X)
        # Noise-free draws make steep functions: third derivatives of 1e4.
        assert moments.pull_back(sensitivity) == pytest.approx(by_means, abs=1e-5)
        assert moments.std_gradient() == pytest.approx(by_std, abs=1e-5)


def test_fantasies_interpolate_their_draws():
    # E22: noise-free conditioning returns the draws, within the nugget.
    gp = make_gp(6, 2, noise_variance=0.1, lengthscales=np.array([0.2, 0.3]))
    fantasies = gp.fantasise(8, np.random.default_rng(0))
    moments = fantasies.moments(gp.X)
    assert moments.means == pytest.approx(fantasies.draws, abs=1e-5)
    assert (moments.std < 1e-3).all()


@given(arrays(float, st.integers(1, 5), elements=st.floats(0.0, 1.0)))
@settings(deadline=None)
def test_components_are_copied_and_read_only(weights):
    size = len(weights)
    received = Components(
        weights=weights, centers=np.zeros((size, 1)), variances=np.ones((size, 1))
    )
    weights[0] = 7.0
    assert received.weights[0] != 7.0
    with pytest.raises(ValueError, match="read-only"):
        received.weights[0] = 1.0


def test_one_component_gives_what_two_halves_of_it_give():
    """E15: the short way for a single component is the sum's."""
    rng = np.random.Generator(np.random.PCG64(1))
    center, variance, X = rng.random(4), rng.random(4) + 0.1, rng.random((9, 4))

    def field(count):
        return GuidanceField.of(
            Components(
                weights=np.full(count, 0.8 / count),
                centers=np.tile(center, (count, 1)),
                variances=np.tile(variance, (count, 1)),
            )
        )

    one, halves = field(1).with_gradient(X), field(2).with_gradient(X)
    assert one[0] == pytest.approx(halves[0], rel=1e-14)
    assert one[1] == pytest.approx(halves[1], rel=1e-14)


def test_a_point_near_the_second_of_two_inputs_in_line_is_known():
    """E16: inputs that lie alike along the direction looked along are all looked at."""
    middle, across = np.full(2, 0.5), np.array([3.0**0.5, -(2.0**0.5)])
    observed = np.stack([middle + 0.1 * across, middle, middle - 0.1 * across])
    received = Components(
        weights=np.ones(1), centers=middle[None], variances=np.ones((1, 2))
    )
    scaling = LocalScaling.widening(GuidanceField.of(received), 2.0, observed)
    near = observed + 0.3 * KNOWN_RADIUS
    assert scaling(near).tolist() == [1.0, 1.0, 1.0]
    assert (scaling(observed + 0.05 * across) > 2.0).all()

"""Trends of the third and fourth degree: what they are, and when they are used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.numerics import differences, make_gp
from tests.site.sites import SPACES
from tests.trends import MODEL, NOTHING, agent, packet

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.side import OTHERS
from guidefbo.agent.strategies.shape.features import ShapeFeatures, polynomials
from guidefbo.agent.strategies.shape.models import CLEARLY, VAGUE, VAGUE_HIGHER
from guidefbo.agent.surrogate.basis import HigherTerms, Terms
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Streams
from guidefbo.server.side import Draws
from guidefbo.server.strategies.shape.settings import ShapeServerSettings
from guidefbo.testing import check_agent_side, check_posterior
from guidefbo.wire.shape import ShapePacket, ShapeUpload

MIXED = SPACES["mixed"].domain
"""x, n, the three options of a drug, warm."""


def sent(side, gp):
    data = Dataset(X=gp.X, y=gp.y)
    return side.upload(gp, data, side.study(gp), None, Streams(0).of(0, 1))


def seen(features, beta, num_results, seed=0, noise_std=0.05):
    """Return a process that has seen a trend of these coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.random((num_results, features.dim))
    y = features(X)[:, 1:] @ beta + noise_std * rng.standard_normal(num_results)
    return MODEL.fit(Dataset(X=X, y=y)).posterior


def two_humps(features, cubic=0.3, quartic=-0.9):
    """Return coefficients of unit size, mostly of the fourth degree."""
    m = len(features.numbers)
    return np.repeat([0.1, -0.1, cubic, quartic], m) / np.sqrt(m)


# Features.


def test_polynomials_are_uncorrelated_with_mean_nought_and_variance_one():
    """E98: over the cube, by a quadrature that is exact here."""
    nodes, w = np.polynomial.legendre.leggauss(9)
    Phi = ShapeFeatures.of(Domain.box(1), 4)(0.5 + 0.5 * nodes[:, None])
    np.testing.assert_allclose(Phi.T @ (0.5 * w[:, None] * Phi), np.eye(5), atol=1e-14)


@pytest.mark.parametrize("x", [0.0, 0.2, 0.5, 1.0])
def test_polynomials_are_those_of_legendre(x):
    """E98: √(2k + 1) P_k(2x - 1), as NumPy has them."""
    expected = [
        np.sqrt(2 * k + 1) * np.polynomial.Legendre.basis(k)(2 * x - 1)
        for k in (1, 2, 3, 4)
    ]
    row = ShapeFeatures.of(Domain.box(1), 4)(np.array([[x]]))[0]
    assert row[1:] == pytest.approx(expected, abs=1e-13)
    assert polynomials(x - 0.5) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_form_by_degree(degree):
    features = ShapeFeatures.of(MIXED, degree)
    kinds = ("slopes", "bends", "cubics", "quartics")[:degree]
    assert features.form == (*((k, 3) for k in kinds), ("choice", 3), ("place", 3))
    assert features.size == 3 * degree + 3
    assert features.quadratic.size == features.of_quadratic.sum() == 9
    X = np.random.default_rng(0).random((5, MIXED.dim))
    low = features(X)[:, 1:][:, features.of_quadratic]
    assert np.array_equal(low, features.quadratic(X)[:, 1:])


# A sum of them.

curves = st.floats(-5.0, 5.0, allow_subnormal=False)


@given(st.lists(curves, min_size=4, max_size=4), st.integers(0, 1000))
def test_summit_is_the_highest_point(numbers, seed):
    """No point of the cube is higher by more than half a step of the grid allows."""
    slope, curvature, cubic, quartic = (np.array([a]) for a in numbers)
    terms = Terms(0.3, slope, curvature, HigherTerms(cubic, quartic))
    U = np.random.default_rng(seed).random((200, 1)) - 0.5
    top = terms.value(terms.summit[None] - 0.5)[0]
    assert 0.0 <= terms.summit[0] <= 1.0
    # Between two neighbours of the grid the sum changes by its slope times a half.
    steepest = np.abs(terms.gradient(np.linspace(-0.5, 0.5, 400)[:, None])).max()
    assert terms.value(U).max() <= top + steepest / 400.0 + 1e-12


def test_bends_of_a_sum_are_its_second_differences():
    rng = np.random.default_rng(2)
    terms = Terms(0.1, *rng.standard_normal((2, 3)), HigherTerms(*rng.random((2, 3))))
    u = rng.random(3) - 0.5
    slopes = differences(lambda U: terms.value(U), u[None])[0]
    assert terms.gradient(u[None])[0] == pytest.approx(slopes, rel=1e-7)
    h = 1e-5
    bends = [
        (terms.gradient((u + h * e)[None]) - terms.gradient((u - h * e)[None]))[0]
        / 2
        / h
        for e in np.eye(3)
    ]
    assert terms.bend(u) == pytest.approx(np.diagonal(bends), rel=1e-8)


@pytest.mark.parametrize("domain", [Domain.box(3), MIXED], ids=["box", "mixed"])
def test_model_of_the_fourth_degree_is_a_posterior(domain):
    """The contract: gradients, joint, paths, one coordinate at a time."""
    gp = make_gp(12, domain.dim)
    side = agent(domain, degree=4)
    model = side.study(gp).curved
    assert model is not None
    check_posterior(model)


def test_mean_by_sums_is_the_mean():
    gp, side = make_gp(12, MIXED.dim), agent(MIXED, degree=4)
    model = side.study(gp).curved
    by_sums = model.mean_by_sums()
    X = np.random.default_rng(3).random((6, MIXED.dim))
    assert by_sums is not None
    mean = by_sums.finish(by_sums.sums.at(X))
    assert mean == pytest.approx(model.predict_mean(X), rel=1e-10)


# What is sent.


@pytest.mark.parametrize("domain", [Domain.box(2), MIXED], ids=["box", "mixed"])
def test_lower_degrees_are_those_of_the_quadratic(domain):
    """Bit for bit: who cuts off the higher ones has the message of degree two."""
    gp = make_gp(15, domain.dim)
    low, high = (sent(agent(domain, degree=k), gp) for k in (2, 4))
    kept = [n for n, k in enumerate(high.kinds) if k not in ("cubics", "quartics")]
    for mine, theirs in ((high.means, low.means), (high.variances, low.variances)):
        assert len(kept) == len(theirs)
        for n, block in zip(kept, theirs, strict=True):
            assert np.array_equal(mine[n], block)


def test_higher_degrees_are_what_the_data_add_to_the_prior():
    """E97: against the posterior of the coefficients, written out."""
    gp, side = make_gp(25, 2), agent(Domain.box(2), degree=4)
    model, message = side.study(gp).curved, sent(side, gp)
    F, scale = side.features(gp.X), gp.y.std()
    S = np.diag(scale**2 * np.append(1.0, [VAGUE] * 4 + [VAGUE_HIGHER] * 4))
    q = squared_distances(gp.X, gp.X, gp.hyper.lengthscales)
    K = matern52(q, model.rest.hyper.outputscale) + np.diag(gp.noise) + F @ S @ F.T
    V = np.diagonal(S - S @ F.T @ np.linalg.solve(K, F @ S))[5:] / scale**2
    b = (S @ F.T @ np.linalg.solve(K, gp.y - gp.hyper.mean))[5:] / scale
    precision = 1.0 / V - 1.0 / VAGUE_HIGHER
    assert np.concatenate(message.variances[2:4]) == pytest.approx(
        1.0 / precision, rel=1e-6
    )
    assert np.concatenate(message.means[2:4]) == pytest.approx(
        b / (V * precision), rel=1e-6
    )


def test_many_data_tell_the_coefficients():
    features = ShapeFeatures.of(Domain.box(2), 4)
    beta = two_humps(features)
    gp = seen(features, beta, 300)
    message = sent(agent(Domain.box(2), degree=4), gp)
    found = np.concatenate(message.means[2:4])
    # Coefficients are sent in standard deviations of the values.
    assert found == pytest.approx(beta[4:] / gp.y.std(), abs=0.05)


# When it is used.


def judged(beta, claim, num_results=40, seed=0):
    """Return the model made of a claim by a site that has seen a trend."""
    domain = Domain.box(2)
    side = agent(domain, degree=4)
    gp = seen(side.features, beta, num_results, seed)
    insight = side.study(gp)
    told = packet(domain, mean=claim, variance=0.01, degree=4)
    candidate = insight.told(side.features, told)
    low = side.features.of_quadratic
    plain, curved = (
        insight.known.model(f, np.asarray(claim)[w], np.full(w.sum(), 0.01))
        for f, w in (
            (side.features.quadratic, low),
            (side.features, np.ones(side.features.size, dtype=bool)),
        )
    )
    return candidate, plain.evidence, curved.evidence


def test_higher_degrees_are_used_where_the_data_bear_them_out():
    """E106."""
    features = ShapeFeatures.of(Domain.box(2), 4)
    beta = two_humps(features)
    candidate, plain, curved = judged(beta, beta)
    assert candidate.name == OTHERS
    assert candidate.model.prior.basis.degree == 4
    assert curved > plain + CLEARLY
    assert candidate.model.evidence == curved


def test_higher_degrees_are_left_out_where_the_data_do_not():
    """E106: of a quadratic, whatever is claimed beside it."""
    features = ShapeFeatures.of(Domain.box(2), 4)
    beta = np.repeat([0.3, -0.6, 0.0, 0.0], 2)
    for false in (0.0, 0.8, -0.8):
        claim = np.where(features.of_quadratic, beta, false)
        candidate, plain, _ = judged(beta, claim)
        assert candidate.model.prior.basis.degree == 2
        assert candidate.model.evidence == plain


def test_a_false_claim_of_higher_degree_leaves_the_quadratic_alone():
    """What is said of the lower degrees is used as if nothing else had been said."""
    domain = Domain.box(2)
    quadratic, side = agent(domain), agent(domain, degree=4)
    gp = make_gp(20, 2)
    claim = np.repeat([0.2, -0.3, 3.0, -3.0], 2)
    high = packet(domain, mean=claim, degree=4)
    low = packet(domain, mean=claim[:4])
    ours = side.aimed(side.study(gp), high)
    theirs = quadratic.aimed(quadratic.study(gp), low)
    assert np.array_equal(ours.weights, theirs.weights)
    assert np.array_equal(ours.summits, theirs.summits)


@pytest.mark.parametrize("degree", [3, 4])
def test_contract(degree):
    """Exactly as agents of other strategies."""
    packets = [packet(3, degree=degree), NOTHING]
    misfits = [packet(2, degree=degree), packet(3), packet(MIXED, degree=degree)]
    check_agent_side(agent(degree=degree), packets=packets, misfits=misfits)


# The server's side.


def uploads(degrees):
    domain = Domain.box(2)
    made = {}
    for n, degree in enumerate(degrees):
        form = ShapeFeatures.of(domain, degree).form
        kinds, sizes = zip(*form, strict=True)
        made[f"site {n}"] = ShapeUpload(
            kinds=kinds,
            means=tuple(np.full(size, 0.1 * (n + 1)) for size in sizes),
            variances=tuple(np.full(size, 0.05) for size in sizes),
        )
    return made


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_the_server_takes_every_degree_and_answers_in_it(degree):
    server, domain = ShapeServerSettings().build(), Domain.box(2)
    sent_ = uploads([degree] * 3)
    for upload in sent_.values():
        server.check(upload, domain)
    packets = server.aggregate(sent_, 1, Draws(streams=Streams(0), federation="f", t=1))
    form = ShapeFeatures.of(domain, degree).form
    assert all(isinstance(p, ShapePacket) and p.form == form for p in packets.values())
    assert server.max_numbers(domain) >= 2 * len(sent_["site 0"])


def test_the_server_refuses_blocks_of_another_space():
    server = ShapeServerSettings().build()
    with pytest.raises(WireError, match="same search space"):
        server.check(uploads([4])["site 0"], Domain.box(3))


def test_a_site_refuses_a_packet_of_another_degree():
    with pytest.raises(WireError, match="must have the blocks"):
        agent(Domain.box(2), degree=4).check(packet(2, degree=2), 2)

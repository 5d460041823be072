import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.numerics import make_gp, smooth_values
from tests.strategies import seeds

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.missing import NUGGET, PESSIMISM, SAME, Missing, imagine
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.kernel import matern52, squared_distances

K1 = 0.5239941088318203
"""The Matern correlation at one lengthscale, (8/3 + √5) exp(-√5)."""


def make(pending=(), failed=(), radii=None, dim=1):
    pending = np.reshape(np.array(pending, float), (-1, dim))
    failed = np.reshape(np.array(failed, float), (-1, dim))
    radii = np.full(len(failed), 0.05) if radii is None else np.array(radii)
    known = np.empty((0, pending.shape[1]))
    return Missing(pending=pending, failed=failed, radii=radii, known=known)


def line(points, values, noise=1e-8, s=2.0, mean=0.5):
    """Return a GP on a line with lengthscale 1/4, and its data."""
    hyper = Hyperparameters(
        lengthscales=np.array([0.25]), outputscale=s, mean=mean, noise_variance=noise
    )
    X, y = np.array(points, float)[:, None], np.array(values, float)
    return GaussianProcess.condition(X, y, hyper), Dataset(X=X, y=y)


def test_nothing_missing_changes_nothing():
    gp = make_gp(5, 2)
    data = Dataset(X=gp.X, y=smooth_values(gp.X))
    assert imagine(gp, data, Missing.none(2)) is gp
    assert not Missing.none(2).forbids(np.array([[0.5, 0.5]])).any()


def test_lone_failure_by_hand():
    """E40: no other failure near, so mean - 2 std of one observation."""
    gp, data = line([0.5], [2.0], noise=0.5)
    imagined = imagine(gp, data, make(failed=[0.75]))
    k = 2.0 * K1
    mean, variance = 0.5 + k * 1.5 / 2.5, 2.0 - k**2 / 2.5
    expected = mean - 2.0 * np.sqrt(variance)
    at, _ = imagined.predict(np.array([[0.75]]))
    # The imagined value is held with a noise of a millionth of the output scale.
    assert at[0] == pytest.approx(expected, abs=1e-4)


def test_two_failures_by_hand():
    """E40: one lengthscale apart, a success in between at the far end.

    Successes at 0 (value 1) and 4 lengthscales on at 1 (value -3); failures at 0.25
    and 0.5. With c(r) the correlation at r lengthscales, the failure at 0.25 has
    succeeded = c(1) + c(3), others = c(1).
    """
    gp, data = line([0.0, 1.0], [1.0, -3.0])
    failed = np.array([[0.25], [0.5]])
    imagined = imagine(gp, data, make(failed=failed))
    mean, std = gp.predict(failed)

    def c(r):
        a = np.sqrt(5.0) * r
        return (1.0 + a + a * a / 3.0) * np.exp(-a)

    assert c(1.0) == pytest.approx(K1)
    expected = []
    for k, succeeded in enumerate([c(1) + c(3), c(2) + c(2)]):
        low = mean[k] - 2.0 * std[k]
        share = (1.0 + succeeded) / (1.0 + succeeded + c(1))
        expected.append(share * low + (1.0 - share) * min(-3.0, low))
    at, _ = imagined.predict(failed)
    assert at == pytest.approx(expected, abs=2e-4)
    assert (expected < mean - 2.0 * std).all()


def test_many_failures_sink_to_the_worst():
    """E40: among n failures at one place the share of the bound is about 1 / n."""
    gp, data = line([0.0, 1.0], [1.0, -9.0])
    alone = imagine(gp, data, make(failed=[0.5])).predict(np.array([[0.5]]))[0][0]
    crowd = make(failed=np.full(50, 0.5))
    sunk = imagine(gp, data, crowd).predict(np.array([[0.5]]))[0][0]
    assert sunk < alone - 3.0
    assert sunk == pytest.approx(-9.0, abs=0.5)


@given(seed=seeds, num_failed=st.integers(1, 6), num_pending=st.integers(0, 4))
@settings(max_examples=30)
def test_imagined_values_are_the_formula(seed, num_failed, num_pending):
    """E40, written again in the plainest way."""
    rng = np.random.default_rng(seed)
    gp = make_gp(8, 2, seed=seed % 1000)
    y = smooth_values(gp.X)
    data = Dataset(X=gp.X, y=y)
    pending, failed = rng.random((num_pending, 2)), rng.random((num_failed, 2))
    imagined = imagine(gp, data, make(pending, failed, dim=2))
    assert len(imagined.X) == 8 + num_pending + num_failed
    ell = gp.hyper.lengthscales
    wanted = list(gp.predict(pending)[0]) if num_pending else []
    for x in failed:
        mean, std = (part[0] for part in gp.predict(x[None]))
        succeeded = sum(matern52(squared_distances(x[None], gp.X, ell), 1.0)[0])
        others = sum(matern52(squared_distances(x[None], failed, ell), 1.0)[0]) - 1.0
        low = mean - PESSIMISM * std
        share = (1.0 + succeeded) / (1.0 + succeeded + others)
        wanted.append(share * low + (1.0 - share) * min(y.min(), low))
    # alpha = K^-1 (values - mean) gives the values back.
    K = matern52(squared_distances(imagined.X, imagined.X, ell), 1.7)
    K += np.diag(imagined.noise)
    given_back = (K @ imagined.alpha + gp.hyper.mean)[8:]
    assert given_back == pytest.approx(wanted, abs=1e-8)
    assert imagined.noise[8:] == pytest.approx(NUGGET * 1.7, rel=1e-12)
    assert (imagined.noise[:8] == gp.noise).all()


@given(seed=seeds)
@settings(max_examples=25)
def test_pending_points_spend_their_uncertainty_and_leave_the_mean(seed):
    rng = np.random.default_rng(seed)
    gp = make_gp(6, 2)
    data = Dataset(X=gp.X, y=smooth_values(gp.X))
    pending = rng.random((3, 2))
    imagined = imagine(gp, data, make(pending, dim=2))
    X = rng.random((20, 2))
    mean, std = gp.predict(X)
    new_mean, new_std = imagined.predict(X)
    # A value at the posterior mean is no surprise.
    assert new_mean == pytest.approx(mean, abs=1e-6)
    assert (new_std <= std + 1e-9).all()
    _, at = imagined.predict(pending)
    assert (at <= np.sqrt(NUGGET * 1.7) * 1.01).all()


def test_failure_lowers_the_mean_around_it():
    gp, data = line([0.1, 0.9], [1.0, 1.2], noise=1e-4)
    imagined = imagine(gp, data, make(failed=[0.5]))
    X = np.array([[0.45], [0.5], [0.55]])
    assert (imagined.predict(X)[0] < gp.predict(X)[0] - 0.5).all()
    # What was observed stays.
    assert imagined.predict(data.X)[0] == pytest.approx(data.y, abs=1e-2)


def test_forbidden_by_hand():
    missing = make([0.2], [0.6, 0.9], [0.05, 0.01])
    near, far = 0.2 + 0.9 * SAME, 0.2 + 1.1 * SAME
    X = np.array([0.2, near, far, 0.551, 0.549, 0.6, 0.651, 0.889, 0.9, 0.9099, 0.911])
    assert missing.forbids(X[:, None]).tolist() == [
        *(True, True, False, True, False, True),
        *(False, False, True, True, False),
    ]


@given(seed=seeds)
def test_forbidden_is_within_reach(seed):
    rng = np.random.default_rng(seed)
    pending, failed = rng.random((3, 2)), rng.random((4, 2))
    radii = rng.uniform(0.005, 0.3, 4)
    X = np.vstack([rng.random((20, 2)), pending, failed])
    wanted = (np.linalg.norm(X[:, None] - failed, axis=2) <= radii).any(axis=1)
    wanted |= (np.linalg.norm(X[:, None] - pending, axis=2) <= SAME).any(axis=1)
    assert (make(pending, failed, radii, dim=2).forbids(X) == wanted).all()


def test_missing_points_are_kept_apart_from_the_caller():
    pending = np.array([[0.5]])
    missing = make(pending)
    pending[0] = 0.9
    assert missing.pending.tolist() == [[0.5]]
    with pytest.raises(ValueError, match="read-only"):
        missing.pending[0] = 0.1

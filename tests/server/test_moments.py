"""E25 and E26: a cluster becomes one component with the same moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guidefbo.server.strategies.guide.moments import ScoredComponents, merge_clusters
from guidefbo.testing.generators import real_arrays, spreads

ROUNDING = 1e-12
"""Relative; a sum of ten terms of order one loses a few units of 2e-16."""


@st.composite
def clustered(draw, is_full=False):
    """Components and labels 0..count-1, each label used."""
    d, count = draw(st.integers(1, 4)), draw(st.integers(1, 10))
    uploads = ScoredComponents(
        masses=draw(real_arrays((count,), 1e-3, 1.0)),
        centers=draw(real_arrays((count, d), 0.0, 1.0)),
        variances=draw(spreads(d, is_full, count)),
        scores=draw(real_arrays((count,), -5.0, 5.0)),
    )
    labels = draw(st.lists(st.integers(0, count - 1), min_size=count, max_size=count))
    return uploads, np.unique(labels, return_inverse=True)[1].astype(np.intp)


def second_moments(components):
    """Return the mass-weighted E[x x'] (or its diagonal), summed over components."""
    c = components
    if c.variances.ndim == 3:
        outer = c.centers[:, :, None] * c.centers[:, None, :]
        return np.einsum("l,lij->ij", c.masses, c.variances + outer)
    return c.masses @ (c.variances + c.centers**2)


def test_two_components_by_hand():
    """E25, E26: masses 1 and 3 at 0 and 4 meet at 3, with variance 1 + 3."""
    uploads = ScoredComponents(
        masses=np.array([0.1, 0.3]),
        centers=np.array([[0.0, 0.5], [0.4, 0.5]]),
        variances=np.array([[0.01, 0.02], [0.01, 0.06]]),
        scores=np.array([2.0, -2.0]),
    )
    merged = merge_clusters(uploads, np.array([0, 0]))
    assert merged.masses == pytest.approx([0.4])
    assert merged.centers[0] == pytest.approx([0.3, 0.5])
    # (0.1 * 0.3^2 + 0.3 * 0.1^2) / 0.4 = 0.03 between the centres.
    assert merged.variances[0] == pytest.approx([0.01 + 0.03, 0.05])
    assert merged.scores == pytest.approx([-1.0])


def test_full_covariance_by_hand():
    """E25: two points apart along the diagonal are correlated once merged."""
    uploads = ScoredComponents(
        masses=np.array([0.5, 0.5]),
        centers=np.array([[0.2, 0.2], [0.6, 0.4]]),
        variances=np.tile(0.01 * np.eye(2), (2, 1, 1)),
        scores=np.zeros(2),
    )
    merged = merge_clusters(uploads, np.array([0, 0]))
    assert merged.variances[0] == pytest.approx(np.array([[0.05, 0.02], [0.02, 0.02]]))


@given(st.booleans().flatmap(lambda is_full: clustered(is_full=is_full)))
def test_mass_mean_second_moment_and_score_are_conserved(case):
    """E25, E26."""
    uploads, labels = case
    merged = merge_clusters(uploads, labels)
    for name in ("centers", "scores"):
        before = uploads.masses @ getattr(uploads, name)
        after = merged.masses @ getattr(merged, name)
        assert after == pytest.approx(before, rel=ROUNDING, abs=ROUNDING * 5)
    assert merged.masses.sum() == pytest.approx(uploads.masses.sum(), rel=ROUNDING)
    before, after = second_moments(uploads), second_moments(merged)
    assert after == pytest.approx(before, rel=ROUNDING, abs=ROUNDING)


@given(st.booleans().flatmap(lambda is_full: clustered(is_full=is_full)))
def test_every_cluster_is_merged_on_its_own_and_in_label_order(case):
    """E25, E26."""
    uploads, labels = case
    merged = merge_clusters(uploads, labels)
    assert len(merged.masses) == labels.max() + 1
    for label in range(len(merged.masses)):
        members = labels == label
        w = uploads.masses[members] / uploads.masses[members].sum()
        center = w @ uploads.centers[members]
        assert merged.masses[label] == pytest.approx(uploads.masses[members].sum())
        assert merged.centers[label] == pytest.approx(center, rel=ROUNDING, abs=1e-15)
        assert merged.scores[label] == pytest.approx(
            w @ uploads.scores[members], rel=ROUNDING, abs=1e-14
        )


@given(clustered(is_full=True))
def test_diagonal_merging_keeps_the_diagonal_of_full_merging(case):
    """E25: the default retains the diagonal entries only."""
    uploads, labels = case
    full = merge_clusters(uploads, labels)
    diagonal = merge_clusters(
        ScoredComponents(
            masses=uploads.masses,
            centers=uploads.centers,
            variances=np.diagonal(uploads.variances, axis1=1, axis2=2).copy(),
            scores=uploads.scores,
        ),
        labels,
    )
    expected = np.diagonal(full.variances, axis1=1, axis2=2)
    assert diagonal.variances == pytest.approx(expected, rel=ROUNDING)
    assert np.array_equal(diagonal.centers, full.centers)


@given(clustered(is_full=True))
def test_merged_covariances_are_symmetric_and_positive_definite(case):
    """E25."""
    merged = merge_clusters(*case)
    assert np.array_equal(merged.variances, merged.variances.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(merged.variances).min() > 0.0


@given(clustered())
def test_singletons_stay_as_they_are(case):
    """E25: to rounding, for (mass x) / mass is not x in floating point."""
    uploads, _ = case
    merged = merge_clusters(uploads, np.arange(len(uploads.masses)))
    for name in ("masses", "centers", "variances", "scores"):
        assert getattr(merged, name) == pytest.approx(
            getattr(uploads, name), rel=4e-16, abs=1e-15
        )

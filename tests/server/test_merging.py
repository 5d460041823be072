"""E23 and E24: clusters of centres by complete linkage, exact and order-free."""

import subprocess
import sys
from contextlib import contextmanager
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster, linkage

from guidefbo.core.errors import SettingsError
from guidefbo.server.strategies.guide import bounds, dense, merging, neighbours, spans
from guidefbo.server.strategies.guide import linkage as linkage_module
from guidefbo.server.strategies.guide.merging import (
    complete_linkage,
    no_merging,
    rms_distance,
)


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


def by_definition(centers, threshold):
    """Join the closest pair, the earlier one if tied, while the threshold allows."""
    distinct = sorted({tuple(row) for row in centers.tolist()})
    points = np.array(distinct)
    clusters = [[i] for i in range(len(points))]

    def span(pair):
        a, b = (points[clusters[i]] for i in pair)
        return rms_distance(a[:, None], b[None]).max()

    while len(clusters) > 1:
        pairs = combinations(range(len(clusters)), 2)  # in the order of first members
        i, j = min(pairs, key=span)
        if span((i, j)) > threshold:
            break
        clusters[i] += clusters.pop(j)
    number = {p: n for n, members in enumerate(clusters) for p in members}
    return [number[distinct.index(tuple(row))] for row in centers.tolist()]


def by_scipy(centers, threshold):
    tree = linkage(centers, method="complete")
    limit = threshold * np.sqrt(centers.shape[1])
    return fcluster(tree, t=limit, criterion="distance")


def is_same_partition(a, b):
    num_pairs = len(set(zip(a.tolist(), b.tolist(), strict=True)))
    return num_pairs == len(np.unique(a)) == len(np.unique(b))


def scattered(rng, count, dim):
    return rng.random((count, dim))


def gathered(rng, count, dim):
    """Five tight places and a few strays."""
    near = rng.random((5, dim))[rng.integers(5, size=count)]
    centers = near + 0.001 * rng.normal(size=(count, dim))
    strays = count // 50
    centers[:strays] = rng.random((strays, dim))
    return centers


def blurred(rng, count, dim):
    """Five places about as wide as a threshold of 0.05."""
    near = rng.random((5, dim))[rng.integers(5, size=count)]
    return near + 0.02 * rng.normal(size=(count, dim))


def chained(rng, count, dim):
    """One connected string, many thresholds long."""
    return rng.random((count, 1)) + 0.01 * rng.normal(size=(count, dim))


LAYOUTS = [scattered, gathered, blurred, chained]

grids = st.integers(1, 3).flatmap(
    lambda dim: st.integers(1, 14).flatmap(
        lambda count: arrays(np.float64, (count, dim), elements=st.integers(0, 4))
    )
)
"""Small whole numbers: ties and equal rows abound."""

thresholds = st.sampled_from([0.0, 0.5, 1.0, 1.2, 1.5, 2.0, 3.0, 10.0])


FAR = {"MOST": 0}
"""Without the matrix of all spans, whatever the number."""

ROADS = {
    "all spans": {},
    "far": FAR,
    "few columns": {"_COLUMNS_AT_ONCE": 3},
    "short answers": FAR | {"_FIRST_ANSWER": 1},
    "one asker a round": FAR | {"_LARGEST_ROUND": 3},
    "small blocks": FAR | {"_BLOCK": 2, "_ASKERS_AT_ONCE": 3, "_ROWS_AT_ONCE": 1},
    "narrow radius": FAR | {"_FIRST_ANSWER": 1, "_SHARE": 100, "_BLOCK": 4},
    "found one by one": FAR | {"_FOUND_AT_ONCE": 1, "_BLOCK": 3},
    "no farther": FAR | {"_FARTHER": 1.0, "_FIRST_ANSWER": 1, "_BLOCK": 4},
    "far members": FAR | {"_ENDS_FROM": 0.0},
    "double precision": FAR | {"_COARSE": 0.0, "_COARSE_PRODUCT": 0.0},
    "products": FAR | {"_WORTH_A_PRODUCT": 0},
    "thin products": {"_PRODUCT_WORK": 1, "_WORTH_A_PRODUCT": 0},
    "pair by pair": {"_PAIRS_AT_ONCE": 1},
    "tight groups": FAR | {"_MANY_POINTS": 0},
}
"""Every road of the algorithm, made to carry small inputs."""


@contextmanager
def changed(constants):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            homes = (linkage_module, merging, spans, neighbours, bounds, dense)
            patch.setattr(next(m for m in homes if hasattr(m, name)), name, value)
        yield


def test_rms_distance_by_hand():
    """E23: sqrt((9 + 16) / 2)."""
    a, b = np.array([1.0, 1.0]), np.array([4.0, 5.0])
    assert rms_distance(a, b) == np.sqrt(12.5)
    assert rms_distance(a[None], np.stack([a, b])).tolist() == [0.0, np.sqrt(12.5)]


def test_complete_linkage_by_hand():
    """E24: 0 and 2 meet first; 5 is 3 from 2 but 5 from 0, so it joins 8."""
    centers = np.array([[8.0], [2.0], [5.0], [0.0]])
    assert complete_linkage(centers, 3.0).tolist() == [1, 0, 1, 0]
    assert complete_linkage(centers, 1.9).tolist() == [3, 1, 2, 0]
    assert complete_linkage(centers, 8.0).tolist() == [0, 0, 0, 0]


def test_a_tie_goes_to_the_first_in_canonical_order():
    """E24: 1 is as far from 0 as from 2; the pair that begins earlier wins."""
    assert complete_linkage(np.array([[2.0], [1.0], [0.0]]), 1.0).tolist() == [1, 0, 0]


@pytest.mark.parametrize("constants", ROADS.values(), ids=ROADS.keys())
@given(centers=grids, threshold=thresholds)
def test_tied_centers_are_linked_by_the_definition(constants, centers, threshold):
    """E24."""
    with changed(constants):
        labels = complete_linkage(centers, threshold)
    assert labels.tolist() == by_definition(centers, threshold)


@given(centers=grids, threshold=thresholds, data=st.data())
def test_the_order_of_uploads_changes_nothing(centers, threshold, data):
    order = data.draw(st.permutations(range(len(centers))))
    labels = complete_linkage(centers, threshold)
    assert np.array_equal(complete_linkage(centers[order], threshold), labels[order])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_order_of_many_uploads_changes_nothing(layout):
    rng = generator(3)
    centers = layout(rng, 2500, 4)
    centers = np.concatenate([centers, np.round(centers, 1)])
    order = rng.permutation(len(centers))
    labels = complete_linkage(centers, 0.05)
    assert np.array_equal(complete_linkage(centers[order], 0.05), labels[order])


@given(
    centers=st.integers(1, 4).flatmap(
        lambda dim: arrays(np.float64, (20, dim), elements=st.floats(-2.0, 2.0))
    ),
    threshold=st.floats(0.0, 2.0),
)
def test_clusters_are_within_the_threshold_and_none_could_still_join(
    centers, threshold
):
    """E24."""
    labels = complete_linkage(centers, threshold)
    distance = rms_distance(centers[:, None], centers[None])
    members = [labels == number for number in range(labels.max() + 1)]
    assert all(distance[np.ix_(a, a)].max() <= threshold for a in members)
    for a, b in combinations(members, 2):
        assert distance[np.ix_(a, b)].max() > threshold


@given(
    a=arrays(np.float64, 3, elements=st.floats(-1.0, 1.0)),
    b=arrays(np.float64, 3, elements=st.floats(-1.0, 1.0)),
)
def test_the_threshold_itself_is_within(a, b):
    """E24: to the last digit."""
    threshold = float(rms_distance(a, b))
    centers = np.stack([a, b])
    assert complete_linkage(centers, threshold).tolist() == [0, 0]
    if threshold > 0.0:
        below = np.nextafter(threshold, 0.0)
        assert complete_linkage(centers, float(below)).max() == 1


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [1, 2, 5, 10])
@pytest.mark.parametrize("count", [2, 7, 40, 300, 2000])
@pytest.mark.parametrize("road", [{}, FAR], ids=["all spans", "far"])
def test_clusters_are_those_of_scipy(layout, dim, count, road):
    centers = layout(generator([count, dim]), count, dim)
    for threshold in (0.003, 0.05, 0.2):
        with changed(road):
            labels = complete_linkage(centers, threshold)
        assert is_same_partition(labels, by_scipy(centers, threshold))


@pytest.mark.parametrize("width", [0.005, 0.0143, 0.016, 0.03])
@pytest.mark.parametrize("most", [0, 500, 3000])
def test_one_cloud_is_cut_as_by_scipy(width, most):
    """From far inside one threshold to several of them."""
    rng = generator(8)
    centers = 0.5 + width * rng.normal(size=(3000, 10))
    with changed({"MOST": most}):
        labels = complete_linkage(centers, 0.05)
    assert is_same_partition(labels, by_scipy(centers, 0.05))


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0.0), (1.0, 1e6), (1e6, -1e7)])
@pytest.mark.parametrize("road", [{}, FAR], ids=["all spans", "far"])
def test_scale_and_origin_do_not_matter(scale, shift, road):
    """Against SciPy on the very same rounded numbers."""
    centers = shift + scale * blurred(generator(5), 1000, 6)
    with changed(road):
        labels = complete_linkage(centers, 0.05 * scale)
    assert is_same_partition(labels, by_scipy(centers, 0.05 * scale))


@pytest.mark.parametrize("road", [{}, FAR], ids=["all spans", "far"])
def test_neighbouring_floats_are_told_apart(road):
    """At the resolution of the numbers no bound is sure; the answer still is."""
    step = np.spacing(1.0)
    centers = 1.0 + step * np.arange(40.0)[:, None] ** 1.5 // 1
    with changed(road):
        labels = complete_linkage(centers, 6 * step)
    whole = (centers - 1.0) / step
    assert labels.tolist() == by_definition(whole, 6.0)


def test_equal_centers_merge_at_threshold_zero():
    centers = np.array([[0.5, 0.0], [0.1, 0.2], [0.5, -0.0], [0.1, 0.2]])
    assert complete_linkage(centers, 0.0).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("merge", [complete_linkage, no_merging])
def test_no_centers_no_clusters(merge):
    assert merge(np.zeros((0, 3)), 0.05).shape == (0,)


def test_without_merging_every_center_is_its_own_cluster():
    centers = np.array([[0.5, 0.0], [0.1, 0.2], [0.5, 0.0], [0.1, 0.1]])
    labels = no_merging(centers, 0.05)
    assert labels.tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize("merge", [complete_linkage, no_merging])
@pytest.mark.parametrize("threshold", [-0.1, np.nan, np.inf])
def test_a_threshold_out_of_range_is_refused(merge, threshold):
    with pytest.raises(SettingsError, match=f"merge_threshold.*got {threshold}"):
        merge(np.zeros((2, 1)), threshold)


@pytest.mark.parametrize("merge", [complete_linkage, no_merging])
@pytest.mark.parametrize(
    ("centers", "words"),
    [
        (np.array([[0.0], [np.nan]]), "finite"),
        (np.array([[0.0], [np.inf]]), "finite"),
        (np.zeros((3, 0)), r"shape \(3, 0\)"),
    ],
)
def test_centers_without_distances_are_refused(merge, centers, words):
    with pytest.raises(SettingsError, match=words):
        merge(centers, 0.05)


MANY = """
import resource, time
import numpy as np
from guidefbo.server.strategies.guide.merging import complete_linkage

rng = np.random.Generator(np.random.PCG64(0))
centers = {centers}
begin = time.perf_counter()
labels = complete_linkage(centers, 0.05)
seconds = time.perf_counter() - begin
kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(labels.max() + 1, seconds, kilobytes / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as on Linux")
@pytest.mark.parametrize(
    ("centers", "least", "most"),
    [
        ("rng.random((100_000, 10))", 99_000, 100_000),
        (
            "rng.random((5, 10))[rng.integers(5, size=100_000)]"
            " + 0.001 * rng.normal(size=(100_000, 10))",
            5,
            5,
        ),
    ],
    ids=["scattered", "gathered"],
)
def test_a_hundred_thousand_uploads(centers, least, most):
    """Seconds, and memory for the points rather than for their pairs."""
    run = subprocess.run(
        [sys.executable, "-c", MANY.format(centers=centers)],
        capture_output=True,
        text=True,
        check=True,
    )
    num_clusters, seconds, megabytes = map(float, run.stdout.split())
    assert least <= num_clusters <= most
    assert seconds < 60.0
    assert megabytes < 1000.0


@pytest.mark.slow
def test_clusters_are_those_of_scipy_at_every_size():
    """E24: every size from 2 to 2000, the layout and dimension taking turns."""
    layouts = list(LAYOUTS)
    for count in range(2, 2001):
        layout = layouts[count % len(layouts)]
        dim = (2, 3, 10)[count % 3]
        centers = layout(generator(count), count, dim)
        labels = complete_linkage(centers, 0.05)
        assert is_same_partition(labels, by_scipy(centers, 0.05)), (count, layout, dim)

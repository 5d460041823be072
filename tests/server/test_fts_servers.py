"""The servers of FTS and FTS-DE."""

import numpy as np
import pytest
from tests.numbered import aggregate, left_out, name, named

from guidefbo.core.errors import SettingsError
from guidefbo.core.settings import make
from guidefbo.core.streams import Purpose, Streams
from guidefbo.server.strategies.fts.as_run import (
    FtsAsRunServerSettings,
    FtsPointServer,
    anybody,
)
from guidefbo.server.strategies.fts.server import FtsServer, any_other
from guidefbo.server.strategies.fts.settings import FtsServerSettings
from guidefbo.server.strategies.fts_de.as_run import (
    FtsDeAsRunServerSettings,
    by_region_index,
)
from guidefbo.server.strategies.fts_de.privacy import PrivateAverage
from guidefbo.server.strategies.fts_de.server import (
    FtsDeServer,
    fading,
    own_logit,
    plain_average,
)
from guidefbo.server.strategies.fts_de.settings import FtsDeServerSettings
from guidefbo.testing import check_server_side
from guidefbo.testing.codec import encode
from guidefbo.testing.server_side import draws
from guidefbo.wire.cost import Cost
from guidefbo.wire.fts import FeatureWeights, PeerPoint
from guidefbo.wire.regions import assign_regions

AGENTS = (4, 0, 17, 5, 18, 29)
WEIGHTS = {n: FeatureWeights(weights=np.arange(3.0) + n) for n in AGENTS}
POINTS = {n: PeerPoint(point=np.array([n / 30, 0.5])) for n in AGENTS}


def stream(t=1):
    return Streams(0).at(Purpose.DISPATCH, t=t)


@pytest.mark.parametrize(
    ("server", "uploads"),
    [
        (FtsServer(), WEIGHTS),
        (FtsPointServer(), POINTS),
        (FtsDeServer(num_regions=4), WEIGHTS),
        (FtsDeServer(num_regions=2, weighting=by_region_index), WEIGHTS),
        (
            FtsDeServer(
                num_regions=4, averaging=PrivateAverage(clip=22.0, rate=0.35, noise=1.0)
            ),
            WEIGHTS,
        ),
    ],
    ids=["fts", "fts as run", "fts-de", "fts-de as run", "dp-fts-de"],
)
def test_contract(server, uploads):
    check_server_side(server, named(uploads))


def sources_of(choose, num_sites):
    """Return whose message each site gets in 4000 rounds, (rounds, sites)."""
    sites = list(map(name, range(num_sites)))
    rounds = [choose(sites, draws(t=t)) for t in range(4000)]
    assert all(list(chosen) == sites for chosen in rounds)
    return np.array([[int(chosen[site]) for site in sites] for chosen in rounds])


def test_source_is_any_other_agent_alike():
    """E48: each of the four others in a quarter of the draws, never oneself."""
    drawn = sources_of(any_other, 5)
    assert (drawn != np.arange(5)).all()
    for n in range(5):
        counts = np.bincount(drawn[:, n], minlength=5) / 4000
        # Standard error √(0.25 * 0.75 / 4000) = 0.0068.
        assert np.delete(counts, n) == pytest.approx(np.full(4, 0.25), abs=4 * 0.0068)


def test_two_agents_swap_and_one_alone_keeps_its_own():
    """E48."""
    two = {n: WEIGHTS[n] for n in (29, 4)}
    packets = aggregate(FtsServer(), two)
    assert packets == {4: WEIGHTS[29], 29: WEIGHTS[4]}
    assert aggregate(FtsServer(), {7: WEIGHTS[4]}) == {7: WEIGHTS[4]}


def test_as_run_the_target_may_be_its_own_source():
    counts = np.bincount(sources_of(anybody, 4)[:, 1], minlength=4) / 4000
    assert counts == pytest.approx(np.full(4, 0.25), abs=4 * 0.0068)


def test_sources_are_drawn_anew_in_every_round():
    packets = [aggregate(FtsServer(), WEIGHTS, t=t) for t in (1, 2)]
    assert any(packets[0][n] is not packets[1][n] for n in AGENTS)


@pytest.mark.parametrize("server", [FtsServer(), FtsDeServer(num_regions=1)])
def test_weights_of_another_length_are_left_out(server):
    uploads = {0: WEIGHTS[0], 3: FeatureWeights(weights=np.ones(4)), 4: WEIGHTS[4]}
    assert left_out(server, uploads) == {
        3: "expected number of features 3 as in most uploads, got number of features "
        "4. Do all sites use the same settings?"
    }


def test_points_of_another_dimension_are_left_out():
    uploads = {0: POINTS[0], 3: PeerPoint(point=np.ones(3)), 4: POINTS[4]}
    assert left_out(FtsPointServer(), uploads) == {
        3: "expected dimension 2 as in most uploads, got dimension 3. Do all sites use "
        "the same settings?"
    }


def is_own(num_agents=16, num_regions=4):
    return assign_regions(num_agents, num_regions) == np.arange(num_regions)[:, None]


def test_logit_of_the_regions_own_agents_over_the_rounds():
    """E49: 16 for ten rounds, then thirty values down to 1, then 1."""
    logits = [own_logit(t) for t in range(1, 61)]
    expected = [16.0] * 10 + np.linspace(16.0, 1.0, 30).tolist() + [1.0] * 20
    assert logits == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("t", "logit", "mass"),
    [
        (1, 16.0, 1.0000),
        (11, 16.0, 1.0000),
        (21, 10.83, 0.9998),
        (31, 5.66, 0.972),
        (36, 3.07, 0.725),
        (40, 1.0, 0.25),
        (400, 1.0, 0.25),
    ],
)
def test_mass_on_the_regions_own_agents(t, logit, mass):
    """E49: the numbers of the specification for 16 agents in 4 regions."""
    weights = fading(is_own(), t)
    assert own_logit(t) == pytest.approx(logit, abs=0.005)
    # Printed digits: four of the first two values, three of the others.
    own = (weights * is_own()).sum(axis=1)
    assert own == pytest.approx(np.full(4, mass), abs=5e-5 if mass > 0.99 else 5e-4)
    assert weights.sum(axis=1) == pytest.approx(np.ones(4), rel=1e-14)


@pytest.mark.parametrize("t", [40, 41, 50, 1000])
def test_all_agents_count_alike_in_the_end(t):
    """E49."""
    assert fading(is_own(), t) == pytest.approx(np.full((4, 16), 1 / 16), rel=1e-14)


def test_as_run_the_temperature_is_the_regions_and_never_the_rounds():
    """E49: 1, 4, 9, 16 give the masses 1.000, 0.948, 0.664, 0.475 for ever."""
    for t in (1, 100):
        own = (by_region_index(is_own(), t) * is_own()).sum(axis=1)
        assert own == pytest.approx([1.000, 0.948, 0.664, 0.475], abs=5e-4)


def test_a_region_without_agents_averages_all_alike():
    """E49: two agents own regions 0 and 2 of four."""
    weights = fading(is_own(num_agents=2), 1)
    assert weights[[1, 3]] == pytest.approx(np.full((2, 2), 0.5))
    assert weights[0] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert weights[2] == pytest.approx([0.0, 1.0], abs=1e-6)


def test_averages_by_hand():
    """E50: two regions, two agents; logits 16 and 1 first, alike from round 40."""
    uploads = {
        9: FeatureWeights(weights=np.array([0.0, 4.0])),
        2: FeatureWeights(weights=np.array([1.0, 2.0])),
    }
    server = FtsDeServer(num_regions=2)
    first = aggregate(server, uploads)
    share = 1.0 / (1.0 + np.exp(-15.0))
    expected = [[share, 4.0 - 2.0 * share], [1.0 - share, 2.0 + 2.0 * share]]
    assert first[2].weights == pytest.approx(np.array(expected), rel=1e-12)
    last = aggregate(server, uploads, t=40)
    assert last[2].weights.tolist() == [[0.5, 3.0], [0.5, 3.0]]
    assert first[2] is first[9]


def test_traffic_is_500_up_and_500_or_2000_down():
    rng = np.random.default_rng(0)
    uploads = {n: FeatureWeights(weights=rng.standard_normal(500)) for n in range(16)}
    for server, down in ((FtsServer(), 500), (FtsDeServer(num_regions=4), 2000)):
        packets = aggregate(server, uploads)
        assert {Cost.of(encode(p)).scalars for p in packets.values()} == {down}
    assert {Cost.of(encode(u)).scalars for u in uploads.values()} == {500}


def test_settings_choose_the_parts():
    assert FtsServerSettings().build() == FtsServer(sources=any_other)
    assert FtsAsRunServerSettings().build() == FtsPointServer(sources=anybody)
    assert FtsDeServerSettings().build() == FtsDeServer(num_regions=4, weighting=fading)
    assert FtsDeAsRunServerSettings().build() == FtsDeServer(
        num_regions=4, weighting=by_region_index
    )
    for kind in (FtsDeServerSettings, FtsDeAsRunServerSettings):
        assert kind(num_regions=2).build().num_regions == 2
    private = FtsDeServerSettings(privacy="gaussian", privacy_noise=2.0).build()
    assert private.averaging == PrivateAverage(clip=22.0, rate=0.35, noise=2.0)
    private = FtsDeServerSettings(
        privacy="gaussian", privacy_clip=3.0, privacy_rate=0.5
    ).build()
    assert private.averaging == PrivateAverage(clip=3.0, rate=0.5, noise=1.0)


def test_settings_that_make_no_sense_are_refused():
    for kind in (FtsDeServerSettings, FtsDeAsRunServerSettings):
        with pytest.raises(SettingsError, match="1, 2 or 4, got 3"):
            make(kind, {"num_regions": 3}).build()
        with pytest.raises(SettingsError, match=r"num_regions must be .* to 4, got 5"):
            make(kind, {"num_regions": 5})
    with pytest.raises(SettingsError, match="privacy_rate"):
        FtsDeServerSettings(privacy="gaussian", privacy_rate=2.0).build()
    # What is not used is not checked.
    unused = FtsDeServerSettings(privacy_rate=2.0).build()
    assert unused == FtsDeServer(num_regions=4)


@pytest.mark.parametrize("size", [1e2, 1e6])
def test_one_vector_is_never_the_average(size):
    """A vector far longer than the others counts for three of them."""
    vectors = np.random.default_rng(0).standard_normal((16, 50))
    others = vectors[1:].mean(axis=0)
    vectors[0] *= size / np.linalg.norm(vectors[0])
    (average,) = plain_average(np.full((1, 16), 1 / 16), vectors, stream())
    pull = average - others * 15 / 16
    median = np.median(np.linalg.norm(vectors, axis=1))
    assert np.linalg.norm(pull) == pytest.approx(3 * median / 16, rel=0.05)
    assert pull @ vectors[0] > 0.99 * np.linalg.norm(pull) * np.linalg.norm(vectors[0])


def test_vectors_about_as_long_are_averaged_to_the_bit():
    vectors = np.random.default_rng(0).standard_normal((6, 50))
    vectors[2] *= 2.5
    weights = np.full((4, 6), 1 / 6)
    assert (plain_average(weights, vectors, stream()) == weights @ vectors).all()
    assert not plain_average(weights, np.zeros((6, 50)), stream()).any()

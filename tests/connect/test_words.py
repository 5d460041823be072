"""Messages in a site's own words and units, made without an observation."""

import numpy as np
import pytest
from tests.site.sites import SPACES, make, measure

import guidefbo as gf
from guidefbo.connect.in_words import packet_words, upload_words
from guidefbo.methods.registry import STRATEGIES, find_strategy
from guidefbo.methods.words import place_words, shape_words
from guidefbo.wire.shape import ShapeUpload

METHODS = ("guide-ucb", "consensus-ucb", "shape-ucb", "fts", "fmtbo")


def exchanged(method, space):
    """Return the upload and the packet of the first of two sites, and its setup."""
    sites = {}
    for n, name in enumerate(("a", "b")):
        agent = make(space, method=method, agent_id=n, site=name)
        for _ in range(4):
            trial = agent.ask()
            agent.tell(trial, measure(agent.space, trial.values) + 0.1 * n)
        sites[name] = agent
    uploads = {name: agent.upload() for name, agent in sites.items()}
    packets = gf.merge(uploads)
    agent = sites["a"]
    return uploads["a"].to_bytes().decode(), packets["a"].decode(), agent


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("space", ["box", "mixed"])
def test_messages_are_told_in_own_units(method, space):
    upload, packet, agent = exchanged(method, space)
    up, down = upload_words(upload, agent.setup), packet_words(packet, agent.setup)
    assert up[0].startswith("made after 4 results")
    assert "made of 2 uploads" in down[0]
    for lines in (up, down):
        assert len(lines) > 1
        assert all("\n" not in line for line in lines)
    if method != "fts":
        text = "\n".join(up + down)
        assert all(name in text for name in agent.space.parameters)
    # Not one observed value is among them.
    told = {f"{t.value:.4g}" for t in agent.trials}
    assert not told & set(" ".join(up).replace(",", " ").split())


def test_every_strategy_of_a_real_site_has_words():
    for name in STRATEGIES:
        strategy = find_strategy(name)
        if strategy.messages is not None and strategy.site_refusal is None:
            assert strategy.words is not None, name


def test_a_place_is_in_natural_units():
    space = SPACES["mixed"]
    center = np.array([0.25, 0.5, 0.7, 0.2, 0.1, 0.9])
    said = place_words(space, center, np.full(6, 0.1))
    assert said == (
        "x=0.25 (0.15 to 0.35), n=21 (17 to 25), drug (a 0.7, b 0.2, c 0.1), warm=True"
    )


def test_a_trend_is_told_at_the_ends_and_the_middle():
    """A slope of one standard deviation rises by 2 √3 from end to end.

    Places are counted from the middle of the cube: here a quarter above it.
    """
    space = gf.Space(dose=gf.Float(1, 100, log=True), drug=gf.Choice("a", "b"))
    message = ShapeUpload(
        kinds=("slopes", "bends", "choice", "place"),
        means=(*map(np.array, ([1.0], [0.0], [0.5, -0.5], [0.25])),),
        variances=(np.ones(1), np.ones(1), np.ones(2), np.array([1 / 16])),
    )
    assert shape_words(message, space)[1:] == [
        "dose: 1 -1.73, 10 +0.00, 100 +1.73",
        "drug: a +0.50, b -0.50",
        "the best values lie near dose=31.62 (10 to 100)",
    ]


@pytest.mark.parametrize("method", ["guide-ucb", "consensus-ucb", "shape-ucb"])
def test_a_packet_for_another_space_is_told_all_the_same(method):
    _, packet, _ = exchanged(method, "box")
    said = packet_words(packet, make("mixed", method=method).setup)
    assert said[1:] == ["it does not fit this site's search space"]


def test_what_cannot_be_read_is_said():
    agent = make("box", method="shape-ucb")
    assert "cannot be read here" in upload_words("{}", agent.setup)[0]
    assert "cannot be read here" in packet_words("{}", agent.setup)[0]
    assert upload_words("{}", make("box", method="ucb").setup) == []

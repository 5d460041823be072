"""Uploads in, packets out: whoever does not fit is left out, and nobody else minds."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guidefbo
from guidefbo.core.errors import (
    SettingsError,
    UnknownNameError,
    UploadWarning,
    WireError,
)
from guidefbo.server import registry
from guidefbo.server.exchange import build_server, exchange, merge
from guidefbo.server.registry import find_server, register_server, server_names
from guidefbo.wire.cgp import DesignUpload
from guidefbo.wire.codec import read
from guidefbo.wire.consensus import PeakUpload
from guidefbo.wire.envelope import (
    MAX_BYTES,
    MAX_SEQUENCE,
    Envelope,
    PacketHead,
    Terms,
    UploadHead,
    digest,
)
from guidefbo.wire.fmtbo import ModelUpload, SharedHyperparameters
from guidefbo.wire.fts import FeatureWeights, PeerPoint
from guidefbo.wire.guide import OptimumUpload
from guidefbo.wire.shape import ShapeUpload
from guidefbo.wire.shared_data import SharedObservations

SITES = ("north", "south", "west")


def optimum(n=0, dim=2, is_full=False, center=None):
    return OptimumUpload(
        mass=0.5,
        center=np.full(dim, 0.1 + 0.1 * n) if center is None else center,
        variance=0.01 * (np.eye(dim) if is_full else np.ones(dim)),
        value_score=0.02 * n,
    )


def peak(n=0, dim=2):
    return PeakUpload(
        mass=1.0,
        center=np.full(dim, 0.1 + 0.1 * n),
        variance=np.full(dim, 0.01),
        value_score=0.0,
    )


def design(n=0, dim=2):
    return DesignUpload(design=np.full(dim, 0.1 * n), lower_bound=n, best_mean=0.5)


def trend(n=0, dim=2):
    return ShapeUpload(
        kinds=("slopes", "bends", "place"),
        means=(np.full(dim, 0.1 * n),) * 3,
        variances=(np.full(dim, 0.1),) * 3,
    )


def choice(size=4):
    return ShapeUpload(
        kinds=("choice",), means=(np.zeros(size),), variances=(np.ones(size),)
    )


def observations(n=0, dim=2):
    return SharedObservations(
        inputs=np.full((2, dim), 0.1 * n), values=np.ones(2), noise=np.full(2, 0.1)
    )


def model(n=0, dim=2, num_probes=4, mean=None):
    hyper = SharedHyperparameters(
        lengthscales=np.full(dim, 1.0 + n), outputscale=1.0, mean=mean
    )
    return ModelUpload(hyper=hyper, ranks=np.roll(np.arange(num_probes), n))


def weights(n=0, num_features=3):
    return FeatureWeights(weights=np.arange(1.0, num_features + 1.0) + n)


def point(n=0, dim=2):
    return PeerPoint(point=np.full(dim, 0.1 * n))


MODELS = {
    "dimension": model(dim=3),
    "number of probes": model(num_probes=5),
    "with means": model(mean=0.5),
}
FEATURES = {"number of features": weights(num_features=4)}
STRATEGIES = {
    "guide": (
        optimum,
        {"dimension": optimum(dim=3), "full components": optimum(is_full=True)},
    ),
    "consensus": (peak, {"dimension": peak(dim=3)}),
    "shape": (trend, {"the blocks": trend(dim=3), "blocks": choice()}),
    "shared-data": (observations, {"dimension": observations(dim=3)}),
    "cgp": (design, {"dimension": design(dim=3)}),
    "fmtbo": (model, MODELS),
    "fmtbo-as-run": (model, MODELS),
    "fts": (weights, FEATURES),
    "fts-de": (weights, FEATURES),
    "fts-de-as-run": (weights, FEATURES),
    "fts-as-run": (point, {"dimension": point(dim=3)}),
}
"""Uploads of a strategy, and by what others do not fit."""
MISFITS = [(name, word) for name, (_, odd) in STRATEGIES.items() for word in odd]


def terms_of(strategy="guide", **changes):
    given = {"federation": "trial", "space": "abc", "strategy": strategy}
    return Terms(**given | changes)


def send(body, site, sequence=1, strategy="guide", **terms):
    head = UploadHead(terms=terms_of(strategy, **terms), site=site, sequence=sequence)
    return Envelope(head=head, body=body).to_bytes()


def honest(strategy="guide", sites=SITES):
    """Return uploads of one federation; the sites are not equally far."""
    make, _ = STRATEGIES[strategy]
    return {
        site: send(make(n), site, sequence=4 + n, strategy=strategy)
        for n, site in enumerate(sites)
    }


def answer(uploads, strategy="guide", given=None, t=2, seed=3, **options):
    server = build_server(strategy, given or {})
    return exchange(server, uploads, t=t, seed=seed, **options)


def bodies(packets, strategy="guide"):
    kind = build_server(strategy, {}).packet_type
    return {name: read(data, kind, PacketHead) for name, data in packets.items()}


def check_left_out(odd, *words, strategy="guide"):
    """Check that one upload is left out by its name, and that nobody else notices."""
    uploads = honest(strategy)
    for name in ("a first name", "zuletzt"):
        outcome = answer({**uploads, name: odd}, strategy)
        assert list(outcome.left_out) == [name]
        for word in words:
            assert word in outcome.left_out[name], outcome.left_out[name]
        expected = answer(uploads, strategy)
        assert not expected.left_out
        assert expected.packets.keys() == uploads.keys()
        assert outcome.packets == expected.packets


def test_every_server_of_the_package_is_in_these_tests():
    own = {
        n for n in server_names() if find_server(n).__module__.startswith("guidefbo.")
    }
    assert own == set(STRATEGIES)


# Who is left out.


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: b"", "JSON"),
        (lambda data: data[:-1], "JSON"),
        (lambda data: b"\xff\xfe", "JSON"),
        (lambda data: data + b" " * MAX_BYTES, "bytes"),
        (lambda data: data.replace(b'"version":2', b'"version":1'), "Upgrade"),
        (lambda data: data.replace(b'"version":2', b'"version":3'), "Upgrade"),
        (lambda data: data.replace(b'"east"', b'"the east"'), "site must be"),
        (lambda data: data.replace(b'"sequence":9', b'"sequence":-9'), "sequence"),
        (lambda data: data.replace(b'"body":{', b'"body":{"x":1,'), "unknown ['x']"),
        (lambda data: data.replace(b'"sequence":9,', b""), "missing ['sequence']"),
        (lambda data: data.replace(b'"kind":"', b'"kind":"no.'), "message, got"),
    ],
)
def test_an_unreadable_upload_is_left_out(strategy, damage, words):
    make, _ = STRATEGIES[strategy]
    data = damage(send(make(4), "east", 9, strategy))
    check_left_out(data, words, strategy=strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_packet_is_no_upload(strategy):
    packet = answer(honest(strategy), strategy).packets["south"]
    check_left_out(packet, strategy=strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"federation": "other"}, "federation 'other', and this is 'trial'"),
        ({"space": "abd"}, "another search space"),
        ({"strategy": "unheard"}, "strategy 'unheard', and this federation uses"),
        ({"strategy_version": 2}, "version 2 of"),
    ],
)
def test_an_upload_of_elsewhere_is_left_out(strategy, changes, words):
    make, _ = STRATEGIES[strategy]
    data = send(make(4), "east", 9, **{"strategy": strategy} | changes)
    check_left_out(data, words, strategy=strategy)


@pytest.mark.parametrize(("strategy", "word"), MISFITS)
def test_an_upload_that_does_not_fit_is_left_out(strategy, word):
    odd = STRATEGIES[strategy][1][word]
    words = (word, "as in most uploads", "Do all sites use the same settings?")
    check_left_out(send(odd, "east", 9, strategy), *words, strategy=strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("sequence", [0, 4])
def test_an_older_upload_of_a_site_is_left_out(strategy, sequence):
    """And so is another one that is as new, whatever it says."""
    make, _ = STRATEGIES[strategy]
    uploads = honest(strategy)
    older = send(make(0), "south", sequence, strategy)
    outcome = answer({**uploads, "again": older}, strategy)
    assert list(outcome.left_out) == ["again"]
    assert (
        "it is of the site 'south', whose upload came as 'south'"
        in (outcome.left_out["again"])
    )
    assert outcome.packets == answer(uploads, strategy).packets


def test_the_newest_upload_of_a_site_stands_for_it():
    uploads = honest()
    newer = send(optimum(7), "north", 99)
    outcome = answer({**uploads, "again": newer})
    assert list(outcome.left_out) == ["north"]
    expected = answer({**uploads, "north": newer}).packets
    assert outcome.packets == {
        "again": expected["north"],
        **{site: expected[site] for site in ("south", "west")},
    }


def test_an_upload_under_two_names_counts_once():
    uploads = honest()
    outcome = answer({**uploads, "a copy": uploads["west"]})
    assert list(outcome.left_out) == ["west"]
    assert "whose upload came as 'a copy'" in outcome.left_out["west"]
    assert "a name of its own" in outcome.left_out["west"]
    expected = answer(uploads).packets
    assert outcome.packets == {
        "a copy": expected["west"],
        **{site: expected[site] for site in ("north", "south")},
    }


def test_several_are_left_out_each_for_its_own_reason():
    uploads = honest()
    odd = {
        "cut": uploads["north"][:-4],
        "far": send(optimum(), "far", federation="other"),
        "full": send(optimum(is_full=True), "full"),
        "twin": uploads["south"],
        "wide": send(optimum(dim=5), "wide"),
    }
    outcome = answer({**odd, **uploads})
    assert outcome.left_out.keys() == odd.keys()
    assert len(set(outcome.left_out.values())) == 5
    assert outcome.packets == answer(uploads).packets


def test_what_is_left_out_first_is_not_counted_with_the_others():
    """Uploads of another federation have no say in what fits this one."""
    uploads = honest()
    far = {f"far-{n}": send(optimum(dim=3), f"far-{n}", space=str(n)) for n in range(9)}
    outcome = answer({**uploads, **far})
    assert outcome.packets == answer(uploads).packets
    assert all("another search space" in why for why in outcome.left_out.values())


def test_terms_that_are_given_are_not_put_to_the_vote():
    uploads, far = honest(), honest(sites=tuple("abcdefg"))
    mine = {"x": send(optimum(), "x", federation="mine")}
    outcome = answer({**uploads, **far, **mine}, terms=terms_of(federation="mine"))
    assert list(outcome.packets) == ["x"]
    assert outcome.left_out.keys() == uploads.keys() | far.keys()


def test_nothing_in_nothing_out():
    for terms in (None, terms_of()):
        outcome = answer({}, terms=terms)
        assert (dict(outcome.packets), dict(outcome.left_out)) == ({}, {})
    outcome = answer(honest(), terms=terms_of(space="other"))
    assert not outcome.packets
    assert outcome.left_out.keys() == set(SITES)
    outcome = answer({"a": b"", "b": b"{}"})
    assert not outcome.packets
    assert outcome.left_out.keys() == {"a", "b"}


@settings(max_examples=60)
@given(st.binary(max_size=60), st.data())
def test_no_bytes_whatsoever_stop_the_others(scrap, data):
    """Anything in the place of any part of an upload."""
    whole = send(optimum(3), "east", 9)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    uploads = honest()
    outcome = answer({**uploads, "east": whole[:start] + scrap + whole[end:]})
    if "east" in outcome.left_out:
        assert outcome.packets == answer(uploads).packets
    else:
        assert outcome.packets.keys() == {*SITES, "east"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_sequence_number_stops_the_others(strategy):
    """The largest there is, at every site: packets are made and can be read."""
    make, _ = STRATEGIES[strategy]
    uploads = {
        site: send(make(n), site, MAX_SEQUENCE, strategy)
        for n, site in enumerate(SITES)
    }
    packets = bodies(answer(uploads, strategy).packets, strategy)
    assert {p.head.answers for p in packets.values()} == {MAX_SEQUENCE}


# What a packet says.


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_head_of_a_packet(strategy):
    uploads = honest(strategy)
    outcome = answer(uploads, strategy)
    sequences = {"north": 4, "south": 5, "west": 6}
    for site, packet in bodies(outcome.packets, strategy).items():
        assert packet.head == PacketHead(
            terms=terms_of(strategy),
            site=site,
            round=2,
            answers=sequences[site],
            num_uploads=3,
            made_of=digest(uploads.values()),
        )


def test_the_head_is_of_the_uploads_that_were_used():
    uploads = honest()
    odd = {"east": send(optimum(dim=3), "east", 100)}
    for packet in bodies(answer({**uploads, **odd}).packets).values():
        assert packet.head.num_uploads == 3
        assert packet.head.made_of == digest(uploads.values())
    fewer = {site: uploads[site] for site in ("north", "west")}
    for packet in bodies(answer(fewer).packets).values():
        assert packet.head.num_uploads == 2
        assert packet.head.made_of == digest(fewer.values())


def test_a_site_is_answered_under_the_name_its_upload_came_by():
    uploads = {f"file {n}": data for n, data in enumerate(honest().values())}
    packets = bodies(answer(uploads).packets)
    assert {name: p.head.site for name, p in packets.items()} == dict(
        zip(uploads, SITES, strict=True)
    )


# Names, order and cost.


def by_site(packets, strategy="guide"):
    found = {p.head.site: name for name, p in bodies(packets, strategy).items()}
    return {site: packets[name] for site, name in found.items()}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_names_and_order_of_uploads_do_not_matter(strategy):
    uploads = honest(strategy, ("a", "b", "c", "d", "e"))
    expected = by_site(answer(uploads, strategy).packets, strategy)
    items = list(uploads.items())
    for order in (items[::-1], items[2:] + items[:2]):
        assert (
            answer(dict(order), strategy).packets == answer(uploads, strategy).packets
        )
        renamed = {f"{n} file": data for n, (_, data) in enumerate(order)}
        found = answer(renamed, strategy)
        assert by_site(found.packets, strategy) == expected


TIES = {
    "two dimensions": [send(optimum(1), "a"), send(optimum(2, dim=3), "b")],
    "two federations": [send(optimum(1), "b"), send(optimum(2), "a", federation="x")],
    "two spaces": [send(optimum(1), "a"), send(optimum(2), "b", space="x")],
    "two of one site": [send(optimum(1), "a"), send(optimum(2), "a")],
}


@pytest.mark.parametrize("data", TIES.values(), ids=TIES)
def test_names_do_not_decide_a_tie(data):
    """Two against two, or one word against another of the same site."""
    first = by_site(answer(dict(zip("xy", data, strict=True))).packets)
    second = by_site(answer(dict(zip("yx", data, strict=True))).packets)
    assert first == second
    assert len(first) == 1


def test_strategies_are_counted_whatever_the_names():
    one, other = send(optimum(), "a"), send(peak(), "b", strategy="consensus")
    for uploads in ({"x": one, "y": other}, {"x": other, "y": one}):
        with pytest.warns(UploadWarning, match="left out"):
            (packet,) = merge(uploads).values()
        assert json.loads(packet)["strategy"] == "consensus"


@dataclass
class Counting:
    """A server that counts how often it is asked."""

    inner: Any
    forms: int = 0
    rounds: list[int] = field(default_factory=list)

    @property
    def upload_type(self):
        return self.inner.upload_type

    def form(self, upload):
        self.forms += 1
        return self.inner.form(upload)

    def aggregate(self, uploads, t, draws):
        self.rounds.append(len(uploads))
        return self.inner.aggregate(uploads, t, draws)


@pytest.mark.parametrize("num_misfits", [0, 1, 20, 39])
def test_the_cost_is_linear_in_the_uploads(num_misfits):
    """Each is read and looked at once, however many of them do not fit."""
    server = Counting(build_server("fts", {}))
    uploads = {
        f"s{n}": send(weights(n, 5 + n if n < num_misfits else 3), f"s{n}")
        for n in range(80)
    }
    outcome = exchange(server, uploads, t=1, seed=0)
    assert len(outcome.left_out) == num_misfits
    assert (server.forms, server.rounds) == (80, [80 - num_misfits])


# Randomness.


def chosen(packets):
    """Return the centres that each site got, in their order, to ten digits."""
    return {
        name: packet.body.components.centers.round(10).tolist()
        for name, packet in bodies(packets).items()
    }


def test_guidance_of_a_site_does_not_depend_on_who_else_is_there():
    """Two sites at every place: without one of each, all components stay."""
    uploads = {
        f"{half}{n}": send(optimum(n), f"{half}{n}", sequence=1 + n)
        for n in range(8)
        for half in "ab"
    }
    given = {"packet_size": 3, "reweighting": "mass-only"}
    whole = chosen(answer(uploads, given=given).packets)
    half = {name: data for name, data in uploads.items() if name.startswith("b")}
    fewer = chosen(answer(half, given=given).packets)
    assert len(fewer) == 8
    assert fewer == {name: whole[name] for name in half}
    assert len({str(centers) for centers in fewer.values()}) > 4


def test_guidance_of_a_site_is_drawn_anew_for_every_upload_of_it():
    """And only then: not because another site has told more, or in another round."""

    def of_a(sequence, other=1, **options):
        uploads = {
            f"s{n}": send(optimum(n), f"s{n}", sequence if n == 0 else other)
            for n in range(8)
        }
        return chosen(answer(uploads, **options).packets)["s0"]

    assert of_a(1) == of_a(1, other=5) == of_a(1, t=9)
    assert len({str(of_a(sequence)) for sequence in range(6)}) > 3
    assert of_a(1) != of_a(1, seed=4)


def sources(sites, sequences=None):
    """Return whose weights each site got."""
    uploads = {
        site: send(weights(n), site, (sequences or {}).get(site, 1), "fts")
        for n, site in enumerate(sites)
    }
    packets = bodies(answer(uploads, "fts").packets, "fts")
    return {
        site: sites[int(packets[site].body.weights[0] - 1.0)] for site in sorted(sites)
    }


def test_whom_a_site_hears_does_not_depend_on_what_others_do():
    """E48: others may tell more, or go while others come."""
    sites = [f"s{n}" for n in range(9)]
    usual = sources(sites)
    told = sources(sites, dict.fromkeys(sites[3:], 7))
    assert {s: told[s] for s in sites[:3]} == {s: usual[s] for s in sites[:3]}
    assert told != usual
    changed = sources([*sites[:5], "s5-new", *sites[6:]])
    for site in (s for s in sites if s != "s5"):
        heard = "s5-new" if usual[site] == "s5" else usual[site]
        assert changed[site] == heard


# merge.


def test_merge_reads_the_method_from_the_uploads():
    for strategy in STRATEGIES:
        uploads = honest(strategy)
        expected = dict(answer(uploads, strategy, t=1, seed=0).packets)
        assert merge(uploads) == merge(uploads, method=strategy) == expected
    assert guidefbo.merge is merge


@pytest.mark.parametrize("method", ["guide-ucb", "guide-ts-grid", "guide-my-own-rule"])
def test_merge_takes_the_name_of_a_method(method):
    """Its rule is the sites' affair; a coordinator need not know it."""
    assert merge(honest(), method=method) == merge(honest())


def test_merge_finds_the_longer_of_two_strategies():
    uploads = honest("fts-de")
    assert merge(uploads, method="fts-de") == merge(uploads, method="fts-de-ts")
    uploads = honest("fts-as-run")
    assert merge(uploads, method="fts-as-run-x") == merge(uploads)


def test_merge_takes_texts_and_messages_too():
    uploads = honest()
    text = {name: data.decode() for name, data in uploads.items()}
    messages = {
        name: read(data, OptimumUpload, UploadHead) for name, data in uploads.items()
    }
    assert merge(text) == merge(messages) == merge(uploads)


def test_merge_names_whom_it_leaves_out():
    uploads = honest()
    with pytest.warns(UploadWarning, match="is left out: ") as caught:
        packets = merge({**uploads, "late": b"{", "wide": send(optimum(dim=3), "wide")})
    late, wide = (str(w.message) for w in caught)
    assert late.startswith("late is left out: Expected a JSON message")
    assert wide.startswith("wide is left out: expected diagonal components")
    assert packets == merge(uploads)


def test_most_uploads_say_which_strategy_it_is():
    uploads = honest("consensus")
    with pytest.warns(UploadWarning, match="odd is left out"):
        packets = merge({"odd": send(optimum(), "odd"), **uploads})
    assert packets == merge(uploads)


def test_merge_depends_on_the_round_and_the_seed():
    sites = tuple(f"s{n}" for n in range(8))
    uploads = honest("cgp", sites)
    assert merge(uploads, t=1, seed=1) == merge(uploads, t=1, seed=1)
    assert merge(uploads, t=1, seed=1) != merge(uploads, t=2, seed=1)
    assert merge(uploads, t=1, seed=1) != merge(uploads, t=1, seed=2)


def test_settings_of_the_server_reach_it():
    for size in (1, 2):
        packets = bodies(merge(honest(), settings={"packet_size": size}))
        assert {len(p.body) for p in packets.values()} == {size}


@pytest.mark.parametrize("name", ["beta", "num_paths", "schedule", "packet_siz"])
def test_settings_of_anybody_else_are_refused(name):
    """A coordinator has no rule and no paths; who sets them is told so."""
    with pytest.raises(UnknownNameError, match=f"setting of guide's server '{name}'"):
        merge(honest(), settings={name: 3})


def test_settings_out_of_range_are_refused():
    with pytest.raises(SettingsError, match=r"packet_size must be .* to 100, got 101"):
        merge(honest(), settings={"packet_size": 101})
    with pytest.raises(SettingsError, match="dispatch must be one of agent-specific"):
        merge(honest(), settings={"dispatch": "nobody"})


def test_nothing_usable_is_refused_by_name():
    for method in (None, "guide"):
        with pytest.raises(WireError, match=r"a: .*JSON"):
            merge({"a": b"{", "b": b""}, method=method)
    with pytest.raises(WireError, match=r"No upload can be used: a: .* b: "):
        merge({"a": b"{", "b": b""}, method="guide")
    only = {"a": send(peak(), "a", strategy="guide")}
    with pytest.raises(WireError, match=r"No upload can be used: a: .*'guide.upload'"):
        merge(only)


def test_a_strategy_that_nobody_knows_is_refused():
    uploads = {"a": send(optimum(), "a", strategy="unheard")}
    with pytest.raises(UnknownNameError, match="strategy with a server side 'unheard'"):
        merge(uploads)


@pytest.mark.parametrize(
    "method",
    [
        *["ucb", "placebo-ucb", "nothing", "", 7, ["guide"]],
        *["guide-", "guide--ucb", "guide- ucb", "guide-ucb\n", "guide-" + 65 * "a"],
    ],
)
def test_a_method_without_a_server_is_refused(method):
    with pytest.raises(SettingsError, match="nothing to merge, or it is not known"):
        merge(honest(), method=method)


@pytest.mark.parametrize(
    ("uploads", "words"),
    [
        ({}, "at least one"),
        ([b"{}"], "uploads of the sites by name"),
        (None, "uploads of the sites by name"),
        ({0: b"{}"}, "names that are texts"),
    ],
)
def test_uploads_come_by_name(uploads, words):
    with pytest.raises(SettingsError, match=words):
        merge(uploads)


@pytest.mark.parametrize("upload", [None, 3, ["{}"], {"format": "guidefbo-message"}])
def test_an_upload_is_a_message_or_its_text(upload):
    with pytest.raises(WireError, match="north: expected an upload, its bytes or its"):
        merge({"north": upload})


@pytest.mark.parametrize("name", ["t", "seed"])
@pytest.mark.parametrize("value", [-1, 1.5, "1", True])
def test_round_and_seed_are_whole_numbers(name, value):
    with pytest.raises(SettingsError, match=f"{name} must be a whole number"):
        merge(honest(), **{name: value})


# Strategies from outside.


@pytest.fixture
def outside(monkeypatch):
    """A strategy of somebody else's, whose name has an underscore."""
    monkeypatch.setattr(registry, "_registered", {})
    register_server("my_own", find_server("guide"))
    return "my_own"


def test_a_registered_strategy_is_found_by_its_name(outside):
    assert outside in server_names()
    assert "my-own" not in server_names()
    uploads = {s: send(optimum(n), s, 4 + n, outside) for n, s in enumerate(SITES)}
    expected = {
        name: replace(
            packet,
            head=replace(
                packet.head, terms=terms_of(outside), made_of=digest(uploads.values())
            ),
        )
        for name, packet in bodies(merge(honest())).items()
    }
    for method in (None, outside, f"{outside}-ucb"):
        packets = merge(uploads, method=method)
        assert packets == {name: p.to_bytes() for name, p in expected.items()}


@pytest.mark.parametrize("name", ["guide", "fts-as-run", "fts_de"])
def test_names_of_the_package_are_taken(name, outside):
    with pytest.raises(SettingsError, match="choose another name"):
        register_server(name, find_server("guide"))

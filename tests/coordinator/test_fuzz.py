"""Any request at all, from the published description: no failure, nothing invalid.

The whole HTTP application runs here, in this process. The long set tries some
thousands of cases; GUIDEFBO_CASES=100000 says how many of each kind, drawn anew every
time.
"""

import asyncio
import base64
import json
import math
import os
from dataclasses import dataclass
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.coordinator.schemas import (
    FORM,
    SCHEMAS,
    anything,
    damaged,
    fits,
    fitting,
)
from tests.coordinator.world import Site, World, make_upload, terms

from guidefbo.coordinator import host
from guidefbo.coordinator.config import Config
from guidefbo.coordinator.service import make_app
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import SIGNED_PREFIX, peek

CASES = os.environ.get("GUIDEFBO_CASES")
few_and_many = pytest.mark.parametrize(
    "num_cases", [40, pytest.param(int(CASES or 1500), marks=pytest.mark.slow)]
)


def tried(num_cases, **drawn):
    """Run a function with drawn values, so many times; the same ones unless asked."""

    def run(check):
        chosen = settings(
            max_examples=num_cases,
            deadline=None,
            derandomize=CASES is None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        chosen(given(**drawn)(check))()

    return run


class Fuzzed:
    """The application, and one site after the other that writes to it."""

    def __init__(self, folder):
        self.world = World(str(folder / "guidefbo.db"), min_sites=2)
        self.world.create("other")
        self.others = self.world.joined("south", "west")
        for site in self.others:
            self.world.ok(site.exchange(1))
        self.codes = [self.invite("late"), self.invite("late", "other")]
        self.key = SigningKey.make()
        self.last = ""
        app = make_app(self.world.desk, Config(rate_site=0.0, rate_address=0.0))
        self.loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://test")
        self.renew()

    def invite(self, name, federation="reaction"):
        return host.invite(self.world.store, federation, name).code

    def request(self, method, path, **fields):
        return self.loop.run_until_complete(
            self.client.request(method, path, follow_redirects=False, **fields)
        )

    def meant(self, value):
        """Return a drawn value as it is written now."""
        if isinstance(value, After):
            return self.site.number + value.count
        if isinstance(value, Code):
            return self.codes[value.index]
        return self.key.public if value is OWN_KEY else value

    def renew(self):
        """Have the site that writes be a member again."""
        self.site = Site("north")
        said = self.world.ok(self.site.join(self.invite("north")))
        self.site.number = said["last_number"]

    def close(self):
        self.loop.run_until_complete(self.client.aclose())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.world.close()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    made = Fuzzed(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.close()


def check_answer(method, path, got):
    """Check what must hold of every answer, whatever was asked."""
    assert got.status_code < 500, (method, path, got.status_code, got.text)
    described = FORM["paths"].get(path, {}).get(method.lower())
    if described is not None:
        assert str(got.status_code) in described["responses"], got.text
    if got.status_code >= 400 and method != "HEAD":
        assert fits(SCHEMAS["Refusal"], got.json()), got.text
    if got.status_code == 200 and described is not None:
        content = described["responses"]["200"].get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema and got.headers["content-type"] == "application/json":
            assert fits(schema, got.json()), got.text


PATHS = (*FORM["paths"], "/openapi.json", "/", "/docs", "/api/v1", "/api/v2/join")
OPEN = ("/api/v1/federations/{federation}", "/healthz", "/metrics", "/openapi.json")
"""What is answered to everybody."""
RESOLVED = (".", "..")
"""Segments that a client resolves before it asks: the request is of another path."""
methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
segments = (
    st.sampled_from(["reaction", "other", "nowhere", "..", "%2e%2e", "%00", "a%2Fb"])
    | st.from_regex(r"[A-Za-z0-9._~%-]{1,80}", fullmatch=True)
    | st.text(min_size=1, max_size=8).map(
        lambda text: "".join(f"%{b:02x}" for b in text.encode("utf-8", "replace"))
    )
)
printable = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
headers = st.dictionaries(
    st.sampled_from(
        ["authorization", "content-type", "accept", "x-forwarded-for", "range"]
    ),
    printable
    | st.sampled_from(["Bearer x", "Basic Og==", "Basic !", "Bearer ", "bytes=0-"])
    | st.binary(max_size=20).map(lambda b: f"Basic {base64.b64encode(b).decode()}"),
    max_size=3,
)
bodies = (
    st.binary(max_size=200)
    | anything.map(lambda value: json.dumps(value).encode())
    | fitting(SCHEMAS["Letter"])
    .flatmap(damaged)
    .map(lambda form: json.dumps(form).encode())
)


def test_made_up_methods_are_not_remembered(fuzzed):
    for n in range(20):
        assert fuzzed.request(f"MADE-UP-{n}", "/healthz").status_code == 405
    text = fuzzed.world.desk.metrics.to_text()
    assert "MADE-UP" not in text
    assert 'method="other",status="405"' in text


@few_and_many
def test_any_request_is_answered(fuzzed, num_cases, record_property):
    """Without a key and without a token: refused with a sentence, or public."""

    @tried(
        num_cases,
        method=methods,
        path=st.sampled_from(PATHS),
        name=segments,
        query=st.dictionaries(printable, printable, max_size=2),
        headers=headers,
        body=bodies,
    )
    def check(method, path, name, query, headers, body):
        got = fuzzed.request(
            method,
            path.replace("{federation}", name),
            params=query,
            headers=headers,
            content=body,
        )
        check_answer(method, "elsewhere" if name in RESOLVED else path, got)
        if 200 <= got.status_code < 300:
            assert method in ("GET", "HEAD"), (method, path)
            assert path in OPEN
            if path == OPEN[0]:
                assert unquote(name) in ("reaction", "other")

    record_property("cases", num_cases)


DRESSES = {
    "as it is": lambda text: text,
    "with spaces": lambda text: f" {text}\n",
    "twice": lambda text: text + text,
    "a field twice": lambda text: '{"purpose":"exchange",' + text[1:],
    "cut off": lambda text: text[:-1],
    "with a mark": lambda text: "\ufeff" + text,
}
"""What is done to a payload's text; only the first two are JSON of one object."""


def signed(text, key):
    data = text.encode()
    form = {
        "format": "guidefbo-letter",
        "version": 1,
        "payload": base64.b64encode(data).decode(),
        "signature": base64.b64encode(key.sign(SIGNED_PREFIX + data)).decode(),
    }
    return json.dumps(form).encode()


@st.composite
def uploads(draw):
    """Texts for an upload: one that is right, damaged somewhere, or anything."""
    form = json.loads(make_upload("north", draw(st.integers(1, 50))))
    which = draw(st.sampled_from(["right", "head", "body", "numbers", "text"]))
    if which == "text":
        return draw(st.text(max_size=40) | anything.map(json.dumps))
    if which == "head":
        form = draw(damaged(form))
    elif which == "body":
        form["body"] = draw(damaged(form["body"]))
    elif which == "numbers":
        name = draw(st.sampled_from(["center", "variance"]))
        form["body"][name] = draw(
            st.lists(st.floats() | st.floats(0.0, 1.0), max_size=4)
        )
    return json.dumps(form)


ROUNDING = 1e-9
"""How far outside the cube a centre may lie, as the page on formats says."""


def is_right_upload(text):
    """Whether an upload is north's and in order; written apart from the package."""
    form = json.loads(text)
    head = {k: v for k, v in form.items() if k not in ("sequence", "body")}
    mine = terms()
    expected = {
        "format": "guidefbo-message",
        "version": 2,
        "kind": "guide.upload",
        "federation": mine.federation,
        "space": mine.space,
        "strategy": mine.strategy,
        "strategy_version": mine.strategy_version,
        "site": "north",
    }
    body = form["body"]
    spread = "covariance" if "covariance" in body else "variance"
    numbers = [*body["center"], body["mass"], body["value_score"]]
    return (
        head == expected
        and type(form["sequence"]) is int
        and form["sequence"] >= 0
        and body.keys() == {"mass", "center", spread, "value_score"}
        and all(type(n) in (int, float) and math.isfinite(n) for n in numbers)
        and all(-ROUNDING <= c <= 1.0 + ROUNDING for c in body["center"])
        and 0.0 < body["mass"] <= 1.0
        and (spread != "variance" or all(v > 0.0 for v in body["variance"]))
        and len(body["center"]) > 0
    )


@dataclass(frozen=True)
class After:
    """So many letters after the last one: what is drawn depends on no state."""

    count: int


@dataclass(frozen=True)
class Code:
    """One of the codes that are good at the time."""

    index: int


OWN_KEY = object()
"""The key that signs joins."""


@st.composite
def payloads(draw, purpose):
    """A payload that fits its schema and often this site; perhaps damaged."""
    schema = SCHEMAS[f"{purpose.title()}Payload"]
    form = draw(fitting(schema))
    fields = {
        "federation": st.just("reaction"),
        "site": st.just("north"),
        "number": st.just(After(1)) | st.integers(-3, 10).map(After),
        "upload": st.none() | uploads(),
        "held": st.none() | st.just([0, 0]),
        "public_key": st.just(OWN_KEY)
        | st.binary(min_size=32, max_size=32).map(
            lambda data: base64.b64encode(data).decode()
        ),
        "code": st.sampled_from([Code(0), Code(1)]),
        "space": st.none() | st.just(terms().space),
    }
    if purpose == "join":
        fields |= {"federation": st.none(), "site": st.none()}
    for name in sorted(form.keys() & fields.keys()):
        if name == "number" or draw(st.integers(0, 9)):
            form[name] = draw(fields[name])
    return draw(damaged(form, most=1)) if draw(st.booleans()) else form


@few_and_many
def test_any_signed_letter_is_answered(fuzzed, num_cases, record_property):
    """Whoever has a key may write anything: only what is described is accepted."""
    accepted = dict.fromkeys(("join", "exchange", "leave", "rotate"), 0)

    @tried(
        num_cases,
        purpose=st.sampled_from(sorted(accepted)),
        dress=st.sampled_from([*DRESSES, *["as it is"] * 10]),
        data=st.data(),
    )
    def check(purpose, dress, data):
        drawn = data.draw(payloads(purpose))
        payload = {name: fuzzed.meant(value) for name, value in drawn.items()}
        key = fuzzed.key if purpose == "join" else fuzzed.site.key
        text = DRESSES[dress](json.dumps(payload))
        letter = signed(text, key)
        path = "join" if purpose == "join" else f"federations/reaction/{purpose}"
        got = fuzzed.request("POST", f"/api/v1/{path}", content=letter)
        template = "/api/v1/" + path.replace("reaction", "{federation}")
        check_answer("POST", template, got)
        if got.status_code != 200:
            return
        accepted[purpose] += 1
        assert dress in ("as it is", "with spaces")
        assert fits(SCHEMAS[f"{purpose.title()}Payload"], payload), payload
        said = peek(got.content)
        assert fits(SCHEMAS[f"{purpose.title()}Answer"], dict(said)), said
        if purpose == "join":
            assert payload["code"] in fuzzed.codes
            assert payload["public_key"] == fuzzed.key.public
            name = said["federation"]
            place = fuzzed.codes.index(payload["code"])
            fuzzed.codes[place] = fuzzed.invite("late", name)
            return
        assert (payload["federation"], payload["site"]) == ("reaction", "north")
        assert payload["number"] > fuzzed.site.number or text == fuzzed.last
        fuzzed.site.number, fuzzed.last = payload["number"], text
        if purpose == "exchange" and payload["upload"] is not None:
            assert is_right_upload(payload["upload"]), payload["upload"]
        if purpose != "exchange":
            fuzzed.renew()

    # A test in which everything is refused would see nothing.
    assert all(accepted.values()) or num_cases < 1000, accepted
    record_property("cases", num_cases)
    record_property("accepted", sum(accepted.values()))

"""The HTTP door: roles, limits, what it says of itself; a real process."""

import asyncio
import base64
import contextlib
import gc
import json
import re
import socket
import ssl
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families
from tests.coordinator.running import run, serving
from tests.coordinator.world import Site, World, checked, read_packet
from uvicorn.server import ServerState

from guidefbo.coordinator import host
from guidefbo.coordinator.config import Config
from guidefbo.coordinator.limits import Buckets, Seldom
from guidefbo.coordinator.refusal import Refusal
from guidefbo.wire.letter import peek

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    """A service in front of two federations; `world` works on the same store."""
    folder = tmp_path_factory.mktemp("service")
    world = World(str(folder / "guidefbo.db"))
    world.create("other")
    options = ("--rate-site", "0", "--rate-address", "0", "--timeout", "1")
    log = folder / "log"
    with serving(world.address, *options, log=log) as service:
        service.world = world
        service.log = log
        yield service
    world.close()


_names = iter(range(10_000))


def newcomer(hosted, federation="reaction", role="site"):
    """Join over HTTP under a new name."""
    site = Site(f"site-{next(_names)}", federation)
    code = host.invite(hosted.world.store, federation, site.name, role=role).code
    letter = site.join(code)
    got = hosted.post(letter, "join")
    assert got.status_code == 200, got.text
    checked(got.content, letter, hosted.world.public_key)
    return site


def test_join_and_exchange_over_http(hosted):
    sites = [newcomer(hosted) for _ in range(3)]
    for site in sites:
        letter = site.exchange(1)
        got = hosted.post(letter, "exchange")
        assert got.status_code == 200
        assert got.headers["content-type"] == "application/json"
        said = checked(got.content, letter, hosted.world.public_key)
    assert read_packet(said["packet"]).head.site == sites[-1].name
    assert hosted.post(letter, "exchange").content == got.content
    for purpose, fields in (("leave", {"forget": True}),):
        for site in sites:
            assert hosted.post(site.letter(purpose, **fields), purpose).is_success


def token_of(hosted, federation):
    return host.add_reader(hosted.world.store, federation, f"reader-{next(_names)}")


def basic(token):
    return "Basic " + base64.b64encode(f"anybody:{token}".encode()).decode()


ROUTES = {
    "join": ("POST", "/api/v1/join"),
    "exchange": ("POST", "/api/v1/federations/reaction/exchange"),
    "leave": ("POST", "/api/v1/federations/reaction/leave"),
    "rotate": ("POST", "/api/v1/federations/reaction/rotate"),
    "describe": ("GET", "/api/v1/federations/reaction"),
    "sites": ("GET", "/api/v1/federations/reaction/sites"),
    "page": ("GET", "/federations/reaction"),
    "healthz": ("GET", "/healthz"),
    "metrics": ("GET", "/metrics"),
    "openapi": ("GET", "/openapi.json"),
}
"""Every route; a test compares with the published description."""
OPEN = ("describe", "healthz", "metrics", "openapi")
"""What everybody may see."""
CALLERS = (
    "nobody",
    "site",
    "left site",
    "revoked site",
    "site of another federation",
    "site of the same name elsewhere",
    "somebody with another key",
    "reader",
    "reader by password",
    "reader of another federation",
    "former reader",
    "made-up token",
)
READS = ("reader", "reader by password")


def letter_for(route, site):
    fields = {
        "exchange": {"upload": None, "held": None},
        "leave": {"forget": False},
        "rotate": {"public_key": Site("x").key.public},
    }
    if route == "join":
        return site.join("ABCD-EFGH-JKMN-PQRS")
    return site.letter(route, **fields[route])


def expected(route, caller):
    """Return the statuses a caller may get."""
    if route in OPEN:
        return {200}
    if route in ("sites", "page"):
        if caller in READS:
            return {200}
        return {403} if caller == "reader of another federation" else {401}
    if route == "join":
        # Nobody here has an invitation.
        return {400} if caller not in SENDERS else {403}
    return {
        "site": {200},
        "left site": {404},
        "revoked site": {403},
        "site of another federation": {404},
        "site of the same name elsewhere": {401},
        "somebody with another key": {401},
    }.get(caller, {400})


SENDERS = CALLERS[1:7]


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("route", ROUTES)
def test_who_may_do_what(hosted, route, caller):
    store = hosted.world.store
    headers, content = {}, None
    if caller in SENDERS and ROUTES[route][0] == "POST":
        site = newcomer(hosted)
        if caller == "left site":
            assert hosted.post(site.letter("leave", forget=False), "leave").is_success
        elif caller == "revoked site":
            host.revoke(store, "reaction", site.name)
        elif caller == "site of another federation":
            site = newcomer(hosted, "other")
            site.federation = "reaction"
        elif caller == "site of the same name elsewhere":
            code = host.invite(store, "other", site.name).code
            twin = Site(site.name, "other")
            assert hosted.post(twin.join(code), "join").is_success
            site = Site(site.name, "reaction", key=twin.key, number=9)
        elif caller == "somebody with another key":
            site = Site(site.name, number=9)
        content = letter_for(route, site)
    elif caller in READS:
        token = token_of(hosted, "reaction")
        headers["authorization"] = (
            f"Bearer {token}" if caller == "reader" else basic(token)
        )
    elif caller == "reader of another federation":
        headers["authorization"] = f"Bearer {token_of(hosted, 'other')}"
    elif caller == "former reader":
        headers["authorization"] = f"Bearer {host.add_reader(store, 'reaction', 'r')}"
        host.add_reader(store, "reaction", "r")
    elif caller == "made-up token":
        headers["authorization"] = "Bearer abc"
    method, path = ROUTES[route]
    got = hosted.client.request(
        method, hosted.url + path, content=content, headers=headers
    )
    assert got.status_code in expected(route, caller), got.text
    if got.status_code >= 400:
        assert set(got.json()) == {"error", "message"}


def test_matrix_knows_every_route(hosted):
    form = hosted.get("/openapi.json").json()
    published = {
        (method.upper(), path)
        for path, methods in form["paths"].items()
        for method in methods
    }
    mine = {(m, p.replace("/reaction", "/{federation}")) for m, p in ROUTES.values()}
    assert mine - {("GET", "/openapi.json")} == published


def test_description_is_the_golden_one(hosted):
    """The interface is a promise: a change of it is seen in a review."""
    found = hosted.get("/openapi.json").json()
    golden = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    assert found == golden


def test_public_description_names_no_site(hosted):
    site = newcomer(hosted)
    got = hosted.get("/api/v1/federations/reaction")
    assert site.name not in got.text
    assert got.json()["coordinator_key"] == hosted.world.public_key
    missing = hosted.get("/api/v1/federations/nowhere")
    assert (missing.status_code, missing.json()["error"]) == (404, "not_found")


def test_page_shows_the_sites(hosted):
    site = newcomer(hosted)
    hosted.post(site.exchange(17), "exchange")
    auth = {"authorization": basic(token_of(hosted, "reaction"))}
    page = hosted.get("/federations/reaction", headers=auth)
    assert page.headers["content-type"].startswith("text/html")
    assert f"<td>{site.name}</td>" in page.text
    assert '<td class="number">17</td>' in page.text
    seen = hosted.get("/api/v1/federations/reaction/sites", headers=auth)
    mine = [s for s in seen.json()["sites"] if s["name"] == site.name]
    assert mine[0]["sequence"] == 17
    # A browser is asked for the token.
    bare = hosted.get("/federations/reaction")
    assert bare.headers["www-authenticate"].startswith("Basic")


def test_metrics_are_prometheus_text(hosted):
    newcomer(hosted)
    got = hosted.get("/metrics")
    assert got.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {f.name for f in text_string_to_metric_families(got.text)}
    assert {"guidefbo_letters", "guidefbo_letter_seconds"} <= families
    assert 'purpose="join",outcome="ok"' in got.text


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/healthz/", "/federations/%2f", "/api/v1/federations/reaction/"],
)
def test_unknown_address(hosted, path):
    """A slash more is another address: no redirect, which nothing describes."""
    got = hosted.get(path)
    assert (got.status_code, got.json()["error"]) == (404, "not_found")


def test_unknown_method(hosted):
    got = hosted.get("/api/v1/join")
    assert (got.status_code, got.json()["error"]) == (405, "invalid")
    path = "/api/v1/federations/%2e%2e/exchange"
    got = hosted.client.post(hosted.url + path, content=b"{}")
    assert got.status_code in (400, 404)


def raw(hosted, *parts, pause=0.0):
    """Send bytes as they are, and return what comes back."""
    host_, port = hosted.url.removeprefix("http://").split(":")
    with socket.create_connection((host_, int(port)), timeout=20) as wire:
        for part in parts:
            try:
                wire.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        answer = b""
        try:
            while more := wire.recv(65536):
                answer += more
                if b"\r\n\r\n" in answer and answer.rstrip().endswith(b"}"):
                    break
        except TimeoutError:
            pass
    return answer


HEAD = b"POST /api/v1/federations/reaction/exchange HTTP/1.1\r\nHost: x\r\n"


def test_long_body_is_refused_before_it_is_read(hosted):
    # A gigabyte is announced and never sent: the answer comes all the same.
    answer = raw(hosted, HEAD + b"Content-Length: 1073741824\r\n\r\n")
    assert b" 413 " in answer.splitlines()[0]
    assert b"too_large" in answer


def test_long_body_in_chunks_is_refused(hosted):
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    answer = raw(hosted, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 8)
    assert b" 413 " in answer.splitlines()[0]


def test_slow_body_is_given_up(hosted):
    answer = raw(hosted, HEAD + b"Content-Length: 100\r\n\r\n{", pause=0.1)
    assert b" 408 " in answer.splitlines()[0]


def test_connection_without_a_request_is_closed(hosted):
    # Half a head, then a byte now and then: it is closed all the same.
    began = time.monotonic()
    dribble = [b"X"] * 40
    assert raw(hosted, HEAD, *dribble, pause=0.1) == b""
    assert time.monotonic() - began < 15.0
    # A connection that asks now and then is kept.
    with httpx.Client() as client:
        for _ in range(4):
            assert client.get(hosted.url + "/healthz").status_code == 200
            time.sleep(0.4)


@pytest.mark.slow
def test_connection_that_was_just_answered_stays_open(tmp_path):
    """Busy at one look and idle at the next is not idle for the whole time between."""
    world = World(str(tmp_path / "guidefbo.db"))
    world.close()
    options = ("--rate-address", "0.001", "--timeout", "3")
    with serving(world.address, *options) as service:
        wire = HTTPConnection(service.url.split("//")[1], timeout=10)

        def status(path):
            wire.request("GET", path)
            answer = wire.getresponse()
            answer.read()
            return answer.status

        assert [status("/metrics") for _ in range(4)] == [200] * 4
        began, first = time.monotonic(), wire.sock
        # The refusal is held back while the connection is looked at, after 3 s.
        time.sleep(2.5)
        assert status("/metrics") == 429
        # And at 6 s it has been idle for 2.5 s.
        time.sleep(began + 7.0 - time.monotonic())
        assert status("/healthz") == 200
        assert wire.sock is first
        wire.close()


def test_caller_who_hangs_up(hosted):
    host_, port = hosted.url.removeprefix("http://").split(":")
    for _ in range(5):
        with socket.create_connection((host_, int(port))) as wire:
            wire.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
    assert hosted.get("/healthz").status_code == 200
    assert "Traceback" not in hosted.log.read_text()


def test_log_is_json_without_secrets(hosted):
    code = host.invite(hosted.world.store, "reaction", "logged").code
    site = Site("logged")
    letter = site.join(code)
    assert hosted.post(letter, "join").is_success
    letter = site.exchange(1)
    assert hosted.post(letter, "exchange").is_success
    token = token_of(hosted, "reaction")
    auth = {"authorization": f"Bearer {token}"}
    hosted.get("/federations/reaction", headers=auth)
    text = hosted.log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    mine = [line for line in lines if line.get("site") == "logged"]
    assert [line["purpose"] for line in mine] == ["join", "exchange"]
    assert {"time", "level", "event", "outcome", "ms"} <= mine[0].keys()
    for secret in (code, token, peek(letter)["upload"][:60]):
        assert secret not in text


def test_rates_are_limited_by_site_and_by_address(tmp_path):
    world = World(str(tmp_path / "guidefbo.db"))
    north, south = world.joined("north", "south")
    options = ("--rate-site", "1", "--rate-address", "20")
    with serving(world.address, *options) as service, httpx.Client() as client:
        got = [
            service.post(north.exchange(), "exchange", client=client) for _ in range(9)
        ]
        statuses = [g.status_code for g in got]
        assert statuses[:4] == [200] * 4
        assert 429 in statuses
        limited = got[statuses.index(429)]
        assert limited.json()["error"] == "rate_limited"
        assert int(limited.headers["retry-after"]) >= 1
        # Another site is not held up by it.
        assert service.post(south.exchange(1), "exchange", client=client).is_success
        # As many at once as in a second, then 20 a second. The refusal is held
        # back for a second, in which the address earns new ones.
        flood, began = [200], time.monotonic()
        while flood[-1] == 200 and len(flood) <= 60:
            seconds = time.monotonic() - began
            flood.append(client.get(service.url + "/metrics").status_code)
        assert flood[-1] == 429
        assert len(flood) - 2 <= 20 + 20 * seconds
        # Health is asked for by machines of one's own.
        assert client.get(service.url + "/healthz").status_code == 200
    world.close()


def test_flood_is_held_back_and_others_are_not(tmp_path):
    """Who sends too much waits for its refusal; from elsewhere nobody notices."""
    world = World(str(tmp_path / "guidefbo.db"))
    north, south = world.joined("north", "south")
    options = ("--rate-site", "0.1", "--rate-address", "0")
    with serving(world.address, *options) as service:
        for number in range(1, 5):
            letter = north.exchange(number)
            assert service.post(letter, "exchange").status_code == 200
        began = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            letters = [north.exchange(5), north.exchange(6)]
            held = [pool.submit(service.post, a, "exchange") for a in letters]
            others = httpx.Client(timeout=30)
            got = service.post(south.exchange(1), "exchange", client=others)
            assert got.status_code == 200
            assert time.monotonic() - began < 0.9
            refused = [future.result() for future in held]
        assert [r.status_code for r in refused] == [429, 429]
        assert time.monotonic() - began >= 1.0
        others.close()
    world.close()


def test_connections_of_who_sent_too_much_are_not_read(tmp_path):
    """They are closed after a moment, and what came over them was thrown away."""
    world = World(str(tmp_path / "guidefbo.db"))
    world.close()
    request = b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

    def ask(place, source):
        """Return what came back, and after how long."""
        began = time.monotonic()
        got = b""
        with socket.create_connection(place, 30, source_address=(source, 0)) as wire:
            wire.sendall(request)
            with contextlib.suppress(ConnectionResetError):
                while part := wire.recv(65536):
                    got += part
        return got, time.monotonic() - began

    with serving(world.address, "--rate-address", "0.2") as service:
        host_, port = service.url.split("//")[1].split(":")
        place = (host_, int(port))
        for _ in range(4):
            assert ask(place, "127.0.0.2")[0].startswith(b"HTTP/1.1 200")
        got, seconds = ask(place, "127.0.0.2")
        assert got == b""
        assert seconds >= 0.9
        text = ask(place, "127.0.0.3")[0].decode()
        assert "\nguidefbo_connections_unread 1\n" in text
        # Who gives up is forgotten, and the service goes on.
        for _ in range(30):
            socket.create_connection(place, 30, source_address=("127.0.0.2", 0)).close()
        assert ask(place, "127.0.0.4")[0].startswith(b"HTTP/1.1 200")


def test_connections_of_one_address_are_counted(tmp_path):
    world = World(str(tmp_path / "guidefbo.db"))
    world.close()
    with serving(world.address, "--connections-address", "3") as service:
        host_, port = service.url.split("//")[1].split(":")
        place = (host_, int(port))

        def is_served(wire):
            try:
                wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
                return wire.recv(100).startswith(b"HTTP/1.1 200")
            except OSError:
                return False

        wires = [socket.create_connection(place, timeout=10) for _ in range(3)]
        assert all(map(is_served, wires))
        with socket.create_connection(place, timeout=10) as more:
            assert not is_served(more)
        # Another address has connections of its own.
        there = ("127.0.0.2", 0)
        with socket.create_connection(place, 10, source_address=there) as more:
            assert is_served(more)
        wires.pop().close()
        time.sleep(0.2)
        with socket.create_connection(place, timeout=10) as more:
            assert is_served(more)
        for wire in wires:
            wire.close()


def test_claims_use_up_nobody_elses_letters(small):
    """Letters in a site's name from elsewhere do not keep the site from speaking."""
    from guidefbo.coordinator.answer import open_desk

    (north,) = small.joined("north")
    desk = open_desk(small.store, rate=1.0)
    try:
        forged = Site("north", number=50).exchange(1)

        def said(letter, address):
            return desk.take(desk.open(letter, limit=10**5, address=address)).result()

        codes = [json.loads(said(forged, "192.0.2.1").body)["error"] for _ in range(12)]
        assert codes[:4] == ["bad_signature"] * 4
        assert codes[-1] == "rate_limited"
        for address in ("192.0.2.2", None):
            assert said(north.exchange(1), address).status == 200
    finally:
        desk.writer.close()


def test_connection_that_has_ended_is_kept_by_nothing(small):
    """Under a flood of short ones memory stays, and so does the time to clear it up."""
    from guidefbo.coordinator.answer import open_desk
    from guidefbo.coordinator.serve import _punctual
    from guidefbo.coordinator.service import make_app

    desk = open_desk(small.store, rate=1.0)
    config = Config(store=small.address, timeout=1000.0)
    app = make_app(desk, config)
    protocol = _punctual(app, config)

    async def serve_and_end():
        settings = uvicorn.Config(app, lifespan="off")
        settings.load()
        loop = asyncio.get_running_loop()
        made = []

        def make():
            one = protocol(config=settings, server_state=ServerState(), app_state={})
            made.append(weakref.ref(one))
            return one

        server = await loop.create_server(make, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for _ in range(3):
            _, wire = await asyncio.open_connection("127.0.0.1", port)
            wire.close()
            await wire.wait_closed()
        while app.state.callers._open:
            await asyncio.sleep(0.01)
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.01)
        gc.collect()
        return [one() for one in made]

    try:
        assert asyncio.run(serve_and_end()) == [None] * 3
    finally:
        desk.writer.close()


def test_flood_fills_no_log():
    now = [0.0]
    seldom = Seldom(1.0, clock=lambda: now[0])
    assert [seldom.take() for _ in range(5)] == [0, None, None, None, None]
    now[0] = 1.0
    assert [seldom.take(), seldom.take()] == [4, None]


def test_rate_below_one_lets_letters_pass():
    now = [0.0]
    desk = Buckets(rate=0.1, clock=lambda: now[0])
    for _ in range(4):
        desk.take("north")
    with pytest.raises(Refusal) as refused:
        desk.take("north")
    assert refused.value.retry_after == pytest.approx(10.0)
    now[0] = 10.0
    desk.take("north")


def test_a_second_s_worth_may_come_at_once():
    """A site that floods begins with that: more would keep others waiting."""
    desk = Buckets(rate=10.0, clock=lambda: 0.0)
    for _ in range(10):
        desk.take("north")
    with pytest.raises(Refusal):
        desk.take("north")


def test_plain_http_stays_on_this_machine(tmp_path):
    World(str(tmp_path / "guidefbo.db")).close()
    done = run("serve", "--host", "0.0.0.0", cwd=tmp_path)
    assert done.returncode == 2
    assert "--tls-cert" in done.stderr
    assert "Traceback" not in done.stderr


def make_certificate(folder):
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert, private = folder / "c.pem", folder / "k.pem"
    cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert, private


def test_tls(tmp_path):
    world = World(str(tmp_path / "guidefbo.db"))
    (north,) = world.joined("north")
    cert, key = make_certificate(tmp_path)
    options = ("--tls-cert", str(cert), "--tls-key", str(key))
    with serving(world.address, *options) as service:
        assert service.url.startswith("https://")
        trust = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(verify=trust) as client:
            letter = north.exchange(1)
            got = service.post(letter, "exchange", client=client)
            checked(got.content, letter, world.public_key)
        with pytest.raises(httpx.ConnectError):
            httpx.get(service.url + "/healthz")
    world.close()


def test_configuration_from_a_file_and_the_environment(tmp_path, monkeypatch):
    from guidefbo.coordinator.config import make_config
    from guidefbo.core.errors import SettingsError

    file = tmp_path / "coordinator.toml"
    file.write_text('port = 1\nhost = "127.0.0.2"\nrate-site = 2.5\ntimeout = 3\n')
    env = {"GUIDEFBO_PORT": "2", "GUIDEFBO_INSECURE": "yes", "GUIDEFBO_DATA": "x"}
    made = make_config({"timeout": 4.0, "store": None}, file=file, environment=env)
    assert (made.port, made.host, made.rate_site) == (2, "127.0.0.2", 2.5)
    assert (made.timeout, made.insecure, made.store) == (4.0, True, "guidefbo.db")
    for text in ("prot = 1\n", 'port = "x"\n', "port = -1\n", "timeout = nan\n", "["):
        file.write_text(text)
        with pytest.raises(SettingsError):
            make_config({}, file=file, environment={})
    with pytest.raises(SettingsError, match="GUIDEFBO_PORT must be a number"):
        make_config({}, environment={"GUIDEFBO_PORT": "x"})
    with pytest.raises(SettingsError, match="both"):
        make_config({"tls_cert": "c.pem"}, environment={})


def test_port_in_use_is_a_sentence(tmp_path):
    World(str(tmp_path / "guidefbo.db")).close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "address already in use" in done.stderr
    said = " ".join(done.stderr.split())
    assert f"Cannot listen at 127.0.0.1 port {port}. Is another service there?" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("port=99999", "--port must be a whole number from 0 to 65535, got 99999."),
        ("timeout=0", "--timeout must be a number from 0.1 to 86400, got 0.0."),
        ("every=0", "--every must be a number from 0.05 to 86400, got 0.0."),
        ("max_connections=0", "must be a whole number from 1 to 100000, got 0."),
        ("rate_site=-1", "--rate-site must be a number of at least 0, got -1.0."),
        ("log_level=chatty", "Known levels of the log: debug, error, info, warning."),
    ],
)
def test_limits_of_the_configuration(words, said):
    from guidefbo.coordinator.config import make_config
    from guidefbo.core.errors import FedBOError

    name, _, text = words.partition("=")
    with pytest.raises(FedBOError, match=re.escape(said)):
        make_config({}, environment={f"GUIDEFBO_{name.upper()}": text})


def test_a_port_that_there_is_not_is_a_sentence(tmp_path):
    World(str(tmp_path / "guidefbo.db")).close()
    done = run("serve", "--port", "99999", cwd=tmp_path)
    assert done.returncode == 2
    assert "from 0 to 65535" in " ".join(done.stderr.split())


def test_one_connection_is_enough_for_one_site(tmp_path):
    world = World(str(tmp_path / "guidefbo.db"))
    (north,) = world.joined("north")
    with serving(world.address, "--max-connections", "1") as service:
        assert service.post(north.exchange(1), "exchange").status_code == 200
    world.close()

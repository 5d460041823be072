"""What the pages on hosting and on the protocol show is done."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import tomllib
from pathlib import Path

import httpx
import pytest
from tests.coordinator.running import run, serving, wait_for
from tests.coordinator.world import read_packet
from tests.fences import fences, files_in, lay_out

from guidefbo.coordinator.config import make_config
from guidefbo.coordinator.refusal import STATUSES
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.wire.letter import open_letter

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL = (DOCS / "protocol.md").read_text(encoding="utf-8")
HOSTING = (DOCS / "hosting.md").read_text(encoding="utf-8")
HAS_TOOLS = all(shutil.which(name) for name in ("bash", "curl", "openssl"))


@pytest.mark.skipif(not HAS_TOOLS, reason="needs bash, curl and openssl")
def test_protocol_page_with_curl_and_openssl(tmp_path):
    lay_out(PROTOCOL, tmp_path)
    lines = [
        line.removeprefix("guidefbo ").split()
        for block in fences(PROTOCOL)
        if block["language"] == "sh"
        for line in block["text"].splitlines()
    ]
    create, invite = lines
    assert run(*create, cwd=tmp_path).returncode == 0
    code = run(*invite, cwd=tmp_path).stdout.strip()
    script = "set -euo pipefail\n" + "".join(
        block["text"] for block in fences(PROTOCOL) if block["language"] == "bash"
    )
    with serving(str(tmp_path / "guidefbo.db")) as service:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "URL": service.url, "CODE": code, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.count("Signature Verified Successfully") == 2
    said = json.loads((tmp_path / "exchanged.json").read_text())
    assert said["accepted"] == 5
    packet = read_packet(said["packet"])
    assert (packet.head.site, packet.head.num_uploads) == ("north", 1)
    key = (tmp_path / "coordinator.key").read_text().strip()
    letter = (tmp_path / "exchanged.letter").read_bytes()
    assert open_letter(letter, key).payload == said
    space = space_from_form(tomllib.loads(files_in(PROTOCOL)["space.toml"]))
    assert packet.head.terms.space == fingerprint(space)


def test_protocol_page_names_every_refusal():
    for code, status in STATUSES.items():
        if code in ("unauthorised", "forbidden"):
            continue  # a reader's, who has no letters
        row = next(line for line in PROTOCOL.splitlines() if f"`{code}`" in line)
        assert "|" not in row or str(status) in row


def test_configuration_of_the_page(tmp_path):
    path = tmp_path / "coordinator.toml"
    path.write_text(files_in(HOSTING)["coordinator.toml"])
    made = make_config({}, file=path, environment={})
    assert made.proxy == "127.0.0.1"
    assert made.store.endswith("guidefbo.db")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_unit_of_the_page(tmp_path):
    text = files_in(HOSTING)["guidefbo.service"]
    # The program is where it is here.
    here = text.replace("/opt/guidefbo/bin/guidefbo", shutil.which("true"))
    assert here != text
    path = tmp_path / "guidefbo.service"
    path.write_text(here)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    mine = [line for line in done.stderr.splitlines() if "guidefbo" in line]
    assert mine == []


def test_command_of_the_container(tmp_path):
    """The recipe's own command and environment; certificates made here."""
    from tests.coordinator.test_service import make_certificate
    from tests.coordinator.world import World

    text = files_in(HOSTING)["Containerfile"]
    lines = text.splitlines()
    words = json.loads(next(x for x in lines if x.startswith("CMD"))[4:])
    given = next(x for x in lines if x.startswith("ENV"))[4:].split()
    env = dict(pair.split("=", 1) for pair in given)
    tls = {"tls_cert": "c.pem", "tls_key": "k.pem"}
    known = make_config(tls, environment=env)
    assert (known.host, known.port) == ("0.0.0.0", 8443)
    World(str(tmp_path / "guidefbo.db")).close()
    make_certificate(tmp_path)
    options = [word.replace("/data", str(tmp_path)) for word in words[2:]]
    assert words[:2] == ["guidefbo", "serve"]
    with serving(str(tmp_path / "guidefbo.db"), *options) as service:
        assert service.url.startswith("https://")
        check = next(x for x in lines if x.startswith("HEALTHCHECK"))
        program = json.loads(check.removeprefix("HEALTHCHECK CMD "))
        code = program[2].replace("https://127.0.0.1:8443", service.url)
        import sys

        done = subprocess.run([sys.executable, *program[1:2], code], timeout=60)
        assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_proxy_of_the_page(tmp_path):
    """The recipe's own server block; addresses, ports and certificates of the test."""
    from tests.coordinator.test_service import make_certificate
    from tests.coordinator.world import World, checked

    (block,) = [b["text"] for b in fences(HOSTING) if b["language"] == "nginx"]
    make_certificate(tmp_path)
    world = World(str(tmp_path / "guidefbo.db"))
    (north,) = world.joined("north")
    key = world.public_key
    world.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--proxy", "127.0.0.1", "--rate-address", "2")
    with serving(str(tmp_path / "guidefbo.db"), *options) as service:
        here = {
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/ssl/": f"{tmp_path}/",
            "http://127.0.0.1:8443": service.url,
        }
        for said, meant in here.items():
            assert said in block
            block = block.replace(said, meant)
        temporary = "".join(
            f"{name}_temp_path {tmp_path}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        conf = tmp_path / "nginx.conf"
        conf.write_text(
            f"daemon off;\nmaster_process off;\npid {tmp_path}/nginx.pid;\n"
            f"error_log {tmp_path}/error.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{temporary}{block}\n}}\n"
        )
        words = ["nginx", "-p", str(tmp_path), "-c", str(conf)]
        tested = subprocess.run([*words, "-t"], capture_output=True, text=True)
        assert tested.returncode == 0, tested.stderr
        proxy = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        trust = ssl.create_default_context(cafile=tmp_path / "c.pem")

        def client(address):
            way = httpx.HTTPTransport(verify=trust, local_address=address)
            return httpx.Client(transport=way, timeout=30)

        try:
            with client("127.0.0.1") as one, client("127.0.0.2") as two:
                service.url = f"https://127.0.0.1:{port}"
                wait_for(lambda: is_there(one, f"{service.url}/healthz"))
                letter = north.exchange(1)
                got = service.post(letter, "exchange", client=one)
                assert got.status_code == 200, got.text
                checked(got.content, letter, key)
                # Rates are counted by the sites' addresses, not by the proxy's.
                page = f"{service.url}/metrics"
                assert 429 in {one.get(page).status_code for _ in range(8)}
                assert two.get(page).status_code == 200
                # A letter that is too long gets no further than the coordinator says.
                long = north.exchange(upload="9" * 200_000)
                two.get(f"{service.url}/healthz")
                refused = service.post(long, "exchange", client=two)
                assert refused.status_code == 413
        finally:
            proxy.terminate()
            proxy.wait(timeout=30)


def is_there(client, url):
    try:
        return client.get(url).status_code == 200
    except httpx.TransportError:
        return False

"""Sites against the real service: the same suggestions whatever comes between.

GUIDEFBO_ROUNDS says how many rounds the long campaign has; before a release 50.
"""

import grp
import os
import pwd
import resource
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.connect.answerer import tell_some
from tests.connect.real import COMMAND, SPACE, Host, command
from tests.fences import commands_in, fences
from typer.testing import CliRunner

from guidefbo import Agent, Float, Space
from guidefbo.cli.app import app
from guidefbo.cli.exchanged import _attempt, sync_once
from guidefbo.connect.errors import OfflineError, RefusedError
from guidefbo.connect.link import connect
from guidefbo.connect.move import move
from guidefbo.connect.places import Places
from guidefbo.core.files import OutputError
from guidefbo.core.lock import LockedError

SITES = ("a", "b", "c")
NUM_ROUNDS = int(os.environ.get("GUIDEFBO_ROUNDS", "12"))
NUM_KILLS = int(os.environ.get("GUIDEFBO_KILLS", "40"))
GOES_ON = "The next exchange is tried as usual."
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "federation.md"


def join_all(host, where, folder, sites=SITES):
    folder.mkdir(exist_ok=True)
    return {
        site: connect(folder / f"{site}.json", where, code=host.invite(site))
        for site in sites
    }


def campaign(links, sync, rounds=2):
    """Ask and tell in turn, and return everything that was asked."""
    asked = {site: [] for site in links}
    for k in range(rounds):
        for site, link in links.items():
            asked[site] += tell_some(link.places.file, 5 if k == 0 else 1)
            sync(link)
    for site, link in links.items():
        with Agent.update(link.places.file) as agent:
            trial = agent.ask()
            asked[site].append((dict(trial.values), trial.guided))
    return asked


def test_http_and_folder_give_the_same_suggestions(tmp_path):
    host = Host(tmp_path / "one")
    with host.serving() as where:
        links = join_all(host, where, tmp_path / "http")
        by_http = campaign(links, lambda link: link.sync())
    assert all(asked[-1][1] for asked in by_http.values()), "guided"
    shared = tmp_path / "shared"
    shared.mkdir()
    host = Host(tmp_path / "two")
    links = {}
    (tmp_path / "folder").mkdir()
    for site in SITES:
        file, code = tmp_path / "folder" / f"{site}.json", host.invite(site)
        words = ["join", f"folder:{shared}", "--code", code, file, "--patience", 0]
        command(*words, code=3)
        host("federation", "turn", shared)
        assert f"as {site}" in command(*words)
        links[site] = connect(file, patience=0.0)

    def sync(link):
        assert not link.sync().is_online
        host("federation", "turn", shared)
        assert link.sync().is_online

    assert campaign(links, sync) == by_http
    assert list(shared.rglob("*.letter")) == []


def killed(work, event):
    """Do some work in a process that is killed at its k-th write; say if it ended."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL
        return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    try:
        left = event

        def counted(function):
            def call(*arguments, **named):
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*arguments, **named)

            return call

        # Everything that makes a difference outside of this process.
        for name in ("replace", "fsync", "unlink", "write"):
            setattr(os, name, counted(getattr(os, name)))
        socket.socket.sendall = counted(socket.socket.sendall)
        socket.socket.recv = counted(socket.socket.recv)
        work()
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)


def with_kills(first, step):
    """Return a way to synchronise that is killed at one point after the other."""
    points = iter(range(first, 10_000, step))

    def sync(link):
        if killed(link.sync, next(points)):
            sync.survived += 1
        else:
            sync.kills += 1
        link.sync()

    sync.kills = sync.survived = 0
    return sync


def test_a_client_killed_anywhere_asks_the_same(tmp_path):
    """Every point of a synchronisation in turn, then the next one catches up."""
    quiet, loud = Host(tmp_path / "quiet"), Host(tmp_path / "loud")
    with quiet.serving() as where:
        links = join_all(quiet, where, tmp_path / "q", ("a", "b"))
        expected = campaign(links, lambda link: link.sync(), rounds=6)
        uploads = quiet.sites()
    with loud.serving() as where:
        links = join_all(loud, where, tmp_path / "l", ("a", "b"))
        sync = with_kills(first=0, step=2)
        assert campaign(links, sync, rounds=6) == expected
    assert sync.kills >= 10
    assert without_times(loud.sites()) == without_times(uploads)
    for link in links.values():
        assert link.mailbox.state().pending is None
        assert "torn" not in {entry.event for entry in link.mailbox.audit.entries()}
        assert list(link.places.mail.glob(".*")) == []


@pytest.mark.slow
def test_a_client_killed_many_times_sends_everything_once(tmp_path, record_property):
    """Two sites write; every exchange dies at another point and is done again."""
    host = Host(tmp_path / "host")
    told, kills = 3, 0
    with host.serving() as where:
        links = join_all(host, where, tmp_path / "sites", ("a", "b"))
        for link in links.values():
            tell_some(link.places.file, told)
        for point in cycle(range(36)):
            if kills >= NUM_KILLS:
                break
            if point == 0:
                told += 1
                for link in links.values():
                    tell_some(link.places.file, 1)
            for link in links.values():
                kills += not killed(link.sync, point)
        for link in links.values():
            assert link.sync().is_online
            audit = {entry.event for entry in link.mailbox.audit.entries()}
            assert "torn" not in audit
            assert link.mailbox.state().pending is None
            assert list(link.places.mail.glob(".*")) == []
        sites = without_times(host.sites())[1:]
    # Of every result once, and of the newest ones last.
    for name, state, _, sequence in sites:
        assert (state, sequence) == ("joined", str(told)), name
    record_property("kills of a site's client", kills)
    record_property("results told", 2 * told)


def without_times(text):
    return [line.split()[:4] for line in text.splitlines()]


@pytest.mark.slow
def test_a_long_campaign_with_kills_on_both_sides(tmp_path, record_property):
    """Four sites, many rounds: suggestions of the interrupted one are the quiet's."""
    sites = ("a", "b", "c", "d")
    quiet, loud = Host(tmp_path / "quiet"), Host(tmp_path / "loud")
    with quiet.serving() as where:
        links = join_all(quiet, where, tmp_path / "q", sites)
        expected = campaign(links, lambda link: link.sync(), rounds=NUM_ROUNDS)
    with loud.serving() as where:
        port = int(where.rpartition(":")[2])
        links = join_all(loud, where, tmp_path / "l", sites)
    kill = with_kills(first=0, step=1)
    calls = 0

    def sync(link):
        nonlocal calls
        calls += 1
        if calls % 10:
            kill(link) if calls % 3 == 0 else link.sync()
            return
        # The coordinator dies while this site talks to it.
        service.kill()
        service.wait()
        service.stdout.close()
        link.sync()
        restart()
        link.sync()

    def restart():
        nonlocal service
        service = subprocess.Popen(
            [
                *[*COMMAND, "serve", "--store", loud.store, "--port", str(port)],
                *["--rate-site", "0", "--rate-address", "0"],
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for line in service.stdout:
            if line.startswith("listening"):
                return

    service = None
    restart()
    try:
        assert campaign(links, sync, rounds=NUM_ROUNDS) == expected
    finally:
        service.kill()
        service.wait()
        service.stdout.close()
    assert kill.kills >= min(NUM_ROUNDS, 20)
    record_property("rounds of four sites", NUM_ROUNDS)
    record_property("kills of a site's client", kill.kills)
    record_property("kills of the coordinator", calls // 10)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority and a certificate for this machine, made now."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder = tmp_path_factory.mktemp("tls")

    def name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def begin(subject, issuer, key):
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
        )

    def write(file, thing):
        (folder / file).write_bytes(thing)

    pem = serialization.Encoding.PEM
    root, leaf = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    usage = x509.KeyUsage(*[k in (5, 6) for k in range(9)])
    ca = (
        begin("test authority", "test authority", root)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .add_extension(usage, True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(root.public_key()), False
        )
        .sign(root, hashes.SHA256())
    )
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        begin("coordinator", "test authority", leaf)
        .add_extension(here, False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), False
        )
        .sign(root, hashes.SHA256())
    )
    write("ca.pem", ca.public_bytes(pem))
    write("cert.pem", certificate.public_bytes(pem))
    write(
        "key.pem",
        leaf.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
    ssl.create_default_context(cafile=str(folder / "ca.pem"))
    return folder


def test_tls_with_an_authority_of_its_own(tmp_path, authority):
    host = Host(tmp_path / "host")
    tls = ["--tls-cert", authority / "cert.pem", "--tls-key", authority / "key.pem"]
    with host.serving(*map(str, tls)) as where:
        assert where.startswith("https://")
        file, code = tmp_path / "a.json", host.invite("a")
        with pytest.raises(OfflineError, match=r"not trusted here .* --ca FILE"):
            connect(file, where, code=code)
        link = connect(file, where, code=code, ca=authority / "ca.pem")
        tell_some(file, 5)
        assert link.sync().moved.sent == 5
        # The link remembers the authority.
        assert connect(file).sync().is_online


def test_sites_that_were_revoked_or_closed_out_are_told(tmp_path):
    host = Host(tmp_path / "host")
    with host.serving() as where:
        links = join_all(host, where, tmp_path / "sites", ("a", "b"))
        host("federation", "revoke", "reaction", "a")
        with pytest.raises(RefusedError, match="revoked"):
            links["a"].sync()
        host("federation", "close", "reaction")
        with pytest.raises(RefusedError, match="closed"):
            links["b"].sync()
        with pytest.raises(RefusedError, match="unknown_code"):
            connect(tmp_path / "x.json", where, code="ABCD-EFGH-ABCD-EFGH")


def test_leaving_and_coming_back(tmp_path):
    host = Host(tmp_path / "host")
    with host.serving() as where:
        link = join_all(host, where, tmp_path / "sites", ("a",))["a"]
        tell_some(link.places.file, 5)
        link.sync()
        assert link.leave(forget=True)
        again = connect(link.places.file, where, code=host.invite("a"))
        tell_some(link.places.file, 1)
        assert again.sync().moved.sent == 6


def test_who_has_left_works_alone(tmp_path):
    """What is held of the others goes with the link, also where the lock was taken."""
    host = Host(tmp_path / "host")
    with host.serving() as where:
        links = join_all(host, where, tmp_path / "sites", ("a", "b"))
        campaign(links, lambda link: link.sync())
        file = links["a"].places.file
        assert Agent.load(file).held_guidance.text is not None
        assert any(t.basis and t.basis.foretold for t in Agent.load(file).trials)
        with Agent.update(file), pytest.raises(LockedError):
            links["a"].leave(wait=0.1)
        assert links["a"].places.link.exists()
        said = command("leave", file)
    assert "works alone" in said
    alone = Agent.load(file)
    assert alone.held_guidance.text is None
    assert "the site has left the others; working alone" in str(alone.guidance)
    assert not any(t.basis and t.basis.foretold for t in alone.trials)
    with Agent.update(file) as agent:
        assert not agent.ask().guided
    assert "guidance active" not in command("show", file)


def test_a_key_is_changed_whatever_comes_between(tmp_path):
    """Killed at every point in turn: one key is good at any time, and work goes on."""
    host = Host(tmp_path / "host")
    with host.serving() as where:
        link = join_all(host, where, tmp_path / "sites", ("a",))["a"]
        key = link.places.key
        key.chmod(0o640)
        tell_some(link.places.file, 5)
        link.sync()
        point, kills, is_whole = 0, 0, False
        while not is_whole:
            former = key.read_bytes()
            is_whole = killed(link.rotate, point)
            kills += not is_whole
            point += 3
            assert link.sync().is_online
            assert not link.places.next_key.exists()
        assert key.read_bytes() != former
        assert key.stat().st_mode & 0o777 == 0o640
        former = key.read_bytes()
        command("rotate", link.places.file)
        assert link.sync().is_online
        # The old one is worth nothing.
        key.write_bytes(former)
        with pytest.raises(RefusedError, match="bad_signature"):
            link.sync()
    assert kills >= 5
    command("rotate", link.places.file, code=3)


@pytest.fixture
def open_folder():
    """Return a folder that a stranger may walk to and not look around in.

    Not among pytest's own, which it closes to all others.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can become another user",
)
def test_another_user_talks_to_the_network(tmp_path, open_folder):
    """It uses the mailbox, the link and the key; the observations stay unread."""
    nobody = pwd.getpwnam("nobody")
    host = Host(tmp_path / "host")
    file = open_folder / "a.json"
    group = grp.getgrgid(nobody.pw_gid).gr_name
    with host.serving() as where:
        words = ["--code", host.invite("a"), file, "--group", group]
        command("join", where, *words)
        file.chmod(0o600)
        tell_some(file, 5)
        link = connect(file)
        assert link.sync().moved.sent == 5
        tell_some(file, 1)
        link.post()
        before = file.read_bytes()
        assert "Permission denied" in as_user(nobody, lambda: file.read_bytes())
        said = as_user(nobody, lambda: command("sync", "--mail-only", file))
        assert "handed over: what was learnt from 6 results" in said
        assert file.read_bytes() == before
        assert (link.places.mail / "state.json").stat().st_uid == nobody.pw_uid
        # Both go on in turn, each with what the other wrote.
        tell_some(file, 1)
        assert link.sync().moved.sent == 7
        said = as_user(nobody, lambda: move(Places.of(file)).lines())
        assert "nothing new to hand over" in said
        assert link.sync().is_online
        # Without the group's rights nothing moves.
        link.places.key.chmod(0o600)
        said = as_user(nobody, lambda: move(Places.of(file)).lines())
        assert "Cannot read the key" in said


def as_user(user, work):
    """Do some work as another user; return what it gave or what it raised.

    A fork: the interpreter itself may lie where that user may not go.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            os.umask(0o022)
            said = str(work())
        except BaseException as error:
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


def test_the_half_that_talks_never_opens_the_agent(tmp_path):
    """Not even where it could: the file may be gone."""
    host = Host(tmp_path / "host")
    with host.serving() as where:
        link = join_all(host, where, tmp_path / "sites", ("a",))["a"]
        tell_some(link.places.file, 5)
        link.post()
        link.places.file.rename(tmp_path / "elsewhere")
        assert move(Places.of(link.places.file)).sent == 5
        said = command("sync", "--mail-only", link.places.file)
        assert "nothing new to hand over" in said
    code = (
        "import sys; import guidefbo.connect.move as m; "
        "print([n for n in sys.modules if n.startswith(('guidefbo.site', "
        "'guidefbo.agent', 'guidefbo.methods', 'scipy'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_daemon_goes_on_and_ends_cleanly(tmp_path):
    host = Host(tmp_path / "host")
    with host.serving() as where:
        port = where.rpartition(":")[2]
        link = join_all(host, where, tmp_path / "sites", ("a",))["a"]
        tell_some(link.places.file, 5)
        daemon = subprocess.Popen(
            [*COMMAND, "sync", str(link.places.file), "--every", "1s"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: link.mailbox.state().accepted is not None)
    wait_for(lambda: link.mailbox.state().pending is not None)
    with host.serving(port=int(port)):
        wait_for(lambda: link.mailbox.state().pending is None)
        daemon.send_signal(signal.SIGTERM)
        said, complained = daemon.communicate(timeout=30)
    assert daemon.returncode == 0
    assert "handed over: what was learnt from 5 results" in said
    assert "cannot be reached" in complained
    assert "ended; no letter was left half-way" in complained


def test_a_daemon_outlives_a_file_that_is_held_too_long(tmp_path):
    """The packet waits in the mailbox until the file is free."""
    host, told = Host(tmp_path / "host"), tmp_path / "told"
    with host.serving() as where:
        links = join_all(host, where, tmp_path / "sites", ("a", "b"))
        for link in links.values():
            tell_some(link.places.file, 5)
        link, file = links["a"], links["a"].places.file
        link.sync()
        links["b"].sync()
        with Agent.update(file), told.open("w") as errors:
            daemon = subprocess.Popen(
                [*COMMAND, "sync", str(file), "--every", "1s", "--wait", "0.5"],
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            wait_for(lambda: told.read_text().count(GOES_ON) >= 2)
            # Once for somebody who waits for it, it is an error as before.
            command("sync", file, "--wait", 0, code=2)
            assert daemon.poll() is None
        wait_for(lambda: "taken" in {e.event for e in link.mailbox.audit.entries()})
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(30) == 0
    said = [line for line in told.read_text().splitlines() if "in use" in line]
    assert all(f"{file} is in use by another command" in line for line in said)
    assert "ended; no letter was left half-way" in told.read_text()


@pytest.mark.parametrize("mail_only", [False, True])
def test_an_attempt_outlives_a_full_disk(tmp_path, capsys, mail_only):
    host = Host(tmp_path / "host")
    with host.serving() as where:
        link = join_all(host, where, tmp_path / "sites", ("a",))["a"]
        file = link.places.file
        tell_some(file, 5)
        link.post()
        capsys.readouterr()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        # As if the disk were full: no file grows beyond what the log has by now.
        size = (link.places.mail / "audit.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            assert _attempt(file, mail_only, 0.0, 5.0) == 0.0
            with pytest.raises(OutputError, match="Cannot write"):
                sync_once(file, mail_only=mail_only)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        [said] = capsys.readouterr().err.splitlines()
        assert "Cannot write" in said
        assert said.endswith(GOES_ON)
        assert _attempt(file, mail_only, 0.0, 5.0) == 0.0
    assert "handed over: what was learnt from 5 results" in capsys.readouterr().out


@pytest.mark.parametrize("status", [429, 503])
def test_a_daemon_comes_back_when_it_is_asked_to(tmp_path, status):
    """Retry-After is longer than the interval, so that one letter comes."""
    host = Host(tmp_path / "host")
    with host.serving() as where:
        link = join_all(host, where, tmp_path / "sites", ("a",))["a"]
        port = int(where.rpartition(":")[2])
    asked = []

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(time.monotonic())
            body = b'{"error": "rate_limited", "message": "Too many."}'
            self.send_response(status)
            self.send_header("Retry-After", "4" if len(asked) == 1 else "99999")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", port), Busy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    daemon = subprocess.Popen(
        [*COMMAND, "sync", str(link.places.file), "--every", "1s", "--mail-only"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: len(asked) == 2)
        # Whatever a coordinator asks for, an hour is the most.
        assert _attempt(link.places.file, False, 0.0, 5.0) == 3600.0
    finally:
        daemon.terminate()
        daemon.communicate(timeout=30)
        server.shutdown()
        server.server_close()
        thread.join()
    assert asked[1] - asked[0] >= 4.0
    assert len(asked) == 3


def wait_for(holds, seconds=60.0):
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds
        time.sleep(0.05)


def test_the_life_of_a_site_in_commands(tmp_path, monkeypatch):
    """What the guide tells, word by word, and what it prints."""
    host = Host(tmp_path / "host", space=SPACE, min_sites=1)
    monkeypatch.chdir(tmp_path)
    with host.serving() as where:
        code = host.invite("north")
        said = command("join", where, "--code", code, "site.json")
        assert "joined the federation reaction as north" in said
        assert "next: guidefbo ask site.json" in said
        command("join", where, "--code", code, "site.json", code=2)
        tell_some("site.json", 5)
        said = command("sync", "site.json")
        assert "handed over: what was learnt from 5 results" in said
        said = command("audit", "site.json")
        assert "dose: 0.1 " in said
        assert "drug: a " in said
        assert code not in said
        assert '"event": "left"' in command("audit", "site.json", "--json")
        assert "nothing waits" in command("audit", "site.json", "--confirm")
        tell_some("site.json", 1)
        said = command("audit", "site.json", "--confirm", "--yes")
        assert "this would leave" in said
        assert "made after 6 results" in said
        said = command("ask", "site.json", "--sync")
        assert said.startswith("trial 7 (goal max, model")
        assert f"link: {where}" in command("show", "site.json")
        said = command("leave", "site.json", "--forget")
        assert "north has left the federation reaction" in said
        assert "your upload there was removed" in said
    assert sorted(path.name for path in tmp_path.glob("site*")) == [
        "site.json",
        "site.json.lock",
        "site.mail",
    ]
    command("sync", "site.json", code=2)


def test_a_question_is_asked_although_nobody_answers(tmp_path, monkeypatch):
    host = Host(tmp_path / "host", min_sites=1)
    monkeypatch.chdir(tmp_path)
    with host.serving() as where:
        command("join", where, "--code", host.invite("north"), "site.json", "--confirm")
    tell_some("site.json", 5)
    assert command("ask", "site.json", "--sync").startswith("trial 6 (goal max, model")
    assert "waits until somebody" in command("sync", "site.json", code=3)
    command("leave", "site.json", code=3)
    command("sync", "--mail-only", "site.json", code=3)
    command("sync", "site.json", "--every", "5", code=2)
    command("join", where, "--code", "A", "other.json", code=3)


@pytest.mark.parametrize(
    "words", [["show", "site.json"], ["tell", "site.json", "1", "2"]]
)
def test_writing_a_result_down_loads_nothing_of_the_network(tmp_path, words):
    Agent(Space(x=Float(0, 1)), goal="max").save(tmp_path / "site.json")
    with Agent.update(tmp_path / "site.json") as agent:
        agent.ask()
    code = (
        "import sys\nfrom guidefbo.cli.app import app\n"
        f"sys.argv = ['guidefbo', *{words!r}]\n"
        "try:\n    app()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print([n for n in ('httpx', 'cryptography', 'sqlalchemy', 'fastapi') "
        "if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_guide_of_a_site_in_a_federation_can_be_followed(tmp_path, monkeypatch):
    """Its commands and its Python, with a real address and real codes."""
    text = GUIDE.read_text(encoding="utf-8")
    host = Host(tmp_path / "host", min_sites=1)
    monkeypatch.chdir(tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    group = grp.getgrgid(os.getgid()).gr_name
    lines = [line for line in commands_in(text) if line.startswith("guidefbo ")]
    with host.serving("--folder", str(shared), "--every", "0.1") as where:
        for k, line in enumerate(lines):
            real = line.replace("https://host:8443", where)
            real = real.replace("folder:/mnt/share/reaction", f"folder:{shared}")
            real = real.replace("--group postmen", f"--group {group}")
            if "--every" in real:
                continue  # ends by a signal only, in a test of its own
            if "--code" in real:
                for path in tmp_path.glob("site.*"):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                code = host.invite(f"site-{k}")
                real = real.replace("ABCD-EFGH", code) + " --patience 30"
            words = shlex.split(real)[1:]
            done = CliRunner().invoke(app, words, input="y\n")
            assert done.exit_code == 0, (real, done.output)
            assert done.output.strip()
        [block] = [b["text"] for b in fences(text) if b["language"] == "py"]
        block = block.replace("https://host:8443", where)
        block = block.replace("ABCD-EFGH", host.invite("python"))
        Path("site.json").unlink()
        namespace = {}
        exec(compile(block, str(GUIDE), "exec"), namespace)
        assert namespace["link"].facts.site == "python"

"""A Flower fleet on this machine: SuperLink and executor, SuperNodes, TLS, node keys.

Two sites are linked to folders of their own, exchange through Flower at the same time,
and print what came of it: the one that is answered second is guided by the other. That
takes some 20 s of processor time, and waits: Flower polls, and starts a process a
message.

    pip install 'guidefbo[flower,service]'
    python examples/integrations/flower_fleet.py

The tests use the same fleet, and kill parts of it.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import guidefbo as gf

BIN = Path(sys.executable).parent
APP = Path(__file__).parents[1] / "guidefbo-flower"
SPACE = '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
SITES = ("north", "south")
PEM = serialization.Encoding.PEM


def free_port():
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificates(folder):
    """Write ca.pem, and server.pem with server.key for loopback."""
    now = datetime.now(UTC)

    def sign(name, key, issuer, issuer_key, *, is_ca):
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(x509.BasicConstraints(is_ca, None), critical=True)
        )
        if not is_ca:
            names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
            builder = builder.add_extension(
                x509.SubjectAlternativeName(names), critical=False
            )
        return builder.sign(issuer_key, hashes.SHA256())

    def named(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = sign(named("test CA"), ca_key, named("test CA"), ca_key, is_ca=True)
    certificate = sign(named("localhost"), key, named("test CA"), ca_key, is_ca=False)
    (folder / "ca.pem").write_bytes(ca.public_bytes(PEM))
    (folder / "server.pem").write_bytes(certificate.public_bytes(PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(
            PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def make_node_key(path):
    """Write a SuperNode's key, ECDSA P-384 in OpenSSH's form, and its public half."""
    key = ec.generate_private_key(ec.SECP384R1())
    path.write_bytes(
        key.private_bytes(
            PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_suffix(".pub").write_bytes(public)


class Fleet:
    """Processes of Flower; all of them are ended by `close`."""

    def __init__(self, folder):
        """Make certificates and settings in a folder; nothing runs yet."""
        self.folder = folder
        self.port = free_port()
        self.processes = {}
        self.environment = os.environ | {
            "FLWR_HOME": str(folder / "home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
        }
        make_certificates(folder)
        (folder / "secret").write_bytes(os.urandom(32))
        (folder / "home").mkdir()
        (folder / "home" / "config.toml").write_text(
            f'[superlink]\ndefault = "test"\n\n[superlink.test]\n'
            f'address = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{folder / "ca.pem"}"\n'
        )

    def start(self, name, *words):
        """Start a program of Flower, with a log of its own."""
        with (self.folder / f"{name}.log").open("a") as log:
            self.processes[name] = subprocess.Popen(
                [BIN / words[0], *map(str, words[1:])],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.folder,
                start_new_session=True,
            )

    def start_link(self):
        """Start the SuperLink as for production: database, external executor."""
        self.start(
            "superlink",
            "flower-superlink",
            "--host=127.0.0.1",
            f"--port={self.port}",
            f"--ssl-certfile={self.folder / 'server.pem'}",
            f"--ssl-keyfile={self.folder / 'server.key'}",
            f"--ssl-ca-certfile={self.folder / 'ca.pem'}",
            f"--database={self.folder / 'superlink.db'}",
            "--isolation=process",
            "--enable-supernode-auth",
            "--disable-runtime-dependency-installation",
            f"--superexec-auth-secret-file={self.folder / 'secret'}",
        )
        self.wait_for(self._answers, "the SuperLink")

    def start_executor(self):
        """Start what runs the ServerApp."""
        self.start(
            "superexec",
            "flower-superexec",
            f"--runtime-api-address=127.0.0.1:{self.port}",
            f"--root-certificates={self.folder / 'ca.pem'}",
            f"--superexec-auth-secret-file={self.folder / 'secret'}",
        )

    def start_node(self, site, spool, *, register=True):
        """Start the SuperNode of a site, whose letters lie in a folder."""
        key = self.folder / f"node-{site}.key"
        if not key.exists():
            make_node_key(key)
        if register:
            self.flwr("supernode", "register", key.with_suffix(".pub"), "test")
        self.start(
            f"node-{site}",
            "flower-supernode",
            f"--superlink=127.0.0.1:{self.port}",
            f"--root-certificates={self.folder / 'ca.pem'}",
            f"--auth-supernode-private-key={key}",
            f"--port={free_port()}",
            f'--node-config=guidefbo-folder="{spool}"',
        )

    def flwr(self, *words):
        """Run a command of Flower and return what it prints."""
        done = subprocess.run(
            [BIN / "flwr", *map(str, words)],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            timeout=120,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout

    def run_app(self, store, *, minutes, pause=1.0):
        """Start the app; it ends by itself."""
        config = f'store="{store}" pause={pause} minutes={minutes}'
        return self.flwr("run", APP, "test", "--run-config", config)

    def kill(self, name):
        """End a process and its children at once, without a goodbye."""
        process = self.processes.pop(name)
        with suppress(ProcessLookupError):  # it and its children have ended already
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)

    def close(self):
        """End everything."""
        for name in list(self.processes):
            self.kill(name)

    def wait_for(self, is_there, what, seconds=60):
        """Wait until something is the case."""
        deadline = time.monotonic() + seconds
        while not is_there():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: {self.logs()}")
            time.sleep(0.3)

    def logs(self):
        """Return the ends of all logs."""
        return "\n".join(
            f"== {path.name}\n{path.read_text()[-3000:]}"
            for path in sorted(self.folder.glob("*.log"))
        )

    def _answers(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def fleet(folder, store, sites, *, minutes, pause=1.0):
    """Run the app for some sites; yield the fleet. Letters lie in `folder/SITE`."""
    made = Fleet(folder)
    try:
        made.start_link()
        made.start_executor()
        for site in sites:
            (folder / site).mkdir()
        # Flower's commands take seconds each, and none needs another one.
        with ThreadPoolExecutor(4) as pool:
            begun = [pool.submit(made.start_node, s, folder / s) for s in sites]
            begun.append(pool.submit(made.run_app, store, minutes=minutes, pause=pause))
        for each in begun:
            each.result()
        yield made
    finally:
        made.close()


def main():
    """Let two sites exchange through Flower."""

    def host(*words):
        command = [sys.executable, "-m", "guidefbo", "federation", *map(str, words)]
        return subprocess.run(
            [*command, "--store", store], capture_output=True, text=True, check=True
        ).stdout

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = f"sqlite:///{folder / 'guidefbo.db'}"
        (folder / "space.toml").write_text(SPACE)
        words = ("--goal", "max", "--method", "shape-ucb", "--min-sites", 2)
        host("create", "reaction", folder / "space.toml", *words)
        with fleet(folder, store, SITES, minutes=10), ThreadPoolExecutor(2) as pool:

            def take_part(site):
                code = host("invite", "reaction", site).split()[0]
                where, file = f"folder:{folder / site}", folder / f"{site}.json"
                link = gf.connect(file, where, code=code, patience=120.0)
                with gf.Agent.update(file) as agent:
                    for trial in agent.ask(6):
                        agent.tell(trial, -((trial.values["x"] - 0.4) ** 2))
                return link.sync()

            for site, synced in zip(SITES, pool.map(take_part, SITES), strict=True):
                print(f"{site}: {synced}")


if __name__ == "__main__":
    main()

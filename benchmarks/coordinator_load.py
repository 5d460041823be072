"""A coordinator in a process of its own, and letters for it that are signed beforehand.

Run by itself, this file is what stands beside the coordinator in coordinator.py:

    python benchmarks/coordinator_load.py bare|signed KEYS.json
    python benchmarks/coordinator_load.py flood ADDRESS LETTERS SECONDS CONNECTIONS

`bare` answers every letter with itself, `signed` checks its signature and signs an
answer; both store nothing. `flood` sends one site's letters as fast as they are
answered, from another address of this machine, and prints what it got. Where an answer
takes long it does not wait: it closes the connection and comes over a new one.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert

from guidefbo.coordinator import host
from guidefbo.coordinator.federation import signing_key
from guidefbo.coordinator.members import JOINED
from guidefbo.coordinator.schema import open_current
from guidefbo.coordinator.tables import sites, uploads
from guidefbo.core.space.form import fingerprint, space_from_form
from guidefbo.wire.consensus import PeakUpload
from guidefbo.wire.envelope import Envelope, Terms, UploadHead
from guidefbo.wire.guide import OptimumUpload
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import open_letter, read_letter, seal
from guidefbo.wire.shape import BENDS, PLACE, SLOPES, ShapeUpload

DIM = 10
SPACE = {
    "parameters": {
        f"x{k}": {"type": "float", "low": 0.0, "high": 1.0, "log": False}
        for k in range(DIM)
    }
}
PRINT = fingerprint(space_from_form(SPACE))
PATIENCE = 120.0
"""Seconds after which an answer is no longer waited for."""
FLOODER = "127.0.0.2"
"""The address a flood comes from."""
STANDING = "5"
"""How nice a flood's group of processes is to others, of 19."""
IMPATIENCE = 0.05
"""Seconds for which a flood waits for an answer before it comes again."""
Queue = list[tuple[bytes, bytes]]
"""Letters of one connection, in order, and the same as HTTP requests."""


def body(strategy: str, rng: np.random.Generator) -> Any:
    """Return some upload of a strategy for the ten numbers of `SPACE`."""
    if strategy == "guide":
        return OptimumUpload(
            mass=float(rng.uniform(0.2, 1.0)),
            center=rng.random(DIM),
            variance=rng.uniform(0.001, 0.05, DIM),
            value_score=float(rng.normal()),
        )
    if strategy == "consensus":
        return PeakUpload(
            mass=1.0,
            center=rng.random(DIM),
            variance=rng.uniform(0.001, 0.05, DIM),
            value_score=float(rng.normal()),
        )
    return ShapeUpload(
        kinds=(SLOPES, BENDS, PLACE),
        means=tuple(rng.uniform(-0.4, 0.4, DIM) for _ in range(3)),
        variances=tuple(rng.uniform(0.01, 0.5, DIM) for _ in range(3)),
    )


@dataclass(slots=True, kw_only=True)
class Site:
    """A site's end of the wire, as small as can be."""

    name: str
    federation: str
    strategy: str = "guide"
    key: SigningKey = field(default_factory=SigningKey.make)
    number: int = 1
    sequence: int = 0

    def upload(self) -> str:
        """Return one more upload."""
        self.sequence += 1
        stream = [*self.name.encode(), *self.federation.encode(), self.sequence]
        head = UploadHead(
            terms=Terms(
                federation=self.federation,
                space=PRINT,
                strategy=self.strategy,
            ),
            site=self.name,
            sequence=self.sequence,
        )
        rng = np.random.Generator(np.random.PCG64(stream))
        return Envelope(head=head, body=body(self.strategy, rng)).to_bytes().decode()

    def letter(self, has_upload: bool = True) -> bytes:
        """Return the next letter, signed."""
        self.number += 1
        payload = {
            "purpose": "exchange",
            "federation": self.federation,
            "site": self.name,
            "number": self.number,
            "upload": self.upload() if has_upload else None,
            "held": None,
        }
        return seal(payload, self.key)

    def request(self, letter: bytes) -> bytes:
        """Return a letter as the bytes of an HTTP request."""
        head = (
            f"POST /api/v1/federations/{self.federation}/exchange HTTP/1.1\r\n"
            "Host: coordinator\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(letter)}\r\n\r\n"
        )
        return head.encode() + letter


def settle(
    address: str,
    num_sites: int,
    *,
    num_federations: int = 1,
    strategy: str = "guide",
    role: str = "site",
    has_uploads: bool = False,
) -> tuple[list[Site], str]:
    """Make a store whose sites have joined; return them and the coordinator's key.

    The rows are those that a join writes. They are written at once, because thousands
    of invitations are not what is measured.
    """
    store = open_current(address, create=True)
    names = [f"f{k}" for k in range(num_federations)]
    for name in names:
        host.create(store, name, SPACE, goal="max", method=f"{strategy}-ucb")
    found = [
        Site(name=f"s{k}", federation=names[k % num_federations], strategy=strategy)
        for k in range(num_sites)
    ]
    rows, bodies = [], []
    for site in found:
        if has_uploads:
            row = {"federation": site.federation, "site": site.name, "number": 1}
            bodies.append({**row, "body": site.upload().encode(), "sequence": 1})
        rows.append(
            {
                "federation": site.federation,
                "name": site.name,
                "state": JOINED,
                "role": role,
                "public_key": site.key.public,
                "former_key": None,
                "number": 1,
                "digest": "",
                "answer": b"",
                "upload": 1 if has_uploads else None,
                "sequence": 1 if has_uploads else None,
                "num_uploads": int(has_uploads),
                "seen": time.time(),
            }
        )
    with store.writing() as connection:
        connection.execute(insert(sites), rows)
        if bodies:
            connection.execute(insert(uploads), bodies)
        public = signing_key(connection).public
    store.close()
    return found, public


def queues(
    found: Sequence[Site], num_connections: int, rounds: int, has_upload: bool = True
) -> list[Queue]:
    """Return what each connection sends: its sites in turn, so many rounds."""
    made: list[Queue] = [[] for _ in range(min(num_connections, len(found)))]
    for _ in range(rounds):
        for k, site in enumerate(found):
            letter = site.letter(has_upload)
            made[k % len(made)].append((letter, site.request(letter)))
    return made


class Process:
    """A service in a process of its own, which says where it listens."""

    def __init__(self, *words: str, log: Path) -> None:
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("listening at "):
            self.stop()
            raise RuntimeError(f"The service did not start: {log.read_text()[-2000:]}")
        self.host, _, port = line.split("//")[1].strip().rpartition(":")
        self.port = int(port)

    def peak_megabytes(self) -> float | None:
        """Return the most memory it has had, None where the system does not say."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return None
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024

    def processor_seconds(self) -> float | None:
        """Return the processor time it has used, None where nobody says."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return None
        # The name before the closing bracket may have spaces.
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it, and wait for that."""
        self.process.terminate()
        self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def serving(store: str, folder: Path, *options: str) -> Generator[Process, None, None]:
    """Run a coordinator; rates are not limited unless the options say so."""
    limits = () if "--rate-site" in options else ("--rate-site", "0")
    limits += () if "--rate-address" in options else ("--rate-address", "0")
    words = ("-m", "guidefbo", "serve", "--store", store, "--port", "0")
    wires = () if "--connections-address" in options else ("--connections-address", "0")
    if "--max-connections" not in options:
        wires += ("--max-connections", "20000")
    words += (*limits, *wires, *options)
    process = Process(*words, log=folder / "serve.log")
    try:
        yield process
    finally:
        process.stop()


@contextmanager
def beside(
    kind: str, found: Iterable[Site], folder: Path
) -> Generator[Process, None, None]:
    """Run a handler that stores nothing, with or without signatures."""
    keys = folder / "keys.json"
    keys.write_text(json.dumps({site.name: site.key.public for site in found}))
    process = Process(__file__, kind, str(keys), log=folder / "beside.log")
    try:
        yield process
    finally:
        process.stop()


@dataclass(slots=True, kw_only=True)
class Load:
    """What came of some letters."""

    latencies: list[float] = field(default_factory=list[float])
    statuses: Counter[int] = field(default_factory=Counter[int])
    seconds: float = 0.0
    processor: float | None = None
    """Processor seconds of the services meanwhile."""
    some: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    """Each connection's last letter and its answer."""

    @property
    def rate(self) -> float:
        """Letters a second."""
        return len(self.latencies) / self.seconds

    def milliseconds(self, percent: float) -> float:
        """Return a percentile of the time to an answer."""
        return 1000.0 * float(np.percentile(self.latencies, percent))

    def require_answers(self, public: str) -> None:
        """Check that all letters were taken, and some of the answers' signatures."""
        if set(self.statuses) != {200}:
            raise RuntimeError(f"Letters were refused: {dict(self.statuses)}.")
        for letter, answer in self.some:
            said = open_letter(answer, public).payload
            if said["answers"] != read_letter(letter).digest:
                raise RuntimeError("An answer is to another letter.")


Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def ask(wire: Wire, request: bytes) -> tuple[int, bytes]:
    """Send a request and read the answer; the connection is kept."""
    reader, writer = wire
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(line for line in lines if line.startswith(b"content-length:"))
    answer = await reader.readexactly(int(length.split(b":")[1]))
    return int(head.split(b" ", 2)[1]), answer


async def close(wires: Iterable[Wire]) -> None:
    """Close connections."""
    for _, writer in wires:
        writer.close()
    await asyncio.gather(
        *(writer.wait_closed() for _, writer in wires), return_exceptions=True
    )


async def _send(services: Sequence[Process], work: Sequence[Queue]) -> Load:
    load = Load()
    wires = [
        await asyncio.open_connection(service.host, service.port)
        for service, _ in zip(cycle(services), work, strict=False)
    ]

    async def talk(wire: Wire, queue: Queue) -> None:
        answer = b""
        for _, request in queue:
            began = time.perf_counter()
            status, answer = await asyncio.wait_for(ask(wire, request), PATIENCE)
            load.latencies.append(time.perf_counter() - began)
            load.statuses[status] += 1
        load.some.append((queue[-1][0], answer))

    began = time.perf_counter()
    await asyncio.gather(*map(talk, wires, work))
    load.seconds = time.perf_counter() - began
    await close(wires)
    return load


def send(services: Sequence[Process], work: Sequence[Queue]) -> Load:
    """Send all letters, every connection one after the other."""
    before = [service.processor_seconds() for service in services]
    load = asyncio.run(_send(services, work))
    after = [service.processor_seconds() for service in services]
    if None not in (*before, *after):
        load.processor = sum(filter(None, after)) - sum(filter(None, before))
    return load


async def _send_in_time(service: Process, work: Sequence[Queue], every: float) -> Load:
    load = Load()
    began = time.perf_counter()

    async def talk(k: int, queue: Queue) -> None:
        for j, (_, request) in enumerate(queue):
            due = began + every * (j + k / len(work))
            await asyncio.sleep(max(due - time.perf_counter(), 0.0))
            wire = await asyncio.open_connection(service.host, service.port)
            status, _ = await asyncio.wait_for(ask(wire, request), PATIENCE)
            # From when it was due: who is held up has waited too.
            load.latencies.append(time.perf_counter() - due)
            load.statuses[status] += 1
            await close([wire])

    await asyncio.gather(*(talk(k, queue) for k, queue in enumerate(work)))
    load.seconds = time.perf_counter() - began
    return load


def send_in_time(service: Process, work: Sequence[Queue], every: float) -> Load:
    """Send each site's letters at fixed times, each over a connection of its own."""
    return asyncio.run(_send_in_time(service, work, every))


async def _flood(port: int, letters: Sequence[bytes], seconds: float, num: int) -> Any:
    statuses: Counter[str] = Counter()
    end = time.perf_counter() + seconds
    supply = cycle(letters)

    async def talk() -> None:
        while time.perf_counter() < end:
            try:
                wire = await asyncio.open_connection(
                    "127.0.0.1", port, local_addr=(FLOODER, 0)
                )
            except OSError:
                statuses["not connected"] += 1
                await asyncio.sleep(0.05)
                continue
            try:
                while time.perf_counter() < end:
                    request = ask(wire, next(supply))
                    status, _ = await asyncio.wait_for(request, IMPATIENCE)
                    statuses[str(status)] += 1
            except TimeoutError:
                statuses["not waited for"] += 1
            except (OSError, EOFError):
                statuses["cut off"] += 1
            await close([wire])

    await asyncio.gather(*(talk() for _ in range(num)))
    return statuses


def _stand_back() -> None:
    """Take what others leave, where the system shares time by groups of processes."""
    group = Path("/proc/self/autogroup")
    if group.exists():
        with suppress(OSError):
            group.write_text(STANDING)


def _answer_alone(kind: str, keys: dict[str, str]) -> None:
    """Answer letters and store nothing, until the process is told to end."""
    import socket

    import uvicorn
    from fastapi import FastAPI, Request, Response

    app = FastAPI(openapi_url=None)
    own = SigningKey.make()

    def signed(data: bytes) -> bytes:
        letter = read_letter(data)
        if not letter.is_signed_by(keys[letter.payload["site"]]):
            raise ValueError("The signature is another one's.")
        said = {
            "purpose": "answer",
            "federation": letter.payload["federation"],
            "site": letter.payload["site"],
            "number": letter.number,
            "answers": letter.digest,
            "packet": letter.payload["upload"],
        }
        return seal(said, own)

    @app.post("/api/v1/federations/{federation}/exchange")
    async def take(federation: str, request: Request) -> Response:
        data = await request.body()
        answer = data if kind == "bare" else signed(data)
        return Response(answer, media_type="application/json")

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app, loop="asyncio", http="h11", ws="none", access_log=False, log_config=None
    )
    print(f"listening at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


def main(words: Sequence[str]) -> None:
    """Be what stands beside the coordinator."""
    if words[0] == "flood":
        port, file, seconds, num = words[1:]
        letters = [text.encode() for text in json.loads(Path(file).read_text())]
        _stand_back()
        print("flooding", flush=True)
        found = asyncio.run(_flood(int(port), letters, float(seconds), int(num)))
        print(json.dumps(found))
    else:
        _answer_alone(words[0], json.loads(Path(words[1]).read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])

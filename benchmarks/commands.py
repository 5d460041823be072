"""Processor seconds of every command of a site, each in a process of its own.

    python benchmarks/commands.py [--results 30] [--repeats 5] [--against SRC]
        [--only ask,tell] [--write] [--out DIR]

The file is that of a site in three parameters with that many results and a packet. The
seconds are processor time of the whole command, interpreter and imports included, so
that other load on the machine hardly matters: the median of the repeats, and the least.
Commands that exchange do so through a folder, with a store beside it. `--against`
names the folder `src` of an older checkout, whose commands take turns with these, on
files that it has made itself; one that it does not have is left out. `--write` puts the
table into docs/results/commands.md.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy

import guidefbo as gf
from guidefbo.experiments.commit import stamp
from guidefbo.server.exchange import merge

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
SPACE = """
[parameters.dose]
type = "float"
low = 0.1
high = 10
log = true

[parameters.days]
type = "int"
low = 1
high = 14

[parameters.drug]
type = "choice"
options = ["a", "b"]
"""
WIDER = SPACE.replace("high = 14", "high = 21")
TARGETS = {"tell": 0.35, "show": 0.35, "ask": 0.7}
"""Most seconds that a command should take, with 30 results."""
SITES = ("north", "south", "west")
COMMAND = [sys.executable, "-m", "guidefbo"]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
Seconds = dict[tuple[str, str], list[float]]
"""Command and checkout, now or before -> seconds of each repeat."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=int, default=30, help="of the site")
    parser.add_argument("--repeats", type=int, default=5, help="of each command")
    parser.add_argument("--against", type=Path, help="src of an older checkout")
    parser.add_argument("--only", default="", help="commands, by commas")
    parser.add_argument("--write", action="store_true", help="write commands.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--lay-out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lay_out is not None:
        lay_out(arguments.lay_out, arguments.results)
        return
    sources = {"now": ROOT / "src"}
    if arguments.against is not None:
        sources["before"] = arguments.against.resolve()
    only = set(filter(None, arguments.only.split(",")))
    seconds = take_turns(only, arguments.repeats, sources, arguments.results)
    text = "\n".join(report(seconds, arguments)) + "\n"
    print(text)
    if arguments.write:
        (arguments.out / "commands.md").write_text(text, encoding="utf-8")


def take_turns(
    only: Container[str], repeats: int, sources: Mapping[str, Path], results: int = 30
) -> Seconds:
    """Return the seconds of some commands, all of them where none is named."""
    chosen = [
        (words, title)
        for words, title in commands(results)
        if not only or title in only
    ]
    seconds: Seconds = {}
    with tempfile.TemporaryDirectory() as name:
        laid = {source: Path(name) / f"of-{source}" for source in sources}
        for source, path in sources.items():
            laid[source].mkdir()
            words = ("--lay-out", laid[source], "--results", results)
            subprocess.run(
                [sys.executable, __file__, *map(str, words)],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(path)},
                check=True,
            )
        # In the first round everything is compiled: it does not count.
        for k in range(repeats + 1):
            for words, title in chosen:
                for source, path in sources.items():
                    folder = Path(name) / "here"
                    shutil.copytree(laid[source], folder)
                    try:
                        took = timed(words, folder, path)
                    except RuntimeError:
                        if source == "now":
                            raise
                    else:
                        if k:
                            seconds.setdefault((title, source), []).append(took)
                    shutil.rmtree(folder)
            print(f"round {k} of {repeats}", file=sys.stderr, flush=True)
    return seconds


def lay_out(folder: Path, num_results: int) -> None:
    """Write the files that the commands work on."""
    (folder / "space.toml").write_text(SPACE, encoding="utf-8")
    (folder / "wider.toml").write_text(WIDER, encoding="utf-8")
    rows = ["dose,days,drug,value", "0.5,4,a,0.31", "2.0,9,b,0.64"]
    (folder / "results.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    agents = {
        site: gf.Agent(
            gf.Space(
                dose=gf.Float(0.1, 10, log=True),
                days=gf.Int(1, 14),
                drug=gf.Choice("a", "b"),
            ),
            goal="max",
            seed=k,
            site=site,
            federation="reaction",
            initial=num_results,
        )
        for k, site in enumerate(SITES)
    }
    for agent in agents.values():
        for trial in agent.ask(num_results):
            agent.tell(trial, measure(trial.values))
    uploads = {site: agent.upload() for site, agent in agents.items()}
    packets = merge(uploads, method=str(agents["north"].setup.method))
    for site in SITES:
        upload = uploads[site]
        assert upload is not None
        (folder / f"{site}.up.json").write_bytes(upload.to_bytes())
        (folder / f"{site}.packet.json").write_bytes(packets[site])
    agents["south"].save(folder / "fresh.json")
    agents["north"].receive(packets["north"])
    agents["north"].ask()
    agents["north"].save(folder / "site.json")
    share = folder / "share"
    share.mkdir()
    # A site that has joined through the folder, one that has a code, and their host.
    run("federation create reaction space.toml --goal max --min-sites 1", folder)
    for site in ("north", "late"):
        code = run(f"federation invite reaction {site}", folder).strip()
        (folder / f"{site}.code").write_text(code, encoding="utf-8")
    join = f"join folder:share --code {(folder / 'north.code').read_text()} north.json"
    run(join, folder, codes=(0, 3))
    run("federation turn share", folder)
    run(join, folder)
    for trial in range(1, 6):
        run("ask north.json", folder)
        run(f"tell north.json {trial} 0.{trial}", folder)


def measure(values: dict[str, object]) -> float:
    """Return a smooth function of the parameters."""
    dose, days = float(str(values["dose"])), float(str(values["days"]))
    better = 0.2 if values["drug"] == "b" else 0.0
    return better - (np.log10(dose) - 0.3) ** 2 - (days - 6.0) ** 2 / 50.0


def commands(num_results: int) -> Sequence[tuple[list[str], str]]:
    """Return the words of each command, and how the table names it."""
    pending = num_results + 1
    said = (
        ("--help", "--help"),
        ("init new.json space.toml --goal max", "init"),
        ("ask site.json", "ask"),
        (f"tell site.json {pending} 0.5", "tell"),
        ("tell site.json --csv results.csv", "tell --csv"),
        (f"abandon site.json {pending}", "abandon"),
        ("show site.json", "show"),
        ("show site.json --json --trials", "show --json --trials"),
        ("change site.json --bounds days=1,21", "change"),
        ("export site.json -o trials.csv", "export"),
        ("plot site.json -o site.png", "plot"),
        ("upload site.json -o up.json", "upload"),
        ("receive fresh.json south.packet.json", "receive"),
        ("merge north.up.json south.up.json west.up.json --out-dir out", "merge"),
        ("methods", "methods"),
        ("methods --advise", "methods --advise"),
        ("sync north.json", "sync (folder)"),
        ("audit north.json", "audit"),
        ("federation sites reaction", "federation sites"),
        ("federation change reaction wider.toml", "federation change"),
        ("federation turn share", "federation turn"),
    )
    return [(words.split(), title) for words, title in said]


def run(words: str, folder: Path, codes: Sequence[int] = (0,)) -> str:
    """Run a command that is not timed."""
    done = subprocess.run(
        [*COMMAND, *words.split()],
        cwd=folder,
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
    )
    if done.returncode not in codes:
        raise RuntimeError(f"guidefbo {words}: {done.stdout}{done.stderr}")
    return done.stdout


def timed(words: Sequence[str], folder: Path, source: Path) -> float:
    """Run a command of a checkout and return its processor seconds."""
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [*COMMAND, *words],
            cwd=folder,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)},
            stdout=said,
            stderr=said,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    # A letter in a folder waits for its answer, and the command says so with 3.
    if process.returncode not in (0, 3 if words[0] == "sync" else 0):
        raise RuntimeError(
            f"guidefbo {' '.join(words)}: {(folder / 'said').read_text()}"
        )
    return usage.ru_utime + usage.ru_stime


def report(seconds: Seconds, arguments: argparse.Namespace) -> list[str]:
    """Return the page."""
    has_before = arguments.against is not None
    lines = [
        "# Processor time of every command",
        "",
        f"Written by `python benchmarks/commands.py --results {arguments.results} "
        f"--repeats {arguments.repeats} {'--against SRC ' * has_before}--write`: "
        "processor seconds of the whole command, interpreter and imports included, at "
        f"a site with three parameters, {arguments.results} results and a packet; one "
        f"BLAS thread. numpy {np.__version__}, scipy {scipy.__version__}; Python "
        f"{platform.python_version()}, {platform.machine()}.",
        "",
        stamp(),
        "",
        "The commands take turns"
        + ", with those of an older checkout (before)" * has_before
        + ". A machine that is busy with other work makes them somewhat slower in "
        "processor time too; the least of the repeats is the better guide there.",
        "",
        "| command | median [s] | least [s] | "
        + "before, median [s] | before, least [s] | " * has_before
        + "target [s] | met |",
        "|---|---:|---:|" + "---:|---:|" * has_before + "---:|---|",
    ]
    for title in dict.fromkeys(title for title, _ in seconds):
        now = seconds[title, "now"]
        cells = cells_of(now)
        if has_before:
            cells += cells_of(seconds.get((title, "before"), []))
        target = TARGETS.get(title)
        if target is None:
            cells += ["", ""]
        else:
            is_met = statistics.median(now) <= target
            cells += [f"{target:g}", "yes" if is_met else "**no**"]
        lines.append(f"| `{title}` | {' | '.join(cells)} |")
    return lines


def cells_of(each: Sequence[float]) -> list[str]:
    """Return the median and the least, or dashes where nothing ran."""
    if not each:
        return ["-", "-"]
    return [f"{statistics.median(each):.2f}", f"{min(each):.2f}"]


if __name__ == "__main__":
    main()

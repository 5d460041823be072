"""Processor seconds of every command of a site, each in a process of its own.

    python benchmarks/commands.py [--results 30] [--repeats 5] [--write] [--out DIR]

The file is that of a site in three parameters with that many results and a packet. The
seconds are processor time of the whole command, interpreter and imports included, so
that other load on the machine hardly matters: the median of the repeats, and the least.
Commands that exchange do so through a folder, with a store beside it. `--write` puts
the table into docs/results/commands.md.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy

import guidefbo as gf
from guidefbo.experiments.commit import stamp
from guidefbo.server.exchange import merge

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
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
"""Seconds that design asks of a command, with 30 results."""
SITES = ("north", "south", "west")
COMMAND = [sys.executable, "-m", "guidefbo"]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=int, default=30, help="of the site")
    parser.add_argument("--repeats", type=int, default=5, help="of each command")
    parser.add_argument("--write", action="store_true", help="write commands.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        before = Path(name) / "before"
        before.mkdir()
        lay_out(before, arguments.results)
        seconds: dict[str, list[float]] = {}
        for k in range(arguments.repeats):
            for words, title in commands(arguments.results):
                folder = Path(name) / "now"
                shutil.copytree(before, folder)
                seconds.setdefault(title, []).append(timed(words, folder))
                shutil.rmtree(folder)
            print(f"round {k + 1} of {arguments.repeats}", file=sys.stderr, flush=True)
    text = "\n".join(report(seconds, arguments)) + "\n"
    print(text)
    if arguments.write:
        (arguments.out / "commands.md").write_text(text, encoding="utf-8")


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


def timed(words: Sequence[str], folder: Path) -> float:
    """Run a command and return its processor seconds, those of its kernel included."""
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [*COMMAND, *words],
            cwd=folder,
            env={**os.environ, **ONE_THREAD},
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


def report(seconds: dict[str, list[float]], arguments: argparse.Namespace) -> list[str]:
    """Return the page."""
    lines = [
        "# Processor time of every command",
        "",
        f"Written by `python benchmarks/commands.py --results {arguments.results} "
        f"--repeats {arguments.repeats} --write`: processor seconds of the whole "
        "command, interpreter and imports included, at a site with three parameters, "
        f"{arguments.results} results and a packet; one BLAS thread. numpy "
        f"{np.__version__}, scipy {scipy.__version__}; Python "
        f"{platform.python_version()}, {platform.machine()}.",
        "",
        stamp(),
        "",
        "The commands take turns. A machine that is busy with other work makes them "
        "somewhat slower in processor time too; the least of the repeats is the better "
        "guide there.",
        "",
        "| command | median [s] | least [s] | target [s] | met |",
        "|---|---:|---:|---:|---|",
    ]
    for title, each in seconds.items():
        median, least, target = statistics.median(each), min(each), TARGETS.get(title)
        goal, met = ("", "") if target is None else (f"{target:g}", "yes")
        if target is not None and median > target:
            met = "**no**"
        lines.append(f"| `{title}` | {median:.2f} | {least:.2f} | {goal} | {met} |")
    return lines


if __name__ == "__main__":
    main()

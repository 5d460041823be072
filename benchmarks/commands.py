"""Processor time of the commands of one site, each a process of its own.

    python benchmarks/commands.py [--against SRC] [--repeats 9] [--write] [--out DIR]

`--against` names the folder `src` of another checkout, whose commands take turns with
these; `--write` writes commands.md, into docs/results unless told otherwise; `--toy`
takes seconds and measures nothing. Every repeat begins with the same file.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import guidefbo as gf
from guidefbo.experiments.commit import stamp

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
NUM_RESULTS = 30
PENDING = str(NUM_RESULTS + 1)
COMMANDS = {
    "--version": (["--version"], None),
    "tell": (["tell", "site.json", PENDING, "0.5"], 0.35),
    "abandon": (["abandon", "site.json", PENDING], 0.35),
    "show": (["show", "site.json"], 0.35),
    "export": (["export", "site.json"], None),
    "ask": (["ask", "site.json"], 0.7),
    "upload": (["upload", "site.json", "-o", "up.json"], None),
}
"""Words of a command and the most seconds it may take."""


def make_file(folder: Path) -> None:
    """Write the file of a site with results and one pending question."""
    numbers = {f"x{i}": gf.Float(0, 1) for i in range(5)}
    space = gf.Space(**numbers, kind=gf.Choice("a", "b", "c"))
    agent = gf.Agent(space, goal="max", method="guide-ucb", settings={"beta": 3.0})
    for k in range(NUM_RESULTS):
        trial = agent.ask() if k < agent.setup.num_initial else None
        values = {n: (0.37 * k + 0.1 * i) % 1 for i, n in enumerate(numbers)}
        target = trial or {**values, "kind": "abc"[k % 3]}
        agent.tell(target, float(-((k % 7 - 3) ** 2)))
    agent.ask()
    agent.save(folder / "site.json")


def processor_seconds(words: list[str], source: Path, folder: Path) -> float:
    """Return the processor time of one command, its start included."""
    shutil.copy(folder / "site.json", folder / "run" / "site.json")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "guidefbo", *words],
        cwd=folder / "run",
        env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime
    return used - before.ru_utime - before.ru_stime


def measure(sources: list[Path], repeats: int) -> dict[str, list[list[float]]]:
    """Return the seconds of every command: a row a repeat, the sources in turn."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "run").mkdir()
        make_file(folder)
        for words, _ in COMMANDS.values():
            for source in sources:  # So that all is compiled.
                processor_seconds(words, source, folder)
        return {
            name: [
                [processor_seconds(words, source, folder) for source in sources]
                for _ in range(repeats)
            ]
            for name, (words, _) in COMMANDS.items()
        }


def table(seconds: dict[str, list[list[float]]], repeats: int) -> list[str]:
    """Return the lines of the table."""
    has_before = len(seconds["tell"][0]) > 1
    lines = [
        "# Processor time of the commands",
        "",
        "Written by `python benchmarks/commands.py --write`"
        + (", beside an older checkout" if has_before else "")
        + f": each command a process of its own, {NUM_RESULTS} results, guide-ucb with "
        f"a setting of its own; median processor seconds of {repeats}, from the "
        "smallest to the largest, start of Python included.",
        "",
        stamp(),
        "",
        "| command | "
        + ("before | " if has_before else "")
        + "seconds | target | met |",
        "|---|---|---|---|" + ("---|" if has_before else ""),
    ]
    for name, rows in seconds.items():
        columns = list(zip(*rows, strict=True))
        cells = [
            f"{statistics.median(c):.2f} ({min(c):.2f} to {max(c):.2f})"
            for c in columns[::-1]
        ]
        target = COMMANDS[name][1]
        met = "-" if target is None else "no"
        if target is not None and statistics.median(columns[0]) < target:
            met = "yes"
        goal = "-" if target is None else f"under {target:g}"
        lines.append(f"| {name} | {' | '.join(cells)} | {goal} | {met} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="src of another checkout")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write commands.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    parser.add_argument("--toy", action="store_true", help="a size that takes seconds")
    given = parser.parse_args()
    sources = [ROOT / "src"]
    if given.against is not None:
        sources.append(given.against.resolve())
    repeats = 1 if given.toy else given.repeats
    text = "\n".join(table(measure(sources, repeats), repeats)) + "\n"
    print(text)
    if given.write:
        (given.out / "commands.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

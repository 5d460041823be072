"""Rows of the speed table that other benchmarks measure: server, asks, commands."""

import cProfile
import pstats
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ask
import commands
import merge
from guidefbo.methods.default import DEFAULT_METHOD
from guidefbo.server.strategies.guide.merging import complete_linkage

HERE = Path(__file__).resolve().parent


class Row(NamedTuple):
    """A line of the table of targets."""

    what: str
    measured: str
    target: str
    is_met: bool


def progress(text: str) -> None:
    """Say what is being measured."""
    print(f"... {text}", file=sys.stderr, flush=True)


def table(rows: Iterable[Row]) -> list[str]:
    """Return the table of targets."""
    return [
        "| what | measured | target | met |",
        "|---|---|---|---|",
        *(f"| {a} | {b} | {c} | {'yes' if ok else '**no**'} |" for a, b, c, ok in rows),
    ]


def server_rows(uploads: int, dim: int) -> list[Row]:
    """Return time and memory of a server step with many uploads."""
    count = f"{uploads:,}".replace(",", " ")
    rows: list[Row] = []
    for name in (*merge.LAYOUTS, *merge.STRATEGIES):
        progress(f"server: {count} uploads, {name}")
        cells = merge.in_own_process(name, uploads, dim).split("|")
        seconds, megabytes = float(cells[3]), float(cells[4])
        is_merge = name in merge.LAYOUTS
        what = f"merge {count} uploads of GUIDE, {name}"
        rows.append(
            Row(
                what if is_merge else f"server of {name}, {count} uploads",
                f"{seconds:.1f} s, {megabytes:.0f} MB",
                "under 20 s, 400 MB" if is_merge else "under 2 s",
                seconds < 20 and megabytes < 400 if is_merge else seconds < 2,
            )
        )
    return rows


def ask_rows(targets: dict[int, float], *, is_toy: bool) -> list[Row]:
    """Return time and memory of one ask of the default method and of plain UCB."""
    rows: list[Row] = []
    for n, target in targets.items():
        for method in (DEFAULT_METHOD, "ucb"):
            repeats = 1 if n > 1000 or is_toy else 5
            seconds, megabytes = ask.measured(
                "10 floats", method, n, repeats, in_process=is_toy
            )
            median = statistics.median(seconds)
            rows.append(
                Row(
                    f"`ask` of {method}, n = {n}, d = 10",
                    f"{median:.3f} s (to {max(seconds):.3f}), {megabytes:.0f} MB",
                    f"under {target:g} s, {ask.MOST_MEMORY} MB",
                    median < target and megabytes < ask.MOST_MEMORY,
                )
            )
    return rows


def command_rows(repeats: int) -> list[Row]:
    """Return the processor time of the commands that have a target."""
    progress("commands")
    seconds = commands.take_turns(
        commands.TARGETS, repeats, {"now": commands.ROOT / "src"}
    )
    return [
        Row(
            f"`guidefbo {title}`, 30 results",
            f"{statistics.median(each):.2f} s ({min(each):.2f} to {max(each):.2f})",
            f"under {commands.TARGETS[title]:g} s",
            statistics.median(each) < commands.TARGETS[title],
        )
        for (title, _), each in seconds.items()
    ]


def profiles(
    rows: Iterable[Row], late_rounds: Callable[[str], object], *, is_toy: bool
) -> list[str]:
    """Return where the time of missed rows goes, each method's once.

    Args:
        rows: The table.
        late_rounds: Runs some late rounds of a method.
        is_toy: Whether to leave out what takes more than seconds.
    """
    lines: list[str] = []
    known: set[str] = set()
    for row in rows:
        if row.is_met:
            continue
        method = row.what.split(" / ")[0].split(",")[0].lower().removeprefix("plain ")
        if re.fullmatch("[a-z-]+", method) and method not in known:
            known.add(method)
            own = own_times(lambda m=method: late_rounds(m), 14)
            lines += ["", f"{row.what}; the profile of {method}:", *own]
        elif is_toy:
            continue
        elif row.what.startswith("merge"):
            layout = row.what.rpartition(", ")[2]
            rng = np.random.Generator(np.random.PCG64(0))
            centers = merge.LAYOUTS[layout](rng, 20_000, 10)
            own = own_times(lambda c=centers: complete_linkage(c, merge.THRESHOLD))
            lines += ["", f"{row.what}; the profile is of 20 000:", *own]
        elif row.what.startswith("`ask`"):
            method = row.what.split()[2].rstrip(",")
            agent = ask.make_agent(ask.SPACES["10 floats"], method, 1000)
            own = own_times(agent.ask)
            lines += ["", f"{row.what}; the profile is of n = 1000:", *own]
        elif row.what.startswith("`guidefbo"):
            name = row.what.split()[1].strip("`,")
            lines += ["", f"`guidefbo {name}`, imports:", *imports(name)]
    return lines


def own_times(work: Callable[[], object], count: int = 10) -> list[str]:
    """Return the functions of most own time, as lines of a block."""
    profiler = cProfile.Profile()
    profiler.enable()
    work()
    profiler.disable()
    rows = sorted(
        (
            (own, calls, f"{Path(file).name}:{line} {name}")
            for (file, line, name), (_, calls, own, _, _) in pstats.Stats(
                profiler
            ).stats.items()
        ),
        reverse=True,
    )
    total = sum(own for own, _, _ in rows)
    return [
        "",
        "```",
        *(
            f"{100 * own / total:5.1f} %  {calls:7d} calls  {where}"
            for own, calls, where in rows[:count]
        ),
        "```",
    ]


def imports(name: str, count: int = 10) -> list[str]:
    """Return the imports of a command that take longest, with what they import."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "site"
        place.mkdir()
        commands.lay_out(place, 30)
        words = next(w for w, title in commands.commands(30) if title == name)
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "guidefbo", *words],
            cwd=place,
            capture_output=True,
            text=True,
            check=True,
        )
        shutil.rmtree(place)
    found = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \|\s*(\S+)", done.stderr)
    longest = sorted(((int(all_), name) for _, all_, name in found), reverse=True)
    lines = [f"{took / 1e6:6.3f} s  {module}" for took, module in longest[:count]]
    return ["", "```", *lines, "```"]

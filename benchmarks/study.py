"""How busy a study of small runs keeps its processes, and whether its plan was right.

    python benchmarks/study.py [--runs 200] [--rounds 25] [--jobs 2] [--write]

A study of equal runs of plain UCB, about two seconds each, is planned and run as a user
does it. *Efficiency* is the time of the runs over the time of all processes together,
from the start of the command to its end: start-up, imports, planning and writing are
what is missing to one. It needs as many free cores as processes. The *share of the
processor* is the same in processor time, which other load hardly changes; it leaves out
only the waiting. `--write` puts the table into docs/results/study-speed.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from guidefbo.experiments.commit import stamp
from guidefbo.experiments.run import make_plan
from guidefbo.experiments.study import load_study

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
LEAST_EFFICIENCY, LARGEST_ERROR = 0.9, 0.3
STUDY = """
name = "small-runs"
title = "Equal small runs"
text = "Runs of plain UCB of about two seconds each."
repetitions = {runs}
sections = ["runtime"]

[[grid]]
problem = "ackley"
level = 2
num_agents = {agents}
num_rounds = {rounds}
method = "ucb"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--agents", type=int, default=10, help="of each run")
    parser.add_argument("--rounds", type=int, default=25, help="of each run")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help="write study-speed.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, out = folder / "small-runs.toml", folder / "records"
        text = STUDY.format(runs=given.runs, agents=given.agents, rounds=given.rounds)
        file.write_text(text, encoding="utf-8")
        planned = make_plan(load_study(str(file)), out).seconds / given.jobs
        print(f"... {given.runs} runs, {planned:.0f} s planned", file=sys.stderr)
        wall, processor = run(file, out, given.jobs)
        runs = [seconds_of(path) for path in (out / "runs").glob("*.json")]
    if len(runs) != given.runs:
        raise RuntimeError(f"Expected {given.runs} records, got {len(runs)}.")
    lines = report(given, planned, wall, processor, runs)
    print("\n".join(lines))
    if given.write:
        page = given.out / "study-speed.md"
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(file: Path, out: Path, jobs: int) -> tuple[float, float]:
    """Run the study as a command; return its seconds by the clock and the processor."""
    words = ["study", "run", str(file), "--jobs", str(jobs), "--out", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "guidefbo", *words], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"The study ended with {process.returncode}.")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def seconds_of(path: Path) -> dict[str, float]:
    """Return the seconds of a run, by the clock and by the processor."""
    seconds = json.loads(path.read_text(encoding="utf-8"))["seconds"]
    return {"wall": seconds["total"], "processor": seconds["processor"]}


def report(
    given: argparse.Namespace,
    planned: float,
    wall: float,
    processor: float,
    runs: list[dict[str, float]],
) -> list[str]:
    """Return the page."""
    work = {name: sum(run[name] for run in runs) for name in runs[0]}
    efficiency = work["wall"] / (given.jobs * wall)
    share = work["processor"] / processor
    error = planned / wall - 1.0
    by_work = given.jobs * planned / processor - 1.0
    words = f"--runs {given.runs} --agents {given.agents} --rounds {given.rounds}"
    rows = [
        ("efficiency", f"{efficiency:.3f}", "over 0.9", efficiency > LEAST_EFFICIENCY),
        ("share of the processor", f"{share:.3f}", "over 0.9", share > 0.9),
        (
            "plan beside the time taken",
            f"{planned:.0f} s and {wall:.0f} s ({error:+.0%})",
            "within 30 %",
            abs(error) < LARGEST_ERROR,
        ),
        (
            "plan beside the processor's time",
            f"{given.jobs * planned:.0f} s and {processor:.0f} s ({by_work:+.0%})",
            "within 30 %",
            abs(by_work) < LARGEST_ERROR,
        ),
    ]
    return [
        "# A study of small runs",
        "",
        f"Written by `python benchmarks/study.py {words} --jobs {given.jobs} --write`: "
        f"{given.runs} runs of {work['wall'] / len(runs):.2f} s on average, "
        f"{work['processor'] / len(runs):.2f} s of the processor, in {given.jobs} "
        f"processes; {wall:.0f} s by the clock.",
        "",
        stamp(),
        "",
        "| what | measured | target | met |",
        "|---|---|---|---|",
        *(f"| {a} | {b} | {c} | {'yes' if ok else '**no**'} |" for a, b, c, ok in rows),
    ]


if __name__ == "__main__":
    main()

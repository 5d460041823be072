"""Run the long tests of the coordinator and of sites with their full counts.

    python scripts/endurance.py [--parts kills,fuzz ...] [--share 1.0] [--write]

Each part is some of the suite's long tests with counts for a night. What a part has
seen comes from the tests themselves; `--write` puts it into docs/results/endurance.md,
where the rows of other parts stay. `--share 0.01` takes a hundredth of every count.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from guidefbo.experiments.commit import stamp

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
KILLS = "tests/coordinator/test_kills.py"
SITES = "tests/connect/test_service.py"
FUZZ = "tests/coordinator/test_fuzz.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some long tests, and how much of everything they do."""

    text: str
    """What holds where they pass."""
    file: str
    """Where the tests are."""
    names: str
    """Which of them, as pytest's -k reads it."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Counts by the environment's variable."""


PARTS = {
    "points": Part(
        text="Killed at each named point: nothing acknowledged is lost, answers are "
        "those of a quiet service, byte for byte",
        file=KILLS,
        names="test_killed",
        counts={"GUIDEFBO_KILLS": 20},
    ),
    "restart": Part(
        text="A service with many messages answers as soon after its start as an empty "
        "one: within 2 s, or half as long again on a busy machine",
        file=KILLS,
        names="test_restart_with_many_messages",
        counts={"GUIDEFBO_MESSAGES": 1_000_000},
    ),
    "campaign": Part(
        text="Four sites over HTTP, killed on both sides, ask what the quiet ones ask",
        file=SITES,
        names="test_a_long_campaign",
        counts={"GUIDEFBO_ROUNDS": 50},
    ),
    "client-kills": Part(
        text="A site's client killed at any point: every upload has arrived once, no "
        "file is torn",
        file=SITES,
        names="test_a_client_killed_many_times",
        counts={"GUIDEFBO_KILLS": 500},
    ),
    "kills": Part(
        text="The coordinator killed at any moment while four sites write: no "
        "acknowledged upload is lost, none is stored twice",
        file=KILLS,
        names="test_kills_at_any_moment",
        counts={"GUIDEFBO_KILLS": 500},
    ),
    "outage": Part(
        text="PostgreSQL ended for a minute while four sites write: 503 with a "
        "sentence, then all go on and nothing acknowledged is lost",
        file=KILLS,
        names="test_database_that_is_gone_for_a_minute",
        counts={"GUIDEFBO_OUTAGE": 60},
    ),
    "sequences": Part(
        text="Any sequence of joins, uploads, repeats, leaves, revocations and "
        "restarts ends where a small model of it ends",
        file="tests/coordinator/test_sequences.py",
        names="test_any_sequence",
        counts={"GUIDEFBO_SEQUENCES": 5000},
    ),
    "requests": Part(
        text="Any request without a key: no status of 5xx, nothing accepted",
        file=FUZZ,
        names="test_any_request",
        counts={"GUIDEFBO_CASES": 55_000},
    ),
    "described": Part(
        text="What Schemathesis makes of the description, against the real service: "
        "no status of 5xx, every answer as described",
        file="tests/coordinator/test_schemathesis.py",
        names="test_what_schemathesis_makes",
        counts={"GUIDEFBO_CASES": 10_000},
    ),
    "letters": Part(
        text="Any signed letter: no status of 5xx, nothing accepted that the "
        "description does not describe",
        file=FUZZ,
        names="test_any_signed_letter",
        counts={"GUIDEFBO_CASES": 35_000},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What became of a part."""

    is_passed: bool
    figures: dict[str, float]
    """What the tests have counted, by its name."""
    seconds: float


def run(part: Part, share: float) -> Seen:
    """Run the tests of a part in a process of their own."""
    counts = {
        name: str(max(round(share * count), 1)) for name, count in part.counts.items()
    }
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-n0", "-m", "slow", part.file, "-k", part.names]
        words += ["-p", "no:cacheprovider", f"--junitxml={report}"]
        words += ["-o", "junit_family=xunit1"]
        words += [f"--basetemp={folder}/work"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=ROOT,
            env=os.environ | counts,
        )
        figures = read_report(report) if report.exists() else {}
    return Seen(
        is_passed=done.returncode == 0,
        figures=figures,
        seconds=time.monotonic() - began,
    )


def read_report(path: Path) -> dict[str, float]:
    """Return what tests have recorded; what several have counted is added up."""
    found: Counter[str] = Counter()
    for told in ElementTree.parse(path).iter("property"):
        name, value = told.get("name"), told.get("value")
        if name is not None and value is not None:
            found[name] += float(value)
    return dict(found)


def row(name: str, seen: Seen) -> str:
    """Return a part's line of the table."""
    part = PARTS[name]
    figures = ", ".join(f"{key}: {value:,.10g}" for key, value in seen.figures.items())
    minutes = f"{seen.seconds / 60:.1f}"
    day = datetime.now(UTC).date().isoformat()
    commit = re.sub(r"^Made at commit |\.$", "", stamp())
    holds = "yes" if seen.is_passed else "NO"
    return (
        f"| {name} | {part.text} | {holds} | {figures or '-'} | {minutes} | {day} | "
        f"{commit} |"
    )


def page(rows: dict[str, str]) -> str:
    """Return the page with the rows of all parts that have run."""
    lines = [
        "# Endurance",
        "",
        "Written by `python scripts/endurance.py --write`, part by part "
        "(`--parts NAME`): the long tests of the coordinator and of sites with the "
        "counts of a release instead of those of every check. Each row says when its "
        "part ran and of which commit; figures are what the tests themselves have "
        f"counted. {platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, SQLite; other work ran beside it.",
        "",
        stamp(*(line.split("|")[-2].strip() for line in rows.values())),
        "",
        "| part | what holds | holds | counted | minutes | date | commit |",
        "|---|---|---|---|---|---|---|",
        *(rows[name] for name in PARTS if name in rows),
    ]
    return "\n".join(lines) + "\n"


def read_rows(path: Path) -> dict[str, str]:
    """Return the rows of a page by the name of their part."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    named = {line.split("|")[1].strip(): line for line in lines if line[:1] == "|"}
    return {name: line for name, line in named.items() if name in PARTS}


def main() -> int:
    """Run the parts that are asked for, and return how many have failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="names, with commas")
    parser.add_argument("--share", type=float, default=1.0, help="of every count")
    parser.add_argument("--write", action="store_true", help="endurance.md to --out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="docs/results")
    given = parser.parse_args()
    names = given.parts.split(",")
    unknown = sorted(set(names) - PARTS.keys())
    if unknown:
        parser.error(f"expected parts of {', '.join(PARTS)}; got {', '.join(unknown)}")
    failed = 0
    stamp()  # the commit is looked up now and kept: parts take hours
    for name in names:
        print(f"... {name}", file=sys.stderr)
        seen = run(PARTS[name], given.share)
        failed += not seen.is_passed
        line = row(name, seen)
        print(line, flush=True)
        if given.write:
            # After every part: a night that is cut short has its rows.
            path = given.out / "endurance.md"
            rows = {**read_rows(path), name: line}
            path.write_text(page(rows), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Say which published tables are older than the code they measure.

    python scripts/stale_results.py [--write]   # docs/results/age.md with --write

Every table carries the commit it was made at, or was committed at where that was not
kept. It is current while the code it measures is, to the letter, the code of that
commit; the working tree counts, so that a change shows before it is committed.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from guidefbo.experiments.commit import STAMP, UNKNOWN

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
LIST = RESULTS / "age.md"
NO_TABLES = ("age.md", "index.md", "methods-notes.md", "speed-notes.md", "studies.md")
"""Words about tables."""
CURRENT, OLDER, LOST = "current", "older than the code", "of a commit not known here"

METHODS = ("agent", "core", "methods", "problems", "server", "simulation")
"""What a run on a catalogue problem is made of, below src/guidefbo."""
SITE = ("agent", "core", "methods", "site")
MEASURED: dict[str, tuple[str, ...]] = {
    "activity-speed.md": ("problems/realworld/softmax.py",),
    "adapters.md": (*SITE, "connect", "integrations"),
    "ask.md": SITE,
    "big-sites.md": ("agent", "core", "problems/synthetic"),
    "commands.md": (*SITE, "cli"),
    "constrained.md": SITE,
    "consensus-groups.md": METHODS,
    "consensus-location.md": METHODS,
    "coordinator.md": ("coordinator", "core", "server", "wire"),
    "eight-teams.md": (*SITE, "connect", "coordinator", "integrations", "server"),
    "endurance.md": ("connect", "coordinator", "core", "server", "wire"),
    "extras.md": ("integrations",),
    "faithfulness.md": METHODS,
    "merge.md": tuple(
        f"server/strategies/{name}" for name in ("consensus", "guide", "shape")
    ),
    "methods.md": METHODS,
    "mixed.md": SITE,
    "packet-draws.md": METHODS,
    "reveal.md": METHODS,
    "speed-consensus.md": METHODS,
    "speed-methods.md": METHODS,
    "study-speed.md": ("experiments", "simulation", "cli"),
    "speed.md": (*METHODS, "site", "cli"),
    "ablation": METHODS,
    "communication": (*METHODS, "metrics", "wire"),
    "consensus": METHODS,
    "consensus-centred": METHODS,
    "consensus-choosing": METHODS,
    "consensus-weierstrass": METHODS,
    "harm": METHODS,
    "main": METHODS,
    "offcentre": METHODS,
    "realworld": METHODS,
    "runtime": METHODS,
    "sensitivity": METHODS,
    "shape": METHODS,
    "shape-conditions": METHODS,
    "shape-degrees": METHODS,
    "shape-hostile": METHODS,
    "shape-screened": METHODS,
    "shape-screened-hostile": METHODS,
    "similarity": ("core", "metrics", "problems"),
    "tried": METHODS,
}
"""Table, or folder of a study -> what it measures."""


class NoHistory(Exception):
    """Git or the history of the checkout is not there."""


@dataclass(frozen=True)
class Entry:
    """One table and the commits it names."""

    name: str
    stamps: tuple[str, ...]
    """Commits, with `-dirty` where files had been changed."""
    is_made: bool
    """Whether it was made there, or only committed."""

    @property
    def state(self) -> str:
        """Whether the code is still that of its commits."""
        found = {state_at(commit, MEASURED[self.name]) for commit in self.stamps}
        return next(s for s in (LOST, OLDER, CURRENT) if s in found)


def tables() -> list[str]:
    """Return the tables there are, and the folders of studies."""
    files = [p.name for p in RESULTS.glob("*.md") if p.name not in NO_TABLES]
    return sorted(files) + sorted(p.parent.name for p in RESULTS.glob("*/report.md"))


def read(name: str) -> Entry:
    """Return what a table says of its commits; no stamps where it says nothing."""
    if name.endswith(".md"):
        lines = STAMP.findall((RESULTS / name).read_text(encoding="utf-8"))
        return Entry(name, tuple(named_in(lines)), all("Made" in s for s in lines))
    report = (RESULTS / name / "report.md").read_text(encoding="utf-8")
    # Runs say it themselves, and a report says it of its runs.
    made = re.findall(r"^Made with .*$", report, flags=re.M)
    commits = re.findall(r"\bcommit ([0-9a-f]{7,40}(?:-dirty)?|unknown)\b", str(made))
    if commits:
        return Entry(name, tuple(commits), True)
    beside = RESULTS / name / "commit.md"
    text = beside.read_text(encoding="utf-8") if beside.exists() else ""
    return Entry(name, tuple(named_in(STAMP.findall(text))), False)


def named_in(lines: list[str]) -> Iterator[str]:
    """Return the commits of stamps."""
    for line in lines:
        sentence = re.split(r"[.;]", line)[0]
        yield from sentence.split(" commit ", 1)[1].split(", ")


def state_at(commit: str, measured: tuple[str, ...]) -> str:
    """Return whether the measured code is that of a commit."""
    commit = commit.removesuffix("-dirty")
    if commit == UNKNOWN or git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
        return LOST
    paths = [f"src/guidefbo/{path}" for path in measured]
    differs = git("diff", "--quiet", commit, "--", *paths).returncode
    return OLDER if differs else CURRENT


def require_history() -> None:
    """Raise `NoHistory` where commits cannot be looked up."""
    try:
        shallow = git("rev-parse", "--is-shallow-repository")
    except OSError as error:
        raise NoHistory("Git is not installed.") from error
    if shallow.returncode or shallow.stdout.strip() != "false":
        raise NoHistory("This is no checkout with its whole history.")


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def render() -> str:
    """Return docs/results/age.md."""
    lines = [
        "# How old the tables are",
        "",
        "Written by `python scripts/stale_results.py --write`; a test holds it against "
        "the tables and the code. A table is current while the code it measures is, to "
        "the letter, that of its commit. Older is not wrong: the numbers are those of "
        "their commit, and most changes of the code move none of them.",
        "",
        "| table | commit | measures, below src/guidefbo | state |",
        "|---|---|---|---|",
    ]
    for name in tables():
        entry = read(name)
        link = name if name.endswith(".md") else f"{name}/report.md"
        verb = "made at" if entry.is_made else "committed at"
        lines.append(
            f"| [{name.removesuffix('.md')}]({link}) | {verb} "
            f"{', '.join(entry.stamps)} | {', '.join(MEASURED[name])} | {entry.state} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the list")
    given = parser.parse_args()
    try:
        require_history()
    except NoHistory as error:
        print(f"{error} Run this in a full clone.", file=sys.stderr)
        return 1
    text = render()
    print(text)
    if given.write:
        LIST.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

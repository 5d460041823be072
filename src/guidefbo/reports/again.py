"""The commands that reproduce a study and its report.

They are given as far as the study's files record them.
"""

import shlex
import tomllib

from guidefbo.experiments.results import StudyResults
from guidefbo.experiments.shipped import shipped_files
from guidefbo.experiments.study_json import Call

DECISIVE = ("measure", "first_seed", "common", "grid", "variants")
"""Entries of a study that decide which runs it has; repetitions are said."""


def introduction(results: StudyResults) -> str:
    """Return the sentence before the commands, with what is not known."""
    text = "To make this study and this report again"
    if not is_shipped(results):
        text += (
            f", with the file that describes it in place of {results.name}.toml (it "
            "does not come with guidefbo)"
        )
    if not results.calls:
        text += "; whether it was narrowed is not recorded"
    return f"{text}:"


def commands(results: StudyResults) -> tuple[str, ...]:
    """Return the commands that run the study and write its report."""
    name = results.name if is_shipped(results) else f"{results.name}.toml"
    folder = str(results.folder or f"results/{results.name}")
    # The report of a folder goes into the folder; a pack has none.
    out = [] if results.folder else ["--out", f"reports/{results.name}"]
    runs = [_run(name, call, folder) for call in results.calls]
    return (
        *(runs or [shlex.join(["guidefbo", "study", "run", name, "--out", folder])]),
        shlex.join(["guidefbo", "study", "report", folder, *out]),
    )


def is_shipped(results: StudyResults) -> bool:
    """Whether the study comes with guidefbo, and with the same runs."""
    path = shipped_files().get(results.name)
    if path is None:
        return False
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    return all(written.get(k) == results.definition.get(k) for k in DECISIVE)


def _run(name: str, call: Call, folder: str) -> str:
    where = [word for condition in call.where for word in ("--where", condition)]
    seeds = ["--repetitions", str(call.repetitions)]
    change = [word for pair in call.change for word in ("--change", pair)]
    words = ["guidefbo", "study", "run", name, *where, *change, *seeds]
    return shlex.join([*words, "--out", folder])

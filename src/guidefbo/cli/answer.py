"""`guidefbo tell`: one result, or a table of them."""

from pathlib import Path

from guidefbo.cli.reading import read_number, read_trial, refuse_options
from guidefbo.cli.table import tell_table
from guidefbo.core.errors import SettingsError
from guidefbo.site.agent import Agent
from guidefbo.site.trial import Origin, Record, Trial, TrialState

OPTIONS = ["--std", "--failed", "--csv", "--repeats", "--wait", "--help"]
"""The options of the command, for hints."""


def check_call(
    file: Path, words: list[str], std: float | None, failed: str | None, table: bool
) -> None:
    """Refuse a call that says too little or too much, before anything is held."""
    refuse_options([str(file), *words], OPTIONS)
    if table:
        if words or std is not None or failed is not None:
            raise SettingsError(
                "--csv brings its own trials and values; leave out everything else."
            )
        return
    if failed is not None and len(words) == 2:
        raise SettingsError(
            f"Expected either a value or --failed, got both {words[1]} and --failed "
            f"{failed!r}."
        )
    expected = 2 if failed is None else 1
    if len(words) != expected:
        raise SettingsError(
            "Expected a trial and its value, as in: guidefbo tell site.json 3 0.83; or "
            "guidefbo tell site.json dose=1.7,days=3 0.83; or guidefbo tell site.json "
            f"3 --failed 'reason'. Got {' '.join(words) or 'nothing'}."
        )


def tell_one(
    agent: Agent, words: list[str], std: float | None, failed: str | None
) -> list[str]:
    """Tell one result and return what to say about it."""
    target = read_trial(words[0], agent)
    value = None if failed is not None else read_number(words[1], "the value")
    before = {trial.id: trial for trial in agent.trials}
    trial = agent.tell(target, value, std=std, failed=failed)
    old = before.get(trial.id)
    if old is None or not old.records:
        own = "own result, " if trial.origin == Origin.OWN else ""
        return [f"told {own}{trial}"]
    if old.records == trial.records:
        return [f"nothing changed, this was told before: {trial}"]
    change = f"{_outcome(old.records[-1])} -> {_outcome(trial.records[-1])}"
    return [
        f"corrected trial {trial.id}: {change} (the old record is kept)",
        str(trial),
    ]


def tell_many(agent: Agent, path: Path, *, repeats: bool) -> list[str]:
    """Tell a table and return what to say about it."""
    told = tell_table(agent, path, repeats=repeats)
    num_failed = sum(trial.state == TrialState.FAILED for trial in told)
    failures = f", {num_failed} of them failed" if num_failed else ""
    return [f"told {len(told)} results (goal {agent.goal}){failures}: {_ids(told)}"]


def _ids(trials: list[Trial]) -> str:
    first, last = trials[0].id, trials[-1].id
    if [t.id for t in trials] == list(range(first, last + 1)):
        return f"trials {first} to {last}" if last > first else f"trial {first}"
    return f"trials {', '.join(str(trial.id) for trial in trials)}"


def _outcome(record: Record) -> str:
    if record.value is None:
        return f"failed ({record.failed})"
    spread = "" if record.std is None else f" ± {record.std!r}"
    return f"{record.value!r}{spread}"

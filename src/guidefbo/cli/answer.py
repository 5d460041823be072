"""`guidefbo tell`: results in words of the command line, or a table of them."""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from guidefbo.cli.reading import (
    read_number,
    read_pairs,
    read_trial,
    read_values,
    refuse_options,
)
from guidefbo.cli.speech import notice
from guidefbo.cli.table import Reading, tell_rows
from guidefbo.core.errors import DataError, FedBOError, SettingsError
from guidefbo.site.agent import Agent
from guidefbo.site.as_run import KEEP, REFUSE
from guidefbo.site.labels import Labels
from guidefbo.site.trial import Origin, Record, Trial, TrialState

OPTIONS = [
    "--std",
    "--failed",
    "--csv",
    "--repeats",
    "--column",
    "--ignore-extra",
    "--skip-bad",
    "--outside",
    "--wait",
    "--help",
]
"""The options of the command, for hints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The words about one trial."""

    target: str
    """Its id, or name=value,name=value."""
    value: str | None
    """The observation, None where it failed."""
    more: tuple[str, ...]
    """Further name=value words: measured outcomes, and what was run otherwise."""


def check_call(
    file: Path,
    words: list[str],
    std: float | None,
    failed: str | None,
    table: bool,
    outside: str = KEEP,
) -> None:
    """Refuse a call that says too little or too much, before anything is held."""
    refuse_options([str(file), *words], OPTIONS)
    if outside not in (KEEP, REFUSE):
        raise SettingsError(f"Expected --outside {KEEP} or {REFUSE}, got {outside!r}.")
    if failed is not None and not failed.strip():
        raise SettingsError("Say why it failed, as in --failed 'pump broke'.")
    if table:
        if words or std is not None or failed is not None:
            raise SettingsError(
                "--csv brings its own trials and values; leave out everything else."
            )
        return
    if failed is not None and len(words) > 1 and "=" not in words[1]:
        raise SettingsError(
            f"Expected either a value or --failed, got both {words[1]} and --failed "
            f"{failed!r}."
        )
    told = parted(words, is_failure=failed is not None)
    if std is not None and len(told) > 1:
        raise SettingsError(
            f"--std is of one value, got {len(told)} trials. Tell them one by one."
        )


def parted(words: list[str], *, is_failure: bool) -> list[Told]:
    """Return the words trial by trial: ID VALUE, perhaps NAME=VALUE words, and so on.

    NAME=VALUE words begin a result of the site's own where a value follows them, and
    belong to the trial before them where none does: between two of them the other
    words come in pairs of an id and a value, and one that is left over is that value.

    Args:
        words: What was written.
        is_failure: Whether there is no value.
    """
    told: list[Told] = []
    rest = list(words)
    while rest:
        target = rest.pop(0)
        if not is_failure and (not rest or "=" in rest[0]):
            _refuse(words)
        value = None if is_failure else rest.pop(0)
        more: list[str] = []
        while rest and "=" in rest[0] and (is_failure or _follows(rest)):
            more.append(rest.pop(0))
        told.append(Told(target=target, value=value, more=tuple(more)))
    if not told or (is_failure and len(told) > 1):
        _refuse(words)
    return told


def _follows(rest: list[str]) -> bool:
    """Whether NAME=VALUE belongs to the trial before it."""
    return len(list(takewhile(lambda word: "=" not in word, rest[1:]))) % 2 == 0


def _refuse(words: list[str]) -> None:
    raise SettingsError(
        "Expected a trial and its value, as in: guidefbo tell site.json 3 0.83; or "
        "guidefbo tell site.json dose=1.7,days=3 0.83; or guidefbo tell site.json "
        f"3 --failed 'reason'. Got {' '.join(words) or 'nothing'}."
    )


def tell_words(
    agent: Agent,
    words: list[str],
    std: float | None,
    failed: str | None,
    outside: str,
) -> list[str]:
    """Tell one result or several and return what to say about them."""
    told = parted(words, is_failure=failed is not None)
    lines: list[str] = []
    for one in told:
        try:
            lines += _tell_one(agent, one, std, failed, outside)
        except FedBOError as error:
            if len(told) == 1:
                raise
            raise SettingsError(
                f"{one.target}: {error} Nothing was changed."
            ) from error
    return lines


def _tell_one(
    agent: Agent, one: Told, std: float | None, failed: str | None, outside: str
) -> list[str]:
    target = read_trial(one.target, agent)
    value = None if one.value is None else read_number(one.value, "the value")
    run = _read_run(one, agent)
    names = [outcome.name for outcome in agent.setup.outcomes]
    outcomes = {n: read_number(run.pop(n), n) for n in names if n in run}
    _refuse_unknown(run, agent, names)
    values = read_values(run, agent.space, some=True) if run else None
    before = {trial.id: trial for trial in agent.trials}
    trial = agent.tell(
        target,
        value,
        std=std,
        failed=failed,
        values=values,
        outcomes=outcomes,
        outside=outside,
    )
    old, said = before.get(trial.id), trial.text(agent.setup.labels)
    _say_impossible(trial, agent)
    _say_unmeasured(trial, names)
    if old is None or not old.records:
        own = "own result, " if trial.origin == Origin.OWN else ""
        return [f"told {own}{said}"]
    if old.records == trial.records:
        return [f"nothing changed, this was told before: {said}"]
    return [
        f"corrected trial {trial.id}: {_change(old, trial, agent.setup.labels)} (the "
        "old record is kept)",
        said,
    ]


def _read_run(one: Told, agent: Agent) -> dict[str, str]:
    """Return the texts by name behind a value, each name once."""
    run: dict[str, str] = {}
    for word in one.more:
        pairs = read_pairs(word, agent.space)
        if twice := [name for name in pairs if name in run]:
            name = twice[0]
            raise DataError(
                f"Expected each name once behind a value, got {name}={run[name]} and "
                f"{name}={pairs[name]}. Leave one of them out."
            )
        run |= pairs
    return run


def _refuse_unknown(run: dict[str, str], agent: Agent, outcomes: list[str]) -> None:
    known = [*agent.space.parameters, *outcomes]
    if unknown := [name for name in run if name not in known]:
        raise DataError(
            f"There is no parameter or outcome {unknown[0]!r}; there are "
            f"{', '.join(known)}."
        )


def _say_impossible(trial: Trial, agent: Agent) -> None:
    low, high = agent.setup.outcome_bounds
    value = trial.value
    if value is None:
        return
    if (low is not None and value < low) or (high is not None and value > high):
        ends = ["-" if end is None else f"{end:g}" for end in (low, high)]
        notice(
            f"{value:g} is not possible, by the bounds {' to '.join(ends)}; it is "
            f"kept. If it is a slip, tell trial {trial.id} again."
        )


def _say_unmeasured(trial: Trial, outcomes: list[str]) -> None:
    """Remind of outcomes: a result without them is never the recommended one."""
    missing = [name for name in outcomes if name not in trial.outcomes]
    if missing and trial.state == TrialState.DONE:
        words = " ".join(f"{name}=..." for name in missing)
        notice(
            f"trial {trial.id} counts as keeping no limit until {', '.join(missing)} "
            f"is told too: tell {trial.id} {trial.value!r} {words}"
        )


def _change(old: Trial, new: Trial, labels: Labels) -> str:
    """Return what a correction changes."""
    pairs = [(_outcome(old.records[-1]), _outcome(new.records[-1]), "")]
    pairs += [
        (labels.number(name, old.as_run[name]), labels.number(name, value), f"{name} ")
        for name, value in new.as_run.items()
    ]
    pairs += [
        (f"{old.outcomes.get(name, 'not told')}", f"{value}", f"{name} ")
        for name, value in new.outcomes.items()
    ]
    changes = [f"{name}{a} -> {b}" for a, b, name in pairs if a != b]
    return ", ".join(changes)


def tell_table(agent: Agent, path: Path, reading: Reading) -> list[str]:
    """Tell a table and return what to say about it."""
    told = tell_rows(agent, path, reading, notice)
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

"""Run what is missing of a study."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guidefbo.core.checks import require_count
from guidefbo.core.errors import SettingsError
from guidefbo.experiments.estimate import estimate_seconds
from guidefbo.experiments.fingerprint import PACKAGE
from guidefbo.experiments.keys import base_of, is_same_code
from guidefbo.experiments.outcome import Outcome
from guidefbo.experiments.plan import plan_rows
from guidefbo.experiments.results import FAILURE_FORMAT, keys_by_run, read_study
from guidefbo.experiments.store import Store, is_better, known_outcomes
from guidefbo.experiments.study import Study
from guidefbo.experiments.study_json import Call, Row
from guidefbo.experiments.workers import BACKENDS, cluster, run_rows
from guidefbo.methods.plugins import Plugin, load_plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a study asks for and what of it is there already."""

    rows: tuple[Row, ...]
    """Every row, in order."""
    done: dict[str, Outcome]
    """Outcomes of the finished ones, by key; they may be of other code."""
    known: dict[str, Outcome]
    """Those of them that are in other folders or packs."""
    redo: bool = False
    """Whether runs of other code are to be made again."""

    @property
    def missing(self) -> tuple[Row, ...]:
        """Rows still to be run; equal runs once."""
        finished = self.finished
        rows = {row.key: row for row in self.rows if row.key not in finished}
        return tuple(rows.values())

    @property
    def finished(self) -> dict[str, Outcome]:
        """Outcomes that are not made again, by key."""
        again = self.other_code if self.redo else {}
        return {key: outcome for key, outcome in self.done.items() if key not in again}

    @property
    def num_runs(self) -> int:
        """Different runs."""
        return len({row.key for row in self.rows})

    @property
    def other_code(self) -> dict[str, str]:
        """What made each finished run that is not of the code of now, by key."""
        return {
            row.key: self.done[row.key].code
            for row in self.rows
            if row.key in self.done
            and not is_same_code(self.done[row.key].parts, row.code)
        }

    @property
    def seconds(self) -> float:
        """Estimated seconds of one process for what is missing."""
        return estimate_seconds(self.rows, self.finished)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a study's progress display wants to know."""

    row: Row
    """The row that ended."""
    error: str | None
    """Why it failed, None if it did not."""
    num_done: int
    """Rows of this call that ended, failed ones included."""
    num_total: int
    """Rows of this call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How a call ended."""

    num_before: int
    """Runs that were there already."""
    num_finished: int
    """Runs this call added."""
    failures: dict[str, str]
    """Errors of the runs that failed, by key."""


def make_plan(
    study: Study,
    folder: Path,
    *,
    repetitions: int | None = None,
    where: Sequence[str] = (),
    known: Sequence[Path] = (),
    redo: bool = False,
) -> Plan:
    """Return what is asked for and what the folder and the packs have of it.

    Args:
        study: What to run.
        folder: Where its records are.
        repetitions: Seeds, if not the study's own number.
        where: Conditions `key=a,b` on the rows.
        known: Folders or packs whose finished runs count too.
        redo: Whether runs of other code are to be made again.
    """
    if repetitions is not None:
        require_count("repetitions", repetitions, 1)
    rows = plan_rows(study, repetitions=repetitions, where=where)
    asked = {row.key: row for row in rows}
    done = Store(folder).done(rows)
    taken: dict[str, Outcome] = {}
    for path in known:
        for key, outcome in known_outcomes(read_study(path), rows).items():
            if key not in done or is_better(outcome, done[key], asked[key]):
                done[key] = taken[key] = outcome
    return Plan(rows=rows, done=done, known=taken, redo=redo)


def run_study(
    study: Study,
    folder: Path,
    *,
    repetitions: int | None = None,
    where: Sequence[str] = (),
    known: Sequence[Path] = (),
    redo: bool = False,
    plan: Plan | None = None,
    plugins: Sequence[Plugin] = (),
    jobs: int = 2,
    backend: str = "local",
    address: str | None = None,
    report: Callable[[Event], None] | None = None,
) -> Tally:
    """Run every row that has no record yet; stop at any moment and call again.

    Args:
        study: What to run.
        folder: Where its records are and go.
        repetitions: Seeds, if not the study's own number.
        where: Conditions `key=a,b` on the rows.
        known: Folders or packs whose finished runs are taken over first.
        redo: Whether runs of other code are made again; each stays until it is.
        plan: What `make_plan` returned for the same arguments, where it was asked.
        plugins: Files with methods and problems of one's own, for the workers too.
        jobs: Processes on this machine.
        backend: "local", "dask" or "ray".
        address: Of the cluster.
        report: Called after every row.
    """
    require_count("jobs", jobs, 1)
    if backend not in BACKENDS:
        raise SettingsError(
            f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}."
        )
    for plugin in plugins:
        load_plugin(plugin)
    store = Store(folder)
    plan = plan or make_plan(
        study, folder, repetitions=repetitions, where=where, known=known, redo=redo
    )
    with store.held():
        # Another process may have finished some since the plan was made.
        plan = replace(plan, done=plan.done | store.done(plan.missing))
        seeds = study.repetitions if repetitions is None else repetitions
        call = Call(where=tuple(where), repetitions=seeds, change=study.changes)
        store.describe(study, plan.rows, call)
        store.adopt(plan.known, plan.rows)
        former = keys_by_run(folder)
        failures: dict[str, str] = {}
        missing = {row.key: row for row in plan.missing}
        with cluster(backend, address):
            records = run_rows(
                missing.values(),
                study.measure,
                jobs=jobs,
                backend=backend,
                plugins=(*study.plugins, *plugins),
                records=study.records,
            )
            for number, (key, record) in enumerate(records, start=1):
                others = former.get(base_of(key), ())
                store.save(key, _signed(record, missing[key]), others)
                is_failure = record.get("format") == FAILURE_FORMAT
                if is_failure:
                    failures[key] = record["error"]
                if report is not None:
                    report(
                        Event(
                            row=missing[key],
                            error=failures.get(key),
                            num_done=number,
                            num_total=len(missing),
                        )
                    )
    return Tally(
        num_before=len(plan.finished),
        num_finished=len(missing) - len(failures),
        failures=failures,
    )


def _signed(record: dict[str, Any], row: Row) -> dict[str, Any]:
    """Return a record with the code that computed it: files of here, where it ran."""
    if record.get("format") == FAILURE_FORMAT:
        return record
    return record | {"code": {**row.code, PACKAGE: record["environment"][PACKAGE]}}

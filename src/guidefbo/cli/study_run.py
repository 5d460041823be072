"""`guidefbo study run` and `plan`: progress and time estimates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from guidefbo.cli.quiet import repeated
from guidefbo.cli.speech import notice
from guidefbo.core.files import OutputError
from guidefbo.experiments.plan import unused_settings
from guidefbo.experiments.run import Event, Plan, make_plan, run_study
from guidefbo.experiments.study import Study

BY_SAMPLE = " (by a short run on this machine; better once some ran)"
SHOWN_CODES = 3
"""Different codes that are named where runs are of other code."""
SHOWN_FAILURES = 5
"""Errors printed in full; all of them are in the folder."""


def print_plan(
    study: Study, plan: Plan, folder: Path, jobs: int, console: Console
) -> None:
    """Print how much there is to do."""
    lines = [
        f"{study.name}: {study.title}",
        f"  runs      {plan.num_runs} ({describe_axes(plan)})",
        f"  done      {len(plan.finished)} in {folder}",
        f"  to do     {len(plan.missing)}",
        f"  estimate  {spoken(plan.seconds / jobs)} with {jobs} "
        f"{'process' if jobs == 1 else 'processes'}"
        + (
            ""
            if plan.done
            else " (by a short run on this machine; better once some ran)"
        ),
    ]
    if study.changes:
        lines.insert(1, f"  changed   {', '.join(study.changes)} in every run")
    if plan.other_code:
        fate = "to be made again" if plan.redo else "kept; --redo makes them again"
        lines.insert(-2, f"  other     {told_code(plan.other_code)}: {fate}")
    lines += [
        f"  unused    {name} by {', '.join(methods)}: one run for all its values"
        for name, methods in unused_settings(study, plan.rows).items()
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def run_with_progress(
    study: Study, folder: Path, console: Console, *, jobs: int, **options: Any
) -> dict[str, str]:
    """Run a study with a live line; return the errors of failed runs by key."""
    narrowed = {k: options[k] for k in ("repetitions", "where", "known", "redo")}
    is_terminal = console.is_terminal
    if not is_terminal:
        # At once: to plan thousands of runs takes a while too.
        typer.echo(f"{study.name}: looking at what is there", err=True)
    plan = make_plan(study, folder, **narrowed)
    total, work = len(plan.missing), plan.seconds
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs, {task.fields[failed]} failed, last {task.fields[last]},"),
        TimeElapsedColumn(),
        TextColumn("gone, {task.fields[left]} left"),
    )
    finished: dict[str, Any] = dict(plan.finished)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(
            study.name, total=total, failed=0, last="-", left=spoken(work / jobs)
        )
        num_done = num_failed = 0

        def say() -> None:
            left = progress.tasks[0].fields["left"]
            typer.echo(
                f"{study.name}: {num_done} of {total} runs, {num_failed} failed, "
                f"{left} left",
                err=True,
            )

        def report(event: Event) -> None:
            nonlocal num_done, num_failed
            num_done = event.num_done
            num_failed += event.error is not None
            if event.error is not None:
                progress.console.print(
                    f"failed: {event.row.key}: {event.error}",
                    style="yellow",
                    markup=False,
                    highlight=False,
                )
            elapsed = progress.tasks[0].elapsed or 0.0
            rest = (event.num_total - event.num_done) / event.num_done * elapsed
            progress.update(
                task,
                completed=event.num_done,
                failed=num_failed,
                last=f"{event.row.spec['problem']} {event.row.spec.get('method', '')}",
                left=spoken(rest),
            )
            if event.error is None:
                finished[event.row.key] = event

        try:
            with repeated(say, is_quiet=is_terminal):
                tally = run_study(
                    study, folder, plan=plan, jobs=jobs, report=report, **options
                )
        except OutputError as error:
            raise OutputError(
                f"{error} {len(finished)} of {plan.num_runs} runs are safe in "
                f"{folder}; make room and run the same command again."
            ) from error
        except KeyboardInterrupt:
            notice(
                f"{len(finished)} of {plan.num_runs} runs are safe in {folder}; the "
                "same command goes on from there."
            )
            raise
    console.print(
        f"{study.name}: {tally.num_finished} runs added, {tally.num_before} were "
        f"there, {len(tally.failures)} failed; in {folder}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if plan.other_code and not plan.redo:
        notice(
            f"{told_code(plan.other_code)}: kept, and marked in the report. Make them "
            "again with --redo."
        )
    for key, error in list(tally.failures.items())[:SHOWN_FAILURES]:
        notice(f"{key}: {error}")
    return tally.failures


def told_code(other: Mapping[str, str]) -> str:
    """Return how many runs were made by other code, and by which.

    >>> told_code({"a": "guidefbo 0.0.9", "b": "guidefbo 0.0.9"})
    '2 runs were made by other code (guidefbo 0.0.9)'
    """
    codes = sorted(set(other.values()))
    more = len(codes) - SHOWN_CODES
    listed = [*codes[:SHOWN_CODES], *([f"and {more} more"] if more > 0 else [])]
    runs = "1 run was" if len(other) == 1 else f"{len(other)} runs were"
    return f"{runs} made by other code ({'; '.join(listed)})"


def describe_axes(plan: Plan) -> str:
    """Return how many values every axis has that has more than one."""
    values: dict[str, set[str]] = {}
    for row in plan.rows:
        for key, value in row.spec.items():
            if key != "settings":
                values.setdefault(key, set()).add(str(value))
        if row.variant is not None:
            values.setdefault("variant", set()).add(row.variant)
        if row.group is not None:
            values.setdefault("group", set()).add(row.group)
    several = [
        f"{len(v)} {key.removesuffix('s')}s" for key, v in values.items() if len(v) > 1
    ]
    return ", ".join(several) or "one of each"


def spoken(seconds: float) -> str:
    """Return a duration as people say it.

    >>> spoken(8), spoken(200), spoken(20000)
    ('8 s', '3 min', '5.6 h')
    """
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"

"""`guidefbo run`: progress while it works, a short table at the end."""

import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from guidefbo.core.checks import require_count
from guidefbo.core.errors import SettingsError
from guidefbo.core.files import check_writable
from guidefbo.problems.library import find_problem
from guidefbo.simulation.simulate import run
from guidefbo.simulation.spec import RunSpec
from guidefbo.simulation.trace import Trace

MAX_JOBS = 1024
"""Most processes of a run."""


def run_and_report(
    spec: RunSpec, out: Path | None, plot: Path | None, jobs: int, console: Console
) -> None:
    """Run a spec with a live line, write what was asked for, print the summary."""
    if out is not None and out == plot:
        raise SettingsError(f"--out and --plot must differ, got {out} for both.")
    for path in (out, plot):
        if path is not None:
            check_writable(path)
    if plot is not None:
        from guidefbo.canvas import require_matplotlib

        require_matplotlib(plot)
    trace = _run_with_progress(spec, jobs, console)
    if out is not None:
        trace.save(out)
    if plot is not None:
        trace.plot(plot)
    console.print(_summary(trace))
    for path in (out, plot):
        if path is not None:
            # As given: no wrapping, and brackets are no markup.
            console.print(
                f"Wrote {path}", soft_wrap=True, markup=False, highlight=False
            )


def evaluators(spec: RunSpec, jobs: int | None) -> int:
    """Return how many processes evaluate: more than one only where that takes long."""
    if jobs is not None:
        return require_count("jobs", jobs, 1, MAX_JOBS)
    is_costly = find_problem(spec.problem).is_costly
    return min(os.cpu_count() or 1, spec.num_agents) if is_costly else 1


def _run_with_progress(spec: RunSpec, jobs: int, console: Console) -> Trace:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds, {task.fields[what]} {task.fields[mean]:.4g}, left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        label = f"{spec.method} on {spec.problem}"
        what = "mean simple regret" if spec.level is not None else "mean"
        task = progress.add_task(
            label, total=spec.num_rounds, what=what, mean=float("nan")
        )
        return run(
            spec,
            lambda t, mean: progress.update(task, completed=t, mean=mean),
            jobs,
        )


def _summary(trace: Trace) -> Table:
    spec, curve = trace.spec, trace.curve
    level = "" if spec.level is None else f", level {spec.level}"
    table = Table(
        title=f"{spec.method} on {spec.problem}{level}, seed {spec.seed}",
        title_justify="left",
        show_header=False,
    )
    table.add_row(
        "agents, evaluations each",
        f"{spec.num_agents}, {spec.num_initial} + {spec.num_rounds}",
    )
    quarters = sorted({0, *(spec.num_rounds * k // 4 for k in range(1, 5))})
    for t in quarters:
        when = "initial design" if t == 0 else f"round {t}"
        table.add_row(f"{trace.curve_name}, {when}", f"{curve[t]:.4f}")
    inside = trace.regret_in_box
    if inside is not None and not np.allclose(inside, curve):
        text = f"{inside[-1]:.4f}"
        table.add_row("the same against the best inside the box, end", text)
    if trace.metric is not None and trace.mean_simple_regret is not None:
        unit = f" {trace.metric.unit}" if trace.metric.unit else ""
        final = trace.best_value[-1, : trace.num_honest].mean()
        table.add_row(f"mean best {trace.metric.name}, end", f"{final:.4f}{unit}")
    if trace.held_out is not None:
        held = trace.held_out[: trace.num_honest].mean()
        table.add_row("the same on data held out, end", f"{held:.4f}")
    up, down = trace.scalars.values()
    table.add_row("scalars per agent and round", f"{up:g} up, {down:g} down")
    up, down = trace.num_bytes.values()
    table.add_row("bytes per agent and round", f"{up:.0f} up, {down:.0f} down")
    stages = ", ".join(
        f"{name} {seconds:.1f}"
        for name, seconds in trace.seconds.items()
        if name != "total"
    )
    table.add_row("seconds", f"{trace.seconds['total']:.1f} ({stages})")
    return table

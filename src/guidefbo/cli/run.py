"""`guidefbo run`: progress while it works, a short table at the end."""

from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from guidefbo.core.errors import SettingsError
from guidefbo.core.files import check_writable
from guidefbo.simulation.simulate import run
from guidefbo.simulation.spec import RunSpec
from guidefbo.simulation.trace import Trace


def run_and_report(
    spec: RunSpec, out: Path | None, plot: Path | None, console: Console
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
    trace = _run_with_progress(spec, console)
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


def _run_with_progress(spec: RunSpec, console: Console) -> Trace:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds, mean simple regret {task.fields[regret]:.4g}, left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        label = f"{spec.method} on {spec.problem}"
        task = progress.add_task(label, total=spec.num_rounds, regret=float("nan"))
        return run(
            spec,
            lambda t, regret: progress.update(task, completed=t, regret=regret),
        )


def _summary(trace: Trace) -> Table:
    spec, regret = trace.spec, trace.mean_simple_regret
    table = Table(
        title=f"{spec.method} on {spec.problem}, level {spec.level}, seed {spec.seed}",
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
        table.add_row(f"mean simple regret, {when}", f"{regret[t]:.4f}")
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

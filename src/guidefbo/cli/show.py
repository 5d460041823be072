"""`guidefbo show`: where an agent stands, for people and for programs."""

import json
from pathlib import Path
from typing import Any, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from guidefbo.cli.asked import how, trial_form
from guidefbo.cli.create import shown_settings
from guidefbo.cli.opened import command
from guidefbo.core.space.changes import difference
from guidefbo.core.space.form import space_to_form
from guidefbo.site.agent import Agent
from guidefbo.site.change import own_limits
from guidefbo.site.helping import Help, help_with
from guidefbo.site.keeping import best_single
from guidefbo.site.labels import Labels
from guidefbo.site.setup import Setup
from guidefbo.site.summary import ACTIVE, Summary
from guidefbo.site.trial import Trial, TrialState
from guidefbo.site.trial_form import record_to_form

MAX_IDS = 5
"""Most trials that are named one by one."""


def show_text(agent: Agent, file: Path, *, fits: bool) -> list[str]:
    """Return the lines of a summary.

    Args:
        agent: The agent.
        file: Where it is.
        fits: Whether the model is fitted to what was told since it last was.
    """
    setup, summary = agent.setup, agent.summary(fits=fits)
    helped = help_with(agent, summary.held)
    pending = [t for t in agent.trials if t.state == TrialState.PENDING]
    counts = ", ".join(f"{n} {state}" for state, n in _counts(agent).items() if n)
    return [
        f"{file}",
        f"goal: {agent.goal}{_objective(setup.labels)}",
        *(f"limit: {outcome}" for outcome in setup.outcomes),
        f"method: {setup.method}{shown_settings(agent)}",
        f"seed: {setup.seed}",
        f"site: {setup.site} in the federation {setup.federation}",
        *_changes(setup),
        f"trials: {counts or 'none'} (initial points: {setup.num_initial})",
        *_best_lines(agent),
        str(summary.held),
        *helped.lines(setup.labels),
        *_unseen_lines(agent, file, summary),
        *_link_lines(file),
        *(f"pending: {trial.text(setup.labels)}" for trial in pending),
    ]


def _best_lines(agent: Agent) -> list[str]:
    """Return the recommendation, or the best result where the model has none."""
    setup, done = agent.setup, agent.results
    if not done:
        return ["best: no result yet"]
    best = agent.recommended()
    if best is not None:
        return [best.text(setup.labels)]
    observed, keeps = best_single(done, setup.outcomes, agent.goal)
    none = "" if keeps else "no result keeps the limits yet; "
    value = setup.labels.outcome(cast(float, observed.value))
    return [
        f"{none}best single observation: trial {observed.id}, {value} at "
        f"{setup.labels.values(observed.as_run)}"
    ]


def _unseen_lines(agent: Agent, file: Path, summary: Summary) -> list[str]:
    """Return what the model has not looked at, and how to have it look."""
    parts: list[str] = []
    if unseen := summary.unseen(agent.results):
        ids = ", ".join(map(str, unseen[:MAX_IDS]))
        more = f" and {len(unseen) - MAX_IDS} more" if len(unseen) > MAX_IDS else ""
        parts.append(f"{'trial' if len(unseen) == 1 else 'trials'} {ids}{more}")
    if summary.held.state == ACTIVE and not summary.held.is_seen and agent.results:
        parts.append("the newest packet")
    if not parts:
        return []
    return [
        f"the model has not seen {' and '.join(parts)} yet; have it look: "
        f"{command('show', file, '--fit')}"
    ]


def _changes(setup: Setup) -> list[str]:
    """Return how the space was changed, and what this site cannot run."""
    lines = [f"limit of this site: {line}" for line in own_limits(setup)]
    if setup.former:
        changes = "; ".join(difference(setup.former[0], setup.space))
        lines.append(f"space: version {setup.version}, since the first: {changes}")
    return lines


def _objective(labels: Labels) -> str:
    bare = Labels(units=labels.units, digits=labels.digits)
    return "" if labels == bare else f" {labels.column}"


def _link_lines(file: Path) -> list[str]:
    """Return where the coordinator is, nothing for a site in no federation."""
    from guidefbo.connect.errors import LinkError
    from guidefbo.connect.link_file import LinkFile
    from guidefbo.connect.places import Places

    path = Places.of(file).link
    if not path.exists():
        return []
    try:
        link = LinkFile.load(path)
    except LinkError as error:
        return [f"link: {error}"]
    return [f"link: {link.where}, as {link.site} in {link.federation} ({link.role})"]


def show_json(agent: Agent, *, trials: bool, fits: bool) -> str:
    """Return one line of JSON.

    Args:
        agent: The agent.
        trials: Whether every trial is in it.
        fits: Whether the model is fitted to what was told since it last was.
    """
    setup, summary = agent.setup, agent.summary(fits=fits)
    held = summary.held
    helped = help_with(agent, held)
    form: dict[str, Any] = {
        "goal": agent.goal,
        "method": setup.method,
        "settings": dict(setup.settings),
        "seed": setup.seed,
        "site": setup.site,
        "federation": setup.federation,
        "objective": setup.objective,
        "unit": setup.unit,
        "outcomes": [outcome.to_form() for outcome in setup.outcomes],
        "noise": setup.noise,
        "agent_id": setup.agent_id,
        "num_agents": setup.num_agents,
        "num_initial": setup.num_initial,
        "space": space_to_form(agent.space),
        "space_version": setup.version,
        "within": {name: list(ends) for name, ends in setup.within.items()},
        "without": {name: list(gone) for name, gone in setup.without.items()},
        "fixed": dict(setup.fixed),
        "counts": {str(state): n for state, n in _counts(agent).items()},
        "best": _best_form(agent),
        "unseen": summary.unseen(agent.results),
        "guidance": {
            "state": held.state,
            "reason": held.reason,
            "refusal": held.refusal,
            "is_seen": held.is_seen,
            "weights": dict(held.weights),
            **_help_form(helped),
        },
        "pending": [
            trial_form(t) for t in agent.trials if t.state == TrialState.PENDING
        ],
    }
    if trials:
        form["trials"] = [_told_form(trial) for trial in agent.trials]
    return json.dumps(form, allow_nan=False)


def _help_form(helped: Help) -> dict[str, Any]:
    return {
        "num_others": helped.held.num_others,
        "place": helped.held.place,
        "expected": helped.held.expected,
        "rank": helped.held.rank,
        "detours": [
            {
                "id": detour.trial.id,
                "distance": detour.distance,
                "alone": dict(detour.alone),
            }
            for detour in helped.detours
        ],
        "surprise": {
            name: {
                "results": part.num_results,
                "better": part.num_better,
                "mean": part.mean,
            }
            for name, part in (("guided", helped.guided), ("alone", helped.alone))
        },
        "foretold": {
            "results": len(helped.scores),
            "better": helped.num_foretold_better,
            "record": helped.record,
        },
    }


def print_trials(agent: Agent, console: Console) -> None:
    """Print every trial: a table on a terminal, tabs between cells elsewhere."""
    labels = agent.setup.labels
    header = ["id", "state", "how", *map(labels.parameter, agent.space.parameters)]
    outcomes = agent.setup.outcomes
    header += [f"{labels.column} ({agent.goal})", "std", *map(str, outcomes), "note"]
    names, unused = [o.name for o in outcomes], set(agent.unused)
    rows = [_cells(trial, names, trial.id in unused, labels) for trial in agent.trials]
    if not console.is_terminal:
        for cells in (header, *rows):
            plain = (" ".join(cell.split()) for cell in cells)
            console.file.write("\t".join(plain) + "\n")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    # A column nobody has filled only takes room.
    kept = [k for k in range(len(header)) if any(cells[k] for cells in rows)]
    for k in kept:
        table.add_column(Text(header[k]), no_wrap=True)
    for cells in rows:
        # As text: brackets in an option or a reason are no markup.
        table.add_row(*(Text(cells[k]) for k in kept))
    # A line too long is broken by the terminal; no digit is cut off.
    wide = console.measure(table, options=console.options.update(width=10_000))
    width = max(wide.maximum, console.width)
    Console(file=console.file, force_terminal=True, width=width).print(table)


def _cells(
    trial: Trial, outcomes: list[str], is_unused: bool, labels: Labels
) -> list[str]:
    notes = [trial.failed] if trial.failed else []
    if is_unused:
        notes.append("outside the space, not modelled")
    if changed := trial.changed:
        asked = ", ".join(f"{k}={labels.number(k, v)}" for k, v in changed.items())
        notes.append(f"asked {asked}")
    if len(trial.records) > 1:
        notes.append(f"corrected {len(trial.records) - 1}x")
    return [
        str(trial.id),
        str(trial.state),
        how(trial),
        *(labels.number(name, v) for name, v in trial.as_run.items()),
        "" if trial.value is None else f"{trial.value:.6g}",
        "" if trial.std is None else f"{trial.std:.3g}",
        *(f"{trial.outcomes[o]:.6g}" if o in trial.outcomes else "" for o in outcomes),
        "; ".join(notes),
    ]


def _counts(agent: Agent) -> dict[TrialState, int]:
    return {s: sum(t.state == s for t in agent.trials) for s in TrialState}


def _best_form(agent: Agent) -> dict[str, Any] | None:
    """Return the recommendation; without a mean where the model has seen no result."""
    if not agent.results:
        return None
    best = agent.recommended()
    observed, keeps = best_single(agent.results, agent.setup.outcomes, agent.goal)
    trial = observed if best is None else best.trial
    return {
        "id": trial.id,
        "values": dict(trial.as_run),
        "mean": None if best is None else best.mean,
        "std": None if best is None else best.std,
        "keeps_limits": keeps,
        "observed": {
            "id": observed.id,
            "values": dict(observed.as_run),
            "value": observed.value,
            "was_lucky": best is not None and best.observed_was_lucky,
        },
    }


def _told_form(trial: Trial) -> dict[str, Any]:
    return trial_form(trial) | {
        "as_run": dict(trial.as_run),
        "state": str(trial.state),
        "value": trial.value,
        "std": trial.std,
        "outcomes": dict(trial.outcomes),
        "failed": trial.failed,
        "records": [record_to_form(record) for record in trial.records],
    }

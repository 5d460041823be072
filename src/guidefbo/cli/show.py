"""`guidefbo show`: where an agent stands, for people and for programs."""

import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from guidefbo.cli.create import shown_settings
from guidefbo.core.space.changes import difference
from guidefbo.core.space.form import space_to_form
from guidefbo.site.agent import Agent
from guidefbo.site.change import own_limits
from guidefbo.site.helping import Help, help_of
from guidefbo.site.labels import Labels, shown_value
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Best, Trial, TrialState
from guidefbo.site.trial_form import record_to_form


def show_text(agent: Agent, file: Path) -> list[str]:
    """Return the lines of a summary."""
    setup, best, helped = agent.setup, agent.best(), help_of(agent)
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
        *([best.text(setup.labels)] if best else ["best: no result yet"]),
        str(helped.guidance),
        *helped.lines(setup.labels),
        *_link_lines(file),
        *(f"pending: {trial.text(setup.labels)}" for trial in pending),
    ]


def _changes(setup: Setup) -> list[str]:
    """Return how the space was changed, and what this site cannot run."""
    lines = [f"limit of this site: {line}" for line in own_limits(setup)]
    if setup.former:
        changes = "; ".join(difference(setup.former[0], setup.space))
        lines.append(f"space: version {setup.version}, since the first: {changes}")
    return lines


def _objective(labels: Labels) -> str:
    return "" if labels == Labels(units=labels.units) else f" {labels.column}"


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


def show_json(agent: Agent, *, trials: bool) -> str:
    """Return one line of JSON."""
    setup, helped, best = agent.setup, help_of(agent), agent.best()
    guidance = helped.guidance
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
        "best": None if best is None else _best_form(best),
        "guidance": {
            "state": str(guidance.state),
            "reason": guidance.reason,
            "refusal": guidance.refusal,
            "weights": dict(guidance.weights),
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
        "num_others": helped.num_others,
        "place": helped.place,
        "expected": helped.expected,
        "rank": helped.rank,
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
    }


def trial_form(trial: Trial) -> dict[str, Any]:
    """Return what was asked as plain data."""
    return {
        "id": trial.id,
        "values": dict(trial.values),
        "goal": trial.goal,
        "origin": str(trial.origin),
        "guided": trial.guided,
    }


def trial_line(trial: Trial, labels: Labels) -> str:
    """Return what was asked as one line."""
    values = labels.values(trial.values)
    return f"trial {trial.id} (goal {trial.goal}, {_how(trial)}): {values}"


def print_trials(agent: Agent, console: Console) -> None:
    """Print every trial: a table on a terminal, tabs between cells elsewhere."""
    labels = agent.setup.labels
    header = ["id", "state", "how", *map(labels.parameter, agent.space.parameters)]
    outcomes = agent.setup.outcomes
    header += [f"{labels.column} ({agent.goal})", "std", *map(str, outcomes), "note"]
    names, unused = [o.name for o in outcomes], set(agent.unused)
    rows = [_cells(trial, names, trial.id in unused) for trial in agent.trials]
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


def _cells(trial: Trial, outcomes: list[str], is_unused: bool) -> list[str]:
    notes = [trial.failed] if trial.failed else []
    if is_unused:
        notes.append("outside the space, not modelled")
    if changed := trial.changed:
        asked = ", ".join(f"{k}={shown_value(v)}" for k, v in changed.items())
        notes.append(f"asked {asked}")
    if len(trial.records) > 1:
        notes.append(f"corrected {len(trial.records) - 1}x")
    return [
        str(trial.id),
        str(trial.state),
        _how(trial),
        *map(shown_value, trial.as_run.values()),
        "" if trial.value is None else f"{trial.value:.6g}",
        "" if trial.std is None else f"{trial.std:.3g}",
        *(f"{trial.outcomes[o]:.6g}" if o in trial.outcomes else "" for o in outcomes),
        "; ".join(notes),
    ]


def _how(trial: Trial) -> str:
    return f"{trial.origin}, {'guided' if trial.guided else 'alone'}"


def _counts(agent: Agent) -> dict[TrialState, int]:
    return {s: sum(t.state == s for t in agent.trials) for s in TrialState}


def _best_form(best: Best) -> dict[str, Any]:
    return {
        "id": best.trial.id,
        "values": dict(best.values),
        "mean": best.mean,
        "std": best.std,
        "keeps_limits": best.keeps_limits,
        "observed": {
            "id": best.observed.id,
            "values": dict(best.observed.as_run),
            "value": best.observed.value,
            "was_lucky": best.observed_was_lucky,
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

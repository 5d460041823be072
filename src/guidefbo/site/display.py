"""How an agent and its trials look in a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from guidefbo.core.html import lines_html, table_html
from guidefbo.site.labels import shown_value
from guidefbo.site.trial import Trial

if TYPE_CHECKING:
    from guidefbo.site.agent import Agent


def trials_html(trials: Sequence[Trial]) -> str:
    """Return a table of trials of one agent."""
    names = list(trials[0].values) if trials else []
    header = ["trial", *names, "value", "state", "origin"]
    return table_html(header, [_cells(trial, names) for trial in trials])


def agent_html(agent: "Agent") -> str:
    """Return an agent's summary and its trials."""
    text = lines_html(str(agent))
    return text + trials_html(agent.trials) if agent.trials else text


def _cells(trial: Trial, names: Sequence[str]) -> list[str]:
    values = [shown_value(trial.values[name]) for name in names]
    outcome = "" if trial.failed is None else trial.failed
    if trial.value is not None:
        spread = "" if trial.std is None else f" ± {trial.std:.3g}"
        outcome = f"{trial.value:.6g}{spread}"
    origin = f"{trial.origin}, guided" if trial.guided else str(trial.origin)
    return [str(trial.id), *values, outcome, str(trial.state), origin]

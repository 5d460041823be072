"""How an agent and its trials look in a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from guidefbo.core.html import lines_html, table_html
from guidefbo.site.labels import Labels
from guidefbo.site.trial import Trial

if TYPE_CHECKING:
    from guidefbo.site.agent import Agent


def trials_html(trials: Sequence[Trial], labels: Labels | None = None) -> str:
    """Return a table of trials of one agent.

    Args:
        trials: Of one agent.
        labels: How many digits its numbers have, where that is known.
    """
    names = list(trials[0].values) if trials else []
    header = ["trial", *names, "value", "state", "origin"]
    labels = labels or Labels()
    return table_html(header, [_cells(trial, names, labels) for trial in trials])


def agent_html(agent: "Agent") -> str:
    """Return an agent's summary and its trials."""
    text, trials = lines_html(str(agent)), agent.trials
    return text + trials_html(trials, agent.setup.labels) if trials else text


def _cells(trial: Trial, names: Sequence[str], labels: Labels) -> list[str]:
    values = [labels.number(name, trial.values[name]) for name in names]
    outcome = "" if trial.failed is None else trial.failed
    if trial.value is not None:
        spread = "" if trial.std is None else f" ± {trial.std:.3g}"
        outcome = f"{trial.value:.6g}{spread}"
    origin = f"{trial.origin}, guided" if trial.guided else str(trial.origin)
    return [str(trial.id), *values, outcome, str(trial.state), origin]

"""What was asked, for people and for programs."""

from typing import Any

from guidefbo.site.labels import Labels
from guidefbo.site.trial import Trial


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
    return f"trial {trial.id} (goal {trial.goal}, {how(trial)}): {values}"


def how(trial: Trial) -> str:
    """Return where a question comes from, and whether others had a part in it."""
    return f"{trial.origin}, {'guided' if trial.guided else 'alone'}"

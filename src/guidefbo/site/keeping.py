"""Which results keep the limits of further outcomes, and which of those is best."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.space.goal import SIGNS
from guidefbo.site.outcome import Outcome
from guidefbo.site.trial import Trial


def keeping(
    done: Sequence[Trial], outcomes: Sequence[Outcome]
) -> tuple[NDArray[np.bool_], bool]:
    """Return which results keep the limits as measured, and whether any does.

    Where none does, those are returned that are nearest to them.

    Args:
        done: Trials with a result, at least one.
        outcomes: Further outcomes that must keep a limit.
    """
    excess = np.array([_excess(trial, outcomes) for trial in done])
    is_kept = bool((excess <= 0.0).any())
    return excess <= (0.0 if is_kept else excess.min()), is_kept


def best_single(
    done: Sequence[Trial], outcomes: Sequence[Outcome], goal: str
) -> tuple[Trial, bool]:
    """Return the best observation of those that keep the limits, and whether it does.

    Args:
        done: Trials with a result, at least one.
        outcomes: Further outcomes that must keep a limit.
        goal: Either max or min.
    """
    near, is_kept = keeping(done, outcomes)
    y = np.array([SIGNS[goal] * float(t.value) for t in done if t.value is not None])
    return done[int(np.argmax(np.where(near, y, -np.inf)))], is_kept


def _excess(trial: Trial, outcomes: Sequence[Outcome]) -> float:
    """Return how far a trial is from its limits, relative to their size.

    At most 0 where all are kept, and endless where one was not measured.
    """
    excess = 0.0
    for outcome in outcomes:
        value = trial.outcomes.get(outcome.name)
        miss = np.inf if value is None else -outcome.slack(value)
        excess += max(miss, 0.0) / max(abs(outcome.limit), 1e-12)
    return excess

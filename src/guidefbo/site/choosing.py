"""The next point of a site: of the initial design, of the model, or space filling."""

import warnings
from typing import NamedTuple

import numpy as np

from guidefbo.agent.policy import Policy
from guidefbo.core.arrays import Point
from guidefbo.core.errors import FallbackWarning, GuidanceWarning
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.book import Book
from guidefbo.site.design import design_point, filling_point
from guidefbo.site.guidance import Guidance, GuidanceState
from guidefbo.site.learner import NUMERICAL, Learner
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Origin, TrialState

MAX_SKIPS = 64
"""Design points passed over when they repeat what is known."""


class Chosen(NamedTuple):
    """A point and where it comes from."""

    x: Point
    origin: Origin
    is_guided: bool


def next_point(
    setup: Setup, policy: Policy, book: Book, learner: Learner, guidance: Guidance
) -> Chosen:
    """Return the next point to evaluate.

    Args:
        setup: The agent's configuration.
        policy: What it does with its data.
        book: Its trials.
        learner: Its model.
        guidance: What it holds of the others.
    """
    num_done = len(book.in_state(TrialState.DONE))
    num_pending = len(book.in_state(TrialState.PENDING))
    with single_blas_thread():
        if num_done == 0 or num_done + num_pending < setup.num_initial:
            return _design_point(setup, book)
        return _model_point(setup, policy, book, learner, guidance)


def round_of(setup: Setup, book: Book) -> int:
    """Return the round: results beyond the initial design, counted from 1."""
    num_done = len(book.in_state(TrialState.DONE))
    return max(1, num_done - setup.num_initial + 1)


def _design_point(setup: Setup, book: Book) -> Chosen:
    first = sum(trial.origin == Origin.DESIGN for trial in book.trials)
    missing = book.missing()
    known = book.data().X
    for k in range(first, first + MAX_SKIPS):
        x = design_point(setup, k)
        is_known = len(known) > 0 and bool((np.abs(known - x) < 1e-9).all(1).any())
        if not is_known and not missing.forbids(x[None])[0]:
            return Chosen(x, Origin.DESIGN, is_guided=False)
    return Chosen(_filling_point(setup, book), Origin.FALLBACK, is_guided=False)


def _model_point(
    setup: Setup, policy: Policy, book: Book, learner: Learner, guidance: Guidance
) -> Chosen:
    is_guided = guidance.state == GuidanceState.ACTIVE
    if guidance.state == GuidanceState.STALE:
        warnings.warn(str(guidance), GuidanceWarning, stacklevel=5)
    try:
        x = policy.decide(
            learner.fit(),
            policy.aim(learner.study, guidance.packet if is_guided else None),
            round_of(setup, book),
            setup.address(book.next_id),
            book.missing(has_noise=setup.noise != 0.0),
        )
    except NUMERICAL as error:
        warnings.warn(
            f"The model cannot be used ({error}); a point that fills the space is "
            "proposed instead.",
            FallbackWarning,
            stacklevel=5,
        )
        x = None
    if x is None or not np.isfinite(x).all():
        return Chosen(_filling_point(setup, book), Origin.FALLBACK, is_guided=False)
    return Chosen(x, Origin.MODEL, is_guided)


def _filling_point(setup: Setup, book: Book) -> Point:
    missing = book.missing(has_noise=setup.noise != 0.0)
    known = book.points(list(book.trials))
    x = filling_point(setup, book.next_id, known, missing.forbids)
    if missing.forbids(x[None])[0]:
        warnings.warn(
            "Every point that was found is pending, failed nearby or, without "
            "noise, known already; one of them is asked again.",
            FallbackWarning,
            stacklevel=6,
        )
    return x

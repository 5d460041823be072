"""The next point of a site: of the initial design, of the model, or space filling."""

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from guidefbo.agent.policy import Policy
from guidefbo.core.arrays import Point
from guidefbo.core.errors import FallbackWarning, GuidanceWarning
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.book import Book, round_of
from guidefbo.site.design import design_point, filling_point
from guidefbo.site.exchange import doubted
from guidefbo.site.guidance import Guidance, GuidanceState
from guidefbo.site.learner import NUMERICAL, Learner
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Basis, Origin, TrialState

MAX_SKIPS = 64
"""Design points passed over when they repeat what is known."""


class Chosen(NamedTuple):
    """A point and where it comes from."""

    x: Point
    origin: Origin
    is_guided: bool
    basis: Basis | None = None


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
    num_done = len(book.results())
    num_pending = len(book.in_state(TrialState.PENDING))
    with single_blas_thread():
        if num_done == 0 or num_done + num_pending < setup.num_initial:
            return _design_point(setup, book)
        return _model_point(setup, policy, book, learner, guidance)


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
    guidance = doubted(
        replace(guidance, judgement=learner.judgement(guidance)), setup, book
    )
    is_guided = guidance.state == GuidanceState.ACTIVE
    if guidance.state in (GuidanceState.STALE, GuidanceState.DOUBTED):
        warnings.warn(str(guidance), GuidanceWarning, stacklevel=5)
    missing = book.missing(has_noise=setup.noise != 0.0)

    def decide(packet: Any) -> Point | None:
        x = policy.decide(
            learner.fit(),
            learner.aim(packet),
            round_of(book, setup.num_initial),
            setup.address(book.next_id),
            missing,
            learner.limits(),
            setup.region,
        )
        return None if x is None or not np.isfinite(x).all() else x

    try:
        x = decide(guidance.packet if is_guided else None)
    except NUMERICAL as error:
        warnings.warn(
            f"The model cannot be used ({error}); a point that fills the space is "
            "proposed instead.",
            FallbackWarning,
            stacklevel=5,
        )
        x = None
    if x is None:
        return Chosen(_filling_point(setup, book), Origin.FALLBACK, is_guided=False)
    alone = None
    if is_guided and guidance.message:
        # With the same draws, so that the packet is all that differs.
        with suppress(*NUMERICAL):
            alone = decide(None)
    basis = basis_of(setup, book, learner, guidance, x, alone)
    return Chosen(x, Origin.MODEL, is_guided, basis)


def basis_of(
    setup: Setup,
    book: Book,
    learner: Learner,
    guidance: Guidance,
    x: Point,
    alone: Point | None = None,
) -> Basis | None:
    """Return what a question rests on; None where the model expects no finite result.

    Args:
        setup: The agent's configuration.
        book: Its trials.
        learner: Its model.
        guidance: What it holds of the others, judged by the own data.
        x: The point that is asked.
        alone: The one that would be asked without guidance, where that is known.
    """
    is_guided = guidance.state == GuidanceState.ACTIVE
    head = guidance.message.head if is_guided and guidance.message else None
    mean, std = learner.expects(x[None], setup.goal)
    foretold = None
    with suppress(*NUMERICAL):
        foretold = learner.foretells(x, guidance, setup.goal)
    basis = Basis(
        mean=float(mean[0]),
        std=float(std[0]),
        num_uploads=None if head is None else head.num_uploads,
        round=None if head is None else head.round,
        alone=None if alone is None else setup.values_at(alone),
        odds=guidance.odds,
        told=book.num_told,
        foretold=foretold,
    )
    is_finite = np.isfinite([basis.mean, basis.std]).all()
    return basis if is_finite else None


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

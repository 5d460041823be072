"""Sums a site up: what its model says of the data and of what the others sent."""

from dataclasses import replace
from math import isfinite
from typing import Any

from guidefbo.agent.surrogate.model import Fitted
from guidefbo.core.space.goal import SIGNS
from guidefbo.methods.registry import find_method
from guidefbo.site.book import Book
from guidefbo.site.guidance import Guidance
from guidefbo.site.learner import Learner
from guidefbo.site.setup import Setup
from guidefbo.site.summary import Held, Summary, sentence


def carried_over(former: Summary, setup: Setup, guidance: Guidance) -> Summary:
    """Return what the model said before, with what is held now.

    Args:
        former: What it said when it was last fitted.
        setup: The agent's configuration.
        guidance: What is held now.
    """
    held = _held(setup, guidance)
    return replace(former, held=held.judged_as(former.held))


def sum_up(setup: Setup, book: Book, learner: Learner, guidance: Guidance) -> Summary:
    """Return what the model says now; it is fitted, if it has not been.

    Args:
        setup: The agent's configuration.
        book: All trials.
        learner: The model.
        guidance: What is held, with the judgement of the own data.
    """
    held = replace(_held(setup, guidance), is_seen=True)
    best = learner.best(setup.goal)
    fitted = None if best is None else learner.fitted
    if held.place is not None and fitted is not None:
        expected, rank = _standing(setup, book, fitted, held.place)
        if isfinite(expected):
            held = replace(held, expected=expected, rank=rank)
    if best is None or not isfinite(best.mean):
        return Summary(told=book.num_told, held=held)
    return Summary(
        told=book.num_told,
        best=best.trial.id,
        mean=best.mean,
        std=None if best.std is None or not isfinite(best.std) else best.std,
        lucky=best.observed.id if best.observed_was_lucky else None,
        held=held,
    )


def _held(setup: Setup, guidance: Guidance) -> Held:
    head = None if guidance.message is None else guidance.message.head
    own = 0 if head is None or not head.answers else 1
    verdict = guidance.verdict
    has_packet = head is not None and guidance.packet is not None
    return Held(
        state=str(guidance.state),
        reason=sentence(guidance.reason),
        refusal=None if guidance.refusal is None else sentence(guidance.refusal),
        since=guidance.since,
        order=head.order if head is not None and has_packet else None,
        num_others=0 if head is None else max(head.num_uploads - own, 0),
        place=_place(setup, guidance),
        weights={n: min(max(w, 0.0), 1.0) for n, w in guidance.weights.items()},
        verdict=sentence(verdict[0]) if verdict else None,
    )


def _place(setup: Setup, guidance: Guidance) -> dict[str, Any] | None:
    read = find_method(setup.method).strategy.place
    if guidance.packet is None or read is None:
        return None
    space = setup.space
    x = read(guidance.packet, space)
    return None if x is None else space.from_unit(space.domain.admit(x[None])[0])


def _standing(
    setup: Setup, book: Book, fitted: Fitted, place: dict[str, Any]
) -> tuple[float, float]:
    """Return what the own model expects at a place, and which share that would beat."""
    x = setup.space.to_unit(place)
    mean = fitted.units.to_site(fitted.posterior.predict_mean(x[None]))[0]
    sign = SIGNS[setup.goal]
    y = [trial.value for trial in book.results()]
    beaten = [value is not None and sign * value < mean for value in y]
    return float(sign * mean), sum(beaten) / len(beaten)

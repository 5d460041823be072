"""What the model said of a site when it was last fitted: kept in the agent's file.

To show it again takes neither the model nor the method, whose loading takes longer than
all the rest of a command. It is kept for that alone: a summary that cannot be read is
let go, and the results stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from guidefbo.core.checks import (
    is_finite_number,
    is_plain_text,
    require_count,
    require_share,
    shown,
)
from guidefbo.core.errors import DataError
from guidefbo.site.book import Book
from guidefbo.site.keeping import best_single, keeping
from guidefbo.site.setup import Setup
from guidefbo.site.trial import Best, Trial, TrialState, one_line
from guidefbo.site.trial_form import as_list, as_table

NONE, ACTIVE, STALE, DOUBTED = "none", "active", "stale", "doubted"
"""States of guidance."""
MAX_TEXT = 2_000
"""Longest sentence that is kept."""
MAX_MODELS = 20
"""Most models that a method compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is held of the other sites, and what the own data say of it."""

    state: str = NONE
    """Whether a packet is used."""
    reason: str = "no packet was received"
    """Why not, or since when."""
    refusal: str | None = None
    """Why the last packet that came was refused, None where it was taken."""
    since: int = 0
    """How many things had been told when the site made what the packet answers."""
    order: tuple[int, int] | None = None
    """Which packet it is; None: there is none, it is empty, or it was not read."""
    is_seen: bool = False
    """Whether the model has looked at this packet."""
    num_others: int = 0
    """From how many other sites it is."""
    place: dict[str, Any] | None = None
    """Where it points, in the site's own units; None where it names no place."""
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """How likely the own data make each model, by name; perhaps none."""
    verdict: str | None = None
    """The same in words, None where models are not compared."""
    expected: float | None = None
    """What the own model expects at that place."""
    rank: float | None = None
    """The share of the site's own results that this would be better than."""

    def __str__(self) -> str:
        return guidance_text(self.state, self.reason, self.refusal)

    def judged_as(self, former: "Held") -> "Held":
        """Return the same with what was found of this packet before, if anything.

        Args:
            former: What was held when the model was last fitted.
        """
        was_doubted = former.state == DOUBTED and self.state == ACTIVE
        is_same = former.order == self.order
        if not is_same or not (was_doubted or former.state == self.state):
            return self
        reason = former.reason if was_doubted else self.reason
        return replace(former, reason=reason, refusal=self.refusal, since=self.since)

    def aged(self, setup: Setup, book: Book) -> "Held":
        """Return the same, out of use where too many results came since.

        Args:
            setup: Knows how long a packet is used.
            book: All trials.
        """
        why = None if self.state == NONE else staleness(self.since, setup, book)
        if why is None:
            return self
        return replace(self, state=STALE, reason=why, weights={}, verdict=None)

    @classmethod
    def from_guidance(cls, form: Mapping[str, Any]) -> Self:
        """Return as much as the guidance in a file says; its packet is not read."""
        state, refusal = form["state"], form["refusal"]
        if state not in (NONE, ACTIVE, STALE, DOUBTED):
            raise DataError(f"expected a state of guidance, got {shown(state)}.")
        return cls(
            state=state,
            reason=sentence(form["reason"]),
            refusal=None if refusal is None else sentence(refusal),
            since=require_count("since", form["since"], 0),
        )

    @classmethod
    def from_form(cls, form: Mapping[str, Any], setup: Setup) -> Self:
        """Check plain data and return what they describe."""
        weights = as_table(form["weights"], "weights")
        if len(weights) > MAX_MODELS:
            raise DataError(f"expected at most {MAX_MODELS} weights.")
        for name, weight in weights.items():
            require_share(sentence(name), weight)
        place, rank = form["place"], form["rank"]
        if rank is not None:
            require_share("rank", rank)
        return replace(
            cls.from_guidance(form),
            order=_order(form["order"]),
            is_seen=form["is_seen"] is True,
            num_others=require_count("num_others", form["num_others"], 0),
            place=None if place is None else setup.space.clean(place),
            weights=weights,
            verdict=None if form["verdict"] is None else sentence(form["verdict"]),
            expected=_number(form["expected"]),
            rank=rank,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the model had to say, and when."""

    told: int = 0
    """How many things had been told when it was fitted; 0: it never was."""
    best: int | None = None
    """Id of the observed point of best posterior mean; None: there was no result."""
    mean: float = 0.0
    """The mean there, in the site's units."""
    std: float | None = None
    """Its standard deviation, None while the results showed no scale to measure by."""
    lucky: int | None = None
    """Id of the best single observation, where the models expect it beyond a limit."""
    held: Held = field(default_factory=Held)
    """What is held of the others, and what the model says of that."""

    def unseen(self, results: Sequence[Trial]) -> list[int]:
        """Return the ids of results that were told after the model was fitted."""
        return [trial.id for trial in results if not self._has_seen(trial)]

    def _has_seen(self, trial: Trial) -> bool:
        return bool(trial.records) and trial.records[-1].order <= self.told

    def best_of(self, setup: Setup, book: Book) -> Best | None:
        """Return the recommendation, None where what was told since has undone it.

        It was corrected, say, or a result has come that keeps the limits, and it does
        not. Beside it stands the best single observation, of all that was told.
        """
        if self.best is None or self.best not in book:
            return None
        done, trial = book.results(), book[self.best]
        if trial not in done or not self._has_seen(trial):
            return None
        near, keeps = keeping(done, setup.outcomes)
        if not near[done.index(trial)]:
            return None
        observed, _ = best_single(done, setup.outcomes, setup.goal)
        return Best(
            goal=setup.goal,
            trial=trial,
            mean=self.mean,
            std=self.std,
            observed=observed,
            keeps_limits=keeps,
            observed_was_lucky=observed.id == self.lucky,
        )

    def to_form(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        held = self.held
        return {
            "told": self.told,
            "best": self.best,
            "mean": self.mean,
            "std": self.std,
            "lucky": self.lucky,
            "held": {
                "state": held.state,
                "reason": held.reason,
                "refusal": held.refusal,
                "since": held.since,
                "order": None if held.order is None else list(held.order),
                "is_seen": held.is_seen,
                "num_others": held.num_others,
                "place": None if held.place is None else dict(held.place),
                "weights": dict(held.weights),
                "verdict": held.verdict,
                "expected": held.expected,
                "rank": held.rank,
            },
        }

    @classmethod
    def from_form(cls, form: Any, setup: Setup, trials: Sequence[Trial]) -> Self:
        """Check plain data and return the summary they describe.

        Args:
            form: The data.
            setup: The agent's configuration.
            trials: Every trial.
        """
        form = as_table(form, "a summary")
        last = max((r.order for t in trials for r in t.records), default=0)
        for name in ("best", "lucky"):
            if form[name] is not None:
                k = require_count(name, form[name], 1, len(trials))
                if trials[k - 1].state == TrialState.PENDING:
                    raise DataError(f"expected a trial with a result as {name}.")
        mean, std = _number(form["mean"]), _number(form["std"])
        if mean is None or (std is not None and std < 0.0):
            raise DataError("expected a mean, and a standard deviation of at least 0.")
        return cls(
            told=require_count("told", form["told"], 0, last),
            best=form["best"],
            mean=mean,
            std=std,
            lucky=form["lucky"],
            held=Held.from_form(as_table(form["held"], "held"), setup),
        )


def staleness(since: int, setup: Setup, book: Book) -> str | None:
    """Return why a packet is too old to be used, None where it is not.

    Args:
        since: How many things had been told when the site made what it answers.
        setup: Knows how long a packet is used.
        book: All trials.
    """
    age = book.results_since(since)
    if age < setup.packet_lifetime:
        return None
    return f"{age} results came after the upload that the packet answers"


def guidance_text(state: str, reason: str, refusal: str | None) -> str:
    """Return in words whether a packet is used, and what became of the last one."""
    alone = "" if state == ACTIVE else "; working alone"
    text = f"guidance {state}: {reason.rstrip('.')}{alone}"
    if refusal is None:
        return text
    return f"{text}; the last packet was refused: {refusal.rstrip('.')}"


def _order(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    numbers = as_list(value, "order")
    if len(numbers) != 2:
        raise DataError(f"expected an order of two numbers, got {shown(value)}.")
    return require_count("order", numbers[0], 0), require_count("order", numbers[1], 0)


def sentence(value: Any) -> str:
    """Return a text that can be printed in one line, cut where it is too long."""
    if not isinstance(value, str):
        raise DataError(f"expected a sentence, got {shown(value)}.")
    line = one_line(value)
    if not is_plain_text(line):
        raise DataError(f"expected a sentence, got {shown(value)}.")
    return line[:MAX_TEXT]


def _number(value: Any) -> float | None:
    if value is not None and not is_finite_number(value):
        raise DataError(f"expected a number, got {shown(value)}.")
    return value

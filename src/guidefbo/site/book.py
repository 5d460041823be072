"""All trials of an agent and every record told about them, in order."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.core.arrays import Point, Points
from guidefbo.core.checks import is_whole_number, shown
from guidefbo.core.errors import DataError, SpaceError
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.space.space import Space
from guidefbo.site.outcome import Outcome
from guidefbo.site.trial import Basis, Origin, Record, Trial, TrialState, now

if TYPE_CHECKING:
    from guidefbo.agent.missing import Missing

FAILED_RADIUS = 0.05
"""No question nearer than this to a fresh failure, in the unit cube."""
MIN_FAILED_RADIUS = 0.005
"""What that shrinks to as other evaluations succeed."""
AS_ASKED = 0.02
"""How far from what was asked a forecast still holds, per coordinate of the unit cube:
people round what they set."""


class Book:
    """Trials by id; entries are added and states move on, nothing is erased."""

    def __init__(
        self, space: Space, goal: str, expire_after: int, overshoot: float = np.inf
    ) -> None:
        """Open an empty book.

        Args:
            space: The search space.
            goal: Either max or min.
            expire_after: A pending trial expires so many results after it is due.
            overshoot: Results farther outside the space, as a share of the ranges, are
                kept and not modelled: the space was another one when they were told.
        """
        self._space = space
        self._goal = goal
        self._expire_after = expire_after
        self._overshoot = overshoot
        self._trials: dict[int, Trial] = {}
        self._points: dict[int, Point] = {}
        self._outside: set[int] = set()
        self.num_told = 0

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials by id."""
        return tuple(self._trials.values())

    @property
    def next_id(self) -> int:
        """The id the next trial will have."""
        return len(self._trials) + 1

    def __getitem__(self, trial_id: int) -> Trial:
        return self._trials[trial_id]

    def __contains__(self, trial_id: object) -> bool:
        return trial_id in self._trials

    def in_state(self, state: TrialState) -> list[Trial]:
        """Return the trials in a state, by id."""
        return [trial for trial in self._trials.values() if trial.state == state]

    def results(self) -> list[Trial]:
        """Return the trials with a value that lie in the space, by id."""
        done = self.in_state(TrialState.DONE)
        return [trial for trial in done if trial.id not in self._outside]

    def results_since(self, order: int) -> int:
        """Return how many results came after a number of things told.

        A correction is no new result.
        """
        return sum(
            bool(trial.records) and trial.records[0].order > order
            for trial in self._trials.values()
        )

    def open(
        self,
        values: Mapping[str, Any],
        origin: Origin,
        *,
        guided: bool = False,
        due_at: int | None = None,
        basis: Basis | None = None,
    ) -> Trial:
        """Enter a new trial, pending."""
        trial = Trial(
            id=self.next_id,
            values=dict(values),
            goal=self._goal,
            origin=origin,
            guided=guided,
            due_at=self.num_told + 1 if due_at is None else due_at,
            basis=basis,
            asked_at=now(),
        )
        self.enter(trial)
        return trial

    def enter(self, trial: Trial) -> None:
        """Enter a trial as it is, say from a file."""
        # The position is always computed from the values, so that an agent that was
        # saved and loaded computes with the same bits as one that was not.
        self._put(trial)
        self.num_told = max(self.num_told, *(r.order for r in trial.records), 0)

    def record(
        self,
        trial_id: int,
        *,
        value: float | None = None,
        std: float | None = None,
        failed: str | None = None,
        values: Mapping[str, Any] | None = None,
        outcomes: Mapping[str, float] | None = None,
    ) -> Trial:
        """Add a record to a trial; telling the same again changes nothing.

        Args:
            trial_id: Which trial.
            value: What was observed.
            std: Its standard deviation, where it is known.
            failed: Why there is no value, instead of one.
            values: What was really run; None: what was said of that before.
            outcomes: Further outcomes that were measured, beside those told before.
        """
        trial = self._trials[trial_id]
        run = dict(trial.as_run if values is None else values)
        record = Record(
            order=self.num_told + 1,
            value=value,
            std=std,
            failed=failed,
            values=None if run == trial.values else run,
            outcomes={**trial.outcomes, **(outcomes or {})},
            told_at=now(),
        )
        if trial.records and trial.records[-1].told == record.told:
            return trial
        self.num_told += 1
        state = TrialState.DONE if failed is None else TrialState.FAILED
        trial = replace(trial, state=state, records=(*trial.records, record))
        self._put(trial)
        self._expire()
        return trial

    def abandon(self, trial_id: int) -> Trial:
        """Give a pending trial up."""
        trial = replace(self._trials[trial_id], state=TrialState.ABANDONED)
        self._trials[trial_id] = trial
        return trial

    def find_open(self, values: Mapping[str, Any]) -> Trial | None:
        """Return the first unanswered trial that asked for these values."""
        for trial in self._trials.values():
            if not trial.records and trial.values == values:
                return trial
        return None

    def data(self) -> Dataset:
        """Return the observations, higher is better, in the order of the trials."""
        done = self.results()
        sign = SIGNS[self._goal]
        y = np.array([sign * float(t.value) for t in done if t.value is not None])
        std = np.array([np.nan if t.std is None else t.std for t in done])
        has_std = len(done) > 0 and not np.isnan(std).all()
        return Dataset(X=self.points(done), y=y, std=std if has_std else None)

    def followed(self) -> list[Trial]:
        """Return the trials with a value that were run about as they were asked."""
        return [t for t in self.in_state(TrialState.DONE) if self._is_as_asked(t)]

    def scores(self) -> list[float]:
        """Return how the others foretold each result, in the order of telling.

        Of questions that went with forecasts and were run about as they were asked. A
        result that is corrected keeps its place.
        """
        told = [
            (
                trial.records[0].order,
                trial.basis.foretold.score(trial.value, trial.std),
            )
            for trial in self.followed()
            if trial.basis is not None
            and trial.basis.foretold is not None
            and trial.value is not None
        ]
        return [score for _, score in sorted(told)]

    def forget_forecasts(self) -> None:
        """Let go of what was said for and against others who are not there any more."""
        for trial in self.trials:
            if trial.basis is not None:
                basis = replace(trial.basis, foretold=None, odds=None)
                self._trials[trial.id] = replace(trial, basis=basis)

    def _is_as_asked(self, trial: Trial) -> bool:
        """Whether what was run is what was asked, as far as forecasts tell points."""
        if trial.as_run == trial.values:
            return True
        try:
            asked = self._space.to_unit(trial.values, overshoot=np.inf)
        except SpaceError:
            return False
        return bool((np.abs(self._points[trial.id] - asked) <= AS_ASKED).all())

    def slacks(self, outcome: Outcome) -> Dataset | None:
        """Return how far an outcome kept its limit, None where it was never measured.

        Larger is better, and from 0 on the limit is kept.
        """
        known = [trial for trial in self.results() if outcome.name in trial.outcomes]
        if not known:
            return None
        y = [outcome.slack(trial.outcomes[outcome.name]) for trial in known]
        return Dataset(X=self.points(known), y=np.array(y))

    def missing(self, *, has_noise: bool = True) -> "Missing":
        """Return the pending and the failed points.

        Args:
            has_noise: Without noise a known point is not worth another question.
        """
        from guidefbo.agent.missing import Missing

        pending = self.in_state(TrialState.PENDING)
        failed = self.in_state(TrialState.FAILED)
        successes = [t.records[-1].order for t in self.in_state(TrialState.DONE)]
        ordered = np.sort(np.array(successes, dtype=np.intp))
        orders = np.array([t.records[-1].order for t in failed], dtype=np.intp)
        since = len(ordered) - np.searchsorted(ordered, orders)
        return Missing(
            pending=self.points(pending),
            failed=self.points(failed),
            radii=np.maximum(FAILED_RADIUS / np.sqrt(1.0 + since), MIN_FAILED_RADIUS),
            known=self.points([] if has_noise else self.in_state(TrialState.DONE)),
        )

    def points(self, trials: list[Trial]) -> Points:
        """Return the trials' points in the unit cube, (n, d)."""
        rows = [self._points[trial.id] for trial in trials]
        return np.array(rows).reshape(-1, self._space.dim)

    def _put(self, trial: Trial) -> None:
        run = trial.as_run
        self._outside.discard(trial.id)
        try:
            x = self._space.to_unit(run, overshoot=self._overshoot)
        except SpaceError:
            # Told when the space was another one.
            x = self._space.to_unit(run, overshoot=np.inf)
            self._outside.add(trial.id)
        self._points[trial.id] = x
        self._trials[trial.id] = trial

    def _expire(self) -> None:
        for trial in self.in_state(TrialState.PENDING):
            if self.num_told - trial.due_at >= self._expire_after:
                self._trials[trial.id] = replace(trial, state=TrialState.EXPIRED)


def round_of(book: Book, num_initial: int) -> int:
    """Return the round: results beyond the initial design, counted from 1."""
    return max(1, len(book.results()) - num_initial + 1)


def find_trial(book: Book, trial: Trial | int | Mapping[str, Any]) -> Trial:
    """Return the trial that is meant; values never asked open one.

    Args:
        book: All trials.
        trial: The trial, its id, or values as the space writes them.
    """
    if isinstance(trial, Mapping):
        return book.find_open(trial) or book.open(trial, Origin.OWN)
    trial_id = trial.id if isinstance(trial, Trial) else trial
    if not is_whole_number(trial_id) or trial_id not in book:
        ids = f"its id (1 to {book.next_id - 1})" if book.trials else "none so far,"
        raise DataError(
            f"Expected a trial of this agent, {ids} or values by name, got "
            f"{shown(trial)}."
        )
    known = book[int(trial_id)]
    if isinstance(trial, Trial) and trial.values != known.values:
        raise DataError(
            f"Trial {trial_id} of this agent has other values; was it asked from "
            "another agent?"
        )
    return known

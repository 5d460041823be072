"""The model of a site: fitted once to what was told, and asked by everything else."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.decision.feasible import Limits
from guidefbo.agent.policy import Policy
from guidefbo.agent.record import Forecasts, record_of
from guidefbo.agent.surrogate.model import Fitted
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.errors import NumericalError
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.book import Book
from guidefbo.site.guidance import Guidance, GuidanceState
from guidefbo.site.judgement import Judgement
from guidefbo.site.keeping import best_single, keeping
from guidefbo.site.outcome import Outcome
from guidefbo.site.trial import Best

NUMERICAL = (ArithmeticError, np.linalg.LinAlgError, NumericalError)
"""What a computation on difficult data may raise."""


class Learner:
    """The posterior of what a book holds, and the strategy's insight into it."""

    def __init__(
        self, policy: Policy, book: Book, outcomes: tuple[Outcome, ...] = ()
    ) -> None:
        """Begin without a fit.

        Args:
            policy: What the agent does with its data.
            book: Where they are.
            outcomes: Further measured outcomes that must keep a limit.
        """
        self._outcomes = outcomes
        self._limits: tuple[int, Limits | None] | None = None
        self._policy = policy
        self._book = book
        self._fitted: tuple[int, Fitted] | None = None
        self._insight: Any = None
        self._aimed: list[tuple[Any, Any]] = []

    def fit(self) -> Fitted:
        """Return the posterior of what was told so far, fitted once."""
        told = self._book.num_told
        if self._fitted is None or self._fitted[0] != told:
            with single_blas_thread():
                self._fitted = told, self._policy.fit(self._book.data())
            self._insight, self._aimed = None, []
        return self._fitted[1]

    @property
    def is_fitted(self) -> bool:
        """Whether the posterior of what was told so far is there already."""
        return self._fitted is not None and self._fitted[0] == self._book.num_told

    def study(self) -> Any:
        """Return the strategy's insight into the fit, computed once per fit."""
        fitted = self.fit()
        if self._insight is None:
            self._insight = self._policy.study(fitted)
        return self._insight

    def aim(self, packet: Any) -> Any:
        """Return what the strategy makes of a packet, computed once per fit.

        Args:
            packet: The body of a packet, None to work alone.
        """
        self.fit()
        for known, aimed in self._aimed:
            if known is packet:
                return aimed
        record = record_of(self._book.scores())
        aimed = self._policy.aim(self.study, packet, record=record)
        self._aimed.append((packet, aimed))
        return aimed

    def limits(self) -> Limits | None:
        """Return the models of the outcomes that were measured, fitted once."""
        told = self._book.num_told
        if self._limits is None or self._limits[0] != told:
            self._limits = told, self._fit_limits()
        return self._limits[1]

    def _fit_limits(self) -> Limits | None:
        slacks = [self._book.slacks(outcome) for outcome in self._outcomes]
        measured = [data for data in slacks if data is not None]
        if not measured:
            return None
        # Noise that is known is the objective's.
        model = replace(self._policy.model, noise_std=None)
        with single_blas_thread():
            each = tuple(self._policy.limit(model.fit(data)) for data in measured)
        done = self._book.results()
        measured, is_kept = keeping(done, self._outcomes)
        return Limits.of(each, self._book.points(done), measured & is_kept)

    @property
    def fitted(self) -> Fitted | None:
        """The model of what was told so far, None where there is none to be had."""
        if not self._book.results():
            return None
        try:
            fitted = self.fit()
        except NUMERICAL:
            return None
        gp = fitted.posterior
        return fitted if np.isfinite(gp.predict_mean(gp.X)).all() else None

    def expects(self, X: Points, goal: str) -> tuple[Values, Values]:
        """Return what the own model expects of results at the rows of X.

        In the site's units: the mean, and the standard deviation of one result, its
        noise included.
        """
        gp, _, units = self.fit()
        mean, std = gp.predict(X)
        spread = np.sqrt(std**2 + gp.hyper.noise_variance)
        middle, spread = units.normal_to_site(mean, spread)
        return SIGNS[goal] * middle, spread

    def foretells(self, x: Point, held: Guidance, goal: str) -> Forecasts | None:
        """Return what two models expect of a result, in the site's units.

        None where what is held is not compared with the own data.
        """
        if held.judgement is None:
            return None
        found = self._policy.forecasts(self.fit(), self.aim(held.packet), x)
        if found is None or not np.isfinite(found).all():
            return None
        others, alone = (f._replace(mean=SIGNS[goal] * f.mean) for f in found)
        return Forecasts(others=others, alone=alone)

    def judgement(self, held: Guidance) -> Judgement | None:
        """Return what the own data say of the models, None of fewer than two."""
        models, fitted = self._policy.models, None
        if models and held.state == GuidanceState.ACTIVE:
            fitted = self.fitted
        if fitted is None:
            return None
        try:
            with single_blas_thread():
                weights = dict(self._policy.judgement(self.aim(held.packet)))
        except NUMERICAL:
            return None
        if len(weights) < 2:
            return None
        return Judgement(weights=weights, models=models)

    def best(self, goal: str) -> Best | None:
        """Return the observed point of best posterior mean; None without a result."""
        done = self._book.results()
        if not done:
            return None
        sign = SIGNS[goal]
        y = self._book.data().y
        # Without a model the observations themselves are all there is to go by.
        mean, fitted = y, self.fitted
        if fitted is not None:
            gp, _, units = fitted
            mean = units.to_site(gp.predict_mean(gp.X))
        near, is_kept = keeping(done, self._outcomes)
        surely = self._keeps_surely(near) if is_kept else near
        k = int(np.argmax(np.where(surely, mean, -np.inf)))
        observed, _ = best_single(done, self._outcomes, goal)
        std = None
        if np.ptp(y) > 0.0:
            std = 0.0 if fitted is None else self._spread(fitted, k, float(mean[k]))
        return Best(
            goal=goal,
            trial=done[k],
            mean=sign * float(mean[k]),
            std=std,
            observed=observed,
            keeps_limits=is_kept,
            observed_was_lucky=not bool(surely[done.index(observed)]),
        )

    def _spread(self, fitted: Fitted, k: int, mean: float) -> float:
        """Return the standard deviation of a result's mean, in the site's units."""
        gp, _, units = fitted
        _, std = gp.predict(gp.X[k : k + 1])
        return float((std / units.slope(np.array([mean])))[0])

    def _keeps_surely(self, measured: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the results that keep the limits also as the models have it."""
        try:
            limits = self.limits()
        except NUMERICAL:
            return measured
        return measured if limits is None else limits.kept

"""The model of a site: fitted once to what was told, and asked by everything else."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.decision.feasible import Limits
from guidefbo.agent.policy import Policy
from guidefbo.agent.surrogate.model import Fitted
from guidefbo.core.arrays import Points, Values
from guidefbo.core.errors import NumericalError
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.threads import single_blas_thread
from guidefbo.site.book import Book
from guidefbo.site.guidance import Guidance, GuidanceState
from guidefbo.site.judgement import Judgement
from guidefbo.site.outcome import Outcome
from guidefbo.site.trial import Best, Trial

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

    def fit(self) -> Fitted:
        """Return the posterior of what was told so far, fitted once."""
        told = self._book.num_told
        if self._fitted is None or self._fitted[0] != told:
            with single_blas_thread():
                self._fitted = told, self._policy.fit(self._book.data())
            self._insight = None
        return self._fitted[1]

    def study(self) -> Any:
        """Return the strategy's insight into the fit, computed once per fit."""
        fitted = self.fit()
        if self._insight is None:
            self._insight = self._policy.study(fitted)
        return self._insight

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
        measured = np.array([self._keeps(trial) for trial in done])
        return Limits.of(each, self._book.points(done), measured)

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
        middle = units.to_site(mean)
        spread = np.sqrt(std**2 + gp.hyper.noise_variance)
        return SIGNS[goal] * middle, spread / units.slope(middle)

    def judgement(self, held: Guidance) -> Judgement | None:
        """Return what the own data say of the models, None of fewer than two."""
        models, fitted = self._policy.models, None
        if models and held.state == GuidanceState.ACTIVE:
            fitted = self.fitted
        if fitted is None:
            return None
        try:
            with single_blas_thread():
                aimed = self._policy.aim(self.study, held.packet)
                weights = dict(self._policy.judgement(aimed))
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
        mean, std = y, np.zeros(len(y))
        if fitted := self.fitted:
            gp, _, units = fitted
            predicted, spread = gp.predict(gp.X)
            mean = units.to_site(predicted)
            std = spread / units.slope(mean)
        keeps = np.array([self._keeps(trial) for trial in done])
        if keeps.any():
            near, surely = keeps, self._keeps_surely(keeps)
        else:
            # As far from the limits as what is nearest to them.
            excess = np.array([self._excess(trial) for trial in done])
            near = surely = excess <= excess.min()
        mean = np.where(surely, mean, -np.inf)
        k, seen = int(np.argmax(mean)), int(np.argmax(np.where(near, y, -np.inf)))
        return Best(
            goal=goal,
            trial=done[k],
            mean=sign * float(mean[k]),
            std=float(std[k]) if np.ptp(y) > 0.0 else None,
            observed=done[seen],
            keeps_limits=bool(keeps.any()),
            observed_was_lucky=not bool(surely[seen]),
        )

    def _keeps_surely(self, measured: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the results that keep the limits also as the models have it."""
        try:
            limits = self.limits()
        except NUMERICAL:
            return measured
        return measured if limits is None else limits.kept

    def _keeps(self, trial: Trial) -> bool:
        """Whether all outcomes of a trial were measured and keep their limits."""
        return self._excess(trial) <= 0.0

    def _excess(self, trial: Trial) -> float:
        """Return how far a trial is from its limits, relative to their size.

        At most 0 where all are kept, and endless where one was not measured.
        """
        excess = 0.0
        for outcome in self._outcomes:
            value = trial.outcomes.get(outcome.name)
            miss = np.inf if value is None else -outcome.slack(value)
            excess += max(miss, 0.0) / max(abs(outcome.limit), 1e-12)
        return excess

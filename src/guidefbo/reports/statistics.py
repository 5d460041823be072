"""Means with their errors, paired ratios and differences, and their tests."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr
from scipy.stats import wilcoxon

EXACT_UP_TO = 50
"""Pairs up to which the distribution of the signed ranks is enumerated."""
LEVEL_OF_SIGNIFICANCE = 0.05
ROUNDING = 1e-12
"""Differences of this size, relative to what is compared, are taken for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A mean over some of the values that were asked for."""

    mean: float
    """Over the values that are there."""
    error: float | None
    """Its standard error, None for a single value."""
    count: int
    """Values that are there."""


def summarise(values: Collection[float]) -> Summary | None:
    """Return the mean and its standard error, None for no values."""
    if not values:
        return None
    array = np.array(list(values), dtype=np.float64)
    error = None
    if len(array) > 1:
        error = float(array.std(ddof=1) / math.sqrt(len(array)))
    return Summary(mean=float(array.mean()), error=error, count=len(array))


def log_ratio(ours: float, theirs: float) -> float | None:
    """Return log(ours / theirs), None where that is no number.

    >>> log_ratio(0.0, 0.0), log_ratio(0.0, 1.0)
    (0.0, None)
    """
    if ours == theirs:
        return 0.0
    if ours <= 0.0 or theirs <= 0.0:
        return None
    return math.log(ours / theirs)


def paired_log_ratios(
    ours: Mapping[Any, float], theirs: Mapping[Any, float]
) -> list[float]:
    """Return the log ratios at the seeds both have."""
    pairs = (log_ratio(ours[k], theirs[k]) for k in ours if k in theirs)
    return [ratio for ratio in pairs if ratio is not None]


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test around zero.

    Zeros are left out, as Wilcoxon does; None where nothing else remains.
    """
    array = np.array([d for d in differences if d != 0.0], dtype=np.float64)
    if array.size == 0:
        return None
    method = "exact" if array.size <= EXACT_UP_TO else "approx"
    return float(wilcoxon(array, method=method).pvalue)


def least_p(pairs: int) -> float:
    """Return the smallest two-sided p-value that so many pairs can give.

    >>> least_p(3)
    0.25
    """
    return min(1.0, 2.0 ** (1 - pairs))


def can_be_significant(pairs: int) -> bool:
    """Whether so many pairs can give a p-value of at most 0.05."""
    return least_p(pairs) <= LEVEL_OF_SIGNIFICANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One contender against another, paired by problem and seed."""

    by_problem: Mapping[str, Sequence[float]]
    """Log ratios at the common seeds, problems without a pair left out."""
    left_out: int = 0
    """Pairs without a log ratio because one of the two regrets is zero."""

    @property
    def pairs(self) -> list[float]:
        """All log ratios."""
        return [value for values in self.by_problem.values() for value in values]

    @property
    def problem_means(self) -> list[float]:
        """The mean log ratio of every problem."""
        return [sum(v) / len(v) for v in self.by_problem.values()]

    @property
    def lower(self) -> int:
        """Problems on which the first is lower on average."""
        return sum(mean < 0.0 for mean in self.problem_means)

    @property
    def summary(self) -> Summary | None:
        """Mean of the problems' mean log ratios; the error is over problems."""
        return summarise(self.problem_means)


def compare(
    ours: Mapping[str, Mapping[Any, float]], theirs: Mapping[str, Mapping[Any, float]]
) -> Comparison:
    """Compare final regrets by problem and seed."""
    by_problem: dict[str, list[float]] = {}
    left_out = 0
    for problem, values in ours.items():
        others = theirs.get(problem, {})
        ratios = paired_log_ratios(values, others)
        left_out += sum(seed in others for seed in values) - len(ratios)
        if ratios:
            by_problem[problem] = ratios
    return Comparison(by_problem=by_problem, left_out=left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean of paired differences and the paired t-test of it."""

    mean: float
    """Over the pairs."""
    error: float | None
    """Its standard error, None for a single pair."""
    pairs: int
    """Number of pairs."""
    p: float | None
    """Two-sided p-value around zero, None for a single pair."""


def paired_difference(
    ours: Mapping[Any, float], theirs: Mapping[Any, float]
) -> Difference | None:
    """Return ours minus theirs over the keys both have, None where there is none.

    Where all differences are equal, up to rounding, the t statistic has no spread to go
    by; the p-value is then that of their signs.
    """
    common = [key for key in ours if key in theirs]
    summary = summarise([ours[key] - theirs[key] for key in common])
    if summary is None:
        return None
    rounding = ROUNDING * max(max(abs(ours[k]), abs(theirs[k])) for k in common)
    p = None
    if summary.error is not None and summary.error > rounding:
        t = abs(summary.mean) / summary.error
        p = 2.0 * float(stdtr(summary.count - 1, -t))
    elif summary.error is not None:
        is_none = abs(summary.mean) <= rounding
        p = 1.0 if is_none else least_p(summary.count)
    return Difference(mean=summary.mean, error=summary.error, pairs=summary.count, p=p)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for their number by Holm's step-down rule.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((p, n) for n, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = highest
    return adjusted

"""Variational inference of a truncated Dirichlet-process Gaussian mixture.

Several starts run side by side on the leading axis, and equal samples are kept once
with a count, so that one sweep over all starts is a handful of array operations.

Symbols, shapes (S starts, K components, u distinct points, d coordinates, q = d or d²):
    R (S, K, u) responsibilities times counts       N (S, K) their sums
    means (S, K, d)      beta (S, K) mean precisions      nu (S, K) degrees of freedom
    C (S, K, q) covariances, flat         a, b (S, K) stick-breaking Beta parameters

References:
    Blei and Jordan, Variational inference for Dirichlet process mixtures, 2006.
    Bishop, Pattern Recognition and Machine Learning, section 10.2.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln

from guidefbo.agent.belief.geometry import Geometry
from guidefbo.core.arrays import Matrix, OtherValues, Point, Points, Values

Stack = NDArray[np.float64]
"""An array whose leading axis is the start."""
CHECK_EVERY = 5
"""Sweeps between two looks at the bound, which no sweep needs."""
LOG_2 = float(np.log(2.0))
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, kw_only=True)
class VariationalSettings:
    """Prior and stopping rule of the mixture."""

    concentration: float = 100.0
    """Dirichlet-process concentration."""
    mean_precision: float = 1e-3
    """Prior precision of a mean, in units of a component's own precision."""
    regularisation: float = 1e-6
    """Added to every variance."""
    max_sweeps: int = 200
    """Sweeps after which a start counts as not converged."""
    tolerance: float = 1e-3
    """Rise of the evidence bound per sweep below which a start has converged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Distinct points with counts, and the statistics every sweep needs."""

    counts: Values
    """(u,)."""
    powers: Matrix
    """(u, 1 + d + q): one, the centred coordinates and their flat squares."""
    by_power: Matrix
    """Its transpose, laid out by rows: the E step reads it so."""
    mean: Point
    """Prior mean of every component: the samples' mean."""
    covariance: OtherValues
    """(q,) prior covariance scale: the samples' (n-1) covariance, flat."""
    geometry: Geometry
    """Diagonal or full."""

    @classmethod
    def of(cls, points: Points, counts: Values, geometry: Geometry) -> Self:
        """Centre the points, for the numbers' sake, and collect the statistics."""
        mean = counts @ points / counts.sum()
        X = points - mean
        squares = geometry.square(X)
        powers = np.concatenate([np.ones((len(X), 1)), X, squares], axis=1)
        return cls(
            counts=counts,
            powers=powers,
            by_power=np.ascontiguousarray(powers.T),
            mean=mean,
            covariance=counts @ squares / max(counts.sum() - 1.0, 1.0),
            geometry=geometry,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """The variational factors of every start, centred on the data's mean."""

    a: Stack
    b: Stack
    beta: Stack
    nu: Stack
    means: Stack
    C: Stack

    def pick(self, index: int | NDArray[np.intp]) -> "Factors":
        """Return the factors of some of the starts."""
        return Factors(**{f.name: getattr(self, f.name)[index] for f in fields(self)})

    def masses(self) -> Stack:
        """Return the expected mixture weights, normalised over the truncation."""
        total = self.a + self.b
        left = np.cumprod(self.b / total, axis=-1)
        stick = self.a / total
        stick[..., 1:] *= left[..., :-1]
        return stick / stick.sum(axis=-1, keepdims=True)


class Responses(NamedTuple):
    """The outcome of an E step, with what the evidence bound needs of it."""

    R: Stack
    """Responsibilities times counts."""
    log_R: Stack
    """Logarithms of the responsibilities before they are normalised."""
    norm: Stack
    """(S, u) their norms."""


def maximise(data: Data, R: Stack, settings: VariationalSettings) -> Factors:
    """Return the factors that maximise the bound given responsibilities (M step)."""
    d, geometry = len(data.mean), data.geometry
    sums = (R.reshape(-1, R.shape[-1]) @ data.powers).reshape(*R.shape[:2], -1)
    N = sums[..., 0] + 10.0 * np.finfo(float).eps
    sums /= N[..., None]
    centre, square = sums[..., 1 : d + 1], sums[..., d + 1 :]
    beta = settings.mean_precision + N
    nu = d + N
    shrink = (N / beta)[..., None]
    # The spread about the centre, and the pull of the prior mean, which is zero here.
    C = square - geometry.square(centre) * shrink
    C += settings.regularisation * geometry.identity(d)
    C *= N[..., None]
    C += data.covariance
    C /= nu[..., None]
    after = np.cumsum(N[:, ::-1], axis=1)[:, ::-1] - N
    return Factors(
        a=1.0 + N,
        b=settings.concentration + after,
        beta=beta,
        nu=nu,
        means=centre * shrink,
        C=C,
    )


def respond(data: Data, factors: Factors) -> Responses:
    """Return the responsibilities under these factors (E step)."""
    f, d = factors, len(data.mean)
    precision, log_det = data.geometry.invert(f.C)
    linear = data.geometry.apply(precision, f.means)
    constant = _expected_log_stick(f) + 0.5 * (
        d * (LOG_2 - LOG_2PI - 1.0 / f.beta - np.log(f.nu))
        + digamma(_wishart_halves(f, d)).sum(axis=-1)
        - log_det
        - (linear * f.means).sum(axis=-1)
    )
    coefficients = np.concatenate(
        [constant[..., None], linear, -0.5 * precision], axis=-1
    )
    flat = coefficients.reshape(-1, coefficients.shape[-1]) @ data.by_power
    log_R = flat.reshape(*f.nu.shape, -1)
    log_R -= log_R.max(axis=1)[:, None]
    R = np.exp(log_R)
    norm = R.sum(axis=1)
    R *= (data.counts / norm)[:, None]
    return Responses(R=R, log_R=log_R, norm=norm)


def evidence_bound(data: Data, factors: Factors, responses: Responses) -> Values:
    """Return each start's evidence bound, up to a constant of the data.

    The factors must be those that `maximise` made of the responses: only there do the
    terms that depend on the data cancel.
    """
    f, r, d = factors, responses, len(data.mean)
    entropy = np.log(r.norm) @ data.counts - np.einsum("sku,sku->s", r.R, r.log_R)
    _, log_det = data.geometry.invert(f.C)
    log_wishart = 0.5 * f.nu * (log_det + d * np.log(f.nu) - d * LOG_2)
    log_wishart -= gammaln(_wishart_halves(f, d)).sum(axis=-1)
    log_sticks = betaln(f.a, f.b) - 0.5 * d * np.log(f.beta)
    return entropy + (log_sticks - log_wishart).sum(axis=1)


def infer(data: Data, R: Stack, settings: VariationalSettings) -> Factors | None:
    """Sweep the starts side by side; return the best, or None if it did not converge.

    A start ends when it has converged, or when another one has with a higher bound.

    Args:
        data: The samples.
        R: Initial responsibilities times counts, one set per start.
        settings: Prior and stopping rule.
    """
    best: Factors | None = None
    best_bound = -np.inf
    previous = np.full(len(R), -np.inf)
    factors = maximise(data, R, settings)
    for sweep in range(1, settings.max_sweeps + 1):
        responses = respond(data, factors)
        factors = maximise(data, responses.R, settings)
        if sweep % CHECK_EVERY != 0:
            continue
        bound = evidence_bound(data, factors, responses)
        done = bound - previous < CHECK_EVERY * settings.tolerance
        previous = bound
        if done.any():
            winner = int(np.argmax(np.where(done, bound, -np.inf)))
            if bound[winner] > best_bound:
                best, best_bound = factors.pick(winner), bound[winner]
            going = np.flatnonzero(~done & (bound > best_bound))
            if len(going) == 0:
                return best
            factors, previous = factors.pick(going), bound[going]
    # Whatever still runs has a higher bound than any start that converged.
    return None


def _wishart_halves(f: Factors, d: int) -> Stack:
    """Return (nu - j) / 2 for j < d, the arguments of the Wishart's gammas."""
    return 0.5 * (f.nu[..., None] - np.arange(d))


def _expected_log_stick(f: Factors) -> Stack:
    total = digamma(f.a + f.b)
    log_left = np.cumsum(digamma(f.b) - total, axis=1)
    log_stick = digamma(f.a) - total
    log_stick[:, 1:] += log_left[:, :-1]
    return log_stick

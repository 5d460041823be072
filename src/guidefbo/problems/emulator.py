"""A smooth function through a table of results, in place of the experiment.

A Gaussian process with a constant mean and the Matern-5/2 kernel; coordinates that
belong together, those of a choice, share a lengthscale. With q the squared distance in
lengthscales and a = √(5 q),

    k = s (1 + a + a²/3) exp(-a),        dk/dq = -(5/6) s (1 + a) exp(-a),
    -log p(y) = ½ yᵀ K⁻¹ y + ½ log |K| + const,        K = k(X, X) + σ² I.

Agents assume functions of this kind, so that the emulator of an experiment is easier
for them than the experiment; the cross-validated error says how far the two are apart.

References:
    Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006: the marginal
    likelihood and its gradient, equations (5.8) and (5.9).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import OptimizeResult, minimize

from guidefbo.core.arrays import Matrix, Others, Points, Values, frozen_array
from guidefbo.core.errors import DataError
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Streams

MIN_ROWS, MAX_ROWS = 5, 1000
"""Rows of a table: fewer say nothing, for more the matrices become too large."""
BOUNDS = {"lengthscale": (0.03, 30.0), "outputscale": (0.01, 100.0), "noise": (1e-6, 1)}
"""Ranges of the settings; the unit cube has width 1, values have variance 1."""
STARTS = ((0.3, 1.0, 0.01), (1.0, 1.0, 0.1), (3.0, 1.0, 0.3))
"""Lengthscale, outputscale and noise at the start of each of three searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyper:
    """The settings of an emulator, for values of mean 0 and variance 1."""

    lengthscales: Sequence[float]
    """One for each group of coordinates."""
    outputscale: float
    """Variance s of the function."""
    noise: float
    """Variance σ² of the noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidated:
    """How well values are predicted that an emulator has not seen."""

    rmse: float
    """Root of the mean squared error, in the unit of the values."""
    r2: float
    """Share of the variance that is explained; 0 for the mean, negative for worse."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Emulator:
    """A function fitted to a table."""

    X: Points
    """The settings, in the unit cube."""
    y: Values
    """The results."""
    groups: Sequence[slice]
    """Coordinates that belong together."""
    hyper: Hyper
    """Settings of the process."""
    weights: Values
    """K⁻¹ y of the standardised values."""

    def predict(self, X: Others) -> NDArray[np.float64]:
        """Return the function at points of the unit cube, one value a row."""
        mean, std = _scale(self.y)
        parts = _distances(X, self.X, self.groups, self.hyper.lengthscales)
        k, _ = _matern52(np.sum(parts, axis=0), self.hyper.outputscale)
        return mean + std * (k @ self.weights)

    def cross_validated_error(self, num_folds: int = 10) -> CrossValidated:
        """Return the error over folds, the settings being found anew in each.

        Rows at the same point are in the same fold: a repetition is no test.
        """
        unique, same = np.unique(self.X, axis=0, return_inverse=True)
        same = same.reshape(-1)
        points = Streams(0).at("folds of an emulator").permutation(len(unique))
        num_folds = min(num_folds, len(unique))
        fold = points[same] % num_folds
        predicted = np.empty_like(self.y)
        for number in range(num_folds):
            test = fold == number
            X, y = self.X[~test], self.y[~test]
            part = condition(X, y, self.groups, _search(X, y, self.groups, self.hyper))
            predicted[test] = part.predict(self.X[test])
        errors = predicted - self.y
        total = float(np.var(self.y))
        mse = float(np.square(errors).mean())
        return CrossValidated(rmse=mse**0.5, r2=1.0 - mse / total if total else 0.0)


def groups_of(space: Space) -> list[slice]:
    """Return the coordinates of each parameter of a space."""
    return list(space.places.values())


def fit_emulator(X: Points, y: Values, groups: Sequence[slice]) -> Emulator:
    """Fit an emulator by maximal marginal likelihood.

    Args:
        X: Settings in the unit cube, one a row.
        y: Results.
        groups: Coordinates that share a lengthscale, see `groups_of`.
    """
    if not MIN_ROWS <= len(y) <= MAX_ROWS:
        raise DataError(
            f"An emulator is fitted to {MIN_ROWS} to {MAX_ROWS} rows a site, got "
            f"{len(y)}."
        )
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError("An emulator is fitted to finite numbers, got NaN or infinity.")
    if not np.ptp(X, axis=0).any():
        raise DataError("An emulator is fitted to different settings, all are equal.")
    return condition(X, y, groups, _search(X, y, groups))


def condition(X: Points, y: Values, groups: Sequence[slice], hyper: Hyper) -> Emulator:
    """Return the emulator with given settings, without a search."""
    mean, std = _scale(y)
    parts = _distances(X, X, groups, hyper.lengthscales)
    k, _ = _matern52(np.sum(parts, axis=0), hyper.outputscale)
    inverse, _ = _inverse(k + hyper.noise * np.eye(len(y)))
    return Emulator(
        X=frozen_array(X),
        y=frozen_array(y),
        groups=tuple(groups),
        hyper=hyper,
        weights=frozen_array(inverse @ ((y - mean) / std)),
    )


def negative_log_likelihood(
    log: NDArray[np.float64], X: Points, z: Values, groups: Sequence[slice]
) -> tuple[float, NDArray[np.float64]]:
    """Return -log p(z) without its constant, and the gradient in the logarithms.

    Args:
        log: Logarithms of the lengthscales, the outputscale and the noise.
        X: Settings.
        z: Values.
        groups: Coordinates that share a lengthscale.
    """
    *lengthscales, s, noise = map(float, np.exp(log))
    parts = _distances(X, X, groups, lengthscales)
    k, slope = _matern52(np.sum(parts, axis=0), s)
    inverse, log_root = _inverse(k + noise * np.eye(len(z)))
    alpha = inverse @ z
    inner = inverse - np.outer(alpha, alpha)  # (5.9)
    changes = [-float(np.sum(inner * slope * part)) for part in parts]
    changes.append(0.5 * float(np.sum(inner * k)))
    changes.append(0.5 * noise * float(np.trace(inner)))
    return 0.5 * float(z @ alpha) + log_root, np.array(changes)  # (5.8)


def _search(
    X: Points, y: Values, groups: Sequence[slice], start: Hyper | None = None
) -> Hyper:
    mean, std = _scale(y)
    starts = [
        np.log([*[length] * len(groups), s, noise]) for length, s, noise in STARTS
    ]
    if start is not None:
        starts = [np.log([*start.lengthscales, start.outputscale, start.noise])]
    kinds = ["lengthscale"] * len(groups) + ["outputscale", "noise"]
    low, high = np.log([BOUNDS[kind] for kind in kinds]).T
    args = (X, (y - mean) / std, groups)
    best, x = np.inf, starts[0]
    for start_at in starts:
        found: OptimizeResult = minimize(
            negative_log_likelihood,
            np.clip(start_at, low, high),
            args=args,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
        )
        if found.fun < best:
            best, x = float(found.fun), found.x
    *lengths, s, noise = map(float, np.exp(x))
    return Hyper(lengthscales=tuple(lengths), outputscale=s, noise=noise)


def _inverse(K: Matrix) -> tuple[Matrix, float]:
    """Return K⁻¹ and ½ log |K|."""
    L = cholesky(K, lower=True)
    root = solve_triangular(L, np.eye(len(K)), lower=True)
    return root.T @ root, float(np.log(np.diag(L)).sum())


def _scale(y: Values) -> tuple[float, float]:
    """Return the mean, and a standard deviation that is never zero."""
    return float(y.mean()), float(y.std()) or 1.0


def _distances(
    A: Points, B: Others, groups: Sequence[slice], lengthscales: Sequence[float]
) -> list[Matrix]:
    """Return each group's part of q, (a, b)."""
    return [
        np.sum((A[:, None, g] - B[None, :, g]) ** 2, axis=2) / length**2
        for g, length in zip(groups, lengthscales, strict=True)
    ]


def _matern52(q: Matrix, s: float) -> tuple[Matrix, Matrix]:
    """Return the kernel and dk/dq."""
    a = np.sqrt(5.0 * q)
    decay = s * np.exp(-a)
    return (1.0 + a + (5.0 / 3.0) * q) * decay, -(5.0 / 6.0) * (1.0 + a) * decay

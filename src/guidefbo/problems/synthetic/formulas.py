"""The twelve formulas, over batches of raw points, to be minimised.

References:
    Surjanovic and Bingham, Virtual Library of Simulation Experiments: the usual forms.
    Liang, Qu and Suganthan, 2013: Weierstrass.
"""

import numpy as np

from guidefbo.core.arrays import Point, Points, Values

_WEIERSTRASS_POWERS = np.arange(21)
_MICHALEWICZ_STEEPNESS = 10


def ackley(X: Points) -> Values:
    """Return a funnel covered with ripples."""
    bowl = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(X**2, axis=1)))
    ripples = -np.exp(np.mean(np.cos(2.0 * np.pi * X), axis=1))
    return bowl + ripples + 20.0 + np.e


def levy(X: Points) -> Values:
    """Return a tilted washboard with its optimum at one."""
    W = 1.0 + (X - 1.0) / 4.0
    first = np.sin(np.pi * W[:, 0]) ** 2
    inner = (W[:, :-1] - 1.0) ** 2
    inner = inner * (1.0 + 10.0 * np.sin(np.pi * W[:, :-1] + 1.0) ** 2)
    last = (W[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * W[:, -1]) ** 2)
    return first + np.sum(inner, axis=1) + last


def griewank(X: Points) -> Values:
    """Return a wide bowl with a product of cosines on it."""
    waves = np.prod(np.cos(X / np.sqrt(_numbers(X))), axis=1)
    return np.sum(X**2, axis=1) / 4000.0 - waves + 1.0


def rastrigin(X: Points) -> Values:
    """Return a bowl with one dent per unit cell."""
    return np.sum(X**2 + 10.0 * (1.0 - np.cos(2.0 * np.pi * X)), axis=1)


def weierstrass(X: Points) -> Values:
    """Return the truncated Weierstrass function with a = 1/2, b = 3, k = 0 to 20.

    Since b is odd, cos(2 pi b^k (x + 1/2)) = -cos(2 pi b^k x): the usual sum and its
    constant collapse into sum_i sum_k a^k (1 - cos(2 pi b^k x_i)), which is exactly
    zero at the origin.
    """
    angles = 2.0 * np.pi * np.multiply.outer(X, 3.0**_WEIERSTRASS_POWERS)
    return np.sum((1.0 - np.cos(angles)) @ 0.5**_WEIERSTRASS_POWERS, axis=1)


def ellipsoid(X: Points) -> Values:
    """Return a bowl that is steeper along each next axis."""
    return X**2 @ _numbers(X)


def sphere(X: Points) -> Values:
    """Return the squared distance from the origin."""
    return np.sum(X**2, axis=1)


def zakharov(X: Points) -> Values:
    """Return a bowl with a steep quartic ridge along one direction."""
    tilt = X @ (0.5 * _numbers(X))
    return np.sum(X**2, axis=1) + tilt**2 + tilt**4


def rosenbrock(X: Points) -> Values:
    """Return the banana valley, with its optimum at one."""
    here, after = X[:, :-1], X[:, 1:]
    return np.sum(100.0 * (after - here**2) ** 2 + (1.0 - here) ** 2, axis=1)


def michalewicz_terms(X: Points) -> Points:
    """Return the Michalewicz terms per coordinate, each to be minimised."""
    folds = np.sin(_numbers(X) * X**2 / np.pi)
    return -np.sin(X) * folds ** (2 * _MICHALEWICZ_STEEPNESS)


def michalewicz(X: Points) -> Values:
    """Return flat ground cut by steep valleys, with steepness 10."""
    return np.sum(michalewicz_terms(X), axis=1)


def powell(X: Points) -> Values:
    """Return Powell's quartic; coordinates after the last whole block of 4 are idle."""
    blocks = X[:, : X.shape[1] // 4 * 4].reshape(len(X), -1, 4)
    a, b, c, d = np.moveaxis(blocks, 2, 0)
    pairs = (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2
    return np.sum(pairs + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4, axis=1)


def styblinski_tang(X: Points) -> Values:
    """Return a double well along every coordinate."""
    return 0.5 * np.sum(X**4 - 16.0 * X**2 + 5.0 * X, axis=1)


def _numbers(X: Points) -> Point:
    """Return the coordinate numbers 1 to d."""
    return np.arange(1.0, X.shape[1] + 1.0)

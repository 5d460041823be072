"""The contract of a decision rule."""

import numpy as np

from guidefbo.agent.decision.rule import Acquisition, Rule
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.sums import by_sums
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.arrays import Points, Values
from guidefbo.core.streams import Purpose, Streams
from guidefbo.testing.examples import (
    example_points,
    example_posterior,
    guided_posterior,
)
from guidefbo.testing.expect import expect, expect_gradient, expect_shape
from guidefbo.testing.posterior import ROUNDING


def check_rule(rule: Rule, *, dim: int = 3, seed: int = 0) -> None:
    """Check a rule on a local posterior, an interventional one and one with a trend.

    Shapes and finite values; the gradient against finite differences; the same stream
    giving the same acquisition; a point's acquisition independent of the points it is
    evaluated with, and the same by sums where the rule knows them.

    Args:
        rule: The rule to check.
        dim: Coordinates of the example.
        seed: Root of the example.
    """
    local = example_posterior(dim, seed)
    trend = TrendPosterior.fit(local)
    for posterior in (local, guided_posterior(local), trend):
        _check_on(rule, posterior, seed)


def _check_on(rule: Rule, posterior: Posterior, seed: int) -> None:
    X = example_points(posterior.dim, seed)
    first, second = (
        rule.acquisition(posterior, Streams(seed).at(Purpose.RULE)) for _ in range(2)
    )
    _check_acquisition(first, X)
    expect(
        np.array_equal(first.value(X), second.value(X)),
        "The same stream must give the same acquisition.",
    )
    before = first.value(X)
    rule.acquisition(posterior, Streams(seed + 1).at(Purpose.RULE)).value(X)
    expect(
        np.array_equal(first.value(X), before),
        "Making another acquisition must not change the first.",
    )


def _check_acquisition(acquisition: Acquisition, X: Points) -> None:
    value, gradient = acquisition.value_and_gradient(X)
    expect_shape(value, (len(X),), "The acquisition")
    expect_shape(gradient, X.shape, "The acquisition's gradient")
    expect(
        _are_close(acquisition.value(X), value),
        "`value` and `value_and_gradient` must give the same value.",
    )
    form = by_sums(acquisition)
    expect(
        form is None or _are_close(form.finish(form.sums.at(X)), value),
        "`by_sums` and `value` must give the same value.",
    )
    alone = np.concatenate([acquisition.value(x[None]) for x in X])
    expect(
        _are_close(alone, value),
        "A point's acquisition must not depend on the points beside it.",
    )
    expect_gradient(acquisition.value, X, gradient, "the acquisition")


def _are_close(first: Values, second: Values) -> bool:
    return np.allclose(first, second, rtol=ROUNDING, atol=ROUNDING)

"""Which place an agent is pointed to: between its own word and that of the others.

In the random-effects model the optimum of site n is x*_n = θ + u_n. The others say
that it is about θ, with variance s = error² + τ²; its own data that it is about y_n,
with variance v_n. The best linear prediction from both lies between them, the nearer to
θ the less the site knows itself and the more alike the sites are.

References:
    Robinson, That BLUP is a good thing: the estimation of random effects, 1991.
    Efron and Morris, Stein's estimation rule and its competitors, 1973.
"""

from collections.abc import Callable

from guidefbo.core.arrays import Points
from guidefbo.server.fusion import Fused

Aim = Callable[[Points, Points, Fused], tuple[Points, Points]]
"""((N, d) own places, their variances, the others' word) -> places, their variances."""


def blend(y: Points, v: Points, others: Fused) -> tuple[Points, Points]:
    """Return the best prediction of each agent's optimum from all that was said.

    One share for all coordinates: what the sites say of a single one is mostly noise.
    """
    s = others.spread
    own, theirs = v.mean(axis=1, keepdims=True), s.mean(axis=1, keepdims=True)
    share = own / (own + theirs)  # E86
    return y + share * (others.center - y), v * s / (v + s)  # E88


def of_others(y: Points, v: Points, others: Fused) -> tuple[Points, Points]:
    """Return the others' place, whatever an agent knows itself."""
    del y, v
    return others.center, others.spread


def of_own(y: Points, v: Points, others: Fused) -> tuple[Points, Points]:
    """Return what an agent said itself: a control that exchanges nothing."""
    del others
    return y, v

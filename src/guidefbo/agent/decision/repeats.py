"""What to do when the next query equals an observed input exactly.

Most methods ask again: under noise, a repeat is one more observation. FTS and FMTBO
evaluate one uniform random point instead. In a small discrete domain that may have
been observed as well; no second point is drawn.

References:
    Dai, Low and Jaillet, Federated Bayesian optimization via Thompson sampling,
    NeurIPS 2020.
    Zhu, Wang and Jin, Federated many-task Bayesian optimization, IEEE TEVC 2023.
"""

from collections.abc import Callable

import numpy as np

from guidefbo.agent.decision.search import Forbids
from guidefbo.core.arrays import Others, Point
from guidefbo.core.domain import Domain

OnRepeat = Callable[[Point, Domain, np.random.Generator, Forbids | None], Point]
"""(repeated query, domain, stream, what may not be asked) -> what is asked."""

NUM_DRAWS = 64
"""Uniform points among which the first that may be asked is taken."""


def is_repeat(x: Point, observed: Others) -> bool:
    """Return whether a query is one of the observed inputs, to the last digit."""
    return bool((observed == x).all(axis=1).any())


def ask_again(
    x: Point,
    domain: Domain,
    stream: np.random.Generator,
    forbids: Forbids | None = None,
) -> Point:
    """Keep the query."""
    del domain, stream, forbids
    return x


def ask_anywhere(
    x: Point,
    domain: Domain,
    stream: np.random.Generator,
    forbids: Forbids | None = None,
) -> Point:
    """Return a uniform random point that may be asked; the query if none is drawn."""
    drawn = domain.sample(NUM_DRAWS, stream)
    if forbids is not None:
        drawn = drawn[~forbids(drawn)]
    return drawn[0] if len(drawn) else x  # E79

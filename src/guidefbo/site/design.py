"""Points chosen without a model: the initial design.

Also the space-filling fallback where the model cannot be used.

References:
    Chen, Welling and Smola, Super-samples from kernel herding, UAI 2010.
"""

import numpy as np

from guidefbo.agent.decision.search import Forbids
from guidefbo.agent.surrogate.kernel import matern52, squared_distances
from guidefbo.core.arrays import Point, Points
from guidefbo.core.designs import collaborative_latin_hypercube, sobol
from guidefbo.core.space.polytope import Polytope
from guidefbo.core.streams import Purpose
from guidefbo.site.setup import Setup

POOL = 512
"""Random points among which a space-filling one is looked for."""
HERDING_LENGTHSCALE = 0.3
"""Over how much of the box a herded point stands for its surroundings."""


def design_point(setup: Setup, k: int) -> Point:
    """Return point k of the initial design, from 0.

    A federation of known size shares a collaborative Latin hypercube; beyond its end,
    or alone, the points are those of a scrambled Sobol sequence. Parameters under
    constraints are herded over the region the constraints leave.
    """
    region, streams = setup.region, setup.streams
    domain = setup.space.domain if region is None else region.domain
    if setup.num_agents is not None and k < setup.num_initial:
        jitter = [
            streams.at(Purpose.DESIGN_JITTER, agent=n) for n in range(setup.num_agents)
        ]
        u = collaborative_latin_hypercube(
            setup.num_agents,
            setup.num_initial,
            domain.num_parameters,
            streams.at(Purpose.DESIGN_CELLS),
            jitter,
        )[setup.agent_id, k]
    else:
        stream = streams.at(Purpose.DESIGN_SOBOL, agent=setup.agent_id)
        u = sobol(k + 1, domain.num_parameters, stream)[k]
    stream = streams.at(Purpose.DESIGN_SOBOL, agent=setup.agent_id, t=1)
    x = domain.place(u[None], stream)[0]
    if domain.polytope is not None:
        stream = streams.at(Purpose.DESIGN_SOBOL, agent=setup.agent_id, t=2)
        x[domain.columns] = herd(domain.polytope, k + 1, stream)[k]
    return x if region is None else region.embed(x[None])[0]


def herd(polytope: Polytope, num_points: int, stream: np.random.Generator) -> Points:
    """Return points that represent the polytope ever better, one after the other.

    Each is where the region is least represented by those before it:
    argmax of mean_u k(x, u) - mean_i k(x, x_i).
    """
    pool = polytope.sample(POOL, stream) / HERDING_LENGTHSCALE
    unit = np.ones(len(polytope.centre))
    K = matern52(squared_distances(pool, pool, unit), 1.0)
    wanted = K.mean(axis=1)
    covered = np.zeros(POOL)
    chosen = np.empty(num_points, dtype=np.intp)
    for k in range(num_points):
        chosen[k] = np.argmax(wanted - covered / (k + 1))  # E41
        covered += K[chosen[k]]
    return pool[chosen] * HERDING_LENGTHSCALE


def filling_point(
    setup: Setup, trial_id: int, known: Points, forbids: Forbids
) -> Point:
    """Return an allowed point far from all known ones; any point if none is allowed."""
    stream = setup.streams.at(Purpose.FALLBACK, agent=setup.agent_id, t=trial_id)
    region = setup.region
    if region is None:
        pool = setup.space.domain.spread(POOL, stream)
    else:
        pool = region.embed(region.domain.spread(POOL, stream))
    allowed = ~forbids(pool)
    pool = pool[allowed] if allowed.any() else pool
    if len(known) == 0:
        return pool[0]
    unit = np.ones(setup.space.dim)
    q = squared_distances(pool, known, unit)
    return pool[int(np.argmax(q.min(axis=1)))]

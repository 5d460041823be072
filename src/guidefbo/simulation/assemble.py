"""Put a federation together, agents and server."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.strategies.fts_de.design import regional_design
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.arrays import Points, Values
from guidefbo.core.designs import (
    collaborative_latin_hypercube,
    sobol_grid,
)
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.build import build_policy, build_server_side
from guidefbo.methods.build_fts import fts_de_order
from guidefbo.methods.catalog import Method
from guidefbo.methods.settings import Settings
from guidefbo.simulation.federation import Federation
from guidefbo.simulation.liars import Liars
from guidefbo.simulation.spec import RunSpec

Observe = Callable[[int, Points], Values]
"""(agent id, its initial points) -> observed values."""


def initial_design(
    num_agents: int, num_points: int, dim: int, streams: Streams
) -> NDArray[np.float64]:
    """Return the collaborative design, (num_agents, num_points, dim)."""
    jitter = [streams.at(Purpose.DESIGN_JITTER, agent=n) for n in range(num_agents)]
    cells = streams.at(Purpose.DESIGN_CELLS)
    return collaborative_latin_hypercube(num_agents, num_points, dim, cells, jitter)


def design_for(
    method: Method, settings: Settings, spec: RunSpec, streams: Streams
) -> NDArray[np.float64]:
    """Return the initial design of a method: FTS-DE has one of its own."""
    size = (spec.num_agents, spec.num_initial, spec.dim)
    if method.strategy == "fts-de":
        order = fts_de_order(settings)
        return regional_design(*size, settings.num_regions, streams, order)
    return initial_design(*size, streams)


def assemble(
    method: Method,
    settings: Settings,
    design: NDArray[np.float64],
    observe: Observe,
    *,
    noise_std: float | None,
    streams: Streams,
    liars: Liars | None = None,
) -> Federation:
    """Return agents that know their initial observations, and their server.

    Args:
        method: Strategy and rule.
        settings: Their settings.
        design: Initial points of every agent.
        observe: Evaluates them.
        noise_std: Known noise of one observation, or None to fit it.
        streams: Randomness of the run.
        liars: The agents that lie, if any.
    """
    # SciPy's statistics take a second to load: not on any stage's clock.
    sobol_grid(1, design.shape[2])
    policy = build_policy(
        method,
        settings,
        Domain.box(design.shape[2]),
        Model(noise_std=noise_std, priors=Priors() if settings.fit == "map" else None),
    )
    agents = [
        RoundAgent(
            agent_id=n,
            data=Dataset(X=X, y=observe(n, X)),
            policy=policy,
            streams=streams,
        )
        for n, X in enumerate(design)
    ]
    return Federation(agents, build_server_side(method, settings), streams, liars)

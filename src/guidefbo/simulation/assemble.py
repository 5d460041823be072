"""Put a federation together, agents and server."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.surrogate.model import Model, ModelSettings
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.arrays import Points, Values
from guidefbo.core.designs import sobol_grid
from guidefbo.core.domain import Domain
from guidefbo.core.settings import make
from guidefbo.core.streams import Streams
from guidefbo.methods.record import Liars, Method
from guidefbo.simulation.federation import Federation
from guidefbo.wire.envelope import Terms

Observe = Callable[[int, Points], Values]
"""(agent id, its initial points) -> observed values."""
FEDERATION = "simulation"
"""What simulated messages say that they are of."""


def assemble(
    method: Method,
    settings: Mapping[str, Any],
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
        settings: Settings of both that differ from the defaults.
        design: Initial points of every agent.
        observe: Evaluates them.
        noise_std: Known noise of one observation, or None to fit it.
        streams: Randomness of the run.
        liars: The agents that lie, if any.
    """
    dim = design.shape[2]
    # SciPy's statistics take a second to load: not on any stage's clock.
    sobol_grid(1, dim)
    priors = make(ModelSettings, settings).priors(Priors())
    model = Model(noise_std=noise_std, priors=priors)
    policy = method.policy(settings, Domain.box(dim), model)
    agents = [
        RoundAgent(
            agent_id=n,
            data=Dataset(X=X, y=observe(n, X)),
            policy=policy,
            streams=streams,
        )
        for n, X in enumerate(design)
    ]
    terms = Terms(
        federation=FEDERATION,
        space=f"unit-cube-{dim}",
        strategy=method.strategy.name,
        strategy_version=method.strategy.version,
    )
    return Federation(agents, method.server(settings), terms, streams, liars)

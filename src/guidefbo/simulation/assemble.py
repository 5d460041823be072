"""Put a federation together, agents and server."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.surrogate.model import Model, ModelSettings, site_model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.designs import sobol_grid
from guidefbo.core.settings import make
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.record import Liars, Method
from guidefbo.problems.problem import Problem
from guidefbo.simulation.federation import Federation, SimulatedAgent
from guidefbo.simulation.solver import SolverAgent
from guidefbo.wire.envelope import Terms

FEDERATION = "simulation"
"""What simulated messages say that they are of."""


def lay_out(
    method: Method,
    settings: Mapping[str, Any],
    problem: Problem,
    num_initial: int,
    streams: Streams,
) -> NDArray[np.float64]:
    """Return the initial points of every agent, (agents, points, dim).

    Args:
        method: Strategy and rule.
        settings: Settings of both that differ from the defaults.
        problem: What is optimised.
        num_initial: Points of each agent.
        streams: Randomness of the run.
    """
    domain = problem.space.domain
    size = problem.num_agents, num_initial, domain.num_parameters
    design = method.design(settings, size, streams)
    if domain.is_box:
        return design
    return np.stack(
        [
            domain.place(U, streams.at(Purpose.DESIGN_SOBOL, agent=n, t=1))
            for n, U in enumerate(design)
        ]
    )


def assemble(
    method: Method,
    settings: Mapping[str, Any],
    problem: Problem,
    design: NDArray[np.float64],
    observed: NDArray[np.float64],
    *,
    streams: Streams,
    liars: Liars | None = None,
    every: int = 1,
) -> Federation:
    """Return agents that know their initial observations, and their server.

    Args:
        method: Strategy and rule.
        settings: Settings of both that differ from the defaults.
        problem: What is optimised.
        design: Initial points of every agent.
        observed: What every agent observed there, (agents, points).
        streams: Randomness of the run.
        liars: The agents that lie, if any.
        every: Rounds from one exchange to the next.
    """
    dim = design.shape[2]
    # SciPy's statistics take a second to load: not on any stage's clock.
    sobol_grid(1, dim)
    data = [Dataset(X=X, y=y) for X, y in zip(design, observed, strict=True)]
    terms = Terms(
        federation=FEDERATION,
        space=f"unit-cube-{dim}",
        strategy=method.strategy.name,
        strategy_version=method.strategy.version,
    )
    agents = _agents(method, settings, problem, data, streams)
    server = method.run_server(settings)
    return Federation(agents, server, terms, streams, liars, every)


def _agents(
    method: Method,
    settings: Mapping[str, Any],
    problem: Problem,
    data: list[Dataset],
    streams: Streams,
) -> list[SimulatedAgent]:
    solver = method.strategy.solver
    if solver is not None:
        return [
            SolverAgent(
                solver(
                    problem.space,
                    own,
                    rule=method.rule.name,
                    agent_id=n,
                    seed=streams.seed,
                    settings=settings,
                ),
                own,
            )
            for n, own in enumerate(data)
        ]
    domain = problem.space.domain
    policy = method.policy(settings, domain, model_of(problem, settings))
    return [
        RoundAgent(agent_id=n, data=own, policy=policy, streams=streams)
        for n, own in enumerate(data)
    ]


def model_of(problem: Problem, settings: Mapping[str, Any]) -> Model:
    """Return how agents model their objectives.

    Values of synthetic problems are modelled as they are, as in the paper; all others
    as a site models its own.
    """
    if problem.is_synthetic:
        priors = make(ModelSettings, settings).priors(Priors())
        return Model(noise_std=problem.noise_std, priors=priors)
    return site_model(problem.space.domain, problem.noise_std, settings)

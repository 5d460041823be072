"""Build the parts of the cgp strategy from its settings."""

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.strategies.cgp.agent import CgpAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.methods.settings import Settings
from guidefbo.server.strategies.cgp.server import CgpServer


def cgp_agent(settings: Settings, domain: Domain, model: Model) -> CgpAgent:
    """Return the strategy's private half."""
    del model
    return CgpAgent(
        domain=domain,
        search=SearchSettings(
            num_raw=settings.num_raw,
            num_starts=settings.num_starts,
            max_iterations=settings.num_iterations,
        ),
        num_draws=settings.num_draws,
        max_models=settings.max_models,
    )


def cgp_server(settings: Settings) -> CgpServer:
    """Return the strategy's shared half."""
    return CgpServer(group_size=settings.group_size)

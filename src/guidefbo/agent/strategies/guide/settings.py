"""Settings of GUIDE's agents, with the values of the paper."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from guidefbo.agent.belief.dpgmm import DirichletProcessMixture
from guidefbo.agent.belief.mixture import Belief
from guidefbo.agent.belief.single_gaussian import SingleGaussian
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.guidance.schedule import SCHEDULES
from guidefbo.agent.guidance.settings import INTERVENTIONS, STARTS
from guidefbo.agent.paths.maximise import ExactSampler, FeatureSampler, Sampler
from guidefbo.agent.strategies.guide.agent import GuideAgent
from guidefbo.agent.surrogate.model import Model
from guidefbo.core.domain import Domain
from guidefbo.core.settings import count, part, real
from guidefbo.wire.guide import MAX_COMPONENTS

BELIEFS: MappingProxyType[str, Callable[[int, bool], Belief]] = MappingProxyType(
    {
        "dpgmm": lambda size, is_full: DirichletProcessMixture(
            max_components=size, is_full=is_full
        ),
        "single-gaussian": lambda size, is_full: SingleGaussian(is_full=is_full),
    }
)
"""(largest number of components, full covariances?) -> belief."""

SAMPLERS: MappingProxyType[str, Callable[[int, int], Sampler]] = MappingProxyType(
    {
        "features": lambda paths, features: FeatureSampler(
            num_paths=paths, num_features=features
        ),
        "exact": lambda paths, features: ExactSampler(num_paths=paths),
    }
)
"""(number of paths, number of features) -> sampler."""

COVARIANCES = MappingProxyType({"diagonal": False, "full": True})
"""Whether components have full covariances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideSettings:
    """What an agent samples, fits, sends, and does with the answer."""

    num_paths: int = count(500, "posterior paths M")
    num_features: int = count(500, "random features of a path")
    num_candidates: int = count(1000, "candidates of a path's maximum")
    max_components: int = count(0, "truncation of the mixture, 0 = dim", low=0)
    lcb_coefficient: float = real(1.0, "kappa of the value score mean - kappa std")
    max_strength: float = real(1.0, "largest strength of the intervention, lambda_max")
    schedule: str = part("decaying", "strength over the rounds", SCHEDULES)
    sampler: str = part("features", "how posterior paths are drawn", SAMPLERS)
    belief: str = part("dpgmm", "distribution of the optimum", BELIEFS)
    covariance: str = part("diagonal", "covariances of components", COVARIANCES)
    intervention: str = part("local", "where the uncertainty grows", INTERVENTIONS)
    starts: str = part("none", "where the search starts as well", STARTS)
    packet_size: int = count(
        5, "components sent to an agent at most", high=MAX_COMPONENTS
    )

    def build(self, domain: Domain, model: Model, search: SearchSettings) -> GuideAgent:
        """Return GUIDE's agent side."""
        del model, search
        truncation = self.max_components or min(domain.dim, self.num_paths)
        return GuideAgent(
            sampler=SAMPLERS[self.sampler](self.num_paths, self.num_features),
            belief=BELIEFS[self.belief](truncation, COVARIANCES[self.covariance]),
            intervention=INTERVENTIONS[self.intervention],
            schedule=SCHEDULES[self.schedule],
            starts_at_centers=STARTS[self.starts],
            domain=domain,
            num_candidates=self.num_candidates,
            max_strength=self.max_strength,
            lcb_coefficient=self.lcb_coefficient,
            packet_size=self.packet_size,
        )

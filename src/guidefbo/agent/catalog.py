"""The private side's parts by name."""

from collections.abc import Callable
from types import MappingProxyType

from guidefbo.agent.belief.dpgmm import DirichletProcessMixture
from guidefbo.agent.belief.mixture import Belief
from guidefbo.agent.belief.single_gaussian import SingleGaussian
from guidefbo.agent.guidance.scaling import Intervention, LocalScaling, UniformScaling
from guidefbo.agent.guidance.schedule import SCHEDULES
from guidefbo.agent.paths.maximise import ExactSampler, FeatureSampler, Sampler
from guidefbo.agent.strategies.consensus.aim import AIMS

__all__ = ["AIMS", "BELIEFS", "INTERVENTIONS", "SAMPLERS", "SCHEDULES"]

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

INTERVENTIONS: MappingProxyType[str, Intervention] = MappingProxyType(
    {"local": LocalScaling.widening, "uniform": UniformScaling.averaging}
)

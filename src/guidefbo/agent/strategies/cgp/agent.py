"""CGP's agent: consensus-constrained Gaussian processes.

It uploads the design of highest lower confidence bound. Received designs are those that
other agents expect to exceed this agent's best mean; the posterior is conditioned on
exceeding it at as many of them as the local data do not rule out.

References:
    Chen, Jiang, Qin and Al Kontar, Multi-agent collaborative Bayesian optimization via
    constrained Gaussian processes, Technometrics 2025.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.rule import Acquisition
from guidefbo.agent.decision.search import SearchSettings, maximise_acquisition
from guidefbo.agent.decision.ucb import UpperConfidence
from guidefbo.agent.strategies.cgp.constrained import ConstrainedPosterior
from guidefbo.agent.strategies.cgp.mean import PosteriorMean
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.linalg import factorise
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.arrays import Matrix, Point, Points, Values
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.cgp import MAX_LEVEL, DesignPacket, DesignUpload
from guidefbo.wire.entries import same_dimension

LCB_COEFFICIENT = 2.0
"""c of the lower confidence bound mean - c std."""
MIN_COUNT = 5
"""A pattern drawn this often or less is taken for impossible."""
JITTER = 1e-10
"""Added to the variances of the designs' values, relative to the prior's."""


class Consensus(NamedTuple):
    """The designs taken to exceed a level, and draws of their values."""

    is_accepted: NDArray[np.bool_]
    """(m,)."""
    values: Matrix
    """(accepted, S), all above the level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgpAgent:
    """Consensus-constrained GPs, agent side."""

    domain: Domain
    """Where designs may lie."""
    search: SearchSettings
    """Effort of the searches behind an upload."""
    num_draws: int
    """Draws of the values at the received designs."""
    max_models: int
    """Most pseudo-data GPs averaged over."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: DesignPacket | None,
        address: Address,
    ) -> DesignUpload:
        """Return the design of highest lower confidence bound, with two levels."""
        del data, insight, held
        acquisition = UpperConfidence(
            posterior=self._rounded(posterior), multiplier=-LCB_COEFFICIENT
        )
        x = self._argmax(acquisition, posterior.X, address)  # E56
        return DesignUpload(
            design=x,
            lower_bound=_level(acquisition.value(x[None])),
            best_mean=self.best_mean(posterior, address),
        )

    def check(self, packet: DesignPacket, dim: int) -> None:
        """Refuse designs of another dimension."""
        if len(packet):
            same_dimension(packet.dim, dim, "A packet")

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: DesignPacket | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the constrained posterior, or the local one if none is accepted."""
        del t
        if packet is None or not len(packet):
            return posterior
        designs = self.domain.snap(np.clip(packet.designs, 0.0, 1.0))
        mean, cov = posterior.joint(designs)
        cov.flat[:: len(cov) + 1] += JITTER * posterior.hyper.outputscale
        consensus = believe(
            mean,
            cov,
            self.best_mean(posterior, address),
            num_draws=self.num_draws,
            max_models=self.max_models,
            stream=address.at(Purpose.CONSTRAINT),
        )
        if consensus is None:
            return posterior
        return ConstrainedPosterior.condition(
            posterior, designs[consensus.is_accepted], consensus.values
        )

    def best_mean(self, posterior: GaussianProcess, address: Address) -> float:
        """Return b, the highest posterior mean, the same for one posterior and round.

        Observed inputs count too: a level found too low lets too many designs pass.
        """
        acquisition = PosteriorMean(posterior=posterior, domain=self.domain)
        x = self._argmax(acquisition, posterior.X, address)
        return _level(acquisition.value(np.vstack([x, posterior.X])))  # E55

    def _argmax(
        self, acquisition: Acquisition, observed: Points, address: Address
    ) -> Point:
        best = int(np.argmax(acquisition.value(observed)))
        x = maximise_acquisition(
            acquisition,
            self.domain,
            self.search,
            address.at(Purpose.BEST),
            near=observed[[best]],
        )
        assert x is not None  # nothing is forbidden
        return x

    def _rounded(self, posterior: GaussianProcess) -> Posterior:
        if not self.domain.is_discrete:
            return posterior
        return SnappedPosterior(inner=posterior, domain=self.domain)


def _level(values: Values) -> float:
    return float(np.clip(values.max(), -MAX_LEVEL, MAX_LEVEL))


def believe(
    mean: Values,
    cov: Matrix,
    level: float,
    *,
    num_draws: int,
    max_models: int,
    stream: np.random.Generator,
) -> Consensus | None:
    """Return the largest set of values above a level that is not too improbable.

    Each joint draw of the values shows a pattern of which exceed the level. Among the
    patterns that occur often enough, the one with most values above it is taken (the
    more frequent of two with as many), with the draws that show it. None where a single
    pattern occurs: in practice the one with no value above the level.

    Args:
        mean: Posterior mean of the values, (m,).
        cov: Their covariance, (m, m).
        level: What they should exceed.
        num_draws: Joint draws.
        max_models: Most draws returned.
        stream: Randomness of the draws.
    """
    m = len(mean)
    F = factorise(cov) @ stream.standard_normal((m, num_draws)) + mean[:, None]
    powers = 1 << np.arange(m)
    codes = powers @ np.greater(F, level)
    counts = np.bincount(codes, minlength=2**m)
    (kept,) = np.nonzero(counts > MIN_COUNT)
    if len(kept) < 2:
        return None
    is_above = (kept[:, None] & powers) > 0
    order = np.lexsort([counts[kept], is_above.sum(axis=1)])
    chosen = order[-1]  # E58
    (draws,) = np.nonzero(codes == kept[chosen])
    is_accepted = is_above[chosen]
    return Consensus(is_accepted, F[is_accepted][:, draws[:max_models]])

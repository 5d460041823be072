"""FMTBO's server: average the hyperparameters of agents that rank alike.

Two agents are dissimilar by the ordered pairs of probes they rank differently,

    L_ij = Σ_a Σ_b 1[(r_i[a] < r_i[b]) xor (r_j[a] < r_j[b])],

which is 0 for equal rankings and m (m-1) for reversed ones.

References:
    Zhu, Wang and Jin, Federated many-task Bayesian optimization, IEEE TEVC 2023.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.server.side import Draws
from guidefbo.wire.fmtbo import (
    MAX_PROBES,
    ModelPacket,
    ModelUpload,
    SharedHyperparameters,
)

Reals = NDArray[np.float64]
Averaging = Callable[[Reals], Reals]
"""(k, p) positive numbers of k agents -> their (p,) average."""

Neighbours = Callable[[Reals, float, int], NDArray[np.intp]]
"""((N, N) dissimilarities, ρ, round) -> (N, k) the rows each agent averages over."""

ROUNDING = 1e-9
"""A product this close below a whole number is that number: 0.29 * 100 is 29."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FmtboServer:
    """Averages hyperparameters over the agents with the most similar rankings."""

    upload_type: ClassVar[type[ModelUpload]] = ModelUpload
    packet_type: ClassVar[type[ModelPacket]] = ModelPacket
    needs_shared_seed: ClassVar[bool] = True
    """All sites draw the same features or probes, so that they need one seed."""

    averaging: Averaging
    """Of lengthscales and output scales."""
    similar_share: float
    """ρ, the share of agents averaged over."""
    neighbours: Neighbours
    """Which of them."""

    def form(self, upload: ModelUpload) -> tuple[object, ...]:
        """Return the dimension, the number of probes, and whether a mean is shared."""
        is_shared = upload.hyper.mean is not None
        mean = "with means" if is_shared else "without means"
        return (
            f"hyperparameters {mean}, dimension",
            upload.hyper.dim,
            "number of probes",
            len(upload.ranks),
        )

    def max_numbers(self, domain: Domain) -> int:
        """Return the most numbers: hyperparameters, and a rank for each probe."""
        return 2 + domain.dim + MAX_PROBES

    def check(self, upload: ModelUpload, domain: Domain) -> None:
        """Refuse lengthscales that are neither one for all nor one a coordinate."""
        if upload.hyper.dim not in (1, domain.dim):
            raise WireError(
                f"An upload must have one lengthscale or {domain.dim}, got "
                f"{upload.hyper.dim}. Do both sides use the same search space?"
            )

    def aggregate(
        self, uploads: Mapping[str, ModelUpload], t: int, draws: Draws
    ) -> dict[str, ModelPacket]:
        """Return every agent's average over the agents most similar to it."""
        del draws
        if not uploads:
            return {}
        agents = sorted(uploads)
        ordered = [uploads[agent] for agent in agents]
        L = dissimilarities(np.stack([upload.ranks for upload in ordered]))
        near = self.neighbours(L, self.similar_share, t)
        return {
            agent: ModelPacket(hyper=self.average([ordered[int(j)].hyper for j in row]))
            for agent, row in zip(agents, near, strict=True)
        }

    def average(self, shared: list[SharedHyperparameters]) -> SharedHyperparameters:
        """Return one set of hyperparameters for several."""
        scales = np.array([[*h.lengthscales, h.outputscale] for h in shared])
        averaged = _between(self.averaging(scales), scales)
        means = np.array([[h.mean] for h in shared if h.mean is not None])
        return SharedHyperparameters(
            lengthscales=averaged[:-1],
            outputscale=float(averaged[-1]),
            mean=_between(means.mean(axis=0), means).item() if len(means) else None,
        )


def dissimilarities(ranks: NDArray[np.int64]) -> Reals:
    """Return L between N agents, from the (N, m) ranks of the probes."""
    N, m = ranks.shape
    L = np.zeros((N, N))
    for a in range(m):
        below = (ranks[:, a : a + 1] < ranks).astype(np.float64)
        count = below.sum(axis=1)
        L += count[:, None] + count - 2.0 * below @ below.T  # E66
    return L


def nearest(L: Reals, share: float, t: int) -> NDArray[np.intp]:
    """Return the ⌊ρN⌋ rows nearest to each, itself first of all, each row ascending.

    At least one, ties in the order of the rows.
    """
    del t
    N = len(L)
    k = min(max(int(share * N + ROUNDING), 1), N)
    own_first = L.copy()
    np.fill_diagonal(own_first, -1.0)
    order = np.argsort(own_first, axis=1, kind="stable")
    return np.sort(order[:, :k], axis=1)


def first_then_nearest(L: Reals, share: float, t: int) -> NDArray[np.intp]:
    """Give everybody the first agent's in the first round: as the tables were run."""
    if t == 1:
        return np.zeros((len(L), 1), dtype=np.intp)
    return nearest(L, share, t)


def geometric(scales: Reals) -> Reals:
    """Return the mean of the logarithms, as a scale."""
    return np.exp(np.log(scales).mean(axis=0))  # E67


def raw(scales: Reals) -> Reals:
    """Return the mean of the softplus-inverses, as a scale."""
    inverse = scales + np.log(-np.expm1(-scales))
    return np.logaddexp(0.0, inverse.mean(axis=0))  # E67


def _between(averaged: Reals, values: Reals) -> Reals:
    """Return an average that rounding has not carried beyond what was averaged."""
    return np.clip(averaged, values.min(axis=0), values.max(axis=0))

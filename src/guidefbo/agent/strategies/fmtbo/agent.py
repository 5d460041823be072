"""FMTBO's agent: a second GP whose fit starts at received hyperparameters.

Both models are conditioned on the same private data. The local one is fitted until it
converges, always from the same start; the global one takes a few iterations from the
average hyperparameters of similar agents. The transfer lies in stopping early: run to
convergence, both fits would mostly reach the same mode, and FMTBO would be close to
plain expected improvement.

The constant mean is profiled out of every fit, so where it starts changes nothing. It
need not be sent, and is only by `tell_all`.

References:
    Zhu, Wang and Jin, Federated many-task Bayesian optimization, IEEE TEVC 2023.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.strategies.fmtbo.mixed import MixedPosterior
from guidefbo.agent.surrogate.fit import fit
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import MAX_FIT, Model
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.core.arrays import Point, Points, Values
from guidefbo.core.designs import collaborative_latin_hypercube
from guidefbo.core.streams import Address, Purpose, Streams
from guidefbo.wire.entries import same_dimension
from guidefbo.wire.fmtbo import ModelPacket, ModelUpload, SharedHyperparameters

Probes = Callable[[Streams, int, int], Points]
"""(streams of the run, number of points, dimension) -> what all agents rank."""
Tell = Callable[[Hyperparameters], SharedHyperparameters]
"""What of the fitted hyperparameters is sent."""
Fits = Callable[[SharedHyperparameters, int], None]
"""(received, coordinates of the space): raises `WireError` unless they go together."""
Begin = Callable[[SharedHyperparameters, Hyperparameters], Hyperparameters]
"""(received, own local fit) -> where the global fit starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FmtboAgent:
    """Federated many-task Bayesian optimisation, agent side."""

    model: Model
    """Priors, bounds and groups of both fits."""
    tell: Tell
    """What is sent."""
    fits: Fits
    """What may be received."""
    begin: Begin
    """What is made of it."""
    probes: Probes
    """Points every agent ranks."""
    num_probes: int
    """m, their number."""
    num_iterations: int
    """L-BFGS-B iterations of the global fit."""
    ei_weight: float
    """γ, weight of the global model."""

    def upload(
        self,
        posterior: GaussianProcess,
        data: Dataset,
        insight: None,
        held: ModelPacket | None,
        address: Address,
    ) -> ModelUpload:
        """Return the global model's hyperparameters and its ranking of the probes."""
        del data, insight
        # Before the first round there is nothing to start from but the local model.
        surrogate = posterior if held is None else self.restart(posterior, held)
        X = self.probes(address.streams, self.num_probes, posterior.dim)
        return ModelUpload(
            hyper=self.tell(surrogate.hyper),
            ranks=ascending_ranks(surrogate.predict_mean(X)),
        )

    def check(self, packet: ModelPacket, dim: int) -> None:
        """Refuse another number of lengthscales than is shared."""
        self.fits(packet.hyper, dim)

    def decision_posterior(
        self,
        posterior: GaussianProcess,
        packet: ModelPacket | None,
        t: int,
        address: Address,
    ) -> Posterior:
        """Return the global and the local model, or the local one without a packet."""
        del t, address
        if packet is None:
            return posterior
        gamma = self.ei_weight
        return MixedPosterior(
            models=(self.restart(posterior, packet), posterior),
            weights=(gamma, 1.0 - gamma),
        )

    def restart(
        self, posterior: GaussianProcess, packet: ModelPacket
    ) -> GaussianProcess:
        """Return the global model: a short fit from the received start.

        The noise is the local model's: it belongs to the site, not to the task.
        """
        gp, common = posterior, posterior.hyper.noise_variance
        own_noise = None if (gp.noise == common).all() else gp.noise
        count = min(len(gp.y), MAX_FIT)
        rows = np.linspace(0, len(gp.y) - 1, count).round().astype(np.intp)
        hyper = fit(
            gp.X[rows],
            gp.y[rows],
            noise_variance=common,
            priors=self.model.priors,
            bounds=self.model.bounds,
            groups=self.model.groups,
            own_noise=None if own_noise is None else own_noise[rows],
            start=self.begin(packet.hyper, gp.hyper),
            max_iterations=self.num_iterations,
        )
        return GaussianProcess.condition(gp.X, gp.y, hyper, gp.noise)


def ascending_ranks(values: Values) -> NDArray[np.int64]:
    """Return how many values come before each one, ties in the order given."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))  # E68
    return ranks


def geometric_mean(lengthscales: Point) -> float:
    """Return the one lengthscale that stands for all."""
    return float(np.exp(np.log(lengthscales).mean()))  # E64


def tell_ard(hyper: Hyperparameters) -> SharedHyperparameters:
    """Send every lengthscale and the output scale."""
    return SharedHyperparameters(
        lengthscales=hyper.lengthscales, outputscale=hyper.outputscale
    )


def tell_all(hyper: Hyperparameters) -> SharedHyperparameters:
    """Send every lengthscale, the output scale and the constant mean."""
    return replace(tell_ard(hyper), mean=hyper.mean)


def tell_iso(hyper: Hyperparameters) -> SharedHyperparameters:
    """Send one lengthscale for all, and the output scale."""
    ell = np.array([geometric_mean(hyper.lengthscales)])
    return SharedHyperparameters(lengthscales=ell, outputscale=hyper.outputscale)


def fits_ard(received: SharedHyperparameters, dim: int) -> None:
    """Take a lengthscale for every coordinate."""
    same_dimension(received.dim, dim, "A packet")


def fits_iso(received: SharedHyperparameters, dim: int) -> None:
    """Take one lengthscale for all, in any space."""
    del dim
    same_dimension(received.dim, 1, "A packet of one lengthscale for all")


def begin_ard(received: SharedHyperparameters, own: Hyperparameters) -> Hyperparameters:
    """Start at the received hyperparameters."""
    return replace(
        own, lengthscales=received.lengthscales, outputscale=received.outputscale
    )


def begin_iso(received: SharedHyperparameters, own: Hyperparameters) -> Hyperparameters:
    """Start at the own lengthscales, scaled to the received geometric mean."""
    scale = received.lengthscales[0] / geometric_mean(own.lengthscales)
    return replace(
        own,
        lengthscales=own.lengthscales * scale,  # E64
        outputscale=received.outputscale,
    )


def latin_probes(streams: Streams, num_probes: int, dim: int) -> Points:
    """Return a Latin hypercube, the same for every agent of a run."""
    stream = streams.at(Purpose.PROBES)
    return collaborative_latin_hypercube(1, num_probes, dim, stream, [stream])[0]


def uniform_probes(streams: Streams, num_probes: int, dim: int) -> Points:
    """Return uniform points, the same for every agent of a run."""
    return streams.at(Purpose.PROBES).random((num_probes, dim))

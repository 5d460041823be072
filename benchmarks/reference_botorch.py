"""The yardstick: the same rounds in BoTorch, GPyTorch and scikit-learn.

A plain but careful version of what one agent computes in a round, and of the federated
loops around it, on the unit cube and with the settings of the published tables. The
library is compared with it on the same inputs, for numbers and for time. NumPy in,
NumPy out; float64; one thread, set on import. As a script it times every stage, with
`--toy` at a size that takes seconds.
"""

import functools
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

with warnings.catch_warnings(action="ignore"):
    import botorch
    import torch
    from botorch.acquisition import LogNoisyExpectedImprovement, UpperConfidenceBound
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import Positive
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import GammaPrior
    from sklearn.mixture import BayesianGaussianMixture
    from threadpoolctl import threadpool_limits

torch.set_num_threads(1)
threadpool_limits(limits=1)

Array = NDArray[np.float64]
Rng = np.random.Generator
MAX_STRENGTH, PACKET_SIZE, MERGE_THRESHOLD = 1.0, 5, 0.05
UPLOAD = ("mass", "center", "variance", "value_score")


@contextmanager
def _quiet(*, grad: bool = True) -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"), torch.set_grad_enabled(grad):
        yield


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def _tensor(values: ArrayLike) -> torch.Tensor:
    return torch.tensor(np.asarray(values), dtype=torch.float64)


def _build(X: Array, y: Array, noise_variance: float) -> SingleTaskGP:
    Y, prior = _tensor(y).unsqueeze(-1), GammaPrior(*_tensor([3.0, 6.0]))
    matern = MaternKernel(nu=2.5, ard_num_dims=X.shape[1], lengthscale_prior=prior)
    kernel = ScaleKernel(matern, outputscale_prior=GammaPrior(*_tensor([2.0, 0.15])))
    Yvar = torch.full_like(Y, noise_variance)
    return SingleTaskGP(_tensor(X), Y, Yvar, None, kernel, outcome_transform=None)


@_quiet()
def fit(X: Array, y: Array, noise_variance: float) -> SingleTaskGP:
    """Fit by MAP from GPyTorch's start: lengthscale = outputscale = ln 2, mean 0."""
    model = _build(X, y, noise_variance)
    objective = ExactMarginalLogLikelihood(model.likelihood, model)
    with botorch.manual_seed(0):  # a failed attempt restarts from draws of the prior
        botorch.fit_gpytorch_mll(objective)
    return model.eval().requires_grad_(False)


def hyperparameters(model: SingleTaskGP) -> dict:
    kernel = model.covar_module
    return {
        "lengthscales": kernel.base_kernel.lengthscale.detach().numpy().ravel().copy(),
        "outputscale": kernel.outputscale.item(),
        "mean": model.mean_module.constant.item(),
    }


@_quiet()
def log_marginal_likelihood(
    X: Array,
    y: Array,
    noise_variance: float,
    lengthscales: ArrayLike,
    outputscale: float,
    mean: float,
    include_priors: bool = False,
) -> tuple[float, dict]:
    """Return log p(y | X), not divided by n, and its gradient by autograd.

    The gradient is in log lengthscales, log output scale and mean. The priors, if asked
    for, are the normalised Gamma densities (no Jacobian): this is the MAP objective.
    """
    model = _build(X, y, noise_variance)
    scale, matern = model.covar_module, model.covar_module.base_kernel
    in_logs = Positive(torch.exp, torch.log)  # the raw parameters become logarithms
    matern.register_constraint("raw_lengthscale", in_logs)
    scale.register_constraint("raw_outputscale", in_logs)
    matern.lengthscale, scale.outputscale = _tensor(lengthscales), _tensor(outputscale)
    model.mean_module.constant = _tensor(mean)  # a bare float would pass as float32
    marginal = model.likelihood(model(*model.train_inputs), *model.train_inputs)
    value = marginal.log_prob(model.train_targets)
    named_priors = model.named_priors() if include_priors else ()
    for _, module, prior, parameter, _ in named_priors:
        value = value + prior.log_prob(parameter(module)).sum()
    value.backward()
    return value.item(), {
        "lengthscales": matern.raw_lengthscale.grad.numpy().ravel(),
        "outputscale": scale.raw_outputscale.grad.item(),
        "mean": model.mean_module.raw_constant.grad.item(),
    }


def log_posterior(model: SingleTaskGP) -> tuple[float, dict]:
    """Return the MAP objective and its gradient at the model's hyperparameters."""
    data = model.train_inputs[0], model.train_targets, model.likelihood.noise[0].item()
    return log_marginal_likelihood(*data, **hyperparameters(model), include_priors=True)


@_quiet(grad=False)
def posterior(model: SingleTaskGP, X: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of the noise-free function at each point."""
    at_each = model.posterior(_tensor(X).unsqueeze(-2))
    return at_each.mean.numpy().ravel(), at_each.variance.sqrt().numpy().ravel()


@_quiet(grad=False)
def joint(model: SingleTaskGP, X: Array) -> tuple[Array, Array]:
    """Return mean and covariance of the noise-free function at all points together."""
    together = model.posterior(_tensor(X))
    return together.mean.numpy().ravel(), together.covariance_matrix.numpy()


class Scaling:
    """S(x) = 1 + strength * sum_p w_p exp(-0.5 sum_j (x_j - c_pj)^2 / var_pj)."""

    def __init__(
        self, strength: float, weights: Array, centers: Array, variances: Array
    ) -> None:
        self.strength, self.weights = strength, _tensor(weights)
        self.centers, self.variances = _tensor(centers), _tensor(variances)

    def __call__(self, X: torch.Tensor) -> torch.Tensor:
        """Return S at inputs (..., d); not set to 1 next to observed inputs."""
        squares = (X.unsqueeze(-2) - self.centers).square() / self.variances
        return 1.0 + self.strength * (torch.exp(-0.5 * squares.sum(-1)) @ self.weights)


class _GuidedUCB(UpperConfidenceBound):
    def _mean_and_sigma(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, sigma = super()._mean_and_sigma(X)
        return mean, self.scaling(X) * sigma


class _GuidedLogNEI(LogNoisyExpectedImprovement):
    def _mean_and_sigma(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, sigma = super()._mean_and_sigma(X)  # points x fantasies x 1
        local_mean, S = self.local_model.posterior(X.squeeze(-3)).mean, self.scaling(X)
        # exact for the covariance S k S with S = 1 at the observed inputs
        return local_mean + S * (mean - local_mean), S * sigma


def _maximise(acquisition: torch.nn.Module, dim: int, seed: int) -> Array:
    bounds = _tensor([[0.0] * dim, [1.0] * dim])
    options = {"maxiter": 25, "batch_limit": 50, "seed": seed}
    starts = {"num_restarts": 20, "raw_samples": 100, "options": options}
    with botorch.manual_seed(seed):
        x, _ = botorch.optim.optimize_acqf(acquisition, bounds, q=1, **starts)
    return x.numpy().ravel()


@_quiet()
def optimise_ucb(
    model: SingleTaskGP, beta: float, scaling: Scaling | None = None, seed: int = 0
) -> Array:
    """Maximise mean + sqrt(beta) * S * std over the unit cube; S = 1 if not given."""
    acquisition = (_GuidedUCB if scaling else UpperConfidenceBound)(model, beta)
    acquisition.scaling = scaling
    return _maximise(acquisition, model.train_inputs[0].shape[-1], seed)


@_quiet()
def optimise_log_nei(
    model: SingleTaskGP,
    X: Array,
    num_fantasies: int = 20,
    scaling: Scaling | None = None,
    seed: int = 0,
) -> Array:
    """Maximise closed-form log noisy EI, given the observed inputs, over the cube."""
    kind = _GuidedLogNEI if scaling else LogNoisyExpectedImprovement
    with botorch.manual_seed(seed):
        acquisition = kind(model, _tensor(X), num_fantasies)
    acquisition.local_model, acquisition.scaling = model, scaling
    return _maximise(acquisition, X.shape[1], seed)


@_quiet(grad=False)
def optimum_samples(
    model: SingleTaskGP,
    X: Array,
    rng: Rng,
    num_paths: int = 500,
    num_features: int = 500,
    num_candidates: int = 1000,
) -> Array:
    """Return the best of common uniform candidates under each posterior path (m, d)."""
    dim, fitted = X.shape[1], hyperparameters(model)
    blocks = rng.standard_normal((-(-num_features // dim), dim, dim))
    directions = np.linalg.qr(blocks)[0].reshape(-1, dim)[:num_features]
    radii = rng.chisquare(dim, num_features) * 5.0 / rng.chisquare(5, num_features)
    frequencies = _tensor(np.sqrt(radii)[:, None] * directions / fitted["lengthscales"])
    phases = _tensor(rng.uniform(0.0, 2.0 * np.pi, num_features))
    amplitude = math.sqrt(2.0 * fitted["outputscale"] / num_features)
    points = _tensor(X), _tensor(rng.random((num_candidates, dim)))
    Phi, features = (amplitude * torch.cos(p @ frequencies.T + phases) for p in points)
    precision = Phi.T @ Phi / model.likelihood.noise[0] + torch.eye(num_features)
    factor = torch.linalg.cholesky(precision)  # L L^T, so L^-T z ~ N(0, precision^-1)
    draws = _tensor(rng.standard_normal((num_features, num_paths)))
    residuals = torch.linalg.solve_triangular(factor.T, draws, upper=True)
    mean = model.posterior(points[1].unsqueeze(-2)).mean.squeeze(-1)
    return points[1][(mean + features @ residuals).argmax(0)].numpy()


@_quiet()
def dominant_component(samples: Array, rng: Rng) -> tuple[float, Array, Array]:
    """Return mass, centre and variance of the heaviest of at most d components."""
    num_samples, dim = samples.shape
    if len(np.unique(samples, axis=0)) < 0.7 * num_samples:
        samples = samples + 1e-6 * rng.standard_normal(samples.shape)
    kind = {"n_components": min(dim, num_samples), "covariance_type": "diag"}
    prior = {"weight_concentration_prior": 100.0, "mean_precision_prior": 1e-3}
    search = {"max_iter": 200, "n_init": 3, "random_state": int(rng.integers(2**31))}
    for reg in (1e-6, 1e-5, 1e-4):  # scikit-learn's default is the Dirichlet process
        mixture = BayesianGaussianMixture(**kind, **prior, **search, reg_covar=reg)
        if mixture.fit(samples).converged_:
            k = int(mixture.weights_.argmax())
            return mixture.weights_[k], mixture.means_[k], mixture.covariances_[k]
    return 1.0, samples.mean(0), samples.var(0) + 1e-4


def belief(model: SingleTaskGP, X: Array, y: Array, rng: Rng, **counts: int) -> dict:
    """Return the upload; `counts` are those of `optimum_samples`."""
    samples = optimum_samples(model, X, rng, **counts)
    mass, center, variance = dominant_component(samples, rng)
    mean, std = posterior(model, center[None])
    score = (mean[0] - std[0] - y.mean()) / (y.std(ddof=1) + 1e-6)
    return dict(zip(UPLOAD, (mass, center, variance, score), strict=True))


def aggregate(uploads: list[dict], strength: float, rng: Rng) -> list[Scaling]:
    """Merge, match moments, reweight, and draw a packet for each agent."""
    columns = ([upload[key] for upload in uploads] for key in UPLOAD)
    masses, centers, variances, scores = map(np.array, columns)
    labels = np.zeros(len(uploads), dtype=int)
    if len(uploads) > 1:
        tree = linkage(pdist(centers) / math.sqrt(centers.shape[1]), method="complete")
        labels = fcluster(tree, MERGE_THRESHOLD, criterion="distance") - 1
    member = labels == np.arange(labels.max() + 1)[:, None]
    mass = member @ masses
    share = member * masses / mass[:, None]
    center, score = share @ centers, share @ scores
    variance = share @ (variances + (centers - center[labels]) ** 2)
    temperature = max(0.1 * np.ptp(score), 1e-2)
    weight = mass * np.exp((score - score.max()) / temperature)
    weight /= weight.sum()
    size = min(PACKET_SIZE, len(weight))
    packets = [rng.choice(len(weight), size, False, weight) for _ in uploads]
    return [Scaling(strength, weight[p], center[p], variance[p]) for p in packets]


def _run(
    observe: Callable[[int, Array], float],
    initial_X: Array,
    initial_y: Array,
    num_rounds: int,
    beta: float,
    noise_variance: float,
    *,
    is_guided: bool,
    first_round: int = 1,
    seed: int = 0,
) -> Iterator[tuple[Array, Array, dict[str, float]]]:
    """Yield queries, values and seconds per stage (over all agents) of each round.

    `initial_X` is (agents, n, d) and `observe` takes (agent, x). A late round can be
    timed alone: pass the observations held by then, and its number as `first_round`.
    """
    X, y, agents = initial_X, initial_y, range(len(initial_X))
    for t in range(first_round, first_round + num_rounds):
        seconds = dict.fromkeys(("fit", "belief", "server", "decide"), 0.0)
        *rngs, server_rng = np.random.default_rng((seed, t)).spawn(len(X) + 1)
        seeds = [int(rng.integers(2**31)) for rng in rngs]
        scalings: list[Scaling | None] = [None] * len(X)
        with _timed(seconds, "fit"):
            models = [fit(X[i], y[i], noise_variance) for i in agents]
        if is_guided:
            with _timed(seconds, "belief"):
                uploads = [belief(models[i], X[i], y[i], rngs[i]) for i in agents]
            with _timed(seconds, "server"):
                scalings = aggregate(uploads, MAX_STRENGTH / math.sqrt(t), server_rng)
        with _timed(seconds, "decide"):
            who = zip(models, scalings, seeds, strict=True)
            x = np.stack([optimise_ucb(m, beta, s, seed=k) for m, s, k in who])
        value = np.array([observe(i, x[i]) for i in agents])
        yield x, value, seconds
        X, y = np.append(X, x[:, None], axis=1), np.append(y, value[:, None], axis=1)


run_independent_ucb = functools.partial(_run, is_guided=False)
run_guide_ucb = functools.partial(_run, is_guided=True)


def _time_stages(n: int, dim: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng((seed, n))
    X = rng.random((n, dim))
    y = -0.5 * ((X - 0.5) ** 2).sum(1) + 0.1 * rng.standard_normal(n)  # scaled Sphere
    seconds: dict[str, float] = {}
    with _timed(seconds, "fit"):
        model = fit(X, y, 0.01)
    with _timed(seconds, "paths"):
        samples = optimum_samples(model, X, rng)
    with _timed(seconds, "mixture"):
        dominant_component(samples, rng)
    with _timed(seconds, "belief"):
        upload = belief(model, X, y, rng)
    uploads = [upload | {"center": rng.random(dim)} for _ in range(16)]
    with _timed(seconds, "server"):
        scaling = aggregate(uploads, 1.0, rng)[0]
    for name, guidance in (("", None), ("GUIDE-", scaling)):
        with _timed(seconds, f"{name}UCB"):
            optimise_ucb(model, 4.0, guidance, seed=seed)
        with _timed(seconds, f"{name}NEI"):
            optimise_log_nei(model, X, 20, guidance, seed=seed)
    return seconds


if __name__ == "__main__":
    print("Median ms of 9 data sets, d=10; belief = paths + mixture; server: 16 agents")
    is_toy = sys.argv[1:] == ["--toy"]
    # The first only loads what is loaded on first use.
    for n in (10,) if is_toy else (10, 31, 55, 79):
        runs = [_time_stages(n, 10, seed) for seed in range(1 if is_toy else 9)]
        medians = {key: 1e3 * np.median([run[key] for run in runs]) for key in runs[0]}
        print(f"n={n}", *(f"{key} {medians[key]:.1f}" for key in medians), sep="  ")

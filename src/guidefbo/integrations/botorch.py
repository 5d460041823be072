"""BoTorch: decide with your own model and acquisition under the others' guidance.

    from guidefbo.integrations import botorch as gfb

    X, Y = gfb.data(agent)                        # in the unit cube; larger is better
    model = SingleTaskGP(X, Y, covar_module=gfb.matern(X.shape[-1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    decided, transform = gfb.decision(agent, model)
    acquisition = UpperConfidenceBound(decided, 4.0, posterior_transform=transform)
    x, _ = optimize_acqf(acquisition, gfb.cube(agent), q=1, num_restarts=4, ...)
    trial = gfb.begin(agent, x)
    agent.tell(trial, measure(trial.values))
    message = gfb.upload(agent, model)            # in the place of agent.upload()

The agent keeps the results and the packet it holds; what is modelled and how the next
point is chosen is BoTorch's. A model with an input transform has to bring its inputs to
the unit cube of the agent's space.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

with warnings.catch_warnings(action="ignore"):
    import torch
    from botorch.acquisition.objective import PosteriorTransform
    from botorch.models import SingleTaskGP
    from botorch.posteriors import GPyTorchPosterior
    from botorch.sampling.pathwise import draw_matheron_paths
    from botorch.utils.sampling import manual_seed
    from gpytorch.constraints import GreaterThan
    from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.means import ConstantMean
    from gpytorch.priors import LogNormalPrior
    from linear_operator.operators import DiagLinearOperator

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import (
    KNOWN_RADIUS,
    LocalScaling,
    UncertaintyScaling,
    UniformScaling,
)
from guidefbo.agent.paths.maximise import FeatureSampler, OptimumSamples
from guidefbo.agent.record import record_of
from guidefbo.agent.strategies.guide.agent import GuideAgent
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import Fitted
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.agent.units import Units
from guidefbo.core.errors import SettingsError
from guidefbo.core.space.goal import SIGNS
from guidefbo.core.streams import Address, Purpose
from guidefbo.integrations.botorch_shape import (
    DOUBLE,
    ShapeKernel,
    ShapeMean,
    Tensor,
    to_tensor,
)
from guidefbo.site.agent import Agent
from guidefbo.site.guidance import GuidanceState
from guidefbo.site.trial import Trial
from guidefbo.wire.envelope import Envelope, Upload, UploadHead

if TYPE_CHECKING:
    from guidefbo.connect.link import Link

SLACK = 1e-9
"""How far beyond the unit cube an input may be, by rounding."""
NUM_PATHS = 500
"""Paths whose maximisers an upload is made of, where the method does not say."""


class GuidanceTransform(PosteriorTransform):
    """FI-GP: the mean as it is, the covariance S(x) cov(x, x') S(x') with S >= 1.

    S is large where the other sites expect the optimum, and 1 at observed inputs. For
    any acquisition of BoTorch that takes a `posterior_transform`.
    """

    scalarize: bool = True  # one outcome in, one out

    def __init__(self, scaling: UncertaintyScaling) -> None:
        """Take S from ours.

        Args:
            scaling: The factor on the standard deviation.
        """
        super().__init__()
        self.scaling = scaling
        if isinstance(scaling, LocalScaling):
            field = scaling.field
            for name, array in (
                ("weights", field.weights),
                ("centers", field.centers),
                ("precisions", field.precisions),
                ("observed", scaling.observed),
            ):
                self.register_buffer(name, to_tensor(array))
        elif not isinstance(scaling, UniformScaling):
            raise SettingsError(
                f"Expected a local or a uniform scaling, got {type(scaling).__name__}."
            )

    def factor(self, X: Tensor) -> Tensor:
        """Return S at points of the unit cube, one a row along the last axis."""
        if isinstance(self.scaling, UniformScaling):
            return torch.full_like(X[..., 0], self.scaling.factor)
        difference = X.unsqueeze(-2) - self.centers.to(X)
        precisions = self.precisions.to(X)
        if precisions.ndim == 3:
            pull = torch.einsum("...pi,pij->...pj", difference, precisions)
        else:
            pull = difference * precisions
        distance = (difference * pull).sum(-1)
        bumps = self.weights.to(X) * torch.exp(-0.5 * distance)
        G = bumps.sum(-1).clamp(max=1.0)  # E15
        gaps = (X.detach().unsqueeze(-2) - self.observed.to(X)).square().sum(-1)
        is_known = gaps.amin(-1) < KNOWN_RADIUS**2
        return 1.0 + self.scaling.strength * G.masked_fill(is_known, 0.0)  # E16

    def evaluate(self, Y: Tensor, X: Tensor | None = None) -> Tensor:
        """Return outcomes as they are: nothing is widened where they were observed."""
        del X
        return Y[..., 0]

    def forward(self, posterior: Any, X: Tensor | None = None) -> GPyTorchPosterior:
        """Return the widened posterior.

        Args:
            posterior: A Gaussian posterior of one outcome.
            X: Where it is, in the unit cube; BoTorch hands it over since 0.17.
        """
        known = getattr(posterior, "distribution", None)
        is_one = isinstance(known, MultivariateNormal) and not isinstance(
            known, MultitaskMultivariateNormal
        )
        if not is_one or X is None:
            raise SettingsError(
                "Expected a Gaussian posterior of one outcome and its inputs, got "
                f"{type(posterior).__name__}{' without inputs' if X is None else ''}."
            )
        D = DiagLinearOperator(self.factor(X))
        widened = D @ known.lazy_covariance_matrix @ D  # E18
        return GPyTorchPosterior(MultivariateNormal(known.mean, widened))


class GuidedPath:
    """A path of a model with its departure from the mean scaled by S, for Thompson."""

    def __init__(
        self,
        model: SingleTaskGP,
        path: Callable[[Tensor], Tensor],
        transform: GuidanceTransform,
    ) -> None:
        """Join a path and S.

        Args:
            model: The model that the path was drawn from.
            path: From `draw_matheron_paths(model, ...)`.
            transform: S.
        """
        self.model, self.path, self.transform = model, path, transform

    def __call__(self, X: Tensor) -> Tensor:
        """Return the path's values at points, one a row along the last axis."""
        mean = self.model.posterior(X.unsqueeze(-2)).mean[..., 0, 0]
        S = self.transform.factor(self.model.transform_inputs(X))
        return mean + S * (self.path(X) - mean)  # E19


class Decision(NamedTuple):
    """What to decide with."""

    model: SingleTaskGP
    """The user's model, or one with the others' shape in its prior."""
    transform: GuidanceTransform | None
    """Where to look more closely; None: nowhere."""


def data(agent: Agent) -> tuple[Tensor, Tensor]:
    """Return the results of an agent: inputs (n, d) in the unit cube, values (n, 1).

    They are those that the agent's own model is fitted to, as they were run. Values are
    turned so that larger is better, as acquisitions expect.
    """
    done, overshoot = agent.results, agent.setup.overshoot
    X = np.array([agent.space.to_unit(t.as_run, overshoot=overshoot) for t in done])
    y = np.array([trial.value for trial in done], dtype=np.float64)
    Y = SIGNS[agent.goal] * y[:, None]
    return to_tensor(X.reshape(-1, agent.space.dim)), to_tensor(Y)


def cube(agent: Agent) -> Tensor:
    """Return the bounds of the unit cube, (2, d), as `optimize_acqf` takes them."""
    d = agent.space.dim
    return torch.stack([torch.zeros(d, dtype=DOUBLE), torch.ones(d, dtype=DOUBLE)])


def begin(agent: Agent, x: Tensor) -> Trial:
    """Enter a point that BoTorch chose, (d,) or (1, d), as a pending trial.

    Its result counts for or against the others as that of a question of `ask` does,
    for strategies that compare models: by what the agent's own models foretell here.
    """
    point = x.detach().to(DOUBLE).cpu().numpy().reshape(-1)
    if point.shape != (agent.space.dim,):
        raise SettingsError(
            f"Expected one point of {agent.space.dim} numbers, got {tuple(x.shape)}."
        )
    values = agent.space.from_unit(np.clip(point, 0.0, 1.0))
    return agent.begin(values, foretell=True)


def matern(dim: int) -> ScaleKernel:
    """Return a Matern-5/2 kernel with BoTorch's prior of lengthscales for d inputs.

    An upload of any strategy can be computed from a model with it.
    """
    loc = 2.0**0.5 + 0.5 * float(np.log(dim))
    prior = LogNormalPrior(loc=loc, scale=3.0**0.5)
    constraint = GreaterThan(2.5e-2, transform=None, initial_value=prior.mode)
    base = MaternKernel(
        nu=2.5,
        ard_num_dims=dim,
        lengthscale_prior=prior,
        lengthscale_constraint=constraint,
    )
    return ScaleKernel(base).to(DOUBLE)


def process_of(model: SingleTaskGP) -> GaussianProcess:
    """Return a fitted model as our process: the same posterior, in the model's units.

    Args:
        model: With a Matern-5/2 kernel, a constant mean and one outcome.
    """
    model.eval()
    kernel, scale = model.covar_module, torch.ones((), dtype=DOUBLE)
    if isinstance(kernel, ScaleKernel):
        kernel, scale = kernel.base_kernel, kernel.outputscale
    is_plain = type(kernel) is MaternKernel and kernel.nu == 2.5
    if not is_plain or not isinstance(model.mean_module, ConstantMean):
        raise SettingsError(
            "Expected a model with a Matern-5/2 kernel and a constant mean, got "
            f"{type(kernel).__name__} and {type(model.mean_module).__name__}. Give it "
            "covar_module=guidefbo.integrations.botorch.matern(dim)."
        )
    X, y = _data_of(model)
    lengthscales = np.broadcast_to(_array(kernel.lengthscale).ravel(), (X.shape[1],))
    # One for all, or one for each.
    noise = np.broadcast_to(_array(model.likelihood.noise).ravel(), y.shape).copy()
    hyper = Hyperparameters(
        lengthscales=lengthscales.copy(),
        outputscale=float(scale),
        mean=float(model.mean_module.constant),
        noise_variance=float(noise.max()),
    )
    return GaussianProcess.condition(X, y, hyper, noise)


def upload(agent: Agent, model: SingleTaskGP) -> Upload | None:
    """Return what a site tells the others, computed from its own BoTorch model.

    In the place of `agent.upload()`: the same message for the same model. None where
    there is nothing to tell.

    Args:
        agent: Says of which federation, space and strategy the message is.
        model: Fitted to the agent's results. `guide` takes any kernel; the other
            strategies need a Matern-5/2 one.
    """
    sequence = max((r.order for t in agent.trials for r in t.records), default=0)
    if not agent.results:
        return None
    setup, policy = agent.setup, agent.setup.policy()
    address = setup.streams.of(setup.agent_id, sequence)
    held = agent.held_guidance.packet
    try:
        fitted = _fitted(model)
    except SettingsError:
        if not isinstance(policy.side, GuideAgent):
            raise
        body = _upload_by_paths(policy.side, model, address)
    else:
        body = policy.upload(fitted, policy.study(fitted), held, address)
    if body is None:
        return None
    head = UploadHead(terms=setup.terms, site=str(setup.site), sequence=sequence)
    return Envelope(head=head, body=body)


def post(link: "Link", model: SingleTaskGP) -> bool:
    """Put the upload of a site's own model into its mailbox; return whether it did.

    `link.sync()` carries it. Where somebody has to look at what leaves, nothing is put
    there: `guidefbo audit FILE --confirm` shows and releases the agent's own upload.

    Args:
        link: Of the site, from `guidefbo.connect`.
        model: Fitted to the results in the agent's file.
    """
    from guidefbo.connect.in_words import upload_words
    from guidefbo.connect.mailbox import Outgoing

    agent = Agent.load(link.places.file)
    message = upload(agent, model)
    if message is None or not link.facts.speaks or link.facts.needs_confirmation:
        return False
    text = message.to_bytes().decode()
    words = upload_words(text, agent.setup)
    sequence = message.head.sequence
    link.release(Outgoing(sequence=sequence, upload=text, words=words))
    return True


def decision(agent: Agent, model: SingleTaskGP) -> Decision:
    """Return what to hand to an acquisition: a model, and where to look more closely.

    Args:
        agent: Holds the packet; a stale one is not used.
        model: Fitted to the agent's results.
    """
    setup, policy = agent.setup, agent.setup.policy()
    guidance = agent.guidance
    is_active = guidance.state == GuidanceState.ACTIVE
    packet = guidance.packet if is_active else None
    if isinstance(policy.side, GuideAgent):
        model.eval()
        return Decision(model, _widening(policy.side, packet, model, agent.t))
    fitted = _fitted(model)
    record = record_of(agent.scores)
    aimed = policy.aim(lambda: policy.study(fitted), packet, record=record)
    address = setup.streams.of(setup.agent_id, len(agent.trials) + 1)
    posterior = policy.side.decision_posterior(
        fitted.posterior, aimed, agent.t, address
    )
    transform = None
    if isinstance(posterior, InterventionalPosterior):
        transform = GuidanceTransform(posterior.scaling)
        posterior = posterior.local
    if isinstance(posterior, TrendPosterior):
        model = shaped(model, posterior)
    elif posterior is not fitted.posterior:
        raise SettingsError(
            f"{setup.method} decides on a posterior that BoTorch does not have. Use "
            "guide, consensus, shape or trend."
        )
    return Decision(model, transform)


def shaped(model: SingleTaskGP, posterior: TrendPosterior) -> SingleTaskGP:
    """Return a model of the same data with a trend in its prior.

    Args:
        model: Whose data, noise and units are kept.
        posterior: Trend and process that were fitted to them.
    """
    if hasattr(model, "input_transform"):
        raise SettingsError(
            "Expected a model of inputs in the unit cube, got one with an input "
            "transform. Give it the inputs of guidefbo.integrations.botorch.data."
        )
    hyper, prior = posterior.rest.hyper, posterior.prior
    X, y = _data_of(model)
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=X.shape[1])).to(DOUBLE)
    kernel.base_kernel.lengthscale = to_tensor(hyper.lengthscales)
    kernel.outputscale = to_tensor(hyper.outputscale)
    mean = ShapeMean(prior)
    found = SingleTaskGP(
        to_tensor(X),
        to_tensor(y)[:, None],
        train_Yvar=to_tensor(posterior.rest.noise)[:, None],
        mean_module=mean,
        covar_module=kernel + ShapeKernel(prior),
        outcome_transform=None,
    )
    with torch.no_grad():
        mean.constant.copy_(to_tensor(hyper.mean))
    if hasattr(model, "outcome_transform"):
        # The values above are in its units already; answers are to be in the user's.
        found.outcome_transform = model.outcome_transform
    return found.eval().requires_grad_(False)


def _widening(
    side: GuideAgent, packet: Any, model: SingleTaskGP, t: int
) -> GuidanceTransform | None:
    if packet is None:
        return None
    field = GuidanceField.of(packet.components)
    X, _ = _data_of(model)
    return GuidanceTransform(side.intervention(field, side.strength_at(t), X))


def _fitted(model: SingleTaskGP) -> Fitted:
    gp = process_of(model)
    return Fitted(gp, Dataset(X=gp.X, y=gp.y), Units.plain(gp.y))


def _data_of(model: SingleTaskGP) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs in the unit cube and values in the model's units."""
    if model.num_outputs != 1 or model.train_inputs[0].ndim != 2:
        raise SettingsError(
            f"Expected a model of one outcome without batches, got {model.num_outputs} "
            f"outcomes and inputs of the shape {tuple(model.train_inputs[0].shape)}."
        )
    X, y = _array(model.train_inputs[0]), _array(model.train_targets)
    if X.min() < -SLACK or X.max() > 1.0 + SLACK:
        raise SettingsError(
            f"Expected inputs in the unit cube, got some from {X.min():g} to "
            f"{X.max():g}. Use the inputs of guidefbo.integrations.botorch.data, or "
            "Normalize with the bounds of the space."
        )
    return np.clip(X, 0.0, 1.0), y


def _upload_by_paths(side: GuideAgent, model: SingleTaskGP, address: Address) -> Any:
    """Return an upload of `guide` for any kernel, from Matheron paths."""
    model.eval()
    X, y = _data_of(model)
    sampler = side.sampler
    count = sampler.num_paths if isinstance(sampler, FeatureSampler) else NUM_PATHS
    predictor = _Predictor(model)

    def draw(gp: Any, candidates: Any, address: Address) -> OptimumSamples:
        seed = int(address.at(Purpose.WEIGHTS).integers(2**31))
        with torch.no_grad(), manual_seed(seed):
            paths = draw_matheron_paths(model, torch.Size([count]))
            values = paths(predictor.raw(candidates))
        winners = values.reshape(count, -1).argmax(-1).cpu().numpy()
        return OptimumSamples.at(candidates, winners.astype(np.intp))

    side = replace(side, sampler=draw)
    return side.upload(predictor, Dataset(X=X, y=y), None, None, address)


class _Predictor:
    """The moments of a model of any kernel, in its own units."""

    def __init__(self, model: SingleTaskGP) -> None:
        self.model = model

    def raw(self, X: Any) -> Tensor:
        """Return points of the unit cube as the model takes them."""
        transform = getattr(self.model, "input_transform", None)
        points = to_tensor(X)
        return points if transform is None else transform.untransform(points)

    def predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and standard deviation at the rows of X."""
        with torch.no_grad():
            found = self.model(to_tensor(X).unsqueeze(-2))
        return _array(found.mean).ravel(), np.sqrt(_array(found.variance).ravel())


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().to(DOUBLE).cpu().numpy().copy()

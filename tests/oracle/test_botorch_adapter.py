"""The BoTorch adapter against our own posteriors, messages and decisions.

Run with `pytest -m oracle`. Both sides are in double precision: closed forms agree to
rounding, which conditioning on noisy data enlarges to about 1e-9.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.connect.answerer import Answerer, serving
from tests.fences import fences

import guidefbo as gf
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling, UniformScaling
from guidefbo.agent.record import MOST, Forecast, Forecasts, record_of
from guidefbo.agent.strategies.shape.features import ShapeFeatures
from guidefbo.core.component import Components
from guidefbo.core.errors import SettingsError
from guidefbo.core.streams import Streams
from guidefbo.site.trial import Basis

pytestmark = [
    pytest.mark.oracle,
    # Of BoTorch and what it stands on; ours are raised where they are computed.
    pytest.mark.filterwarnings("ignore"),
]
ROOT = Path(__file__).parents[2]
SPACES = {
    "box": gf.Space(x=gf.Float(0, 2), y=gf.Float(1, 100, log=True), z=gf.Float(-1, 1)),
    "mixed": gf.Space(x=gf.Float(0, 2), n=gf.Int(1, 9), drug=gf.Choice("a", "b", "c")),
}
METHODS = ("guide-ucb", "consensus-ucb", "shape-nei", "trend-ucb")


@pytest.fixture(scope="module")
def gfb():
    from guidefbo.integrations import botorch

    return botorch


@pytest.fixture(scope="module")
def torch():
    import torch

    torch.set_num_threads(1)
    return torch


def measure(space, values, shift=0.0):
    x = space.to_unit(values)
    return float(-((x - 0.4 - shift) ** 2).sum() + 0.05 * np.sin(9 * x.sum()))


def skewed(space, values, shift=0.0):
    """Return a function that no quadratic comes close to."""
    u, *others = space.to_unit(values) - 0.5
    return float(60.0 * (u**3 - 0.15 * u) - (np.array(others) - shift) @ others)


def make_agent(
    space,
    method,
    site="north",
    *,
    count=14,
    shift=0.0,
    seed=1,
    goal="max",
    function=measure,
    settings=None,
):
    # A known noise: without one, rounding of near-singular matrices is all that shows.
    agent = gf.Agent(
        space,
        goal=goal,
        method=method,
        seed=seed,
        site=site,
        initial=8,
        noise=0.05,
        settings=settings,
    )
    sign = 1 if goal == "max" else -1
    stream = Streams(seed).at("told")
    for _ in range(count):
        u = stream.random((1, space.domain.num_parameters))
        values = space.from_unit(space.domain.place(u, stream)[0])
        agent.tell(values, sign * function(space, values, shift))
    return agent


def guide_all(space, method, *, seeds=(1, 2, 3), **options):
    """Return an agent that holds a packet of three sites."""
    agents = {
        site: make_agent(space, method, site, shift=0.05 * k, seed=seeds[k], **options)
        for k, site in enumerate(("north", "south", "west"))
    }
    if method.startswith("trend"):
        return agents["north"]
    uploads = {site: agent.upload() for site, agent in agents.items()}
    agents["north"].receive(gf.merge(uploads, t=1)["north"])
    assert str(agents["north"].guidance).startswith("guidance active")
    return agents["north"]


def model_of(gfb, torch, gp, **options):
    """Return a SingleTaskGP with the hyperparameters and the data of our process."""
    from botorch.models import SingleTaskGP

    kernel = gfb.matern(gp.dim)
    kernel.base_kernel.lengthscale = torch.tensor(gp.hyper.lengthscales)
    kernel.outputscale = torch.tensor(gp.hyper.outputscale, dtype=torch.float64)
    Y = torch.tensor(gp.y)[:, None]
    model = SingleTaskGP(
        torch.tensor(gp.X),
        Y,
        train_Yvar=torch.tensor(gp.noise)[:, None],
        covar_module=kernel,
        outcome_transform=None,
        **options,
    )
    model.mean_module.constant = torch.tensor(gp.hyper.mean, dtype=torch.float64)
    return model.eval()


def probes(dim, count=40, seed=5):
    return np.random.Generator(np.random.PCG64(seed)).random((count, dim))


def joint(torch, model, X, transform=None):
    posterior = model.posterior(torch.tensor(X), posterior_transform=transform)
    covariance = posterior.distribution.covariance_matrix
    return posterior.mean.detach().numpy()[:, 0], covariance.detach().numpy()


@pytest.mark.parametrize("goal", ["max", "min"])
def test_data_are_the_results_that_the_agent_models(gfb, torch, goal):
    """As run, at the bound where that was beyond it, and in the space as it is now."""
    agent = make_agent(SPACES["box"], "guide-ucb", count=10, goal=goal)
    agent.tell(agent.ask(), 0.5, values={"x": 0.125})
    agent.tell({"x": 2.01, "y": 5.0, "z": 0.5}, 0.25)
    assert gfb.data(agent)[0][-2:, 0].tolist() == [0.0625, 1.0]
    for bounds, num_unused in ((0.0, 3.0), 0), ((0.5, 2.0), 6):
        agent.change(bounds={"x": bounds})
        assert len(agent.unused) == num_unused
        (X, Y), (_, data, units) = gfb.data(agent), agent.fitted
        assert (X.numpy() == data.X).all()
        assert Y[:, 0].numpy() == pytest.approx(units.to_site(data.y), abs=1e-12)


def test_of_no_results_in_the_space_nothing_is_uploaded(gfb, torch):
    agent = make_agent(SPACES["box"], "guide-ucb")
    model = model_of(gfb, torch, agent.fitted.posterior)
    assert gfb.upload(agent, model) is not None
    agent.change(bounds={"x": (3.0, 4.0)})
    assert len(agent.unused) == len(agent.trials)
    X, Y = gfb.data(agent)
    assert (X.shape, Y.shape) == ((0, 3), (0, 1))
    assert gfb.upload(agent, model) is agent.upload() is None


@pytest.mark.parametrize("own_scale", [True, False])
def test_a_fitted_model_is_our_process(gfb, torch, own_scale):
    from botorch import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X = torch.tensor(probes(3, 25)) * torch.tensor([2.0, 5.0, 1.0])
    Y = -((X / torch.tensor([2.0, 5.0, 1.0]) - 0.4) ** 2).sum(-1, keepdim=True) * 30
    kernel = gfb.matern(3) if own_scale else gfb.matern(3).base_kernel
    bounds = torch.tensor([[0.0, 0.0, 0.0], [2.0, 5.0, 1.0]], dtype=torch.float64)
    model = SingleTaskGP(
        X,
        Y,
        covar_module=kernel,
        input_transform=Normalize(3, bounds=bounds),
        outcome_transform=Standardize(1),
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    gp = gfb.process_of(model)
    U = probes(3)
    posterior = model.posterior(torch.tensor(U) * bounds[1])
    scale, shift = float(Y.std()), float(Y.mean())
    mean, std = gp.predict(U)
    assert mean * scale + shift == pytest.approx(
        posterior.mean.detach().numpy()[:, 0], rel=1e-7, abs=1e-7
    )
    assert std * scale == pytest.approx(
        posterior.variance.detach().sqrt().numpy()[:, 0], rel=1e-5, abs=1e-6
    )


def scalings(X):
    stream = np.random.Generator(np.random.PCG64(0))
    centers, weights = stream.random((3, 3)), np.array([0.5, 0.3, 0.2])
    A = stream.normal(size=(3, 3, 3)) * 0.1
    full = A @ A.transpose(0, 2, 1) + 0.02 * np.eye(3)
    for variances in (0.02 + 0.05 * stream.random((3, 3)), full):
        field = GuidanceField.of(
            Components(weights=weights, centers=centers, variances=variances)
        )
        yield LocalScaling.widening(field, 0.8, X)
    yield UniformScaling.averaging(field, 0.8, X)


def test_the_transform_is_our_interventional_posterior(gfb, torch):
    agent = make_agent(SPACES["box"], "guide-ucb")
    gp = agent.fitted.posterior
    model = model_of(gfb, torch, gp)
    X = np.vstack([probes(3), gp.X[:3]])
    for scaling in scalings(gp.X):
        transform = gfb.GuidanceTransform(scaling)
        ours = InterventionalPosterior(local=gp, scaling=scaling)
        mean, cov = ours.joint(X)
        their_mean, their_cov = joint(torch, model, X, transform)
        assert their_mean == pytest.approx(mean, abs=1e-10)
        assert np.abs(their_cov - cov).max() < 1e-9
        S = transform.factor(torch.tensor(X)).numpy()
        assert pytest.approx(scaling(X), abs=1e-13) == S
        if isinstance(scaling, LocalScaling):
            assert (S[-3:] == 1.0).all()
            assert S.max() > 1.05


def test_upper_confidence_bound_and_its_gradient_are_ours(gfb, torch):
    from botorch.acquisition import UpperConfidenceBound

    agent = make_agent(SPACES["box"], "guide-ucb")
    gp = agent.fitted.posterior
    model = model_of(gfb, torch, gp)
    scaling = next(scalings(gp.X))
    ours = InterventionalPosterior(local=gp, scaling=scaling)
    X = probes(3)
    leaf = torch.tensor(X).unsqueeze(-2).requires_grad_()
    acquisition = UpperConfidenceBound(
        model, beta=4.0, posterior_transform=gfb.GuidanceTransform(scaling)
    )
    value = acquisition(leaf)
    value.sum().backward()
    moments = ours.moments(X)
    assert value.detach().numpy() == pytest.approx(
        moments.mean + 2.0 * moments.std, abs=1e-9
    )
    gradient = moments.mean_gradient + 2.0 * moments.std_gradient
    assert np.abs(leaf.grad[:, 0].numpy() - gradient).max() < 1e-6


def test_batch_acquisitions_are_optimised_under_guidance(gfb, torch):
    """Monte Carlo over the same draws, with and without: guidance raises the value."""
    from botorch.acquisition import (
        LogExpectedImprovement,
        qLogNoisyExpectedImprovement,
        qUpperConfidenceBound,
    )
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler

    agent = make_agent(SPACES["box"], "guide-ucb")
    gp = agent.fitted.posterior
    model = model_of(gfb, torch, gp)
    center = np.array([[0.75, 0.2, 0.7]])
    field = GuidanceField.of(
        Components(weights=np.ones(1), centers=center, variances=np.full((1, 3), 0.02))
    )
    transform = gfb.GuidanceTransform(LocalScaling.widening(field, 30.0, gp.X))
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
    best = float(gp.y.max())

    def made(guided):
        how = {"posterior_transform": transform} if guided else {}
        X = torch.tensor(gp.X)
        return [
            LogExpectedImprovement(model, best_f=best, **how),
            qUpperConfidenceBound(model, beta=4.0, sampler=sampler, **how),
            qLogNoisyExpectedImprovement(model, X, sampler=sampler, **how),
            qLogNoisyExpectedImprovement(
                model, X, sampler=sampler, cache_root=False, **how
            ),
        ]

    for plain, guided in zip(made(False), made(True), strict=True):
        q = 1 if isinstance(plain, LogExpectedImprovement) else 2
        torch.manual_seed(0)
        x, value = optimize_acqf(
            guided, gfb.cube(agent), q=q, num_restarts=3, raw_samples=32
        )
        assert np.isfinite(float(value))
        # So strong a guidance draws a point into its bump.
        gaps = np.linalg.norm(x.detach().numpy() - center, axis=1)
        assert gaps.min() < 0.25, type(guided).__name__
        there = torch.tensor(center).unsqueeze(0).expand(1, q, 3)
        assert float(guided(there)) > float(plain(there))


def test_thompson_paths_have_the_widened_spread(gfb, torch):
    from botorch.sampling.pathwise import draw_matheron_paths

    agent = make_agent(SPACES["box"], "guide-ucb")
    gp = agent.fitted.posterior
    model = model_of(gfb, torch, gp)
    scaling = next(scalings(gp.X))
    transform = gfb.GuidanceTransform(scaling)
    torch.manual_seed(0)
    paths = draw_matheron_paths(model, torch.Size([2048]))
    X = torch.tensor(np.vstack([probes(3, 6), gp.X[:2]]))
    guided = gfb.GuidedPath(model, lambda x: paths(x), transform)(X).detach().numpy()
    plain = paths(X).detach().numpy()
    mean, _ = gp.predict(X.numpy())
    # The same draws, scaled about the mean.
    assert guided == pytest.approx(mean + scaling(X.numpy()) * (plain - mean), abs=1e-9)
    assert guided.std(axis=0) / plain.std(axis=0) == pytest.approx(scaling(X.numpy()))
    assert guided[:, 6:] == pytest.approx(plain[:, 6:], abs=1e-9)


def our_decision(agent):
    """Return the posterior that our rule decides on at the next question."""
    policy, setup, fitted = agent.setup.policy(), agent.setup, agent.fitted
    aimed = policy.aim(
        lambda: policy.study(fitted),
        agent.guidance.packet,
        record=record_of(agent.scores),
    )
    address = setup.streams.of(setup.agent_id, len(agent.trials) + 1)
    return policy.side.decision_posterior(fitted.posterior, aimed, agent.t, address)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("method", METHODS)
def test_decisions_rest_on_our_posterior(gfb, torch, space, method):
    """Model and transform together give the posterior that our rule decides on."""
    agent = guide_all(SPACES[space], method)
    gp = agent.fitted.posterior
    decided, transform = gfb.decision(agent, model_of(gfb, torch, gp))
    ours = our_decision(agent)
    X = probes(SPACES[space].dim)
    mean, cov = ours.joint(X)
    their_mean, their_cov = joint(torch, decided, X, transform)
    scale = float(np.abs(cov).max())
    assert their_mean == pytest.approx(mean, abs=1e-7)
    assert np.abs(their_cov - cov).max() < 1e-7 * max(scale, 1.0)
    # Where there are choices, trend and shape look at no place.
    is_widened = space == "box" or method in ("guide-ucb", "consensus-ucb")
    assert (transform is not None) == is_widened


def test_what_the_others_foretold_badly_counts_in_decisions(gfb, torch):
    agent = guide_all(SPACES["box"], "shape-nei")
    model = model_of(gfb, torch, agent.fitted.posterior)
    missed = Basis(
        mean=0.0,
        std=1.0,
        foretold=Forecasts(others=Forecast(50.0, 1.0), alone=Forecast(0.0, 1.0)),
    )
    trials = [replace(trial, basis=missed) for trial in agent.trials]
    wary = gf.Agent.of(agent.setup, trials, agent.held_guidance)
    assert record_of(wary.scores) == -MOST * len(trials)
    X, means = probes(3), []
    for site, is_heard in (agent, True), (wary, False):
        assert (site.guidance.odds > 0.5) == is_heard
        decided, transform = gfb.decision(site, model)
        mean, cov = our_decision(site).joint(X)
        their_mean, their_cov = joint(torch, decided, X, transform)
        assert their_mean == pytest.approx(mean, abs=1e-7)
        assert np.abs(their_cov - cov).max() < 1e-7
        means.append(their_mean)
    assert np.abs(means[0] - means[1]).max() > 0.01


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_question_goes_with_the_forecasts_of_ask(gfb, torch, goal):
    asking, agent = (guide_all(SPACES["box"], "shape-nei", goal=goal) for _ in "12")
    asked = asking.ask()
    trial = gfb.begin(agent, torch.tensor(agent.space.to_unit(asked.values)))
    assert not trial.guided  # only whoever chose the point knows
    # The point went to the cube and back.
    for one, other in zip(trial.basis.foretold, asked.basis.foretold, strict=True):
        assert one == pytest.approx(other, rel=1e-6)
    assert trial.basis == replace(
        asked.basis,
        mean=pytest.approx(asked.basis.mean, rel=1e-6),
        std=pytest.approx(asked.basis.std, rel=1e-6),
        foretold=trial.basis.foretold,
        alone=None,
    )
    agent.tell(trial, 0.1)
    assert agent.scores == (trial.basis.foretold.score(0.1),)


def test_where_no_models_are_compared_nothing_is_foretold(gfb, torch):
    for agent in (
        guide_all(SPACES["box"], "guide-ucb"),
        make_agent(SPACES["box"], "shape-nei"),
    ):
        agent.tell({"x": 1.0, "y": 10.0, "z": 0.0}, 0.1)
        assert gfb.begin(agent, torch.full((1, 3), 0.5)).basis is None
        assert not agent._workings.learner.is_fitted


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_features_and_their_gradients_are_ours(gfb, torch, space, degree):
    from guidefbo.integrations.botorch_shape import TorchFeatures

    domain = SPACES[space].domain
    ours = ShapeFeatures.of(domain, degree)
    X = probes(domain.dim)
    leaf = torch.tensor(X).requires_grad_()
    found = TorchFeatures(ours)(leaf)
    assert found.shape == (len(X), 1 + ours.size)
    assert found.detach().numpy() == pytest.approx(ours(X), abs=1e-13)
    weights = probes(1 + ours.size, len(X))
    (found * torch.tensor(weights)).sum().backward()
    assert leaf.grad.numpy() == pytest.approx(ours.pull_back(weights, X), abs=1e-11)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("degree", [3, 4])
def test_decisions_under_trends_of_higher_degree_are_ours(gfb, torch, space, degree):
    agent = guide_all(
        SPACES[space],
        "shape-nei",
        count=30,
        function=skewed,
        settings={"degree": degree},
    )
    gp = agent.fitted.posterior
    decided, transform = gfb.decision(agent, model_of(gfb, torch, gp))
    ours = our_decision(agent)
    trend = getattr(ours, "local", ours)
    assert trend.prior.basis.degree == degree  # borne out by the own data
    X = probes(SPACES[space].dim)
    mean, cov = ours.joint(X)
    their_mean, their_cov = joint(torch, decided, X, transform)
    assert their_mean == pytest.approx(mean, abs=1e-7)
    assert np.abs(their_cov - cov).max() < 1e-7 * max(float(np.abs(cov).max()), 1.0)
    leaf = torch.tensor(X).unsqueeze(-2).requires_grad_()
    posterior = decided.posterior(leaf, posterior_transform=transform)
    posterior.mean.sum().backward()
    gradient = ours.moments(X).mean_gradient
    assert np.abs(leaf.grad[:, 0].numpy() - gradient).max() < 1e-6


def test_the_others_shape_is_a_mean_and_a_covariance_module(gfb, torch):
    """Always trusted, so that the prior of the packet itself is what is decided on."""
    space = SPACES["mixed"]
    agent = guide_all(space, "shape-nei")
    setup = replace(agent.setup, settings={"trust": "others"})
    trusting = gf.Agent.of(setup, agent.trials, agent.held_guidance)
    gp = trusting.fitted.posterior
    decided, _ = gfb.decision(trusting, model_of(gfb, torch, gp))
    assert isinstance(decided.mean_module, gfb.ShapeMean)
    kernel = decided.covar_module.kernels[1]
    assert isinstance(kernel, gfb.ShapeKernel)
    packet = trusting.guidance.packet
    theta = np.concatenate(packet.means)
    features = setup.policy().side.features
    scale = gp.y.std()
    X = probes(space.dim)
    expected = features(X)[:, 1:] @ (scale * theta[: features.size])
    found = decided.mean_module(torch.tensor(X)).numpy()
    assert found - float(decided.mean_module.constant) == pytest.approx(
        expected, abs=1e-9
    )
    spread = scale**2 * np.append(
        1.0, np.concatenate(packet.variances)[: features.size] / features.free
    )
    Phi = features(X)
    dense = kernel(torch.tensor(X)).to_dense().numpy()
    assert np.abs(dense - (Phi * spread) @ Phi.T).max() < 1e-9
    cross = kernel(torch.tensor(X[:5]), torch.tensor(X[5:9])).to_dense().numpy()
    assert np.abs(cross - (Phi[:5] * spread) @ Phi[5:9].T).max() < 1e-9
    diagonal = kernel(torch.tensor(X), diag=True).numpy()
    assert diagonal == pytest.approx(np.diagonal(dense), abs=1e-9)


def test_the_users_units_stay(gfb, torch):
    """A model that standardises its outcomes answers in the outcomes' units."""
    from botorch.models import SingleTaskGP

    agent = guide_all(SPACES["box"], "shape-nei")
    X, Y = gfb.data(agent)
    model = SingleTaskGP(X, 1000.0 + 50.0 * Y, covar_module=gfb.matern(3))
    decided, _ = gfb.decision(agent, model)
    mean = decided.posterior(X).mean[:, 0].detach().numpy()
    assert np.corrcoef(mean, Y[:, 0].numpy())[0, 1] > 0.9
    assert abs(mean.mean() - float((1000.0 + 50.0 * Y).mean())) < 10.0


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("method", METHODS)
def test_the_upload_of_the_same_model_is_the_same_message(gfb, torch, space, method):
    agent = guide_all(SPACES[space], method)
    ours = agent.upload()
    theirs = gfb.upload(agent, model_of(gfb, torch, agent.fitted.posterior))
    if method == "trend-ucb":
        assert ours is theirs is None
        return
    assert theirs.head == ours.head
    for one, other in zip(
        numbers(theirs.body.to_body()), numbers(ours.body.to_body()), strict=True
    ):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-6)


def numbers(form):
    if isinstance(form, dict):
        return [x for key in sorted(form) for x in numbers(form[key])]
    if isinstance(form, list):
        return [x for item in form for x in numbers(item)]
    return [form] if isinstance(form, float | int) else []


def test_any_kernel_will_do_for_guide(gfb, torch):
    from botorch.models import SingleTaskGP

    agent = make_agent(SPACES["box"], "guide-ucb", count=30)
    X, Y = gfb.data(agent)
    model = SingleTaskGP(X, Y)  # a squared exponential kernel
    body = gfb.upload(agent, model).body
    assert np.abs(body.center - 0.4).max() < 0.35
    again = gfb.upload(agent, model).body
    assert again.to_body() == body.to_body()
    shape = make_agent(SPACES["box"], "shape-nei", count=30)
    with pytest.raises(SettingsError, match="Matern-5/2 kernel"):
        gfb.upload(shape, model)
    with pytest.raises(SettingsError, match="Matern-5/2 kernel"):
        gfb.decision(shape, model)


def test_alone_and_stale_nothing_is_widened(gfb, torch):
    agent = make_agent(SPACES["box"], "guide-ucb")
    model = model_of(gfb, torch, agent.fitted.posterior)
    assert gfb.decision(agent, model) == (model, None)
    guided = guide_all(SPACES["box"], "guide-ucb")
    model = model_of(gfb, torch, guided.fitted.posterior)
    assert gfb.decision(guided, model).transform is not None
    for k in range(12):
        guided.tell({"x": 0.1 * k, "y": 5.0, "z": 0.0}, -0.1 * k)
    assert gfb.decision(guided, model).transform is None


def test_what_does_not_fit_is_refused(gfb, torch):
    from botorch.models import SingleTaskGP

    agent = make_agent(SPACES["box"], "guide-ucb", goal="min")
    X, Y = gfb.data(agent)
    assert Y[:, 0].tolist() == [-t.value for t in agent.trials]
    wide = SingleTaskGP(3.0 * X, Y, covar_module=gfb.matern(3))
    with pytest.raises(SettingsError, match="unit cube"):
        gfb.process_of(wide)
    two = SingleTaskGP(X, torch.cat([Y, Y], -1), covar_module=gfb.matern(3))
    with pytest.raises(SettingsError, match="one outcome"):
        gfb.process_of(two)
    with pytest.raises(SettingsError, match="one point of 3"):
        gfb.begin(agent, torch.zeros(2, 3))
    transform = gfb.GuidanceTransform(next(scalings(X.numpy())))
    with pytest.raises(SettingsError, match="of one outcome"):
        two.eval().posterior(X, posterior_transform=transform)
    # At first `fts` decides on another site's function.
    fts = guide_all(SPACES["box"], "fts", seeds=(1, 1, 1), count=8)
    model = model_of(gfb, torch, fts.fitted.posterior)
    with pytest.raises(SettingsError, match="does not have"):
        gfb.decision(fts, model)


def test_the_upload_of_ones_own_model_travels(gfb, torch, tmp_path):
    coordinator = Answerer(method="guide-ucb", space=SPACES["box"])
    file = tmp_path / "north.json"
    with serving(coordinator) as where:
        link = gf.connect(file, where, code=coordinator.invite("north"))
        with gf.Agent.update(file) as agent:
            for trial in agent.ask(8):
                agent.tell(trial, measure(agent.space, trial.values))
        from botorch.models import SingleTaskGP

        model = SingleTaskGP(*gfb.data(gf.Agent.load(file)))
        assert gfb.post(link, model)
        assert link.sync().moved.sent == 8
    expected = gfb.upload(gf.Agent.load(file), model)
    assert coordinator.uploads["north"] == expected.to_bytes()
    assert coordinator.uploads["north"] != gf.Agent.load(file).upload().to_bytes()


def test_the_page_runs_as_it_stands(capsys):
    page = ROOT / "docs" / "integrations" / "botorch.md"
    blocks = fences(page.read_text(encoding="utf-8"))
    for block in blocks:
        if block["language"] == "python":
            exec(compile(block["text"], str(page), "exec"), {})
    assert capsys.readouterr().out.startswith("trial 7 (pending, goal max): heat=")


def test_the_example_runs():
    example = ROOT / "examples" / "integrations" / "botorch_loop.py"
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "north",
        "south",
        "west",
    ]

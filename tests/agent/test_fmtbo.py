"""FMTBO's agent: the second model, what is told of it, and whole rounds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from tests.agent.numerics import make_data, smooth_values

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.ei import ExpectedImprovement
from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.loop import RoundAgent
from guidefbo.agent.strategies.fmtbo.agent import (
    ascending_ranks,
    begin_ard,
    begin_iso,
    geometric_mean,
    latin_probes,
    tell_all,
    tell_ard,
    tell_iso,
    uniform_probes,
)
from guidefbo.agent.strategies.fmtbo.mixed import MixedPosterior
from guidefbo.agent.strategies.fmtbo.settings import FmtboAsRunSettings, FmtboSettings
from guidefbo.agent.surrogate.fit import MAX_ITERATIONS, LogPosterior
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors, SitePriors
from guidefbo.agent.units import Units
from guidefbo.core.domain import Domain
from guidefbo.core.errors import SettingsError, WireError
from guidefbo.core.settings import make
from guidefbo.core.space.parameters import Bool, Float, Int
from guidefbo.core.space.space import Space
from guidefbo.core.streams import Purpose, Streams
from guidefbo.methods.registry import find_method
from guidefbo.server.strategies.fmtbo.as_run import FmtboAsRunServerSettings
from guidefbo.server.strategies.fmtbo.server import (
    first_then_nearest,
    geometric,
    nearest,
    raw,
)
from guidefbo.server.strategies.fmtbo.settings import FmtboServerSettings
from guidefbo.simulation.federation import Federation
from guidefbo.testing import check_agent_side
from guidefbo.wire.envelope import Terms
from guidefbo.wire.fmtbo import ModelPacket, SharedHyperparameters

MODEL = Model(noise_std=0.1, priors=Priors())
HYPER = Hyperparameters(
    lengthscales=np.array([0.25, 1.0, 2.0]),
    outputscale=1.5,
    mean=-0.3,
    noise_variance=0.01,
)


KINDS = {"method": FmtboSettings, "as-run": FmtboAsRunSettings}
"""The method as we recommend it, and what is presumed behind the paper's tables."""


def side(dim, model=MODEL, kind="method", **given):
    settings = make(KINDS[kind], given)
    return settings.build(Domain.box(dim), model, SearchSettings())


def packet(lengthscales, outputscale=1.0, mean=None):
    return ModelPacket(
        hyper=SharedHyperparameters(
            lengthscales=np.array(lengthscales), outputscale=outputscale, mean=mean
        )
    )


def fitted(n=15, d=3, model=MODEL, seed=0):
    X, y = make_data(n, d, seed)
    return model.fit(Dataset(X=X, y=y))


def theta_of(gp):
    return np.log([*gp.hyper.lengthscales, gp.hyper.outputscale])


# What is told


def test_ranks_by_hand():
    """E68: ascending from 0, ties in the order of the probes."""
    assert ascending_ranks(np.array([0.3, -1.0, 7.0, 0.3])).tolist() == [1, 0, 3, 2]
    assert ascending_ranks(np.zeros(3)).tolist() == [0, 1, 2]
    assert ascending_ranks(np.array([5.0])).tolist() == [0]


def test_sharings_by_hand():
    """E64: the geometric mean of 1/4, 1 and 2 is 2^(-1/3)."""
    ard, whole, iso = tell_ard(HYPER), tell_all(HYPER), tell_iso(HYPER)
    assert ard.lengthscales.tolist() == whole.lengthscales.tolist() == [0.25, 1.0, 2.0]
    assert (ard.mean, whole.mean, iso.mean) == (None, -0.3, None)
    assert iso.lengthscales == pytest.approx([2.0 ** (-1 / 3)], rel=1e-15)
    assert ard.outputscale == whole.outputscale == iso.outputscale == 1.5


def test_starts_by_hand():
    """E64: the shape of the own lengthscales, the size of the received one."""
    start = begin_iso(packet([2.0 ** (2 / 3)], 7.0).hyper, HYPER)
    assert start.lengthscales == pytest.approx([0.5, 2.0, 4.0], rel=1e-14)
    assert geometric_mean(start.lengthscales) == pytest.approx(2.0 ** (2 / 3))
    assert (start.outputscale, start.noise_variance) == (7.0, 0.01)
    start = begin_ard(packet([1.0, 2.0, 3.0], 7.0).hyper, HYPER)
    assert start.lengthscales.tolist() == [1.0, 2.0, 3.0]
    assert (start.outputscale, start.noise_variance) == (7.0, 0.01)


def test_packets_of_another_dimension_are_refused():
    with pytest.raises(WireError, match="dimension 3, got 2"):
        side(3).check(packet([1.0, 1.0]), 3)
    with pytest.raises(WireError, match="dimension 1, got 3"):
        side(3, share="iso2").check(packet([1.0] * 3), 3)


@pytest.mark.parametrize("make", [latin_probes, uniform_probes])
def test_probes_are_the_same_for_all_agents_of_a_run(make):
    X = make(Streams(5), 20, 3)
    assert np.array_equal(make(Streams(5).of(4, 2).streams, 20, 3), X)
    assert X.shape == (20, 3)
    assert ((X >= 0.0) & (X <= 1.0)).all()
    assert (make(Streams(6), 20, 3) != X).all()


def test_latin_probes_fill_every_level_once():
    X = latin_probes(Streams(5), 20, 3)
    assert (np.sort((20 * X).astype(int), axis=0) == np.arange(20)[:, None]).all()


def test_probes_have_a_stream_of_their_own():
    X = uniform_probes(Streams(5), 4, 2)
    expected = Streams(5).at(Purpose.PROBES, t=0).random((4, 2))
    assert (expected == X).all()


# The second model


def test_before_the_first_answer_the_local_model_serves():
    """E68: its hyperparameters, and the ranks of its mean at the probes."""
    gp, data, _ = fitted()
    for agent, t in ((0, 1), (3, 4)):
        upload = side(3).upload(gp, data, None, None, Streams(2).of(agent, t))
        assert (upload.hyper.lengthscales == gp.hyper.lengthscales).all()
        assert upload.hyper.outputscale == gp.hyper.outputscale
        mean, _ = gp.predict(latin_probes(Streams(2), 15, 3))
        assert (np.diff(mean[np.argsort(upload.ranks)]) > 0.0).all()


def test_the_global_model_goes_up_from_where_it_started():
    """E68: few steps leave it between the start and the mode, many reach the mode."""
    gp, data, _ = fitted(n=30)
    start = packet([3.0, 0.1, 5.0], 30.0)
    objective = LogPosterior.of(data.X, data.y, 0.01, Priors())
    reached = [
        objective(theta_of(side(3, global_iterations=count).restart(gp, start)))[0]
        for count in (1, 2, 5, 100)
    ]
    assert objective(np.log([3.0, 0.1, 5.0, 30.0]))[0] < reached[0]
    assert (np.diff(reached) > 0.0).all()
    # Both end where L-BFGS-B stops: at a relative decrease of 2e-9.
    assert reached[-1] == pytest.approx(objective(theta_of(gp))[0], abs=1e-5)


def test_the_upload_is_of_the_global_model_once_there_is_an_answer():
    """E68."""
    gp, data, _ = fitted()
    held, address = packet([3.0, 0.1, 5.0], 30.0), Streams(2).of(1, 2)
    method = side(3)
    upload = method.upload(gp, data, None, held, address)
    glob = method.restart(gp, held)
    assert upload.hyper.to_fields() == tell_ard(glob.hyper).to_fields()
    probes = latin_probes(Streams(2), 15, 3)
    assert (upload.ranks == ascending_ranks(glob.predict_mean(probes))).all()
    assert upload.hyper.outputscale != gp.hyper.outputscale


def test_both_models_share_data_and_noise():
    gp = fitted().posterior
    decided = side(3, ei_weight=0.25).decision_posterior(
        gp, packet([1.0, 2.0, 0.5]), 1, Streams(0).of(0, 1)
    )
    assert isinstance(decided, MixedPosterior)
    glob, local = decided.models
    assert decided.weights == (0.25, 0.75)
    assert local is gp
    assert (glob.X == gp.X).all()
    assert (glob.y == gp.y).all()
    assert (glob.noise == gp.noise).all()


def test_noise_that_differs_between_observations_is_kept():
    # A site's model: noise fitted, some observations with a spread of their own.
    model = Model(noise_std=None, priors=SitePriors(), units=Units.standard)
    X, y = make_data(20, 2)
    std = np.where(np.arange(20) % 3 == 0, 0.3, np.nan)
    gp = model.fit(Dataset(X=X, y=y, std=std)).posterior
    whole = side(2, model=model, global_iterations=1000)
    glob = whole.restart(gp, packet([1.0, 2.0]))
    assert len(set(gp.noise)) == 2
    assert (glob.noise == gp.noise).all()
    assert glob.hyper.noise_variance == gp.hyper.noise_variance
    # The mode of the posterior with this noise and no other, as near as L-BFGS-B stops.
    objective = LogPosterior.of(gp.X, gp.y, 0.0, SitePriors(), own_noise=gp.noise)
    assert np.abs(objective(theta_of(glob))[1]).max() < 1e-2


def test_shared_lengthscales_stay_shared():
    model = replace(MODEL, groups=np.array([0, 0, 1]))
    gp = fitted(model=model).posterior
    glob = side(3, model=model).restart(gp, packet([1.0, 1.0, 2.0]))
    assert glob.hyper.lengthscales[0] == glob.hyper.lengthscales[1]
    assert glob.hyper.lengthscales[0] != glob.hyper.lengthscales[2]


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("share", ["ard", "iso2"])
def test_starts_beyond_every_bound_give_a_finite_model(scale, share):
    gp = fitted().posterior
    extreme = packet([scale] * (3 if share == "ard" else 1), scale)
    glob = side(3, share=share).restart(gp, extreme)
    bounds = MODEL.bounds
    low, high = bounds.lengthscale
    ell = glob.hyper.lengthscales
    assert ((ell >= low * (1.0 - 1e-12)) & (ell <= high * (1.0 + 1e-12))).all()
    assert all(np.isfinite(part).all() for part in glob.moments(gp.X))


def test_without_an_answer_the_local_model_decides():
    gp = fitted().posterior
    assert side(3).decision_posterior(gp, None, 1, Streams(0).of(0, 1)) is gp


def test_converged_fits_make_it_plain_expected_improvement():
    """As run for the paper's tables, both models reach the same mode."""
    gp, address = fitted(n=30).posterior, Streams(0).of(0, 1)
    received, X = packet([2.0, 0.3, 1.0], 5.0), latin_probes(Streams(1), 40, 3)
    rule = ExpectedImprovement()
    plain = rule.acquisition(gp, address.at(Purpose.RULE)).value(X)
    gaps = {}
    for kind in KINDS:
        decided = side(3, kind=kind, global_iterations=2).decision_posterior(
            gp, received, 1, address
        )
        weighted = rule.acquisition(decided, address.at(Purpose.RULE)).value(X)
        gaps[kind] = np.abs(weighted - plain).max()
    assert gaps["as-run"] < 1e-2
    assert gaps["method"] > 10.0 * gaps["as-run"]


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_improvements_are_weighted_on_mixed_spaces_too(weight):
    """E63: γ EI(global) + (1 - γ) EI(local) over the best observation, cell by cell."""
    space = Space(x=Float(0, 1), n=Int(1, 4), w=Bool())
    settings = {"ei_weight": weight, "global_iterations": 1}
    policy = find_method("fmtbo").policy(settings, space.domain, MODEL)
    X = space.domain.sample(12, np.random.default_rng(0))
    gp = policy.fit(Dataset(X=X, y=smooth_values(X))).posterior
    received = packet([3.0, 0.1, 5.0], 30.0)
    decided = policy.decision_posterior(gp, received, 1, Streams(0).of(0, 1))
    found = policy.rule.acquisition(decided, np.random.default_rng(0))
    Z = np.random.default_rng(1).random((30, 3))
    total = np.zeros(30)
    for share, model in (
        (weight, policy.side.restart(gp, received)),
        (1.0 - weight, gp),
    ):
        mean, std = model.predict(space.domain.snap(Z))
        u = (mean - gp.y.max()) / std
        total += share * (std * norm.pdf(u) + (mean - gp.y.max()) * norm.cdf(u))
    # Cancellation in the plain formula: about 1e-16 of std over the improvement.
    assert np.exp(found.value(Z)) == pytest.approx(total, rel=1e-9, abs=1e-15)


# Settings and contracts


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, packet([0.4, 1.0, 2.0], 0.5)),
        ({"share": "iso2", "num_probes": 10}, packet([0.8], 0.5)),
        ({"kind": "as-run"}, packet([0.4, 1.0, 2.0], 0.5, mean=0.7)),
        ({"ei_weight": 0.0}, packet([0.4, 1.0, 2.0], 0.5)),
    ],
    ids=str,
)
def test_contract(given, fits):
    counts = {1, 2, 3, 4} - {fits.hyper.dim}
    misfits = [packet([0.5] * count) for count in counts]
    check_agent_side(side(3, **given), packets=[fits], misfits=misfits)


def test_the_method_and_what_is_behind_the_tables():
    method, as_run = side(10), side(10, kind="as-run")
    assert (method.num_probes, as_run.num_probes) == (50, 300)
    assert (method.num_iterations, as_run.num_iterations) == (5, MAX_ITERATIONS)
    assert (method.probes, as_run.probes) == (latin_probes, uniform_probes)
    assert (method.tell, as_run.tell) == (tell_ard, tell_all)
    server = FmtboServerSettings().build()
    server_as_run = FmtboAsRunServerSettings().build()
    assert (server.averaging, server_as_run.averaging) == (geometric, raw)
    assert (server.neighbours, server_as_run.neighbours) == (
        nearest,
        first_then_nearest,
    )
    assert side(10, kind="as-run", num_probes=7).num_probes == 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "value"), [("ei_weight", 1.5), ("num_probes", 5001)])
def test_settings_of_the_agent_out_of_range_are_refused(name, value, kind):
    with pytest.raises(SettingsError, match=rf"{name} must be .*, got {value}"):
        side(2, kind=kind, **{name: value})


@pytest.mark.parametrize("kind", KINDS)
def test_more_probes_than_the_server_compares_are_refused(kind):
    """The number that is meant where none is set grows with the dimension."""
    dim = 1001 if kind == "method" else 167
    assert side(dim - 1, kind=kind).num_probes <= 5000
    with pytest.raises(SettingsError, match="num_probes must be at most 5000, got 50"):
        side(dim, kind=kind)


def test_settings_of_the_agent_reach_it():
    given = {"ei_weight": 0.2, "num_probes": 12}
    for kind in KINDS:
        built = side(3, kind=kind, **given)
        assert (built.ei_weight, built.num_probes) == (0.2, 12)
        assert built.model is MODEL
    assert side(3, global_iterations=9).num_iterations == 9
    iso = side(3, share="iso2")
    assert (iso.tell, iso.begin) == (tell_iso, begin_iso)


def test_settings_of_the_server_out_of_range_are_refused():
    for kind in (FmtboServerSettings, FmtboAsRunServerSettings):
        with pytest.raises(SettingsError, match=r"similar_share must be .*, got 1\.5"):
            make(kind, {"similar_share": 1.5})


# Whole rounds


def federation(dim, num_agents=4, seed=3, name="fmtbo", **given):
    method, streams = find_method(name), Streams(seed)
    settings = method.check({"num_raw": 20, "num_starts": 4, **given})
    policy = method.policy(settings, Domain.box(dim), MODEL)
    assert policy.rule == ExpectedImprovement()
    assert policy.search == SearchSettings(num_raw=20, num_starts=4)
    agents = []
    for n in range(num_agents):
        X, y = make_data(6, dim, seed=n)
        agents.append(
            RoundAgent(
                agent_id=n, data=Dataset(X=X, y=y), policy=policy, streams=streams
            )
        )
    terms = Terms(federation="example", space="box", strategy=name)
    return Federation(agents, method.server(settings), terms, streams)


def evaluate(queries, t):
    return smooth_values(queries)


@pytest.mark.parametrize(
    ("given", "up", "down"),
    [
        ({}, 61, 11),
        ({"share": "iso2", "num_probes": 10}, 12, 2),
        ({"name": "fmtbo-as-run"}, 312, 12),
    ],
    ids=str,
)
def test_traffic_of_whole_rounds(given, up, down):
    """E69 as counted in ten dimensions; the second is the paper's table."""
    run = federation(10, **given)
    for t in (1, 2):
        queries = run.round(t, evaluate)
        assert ((queries >= 0.0) & (queries <= 1.0)).all()
    scalars = run.traffic.scalars_per_agent_round(2 * 4)
    assert list(scalars.values()) == [up, down]


def test_rounds_repeat_and_improve():
    first, second = federation(2), federation(2)
    for t in range(1, 6):
        one, two = first.round(t, evaluate), second.round(t, evaluate)
        assert (one == two).all()
    # The maximum lies at x = (0, 1): sin(3 * 0.5) + cos 0.
    best = [agent.data.y.max() for agent in first.agents]
    assert min(best) > np.sin(1.5) + 1.0 - 0.3


def test_what_others_send_changes_the_query():
    local = federation(2, ei_weight=0.0)
    both = federation(2, ei_weight=0.5)
    gp = local.agents[0].posterior
    assert isinstance(gp, GaussianProcess)
    assert (local.round(1, evaluate) != both.round(1, evaluate)).any()

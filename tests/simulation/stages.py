"""The stages of a run, each from inputs that no other stage has computed.

A whole run cannot be compared with the numbers of another machine. An optimum that two
candidates share to the last digit goes to the one or the other as a sum is rounded, and
every later query follows. A stage can: its inputs are uniform numbers, which are whole
numbers times a power of two on every machine, and where it chooses, the second best is
far behind.
"""

import numpy as np

from guidefbo.agent.belief.dpgmm import DirichletProcessMixture
from guidefbo.agent.belief.peak import find_peak, peak_variance
from guidefbo.agent.belief.value_score import value_score
from guidefbo.agent.decision.nei import NoisyExpectedImprovement
from guidefbo.agent.decision.search import ascend, choose_starts
from guidefbo.agent.decision.ts import ThompsonSampling
from guidefbo.agent.decision.ucb import UpperConfidenceBound
from guidefbo.agent.guidance.field import GuidanceField
from guidefbo.agent.guidance.figp import InterventionalPosterior
from guidefbo.agent.guidance.scaling import LocalScaling
from guidefbo.agent.paths.features import FeatureMap
from guidefbo.agent.paths.maximise import OptimumSamples
from guidefbo.agent.paths.weights import WeightPosterior
from guidefbo.agent.surrogate.fit import Bounds, LogPosterior, fit
from guidefbo.agent.surrogate.gp import GaussianProcess, Hyperparameters
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.agent.surrogate.trend import TrendPosterior
from guidefbo.core.component import Components
from guidefbo.core.designs import interlocking_design
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Purpose, Streams
from guidefbo.problems.library import make_problem
from guidefbo.server.strategies.consensus.fusion import (
    leave_one_out,
    paule_mandel,
    trimmed,
)
from guidefbo.server.strategies.guide.dispatch import agent_specific
from guidefbo.server.strategies.guide.merging import complete_linkage
from guidefbo.server.strategies.guide.moments import ScoredComponents, merge_clusters
from guidefbo.server.strategies.guide.reweighting import value_aware
from guidefbo.testing.server_side import draws

DIM = 2
PLACES = np.array([[0.1, 0.2], [0.5, 0.45], [0.85, 0.3], [0.3, 0.9], [0.65, 0.7]])
"""Where functions are looked at."""


def uniforms(seed, *shape, part=0):
    """Return numbers that are the same to the last bit everywhere."""
    return Streams(seed).at(Purpose.PROBES, t=part).random(shape)


def data(seed):
    """Return twelve points and values of order one."""
    X = uniforms(seed, 12, DIM)
    wiggle = np.sin(5.0 * X[:, 0]) + np.cos(4.0 * X[:, 1])
    return X, wiggle + 0.2 * (uniforms(seed, 12, part=1) - 0.5)


def posterior(seed):
    """Return a posterior of given hyperparameters."""
    hyper = Hyperparameters(
        lengthscales=np.array([0.4, 0.6]),
        outputscale=1.5,
        mean=0.3,
        noise_variance=0.01,
    )
    return GaussianProcess.condition(*data(seed), hyper)


def components(seed):
    """Return three components, weights that sum to one."""
    weights = 0.2 + uniforms(seed, 3, part=2)
    return Components(
        weights=weights / weights.sum(),
        centers=uniforms(seed, 3, DIM, part=3),
        variances=0.01 + 0.05 * uniforms(seed, 3, DIM, part=4),
    )


def guided(seed):
    """Return a posterior widened where the components point."""
    local = posterior(seed)
    field = GuidanceField.of(components(seed))
    scaling = LocalScaling.widening(field, 1.0, local.X)
    return InterventionalPosterior(local=local, scaling=scaling)


def start(seed):
    """What a run begins with: initial points and what the tasks say there."""
    streams = Streams(seed)
    problem = make_problem("ackley", dim=DIM, num_agents=3, level=3, streams=streams)
    design = interlocking_design(None, (3, 5, DIM), streams)
    values = [t.evaluate(X) for t, X in zip(problem.tasks, design, strict=True)]
    return {"design": design, "values": values}


def fitted(seed):
    """One fit with the noise known and one with it fitted."""
    X, y = data(seed)
    found = {}
    for name, noise in (("known", 0.01), ("fitted", None)):
        hyper = fit(X, y, noise_variance=noise, priors=Priors(), bounds=Bounds())
        theta = np.log([*hyper.lengthscales, hyper.outputscale, hyper.noise_variance])
        log_posterior = LogPosterior.of(X, y, noise, Priors())
        found[f"{name}: theta"] = theta
        found[f"{name}: mean"] = hyper.mean
        found[f"{name}: height"], _ = log_posterior(theta[: 4 if noise is None else 3])
    return found


def predicted(seed):
    """Mean, deviation and slopes of a posterior, as it is and widened."""
    return {
        f"{name}: {part}": numbers
        for name, found in (("local", posterior(seed)), ("guided", guided(seed)))
        for part, numbers in found.moments(PLACES)._asdict().items()
    }


def paths(seed):
    """Posterior paths over places from given normals, in single precision."""
    gp, streams = posterior(seed), Streams(seed)
    features = FeatureMap.draw(
        64, gp.hyper.lengthscales, gp.hyper.outputscale, streams.at(Purpose.FEATURES)
    )
    weights = WeightPosterior.of(features(gp.X), gp.noise).draw_centred(
        4, streams.at(Purpose.WEIGHTS)
    )
    return {"paths": gp.predict_mean(PLACES) + weights @ features(PLACES).T}


def mixture(seed):
    """The mixture of forty samples in three heaps that touch."""
    heap = np.repeat([[0.2, 0.3], [0.7, 0.2], [0.6, 0.8]], [12, 18, 10], axis=0)
    samples = OptimumSamples(
        points=np.clip(heap + 0.4 * uniforms(seed, 40, DIM, part=5) - 0.2, 0.0, 1.0),
        counts=1.0 + np.floor(5.0 * uniforms(seed, 40, part=6)),
    )
    belief = DirichletProcessMixture()(samples, Streams(seed).at(Purpose.MIXTURE))
    # By size: which component comes first is an accident of the start.
    order = np.argsort(-belief.masses)[:3]
    return {
        "masses": belief.masses[order],
        "centers": belief.centers[order],
        "variances": belief.variances[order],
        "number": len(belief.masses),
    }


def score(seed):
    """The value score of a place."""
    gp = posterior(seed)
    return {"score": [value_score(gp, place, gp.y, 1.0) for place in PLACES]}


def peak(seed):
    """Where the mean of a posterior with a trend peaks, and how surely."""
    gp = posterior(seed)
    model = TrendPosterior.fit(gp)
    x = find_peak(model, Domain.box(DIM))
    variance = peak_variance(model, x, Domain.box(DIM), 1e-4, 1.0 / 12.0)
    return {
        "place": x,
        "height": model.predict_mean(x[None]),
        "variance": variance,
        "mean": model.predict_mean(PLACES),
    }


def merged(seed):
    """One merge of nine uploads, their weights, and who is sent what."""
    heap = np.repeat([[0.2, 0.3], [0.7, 0.2], [0.6, 0.8]], 3, axis=0)
    uploads = ScoredComponents(
        masses=0.1 + 0.9 * uniforms(seed, 9, part=7),
        centers=heap + 0.1 * uniforms(seed, 9, DIM, part=8),
        variances=0.001 + 0.02 * uniforms(seed, 9, DIM, part=9),
        scores=2.0 * uniforms(seed, 9, part=10) - 1.0,
    )
    labels = complete_linkage(uploads.centers, 0.12)
    found = merge_clusters(uploads, labels)
    log_weights = value_aware(found)
    sites = [f"site{n}" for n in range(9)]
    return {
        "labels": labels,
        "masses": found.masses,
        "centers": found.centers,
        "variances": found.variances,
        "scores": found.scores,
        "log weights": log_weights,
        "packets": agent_specific(log_weights, sites, 2, draws(seed)),
    }


def fused(seed):
    """What seven sites say to each other."""
    y = uniforms(seed, 7, DIM, part=11)
    v = 0.001 + 0.05 * uniforms(seed, 7, DIM, part=12)
    return {
        f"{fusion.__name__}: {part}": numbers
        for fusion in (paule_mandel, trimmed)
        for part, numbers in leave_one_out(fusion, y, v)._asdict().items()
    }


RULES = {
    "ucb": UpperConfidenceBound(beta=4.0),
    "nei": NoisyExpectedImprovement(num_fantasies=8),
    "ts": ThompsonSampling(num_features=64),
}


def acquisition(name, posterior, seed):
    """Return what a rule maximises."""
    return RULES[name].acquisition(posterior, Streams(seed).at(Purpose.RULE))


def scored(seed):
    """What each rule thinks of places, its slopes there, and where a search starts."""
    found = {}
    for name in RULES:
        for kind, of in (("local", posterior(seed)), ("guided", guided(seed))):
            value, slope = acquisition(name, of, seed).value_and_gradient(PLACES)
            found[f"{name}, {kind}: value"] = value
            found[f"{name}, {kind}: slope"] = slope
    scores = found["ucb, guided: value"]
    stream = Streams(seed).at(Purpose.SEARCH)
    return found | {"starts": choose_starts(scores, 3, stream)}


def searched(seed):
    """Where one search from given starts ends, and how high."""
    found = {}
    for name in RULES:
        sought = acquisition(name, guided(seed), seed)
        # One start at a time: the search stops by the sum over all of them.
        ends = [ascend(sought, x[None], Domain.box(DIM), 100)[0] for x in PLACES[:3]]
        found[f"{name}: ends"] = ends
        found[f"{name}: height"] = sought.value(np.array(ends))
    return found


STAGES = {
    stage.__name__: stage
    for stage in (
        start,
        fitted,
        predicted,
        paths,
        mixture,
        score,
        peak,
        merged,
        fused,
        scored,
        searched,
    )
}


def make(name, seed):
    """Return a stage's numbers as nested lists."""
    return {
        part: np.asarray(numbers, dtype=float).tolist()
        for part, numbers in STAGES[name](seed).items()
    }

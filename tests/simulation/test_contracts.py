"""Every strategy and rule of the catalogue keeps the exported contracts."""

from dataclasses import replace

import numpy as np
import pytest
from tests.simulation.light import known_to

from guidefbo.agent.side import Studying
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.component import Components
from guidefbo.core.domain import Domain
from guidefbo.core.errors import WireError
from guidefbo.core.settings import make
from guidefbo.core.streams import Streams
from guidefbo.methods.record import Method
from guidefbo.methods.registry import (
    RULES,
    STRATEGIES,
    find_method,
    find_rule,
    find_strategy,
)
from guidefbo.testing import (
    check_agent_side,
    check_posterior,
    check_rule,
    check_server_side,
    example_posterior,
)
from guidefbo.testing.examples import example_data, guided_posterior
from guidefbo.testing.server_side import draws
from guidefbo.wire.guide import GuidancePacket, OptimumUpload

LIGHT = {
    "num_paths": 60,
    "num_features": 64,
    "num_candidates": 120,
    "num_shared": 40,
    "num_probes": 12,
}
MODEL = Model(noise_std=0.1, priors=Priors())
PARTS = [
    {},
    {"belief": "single-gaussian"},
    {"covariance": "full"},
    {"intervention": "uniform"},
    {"sampler": "exact"},
]


def policy_of(method, **given):
    """Return what an agent in three dimensions does."""
    method = find_method(method)
    settings = method.check(known_to(method, LIGHT) | given)
    return method.policy(settings, Domain.box(3), MODEL)


def side_of(method, **given):
    """Return the private half of a method's strategy, in three dimensions."""
    return policy_of(method, **given).side


def server_of(method, **given):
    """Return the shared half of a method's strategy."""
    method = find_method(method)
    return method.server(known_to(method, LIGHT) | given)


def packet(is_full, dim=3):
    variances = np.array([[0.02, 0.05, 0.1], [0.3, 0.01, 0.04]])[:, :dim]
    return GuidancePacket(
        components=Components(
            weights=np.array([0.7, 0.2]),
            centers=np.array([[0.2, 0.5, 0.9], [0.6, 0.6, 0.1]])[:, :dim],
            variances=np.stack([np.diag(v) for v in variances])
            if is_full
            else variances,
        )
    )


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", RULES)
def test_rules(name, dim):
    """E19, E20, E22 with their gradients."""
    check_rule(make(find_rule(name).settings, LIGHT).build(), dim=dim)


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_agent_side_of_guide(part):
    side = side_of("guide-ucb", **part)
    is_full = part.get("covariance") == "full"
    misfits = [packet(is_full, dim) for dim in (1, 2)]
    check_agent_side(side, packets=[packet(is_full)], misfits=misfits)


def test_agent_side_without_federation():
    check_agent_side(side_of("ucb"), packets=[packet(False)])


def insight_of(side, posterior):
    return side.study(posterior) if isinstance(side, Studying) else None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_both_sides_of_every_strategy(strategy):
    """Uploads of the one side go to the other, and its packets come back."""
    method = Method(strategy, (find_strategy(strategy).rules or RULES)[0])
    side, server = side_of(method), server_of(method)
    if server is None:
        check_agent_side(side)
        return
    uploads = {
        f"site{agent}": side.upload(
            example_posterior(3, agent),
            example_data(3, agent),
            insight_of(side, example_posterior(3, agent)),
            None,
            Streams(0).of(agent, 1),
        )
        for agent in (4, 0, 17, 5)
    }
    check_server_side(server, uploads)
    packets = server.aggregate(uploads, 1, draws())
    check_agent_side(side, packets=packets.values())
    assert (server.upload_type, server.packet_type) == method.strategy.messages


def test_server_side_of_guide():
    check_server_side(server_of("guide-ucb"), UPLOADS["guide"])


UPLOADS = {
    "guide": {
        f"site{agent}": OptimumUpload(
            mass=0.2 + agent / 40,
            center=np.array([agent / 30, 0.5]),
            variance=np.array([0.01, 0.02]),
            value_score=agent / 9 - 1,
        )
        for agent in (4, 0, 17, 5, 18, 29)
    }
}


def test_posteriors():
    """E02, E03, E18."""
    local = example_posterior()
    check_posterior(local)
    check_posterior(guided_posterior(local))


@pytest.mark.parametrize("variance", [5e-324, 1e-310, 1e-300, 1e-12, 1e300])
def test_components_that_pass_the_wire_give_finite_guidance(variance):
    """E15, E16: what the wire accepts, the agent can compute with."""
    try:
        extreme = GuidancePacket(
            components=Components(
                weights=np.ones(1),
                centers=np.full((1, 3), 0.5),
                variances=np.full((1, 3), variance),
            )
        )
    except WireError:
        return
    local = example_posterior()
    side = side_of("guide-ucb")
    posterior = side.decision_posterior(local, extreme, 1, Streams(0).of(0, 1))
    X = np.array([[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]])
    assert all(np.isfinite(moment).all() for moment in posterior.moments(X))
    assert (posterior.predict(X)[1] >= local.predict(X)[1]).all()


# The suites notice what they are for.


class Wrapped:
    """A rule whose acquisition is tampered with."""

    def __init__(self, tamper):
        self.rule = policy_of("ucb").rule
        self.tamper = tamper

    def acquisition(self, posterior, stream):
        inner = self.rule.acquisition(posterior, stream)
        return self.tamper(inner, stream)


class WrongGradient:
    def __init__(self, inner, stream):
        self.value, self.inner = inner.value, inner

    def value_and_gradient(self, X):
        value, gradient = self.inner.value_and_gradient(X)
        return value, 1.001 * gradient


class Noisy:
    def __init__(self, inner, stream):
        self.inner = inner

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        value, gradient = self.inner.value_and_gradient(X)
        return value + id(self) % 1000, gradient


class Batched:
    def __init__(self, inner, stream):
        self.inner = inner

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        value, gradient = self.inner.value_and_gradient(X)
        return value - value.mean(), gradient


class Tall(Noisy):
    def value_and_gradient(self, X):
        value, gradient = self.inner.value_and_gradient(X)
        return value[:, None], gradient


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (WrongGradient, "finite differences"),
        (Batched, "must not depend on the points beside it"),
        (Tall, "must have shape"),
        (Noisy, "same stream"),
    ],
)
def test_rule_suite_notices(tamper, words):
    with pytest.raises(AssertionError, match=words):
        check_rule(Wrapped(tamper))


class Forgetful:
    """A server that answers in the order of arrival and forgets the last agent."""

    def __init__(self, forgets):
        self.server = server_of("guide-ucb")
        self.upload_type, self.packet_type = OptimumUpload, GuidancePacket
        self.forgets, self.form = forgets, self.server.form

    def aggregate(self, uploads, t, draws):
        if not uploads:
            return {}
        first = next(iter(uploads.values()))
        if self.forgets:
            kept = dict(list(uploads.items())[:-1]) or uploads
            return self.server.aggregate(kept, t, draws)
        alone = self.server.aggregate({"a": first}, t, draws)["a"]
        return dict.fromkeys(uploads, alone)


class Odd(Forgetful):
    """A server that takes every upload for another kind."""

    def __init__(self):
        super().__init__(False)
        self.form = lambda upload: upload.value_score


def test_server_suite_notices():
    with pytest.raises(AssertionError, match="must be alike"):
        check_server_side(Odd(), UPLOADS["guide"])
    with pytest.raises(AssertionError, match="must get a packet each"):
        check_server_side(Forgetful(True), UPLOADS["guide"])
    with pytest.raises(AssertionError, match="must not depend on the order"):
        check_server_side(Forgetful(False), UPLOADS["guide"])


class Unrepeatable:
    """An agent side that reads a clock of its own."""

    def __init__(self):
        self.side = side_of("guide-ucb")
        self.count = 0

    def upload(self, posterior, data, insight, held, address):
        self.count += 1
        message = self.side.upload(posterior, data, insight, held, address)
        return replace(message, value_score=message.value_score + self.count)

    def decision_posterior(self, posterior, packet, t):
        return posterior


class Lax:
    """An agent side that checks packets in a way of its own."""

    def __init__(self, check):
        self.side = side_of("guide-ucb")
        self.upload = self.side.upload
        self.decision_posterior = self.side.decision_posterior
        self.check = check


def refuse_silently(packet, dim):
    raise WireError("")


def stumble(packet, dim):
    raise AttributeError("dim")


def test_agent_suite_notices():
    with pytest.raises(AssertionError, match="must give the same upload"):
        check_agent_side(Unrepeatable())
    with pytest.raises(AssertionError, match="own server must pass"):
        check_agent_side(Lax(refuse_silently), packets=[packet(False)])
    with pytest.raises(AssertionError, match="must raise WireError, got AttributeE"):
        check_agent_side(Lax(stumble), packets=[packet(False)])
    misfits = [packet(False, dim=2)]
    with pytest.raises(AssertionError, match="must say why"):
        check_agent_side(Lax(refuse_silently), misfits=misfits)
    with pytest.raises(AssertionError, match="does not fit must not pass"):
        check_agent_side(Lax(lambda packet, dim: None), misfits=misfits)
    blank = Lax(Lax(None).side.check)
    blank.study = lambda posterior: None
    with pytest.raises(AssertionError, match="insight must not be None"):
        check_agent_side(blank)

"""The control: guidance in the middle of the box that nobody sent."""

import numpy as np
import pytest
from tests.agent.numerics import make_gp

from guidefbo.agent.decision.search import SearchSettings
from guidefbo.agent.guidance.scaling import LocalScaling, UniformScaling
from guidefbo.agent.guidance.schedule import constant, decaying
from guidefbo.agent.strategies.placebo.agent import PlaceboAgent
from guidefbo.agent.strategies.placebo.settings import PlaceboSettings
from guidefbo.agent.surrogate.model import Model
from guidefbo.agent.surrogate.priors import Priors
from guidefbo.core.domain import Domain
from guidefbo.core.streams import Streams
from guidefbo.testing import check_agent_side

MODEL = Model(noise_std=0.1, priors=Priors())
ADDRESS = Streams(0).of(0, 1)
PLACEBO = PlaceboAgent(
    intervention=LocalScaling.widening, schedule=decaying, max_strength=1.0
)


def test_uncertainty_in_the_middle_by_hand():
    """E44: S = 1 + λ exp(-½ Σ (x - ½)² / 0.25²), with λ = 1/√t."""
    gp = make_gp(5, 2)
    X = np.array([[0.5, 0.5], [0.75, 0.5], [0.0, 0.0]])
    field = np.exp([0.0, -0.5, -4.0])
    for t in (1, 4):
        posterior = PLACEBO.decision_posterior(gp, None, t, ADDRESS)
        mean, std = posterior.predict(X)
        local_mean, local_std = gp.predict(X)
        assert mean == pytest.approx(local_mean, abs=1e-12)
        assert std == pytest.approx(local_std * (1.0 + field / np.sqrt(t)), rel=1e-12)


def test_nothing_is_sent_and_nothing_received_matters():
    check_agent_side(PLACEBO, packets=["anything"])
    gp = make_gp(5, 2)
    X = np.random.default_rng(0).random((4, 2))
    one, other = (
        PLACEBO.decision_posterior(gp, packet, 3, ADDRESS).predict(X)[1]
        for packet in (None, "anything")
    )
    assert (one == other).all()


def test_settings_reach_the_parts():
    build = (Domain.box(2), MODEL, SearchSettings())
    assert PlaceboSettings().build(*build) == PLACEBO
    chosen = PlaceboSettings(
        intervention="uniform", schedule="constant", max_strength=3.0, starts="centers"
    )
    assert chosen.build(*build) == PlaceboAgent(
        intervention=UniformScaling.averaging,
        schedule=constant,
        max_strength=3.0,
        start=(0.5, 0.5),
    )

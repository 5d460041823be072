"""The stateless part of an agent: fit a model, make the upload, choose the next query.

State (data, fit, packet) is held by the agent of a simulated run, `agent.loop`, and by
the agent of a real site, `guidefbo.Agent`; both call the same policy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.decision.feasible import Limit, Limits, within
from guidefbo.agent.decision.regional import RegionalAcquisition
from guidefbo.agent.decision.repeats import OnRepeat, ask_again, is_repeat
from guidefbo.agent.decision.rule import Rule
from guidefbo.agent.decision.search import (
    Forbids,
    SearchSettings,
    maximise_acquisition,
)
from guidefbo.agent.decision.steep import maximise_steep
from guidefbo.agent.missing import Missing, imagine
from guidefbo.agent.record import Forecast, Forecasts
from guidefbo.agent.side import (
    AgentSide,
    Aiming,
    Alone,
    Foretelling,
    Judging,
    Pointing,
    Starting,
    Studying,
)
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.agent.surrogate.model import Fitted, Model
from guidefbo.agent.surrogate.posterior import Posterior
from guidefbo.agent.surrogate.snapped import SnappedPosterior
from guidefbo.core.arrays import Point, Points
from guidefbo.core.domain import Domain
from guidefbo.core.space.region import Reals, Region
from guidefbo.core.streams import Address, Purpose
from guidefbo.wire.envelope import Message

NUM_NEAR = 5
"""Best observed points the search starts from as well, where data may be missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Model, strategy, decision rule and search of one method."""

    domain: Domain
    """Where queries may lie."""
    model: Model
    """How the objective is modelled."""
    side: AgentSide
    """The agent's half of the federation strategy."""
    rule: Rule
    """The decision rule."""
    search: SearchSettings
    """Effort of the search for the next query."""
    on_repeat: OnRepeat = ask_again
    """What becomes of a query that was observed before."""

    def fit(self, data: Dataset) -> Fitted:
        """Return the posterior of the data."""
        return self.model.fit(data)

    def study(self, fitted: Fitted) -> Any:
        """Return the strategy's insight into a fit, None where it has none.

        Costly for some strategies: to be kept as long as the fit is.
        """
        if not isinstance(self.side, Studying):
            return None
        return self.side.study(fitted.posterior)

    def upload(
        self, fitted: Fitted, insight: Any, held: Any, address: Address
    ) -> Message | None:
        """Return the message of a round, or None where the strategy stays silent.

        Args:
            fitted: Posterior and data.
            insight: What `study` made of them.
            held: The newest packet from an earlier round, or None.
            address: Names the randomness.
        """
        return self.side.upload(fitted.posterior, fitted.data, insight, held, address)

    def check(self, packet: Any) -> None:
        """Raise `WireError` if a packet does not fit the method or the space."""
        self.side.check(packet, self.domain.dim)

    def aim(self, study: Callable[[], Any], packet: Any, *, record: float = 0.0) -> Any:
        """Return what a packet comes to in the light of the own data.

        Args:
            study: Gives the insight into them; not called where it is of no use.
            packet: What the server sent, or None.
            record: How the others have foretold results; see `agent.record`.
        """
        if packet is None and isinstance(self.side, Alone):
            packet = self.side.nothing
        if packet is None or not isinstance(self.side, Aiming):
            return packet
        aimed = self.side.aimed(study(), packet)
        if record < 0.0 and isinstance(self.side, Foretelling):
            return self.side.recalled(aimed, record)
        return aimed

    def forecasts(self, fitted: Fitted, aimed: Any, x: Point) -> Forecasts | None:
        """Return what is expected of a result, None where models are not compared.

        Args:
            fitted: Posterior, data and their units.
            aimed: What `aim` made of a packet, or None.
            x: Where the result will be from.
        """
        if aimed is None or not isinstance(self.side, Foretelling):
            return None
        found = self.side.forecasts(aimed, x)
        if found is None:
            return None
        means, stds, noises = np.transpose(found)
        _, noises = fitted.units.normal_to_site(means, noises)
        means, stds = fitted.units.normal_to_site(means, stds)
        each = means.tolist(), stds.tolist(), noises.tolist()
        others, alone = map(Forecast, *each)
        return Forecasts(others=others, alone=alone)

    @property
    def models(self) -> Mapping[str, str]:
        """What the models are that the strategy compares, by name; perhaps none."""
        return self.side.models if isinstance(self.side, Judging) else {}

    def judgement(self, aimed: Any) -> Mapping[str, float]:
        """Return how likely the own data make each model, by name; perhaps none.

        Args:
            aimed: What `aim` made of a packet, or None.
        """
        if aimed is None or not isinstance(self.side, Judging):
            return {}
        return self.side.judgement(aimed)

    def decision_posterior(
        self, local: GaussianProcess, packet: Any, t: int, address: Address
    ) -> Posterior:
        """Return what the rule decides on: guided, and rounded where values are."""
        posterior = self.side.decision_posterior(local, packet, t, address)
        if not self.domain.is_discrete:
            return posterior
        return SnappedPosterior(inner=posterior, domain=self.domain)

    def decide(
        self,
        fitted: Fitted,
        aimed: Any,
        t: int,
        address: Address,
        missing: Missing | None = None,
        limits: Limits | None = None,
        region: Region | None = None,
    ) -> Point | None:
        """Return the next query, None where every point found is forbidden.

        Args:
            fitted: Posterior and data.
            aimed: What `aim` made of a packet, or None.
            t: Round, from 1.
            address: Names the randomness.
            missing: Points whose values are not there; None where rounds are
                synchronous and nothing fails.
            limits: Of further outcomes; None: there are none.
            region: The part of the domain that may be asked; None: all of it.
        """
        local, forbids = fitted.posterior, None
        if missing is not None:
            local = imagine(local, fitted.data, missing)
        posterior = self.decision_posterior(local, aimed, t, address)
        near = self._landmarks(aimed)
        if missing is not None:
            near = np.vstack([near, best_points(fitted, limits)])
            forbids = missing.forbids
        acquisition = self.rule.acquisition(posterior, address.at(Purpose.RULE))
        if limits is not None:
            pending = np.empty((0, local.dim)) if missing is None else missing.pending
            known = np.vstack([fitted.data.X, pending])
            acquisition = within(acquisition, known, limits.with_pending(pending))
        if region is not None:
            acquisition = RegionalAcquisition(inner=acquisition, region=region)
            forbids = None if forbids is None else partial(_forbids, forbids, region)
            near = region.pull(near)
        domain = self.domain if region is None else region.domain
        maximise = maximise_acquisition if limits is None else maximise_steep
        x = maximise(
            acquisition,
            domain,
            self.search,
            address.at(Purpose.SEARCH),
            near=near,
            forbids=forbids,
        )
        whole = _whole(x, region)
        if x is None or whole is None or not is_repeat(whole, fitted.data.X):
            return whole
        x = self.on_repeat(x, domain, address.at(Purpose.REPEAT), forbids)
        return _whole(x, region)

    def limit(self, fitted: Fitted) -> Limit:
        """Return the limit of an outcome, from the model of how far it keeps it."""
        posterior: Posterior = fitted.posterior
        if self.domain.is_discrete:
            posterior = SnappedPosterior(inner=posterior, domain=self.domain)
        threshold = float(fitted.units.to_model(np.zeros(1))[0])
        return Limit(posterior=posterior, threshold=threshold)

    def _landmarks(self, aimed: Any) -> Points:
        """Return where the search starts as well, brought into the domain."""
        places = None
        if isinstance(self.side, Starting):
            places = self.side.starts
        elif aimed is not None and isinstance(self.side, Pointing):
            places = self.side.landmarks(aimed)
        if places is None:
            return np.empty((0, self.domain.dim))
        return self.domain.admit(places)


def _whole(x: Reals | None, region: Region | None) -> Reals | None:
    return x if x is None or region is None else region.embed(x[None])[0]


def _forbids(forbids: Forbids, region: Region, Z: Reals) -> NDArray[np.bool_]:
    return forbids(region.embed(Z))


def best_points(fitted: Fitted, limits: Limits | None = None) -> Points:
    """Return the observed inputs of highest posterior mean, within limits if any."""
    gp = fitted.posterior
    if limits is not None:
        return limits.best(gp.X, gp.predict_mean(gp.X), NUM_NEAR)
    return gp.X[np.argsort(-gp.predict_mean(gp.X), kind="stable")[:NUM_NEAR]]

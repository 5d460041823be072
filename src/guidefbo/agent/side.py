"""The interface of a federation strategy on the agent's side."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from guidefbo.agent.dataset import Dataset
from guidefbo.core.arrays import Point, Points
from guidefbo.core.streams import Address
from guidefbo.wire.envelope import Message

if TYPE_CHECKING:
    from guidefbo.agent.record import Forecasts
    from guidefbo.agent.surrogate.gp import GaussianProcess
    from guidefbo.agent.surrogate.posterior import Posterior

OTHERS = "others"
"""Name of the model that rests on what the other sites sent."""


class AgentSide(Protocol):
    """What a strategy sends to the server, and how a packet changes the posterior."""

    def upload(
        self,
        posterior: "GaussianProcess",
        data: Dataset,
        insight: Any,
        held: Any,
        address: Address,
    ) -> Message | None:
        """Return the message of this round, or None to stay silent.

        Args:
            posterior: The local posterior before this round's query.
            data: The observations behind it, in model units.
            insight: What `study` made of the posterior, None of a strategy that is not
                `Studying`.
            held: The newest packet from an earlier round, or None.
            address: Names the randomness of this agent and round.
        """
        ...

    def check(self, packet: Any, dim: int) -> None:
        """Raise `WireError` if a packet does not fit, whoever sent it.

        Asked once, when a packet comes in: what passes is decided on in any round
        without another check. A packet that says that there is nothing to say fits.

        Args:
            packet: What the server sent, read from the wire.
            dim: Coordinates of the search space.
        """
        ...

    def decision_posterior(
        self, posterior: "GaussianProcess", packet: Any, t: int, address: Address
    ) -> "Posterior":
        """Return the posterior the rule decides on.

        Args:
            posterior: The local posterior, of imagined values too where some are
                missing.
            packet: What the server sent in this round, `aimed` where the strategy does
                that, or None.
            t: Round, from 1.
            address: Names the randomness of this agent and round.
        """
        ...


@runtime_checkable
class Studying(Protocol):
    """A strategy whose upload and decision rest on the same costly computation.

    A side holds no state: whoever holds the fit computes the insight once a fit, where
    it is needed, and hands it on.
    """

    def study(self, posterior: "GaussianProcess") -> Any:
        """Return the insight, a pure function of the local posterior.

        Args:
            posterior: The local posterior, of observed values only.
        """
        ...


@runtime_checkable
class Aiming(Studying, Protocol):
    """A strategy that combines a packet with what its own data say."""

    def aimed(self, insight: Any, packet: Any) -> Any:
        """Return what to decide on in the place of the packet.

        Args:
            insight: What `study` made of the local posterior.
            packet: What the server sent in this round.
        """
        ...


@runtime_checkable
class Alone(Aiming, Protocol):
    """A strategy that has something to aim at without any packet as well."""

    @property
    def nothing(self) -> Any:
        """The packet of a site that has heard from nobody."""
        ...


@runtime_checkable
class Judging(Aiming, Protocol):
    """A strategy that compares models of the own data, one of them from the others.

    What a site wants to know is how far the others are right about it.
    """

    @property
    def models(self) -> Mapping[str, str]:
        """What each model is, in a few words, by its name.

        The one that rests on what the others sent is called `OTHERS`.
        """
        ...

    def judgement(self, aimed: Any) -> Mapping[str, float]:
        """Return how likely the own data make each model, by name; one in sum.

        A model that was not compared is left out.

        Args:
            aimed: What `aimed` made of the packet.
        """
        ...


@runtime_checkable
class Foretelling(Judging, Protocol):
    """A strategy whose models are judged by what they foretold as well."""

    def forecasts(self, aimed: Any, x: Point) -> "Forecasts | None":
        """Return what is expected of a result, in units of the model.

        None where there are no two models to compare.

        Args:
            aimed: What `aimed` made of the packet.
            x: Where the result will be from.
        """
        ...

    def recalled(self, aimed: Any, record: float) -> Any:
        """Return the same with the record of former forecasts taken into account.

        Args:
            aimed: What `aimed` made of the packet.
            record: Of the others' model, at most zero; see `agent.record`.
        """
        ...


@runtime_checkable
class Pointing(Protocol):
    """A strategy whose packets hold points that the search should start from."""

    def landmarks(self, packet: Any) -> Points | None:
        """Return where a packet points, one row a place, for the search to start from.

        In many dimensions hardly a quasi-random point falls under a narrow field, and
        away from it the field has no slope to climb.
        """
        ...


@runtime_checkable
class Starting(Protocol):
    """A strategy that knows where the search should start, whatever it has heard."""

    @property
    def starts(self) -> Points | None:
        """One row a place; None: nowhere in particular."""
        ...

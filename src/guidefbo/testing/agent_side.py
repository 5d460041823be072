"""The contract of a strategy's agent side."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.side import (
    OTHERS,
    AgentSide,
    Aiming,
    Alone,
    Judging,
    Pointing,
    Studying,
)
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.core.arrays import Points
from guidefbo.core.errors import WireError
from guidefbo.core.streams import Address, Streams
from guidefbo.testing.codec import check_codec, encode
from guidefbo.testing.examples import (
    example_data,
    example_points,
    example_posterior,
)
from guidefbo.testing.expect import expect
from guidefbo.testing.posterior import check_posterior


def check_agent_side(
    side: AgentSide,
    *,
    packets: Iterable[Any] = (),
    misfits: Iterable[Any] = (),
    dim: int = 3,
    seed: int = 0,
) -> None:
    """Check what a strategy sends and what it makes of the answers.

    The upload depends on the posterior, the data, the packet held and the address
    alone, and survives the wire; the posterior it decides on keeps the posterior's
    contract, without a packet and with each of the given ones. `check` lets these pass
    and refuses misfits with a `WireError` that says why; it is asked where a packet
    comes in, and no decision asks again. A strategy that studies has the same insight
    into another posterior of the same data. One that aims decides on what it made of
    a packet and its insight: a packet that fits, or a value of its own; one that points
    names places of the posterior's dimension; one that judges gives every model that
    it compares a probability and a few words. Without a packet, one that aims alone
    decides as with the packet that says nothing.

    Args:
        side: The strategy's agent side.
        packets: Answers of its server in the same number of dimensions.
        misfits: Packets of the same type that do not fit: of other dimensions, or of
            other settings.
        dim: Coordinates of the example.
        seed: Root of the example.
    """
    posterior, data = example_posterior(dim, seed), example_data(dim, seed)
    given = tuple(packets)
    for packet in given:
        _check_fit(side, packet, dim)
    for misfit in misfits:
        _check_misfit(side, misfit, dim)
    if isinstance(side, Alone):
        _check_fit(side, side.nothing, dim)
        _check_alone(side, posterior, Streams(seed).of(0, 1), example_points(dim, seed))
        given = (*given, side.nothing)
    packets = (None, *given)
    for agent, t in ((0, 1), (3, 2)):
        for held in packets:
            _check_upload(side, posterior, data, held, Streams(seed).of(agent, t))
    for packet in packets:
        for t in (1, 7):
            address = Streams(seed).of(0, t)
            used = _aim(side, posterior, packet)
            # Where aiming makes a packet of it, any packet can be decided on.
            for each in (packet, used) if type(used) is type(packet) else (used,):
                decided = side.decision_posterior(posterior, each, t, address)
                check_posterior(decided, seed=seed)
                _check_landmarks(side, each, dim)
            _check_judgement(side, used)
            # Another posterior of the same data: what was remembered of the first is
            # no help.
            again = _aim(side, replace(posterior), packet)
            X = example_points(dim, seed)
            first, second = (
                side.decision_posterior(posterior, each, t, address).predict(X)
                for each in (used, again)
            )
            expect(
                np.array_equal(first, second),
                "The same packet must give the same decision.",
            )


def _study(side: AgentSide, posterior: GaussianProcess) -> Any:
    """Return the insight of a strategy that studies, None of others."""
    if not isinstance(side, Studying):
        return None
    insight = side.study(posterior)
    expect(
        insight is not None,
        "An insight must not be None, which says that none was computed.",
    )
    return insight


def _aim(side: AgentSide, posterior: GaussianProcess, packet: Any) -> Any:
    """Return what a strategy that aims decides on; others take the packet as it is."""
    if packet is None or not isinstance(side, Aiming):
        return packet
    aimed = side.aimed(side.study(posterior), packet)
    if type(aimed) is type(packet):
        _check_fit(side, aimed, posterior.dim)
        again = side.aimed(side.study(replace(posterior)), packet)
        expect(
            encode(again) == encode(aimed), "Aiming twice must give the same packet."
        )
    return aimed


def _check_alone(
    side: AgentSide, posterior: GaussianProcess, address: Address, X: Points
) -> None:
    """Check that no packet is the packet that says nothing."""
    assert isinstance(side, Alone)
    aimed = side.aimed(side.study(posterior), side.nothing)
    first, second = (
        side.decision_posterior(posterior, each, 1, address).predict(X)
        for each in (None, aimed)
    )
    expect(
        np.array_equal(first, second),
        "No packet and the one that says nothing must give the same decision.",
    )


def _check_landmarks(side: AgentSide, packet: Any, dim: int) -> None:
    if packet is None or not isinstance(side, Pointing):
        return
    places = side.landmarks(packet)
    expect(
        places is None or (places.ndim == 2 and places.shape[1] == dim),
        f"Landmarks must be None or rows of {dim} coordinates.",
    )
    expect(
        places is None or bool(np.isfinite(places).all()),
        "Landmarks must be finite.",
    )


def _check_judgement(side: AgentSide, aimed: Any) -> None:
    if aimed is None or not isinstance(side, Judging):
        return
    weights = side.judgement(aimed)
    expect(OTHERS in side.models, f"One of the models must be called {OTHERS!r}.")
    expect(
        weights.keys() <= side.models.keys(),
        "A judgement must name models that `models` has words for.",
    )
    shares = np.array([*weights.values()])
    is_share = bool((shares >= 0.0).all()) and abs(float(shares.sum()) - 1.0) < 1e-9
    expect(is_share or not len(shares), "A judgement must be probabilities.")


def _check_fit(side: AgentSide, packet: Any, dim: int) -> None:
    refusal = _refusal(lambda: side.check(packet, dim))
    expect(
        refusal is None,
        f"A packet of the strategy's own server must pass, got {refusal!r}.",
    )
    # Not every packet has a dimension; to say so must be all that may happen.
    _refusal(lambda: side.check(packet, dim + 1))


def _check_misfit(side: AgentSide, misfit: Any, dim: int) -> None:
    refusal = _refusal(lambda: side.check(misfit, dim))
    expect(refusal is not None, f"A packet that does not fit must not pass: {misfit}.")
    expect(bool(str(refusal)), "Refusing a packet must say why.")


def _refusal(attempt: Callable[[], object]) -> WireError | None:
    """Return how it was refused, None where it was not."""
    try:
        attempt()
    except WireError as error:
        return error
    except Exception as error:
        raise AssertionError(
            f"A packet that does not fit must raise WireError, got {error!r}."
        ) from error
    return None


def _check_upload(
    side: AgentSide,
    posterior: GaussianProcess,
    data: Dataset,
    held: Any,
    address: Address,
) -> None:
    before = data.X.tobytes() + data.y.tobytes()
    message = side.upload(posterior, data, _study(side, posterior), held, address)
    expect(
        data.X.tobytes() + data.y.tobytes() == before,
        "Making an upload must leave the data unchanged.",
    )
    # Another posterior of the same data: what was remembered of the first is no help.
    other = replace(posterior)
    again = side.upload(other, data, _study(side, other), held, address)
    if message is None or again is None:
        expect(message is again, "A strategy must be silent always or never.")
        return
    check_codec(message)
    expect(
        encode(again) == encode(message),
        "The same posterior, data and address must give the same upload.",
    )

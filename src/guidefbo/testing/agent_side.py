"""The contract of a strategy's private half."""

from collections.abc import Iterable
from typing import Any

from guidefbo.agent.dataset import Dataset
from guidefbo.agent.side import AgentSide
from guidefbo.agent.surrogate.gp import GaussianProcess
from guidefbo.core.streams import Address, Streams
from guidefbo.testing.codec import check_codec
from guidefbo.testing.examples import example_data, example_posterior
from guidefbo.testing.expect import expect
from guidefbo.testing.posterior import check_posterior
from guidefbo.wire.codec import encode


def check_agent_side(
    side: AgentSide, *, packets: Iterable[Any] = (), dim: int = 3, seed: int = 0
) -> None:
    """Check what a strategy sends and what it makes of the answers.

    The upload depends on the posterior, the data, the packet held and the address
    alone, and survives the wire; the posterior it decides on keeps the posterior's
    contract, without a packet and with each of the given ones.

    Args:
        side: The strategy's private half.
        packets: Answers of its server in the same number of dimensions.
        dim: Coordinates of the example.
        seed: Root of the example.
    """
    posterior, data = example_posterior(dim, seed), example_data(dim, seed)
    packets = (None, *packets)
    for agent, t in ((0, 1), (3, 2)):
        for held in packets:
            _check_upload(side, posterior, data, held, Streams(seed).of(agent, t))
    for packet in packets:
        for t in (1, 7):
            address = Streams(seed).of(0, t)
            decided = side.decision_posterior(posterior, packet, t, address)
            check_posterior(decided, seed=seed)


def _check_upload(
    side: AgentSide,
    posterior: GaussianProcess,
    data: Dataset,
    held: Any,
    address: Address,
) -> None:
    before = data.X.tobytes() + data.y.tobytes()
    message = side.upload(posterior, data, held, address)
    expect(
        data.X.tobytes() + data.y.tobytes() == before,
        "Making an upload must leave the data unchanged.",
    )
    again = side.upload(posterior, data, held, address)
    if message is None or again is None:
        expect(message is again, "A strategy must be silent always or never.")
        return
    check_codec(message)
    expect(
        encode(again) == encode(message),
        "The same posterior, data and address must give the same upload.",
    )

"""Methods and a problem of one's own: what a user's plugin looks like.

Tests hand this file to `--plugin`, as it is and changed.
"""

from dataclasses import dataclass

import numpy as np

import guidefbo as gf
from guidefbo.core.errors import WireError
from guidefbo.core.settings import count, real


@dataclass(frozen=True)
class Place:
    """A point of the unit cube, up and down."""

    KIND = "relay.place"
    x: tuple

    def to_body(self):
        return {"x": list(self.x)}

    @classmethod
    def from_body(cls, body):
        x = body.get("x")
        is_list = isinstance(x, list) and set(body) == {"x"}
        if not is_list or not all(type(v) is float and 0 <= v <= 1 for v in x):
            raise WireError("x must be a list of numbers from 0 to 1.")
        return cls(tuple(x))


@dataclass(frozen=True)
class RelayAgent:
    """Says where its best observation is, and looks where another's was."""

    num_copies: int

    def upload(self, posterior, data, insight, held, address):
        return Place(tuple(map(float, data.X[np.argmax(data.y)])))

    def check(self, packet, dim):
        if len(packet.x) != dim:
            raise WireError(f"Expected {dim} coordinates, got {len(packet.x)}.")

    def decision_posterior(self, posterior, packet, t, address):
        return posterior

    def landmarks(self, packet):
        return np.tile(packet.x, (self.num_copies, 1))


@dataclass(frozen=True)
class RelaySettings:
    num_copies: int = count(1, "how often a place is looked at")

    def build(self, domain, model, search):
        return RelayAgent(self.num_copies)


@dataclass(frozen=True)
class RelayServer:
    """Hands every site the place of the next one."""

    upload_type = packet_type = Place

    def form(self, upload):
        return "dimension", len(upload.x)

    def aggregate(self, uploads, t, draws):
        sites = sorted(uploads)
        return {s: uploads[sites[n - 1]] for n, s in enumerate(sites)}


@dataclass(frozen=True)
class RelayServerSettings:
    def build(self):
        return RelayServer()


RELAY = gf.Strategy(
    name="relay",
    text="the best place up, a neighbour's down",
    agent=RelaySettings,
    server=RelayServerSettings,
    messages=(Place, Place),
    seconds=3.0,
)


@dataclass(frozen=True)
class Boldness:
    """Mean plus so many standard deviations."""

    boldness: float = real(1.0, "standard deviations added")

    def build(self):
        return self

    def acquisition(self, posterior, stream):
        return BoldValue(posterior, self.boldness)


@dataclass(frozen=True)
class BoldValue:
    posterior: object
    boldness: float

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        mean, std, mean_slope, std_slope = self.posterior.moments(X)
        return mean + self.boldness * std, mean_slope + self.boldness * std_slope


BOLD = gf.Rule(
    name="bold", text="mean plus standard deviations", settings=Boldness, dash="dashdot"
)


def bowl(X):
    return (X**4).sum(axis=1)


BOWL = gf.SyntheticFunction(
    name="bowl",
    domain=(-1.0, 1.0),
    output_scale=1.0,
    landscape="flat in the middle",
    function=bowl,
    maximiser=np.zeros,
    maximum=lambda dim: 0.0,
)

"""A federation as the store keeps it, and its server side."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.tables import coordinator, federations
from guidefbo.core.settings import make
from guidefbo.server.registry import find_server
from guidefbo.server.side import ServerSide
from guidefbo.wire.envelope import Terms
from guidefbo.wire.keys import SigningKey

MAX_BODY = 64 << 10
"""Most bytes of a request, unless the strategy's messages may be longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """What sites have in common, fixed when it is created."""

    terms: Terms
    """Federation, space and strategy."""
    space: Mapping[str, Any]
    """The search space as plain data."""
    goal: str
    """max or min."""
    method: str
    """Name of the method: strategy and rule. The rule is the sites' own matter."""
    settings: Mapping[str, Any]
    """Settings of the method that differ from the defaults."""
    min_sites: int
    """No packet is made of fewer uploads."""
    max_sites: int
    """Most sites that may join."""
    shared_seed: int | None
    """What all sites must draw alike, None where nothing is."""
    secret_seed: int
    """Root of the server's randomness."""
    is_open: bool = True
    """Whether letters are taken."""
    round: int = 0
    """How often the set of newest uploads has changed."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.terms.federation

    @property
    def server(self) -> ServerSide:
        """The strategy's shared half."""
        return make(find_server(self.terms.strategy), self.settings).build()

    @property
    def max_body(self) -> int:
        """Most bytes of a request."""
        # A message is a text in JSON in base64.
        longest = getattr(self.server.upload_type, "MAX_BYTES", 0)
        return max(MAX_BODY, 2 * longest)

    def to_row(self) -> dict[str, Any]:
        """Return the row of a table."""
        terms = self.terms
        body = {
            "space_fingerprint": terms.space,
            "strategy": terms.strategy,
            "strategy_version": terms.strategy_version,
            "space": self.space,
            "goal": self.goal,
            "method": self.method,
            "settings": dict(self.settings),
            "min_sites": self.min_sites,
            "max_sites": self.max_sites,
            "shared_seed": self.shared_seed,
        }
        return {
            "name": self.name,
            "is_open": self.is_open,
            "round": self.round,
            "body": json.dumps(body, allow_nan=False),
            "secret": json.dumps({"seed": self.secret_seed}),
        }

    @classmethod
    def from_row(cls, row: Any) -> "Federation":
        """Return the federation in a row."""
        body = json.loads(row.body)
        terms = Terms(
            federation=row.name,
            space=body.pop("space_fingerprint"),
            strategy=body.pop("strategy"),
            strategy_version=body.pop("strategy_version"),
        )
        return cls(
            terms=terms,
            is_open=bool(row.is_open),
            round=row.round,
            secret_seed=json.loads(row.secret)["seed"],
            **body,
        )


def find_federation(
    connection: Connection, name: str, *, lock: bool = False
) -> Federation:
    """Return a federation, or refuse its name.

    Args:
        connection: To the store.
        name: Its name.
        lock: Whether no other process may change it until this transaction ends.
    """
    query = select(federations).where(federations.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise Refusal("not_found", f"There is no federation {name} here.")
    return Federation.from_row(row)


def add_federation(connection: Connection, federation: Federation) -> None:
    """Store a new federation."""
    connection.execute(insert(federations).values(**federation.to_row()))


def list_federations(connection: Connection) -> list[Federation]:
    """Return all federations, by name."""
    rows = connection.execute(select(federations).order_by(federations.c.name))
    return [Federation.from_row(row) for row in rows]


def set_round(connection: Connection, name: str, number: int) -> None:
    """Store how often the uploads have changed."""
    connection.execute(
        update(federations).where(federations.c.name == name).values(round=number)
    )


def signing_key(connection: Connection) -> SigningKey:
    """Return the key that signs answers."""
    pem = connection.execute(select(coordinator.c.secret)).scalar_one_or_none()
    if pem is None:
        raise Refusal("not_found", "There is no federation here yet.")
    return SigningKey.from_pem(pem.encode())


def ensure_signing_key(connection: Connection) -> SigningKey:
    """Return the key that signs answers, made when the first federation is."""
    if connection.execute(select(coordinator.c.id)).first() is None:
        pem = SigningKey.make().to_pem().decode()
        connection.execute(insert(coordinator).values(id=1, secret=pem))
    return signing_key(connection)

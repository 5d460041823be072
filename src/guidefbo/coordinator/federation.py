"""A federation as the store keeps it, and its server side."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.tables import coordinator, federations, successions
from guidefbo.core.domain import Domain
from guidefbo.core.settings import make
from guidefbo.core.space.form import space_from_form
from guidefbo.server.registry import find_server
from guidefbo.server.side import PlacedSide, ServerSide
from guidefbo.wire.envelope import MAX_BYTES, Terms
from guidefbo.wire.keys import SigningKey
from guidefbo.wire.succession import MAX_SUCCESSIONS, Succession, make_succession

MAX_FORMER = 20
"""Former spaces that are kept; who is further behind is told the newest one."""
MAX_BODY = 64 << 10
"""Most bytes of a request, unless the strategy's messages may be longer."""
NUMBER_BYTES = 25
"""Most bytes of a number in JSON, with the comma after it."""
FRAME_BYTES = 4 << 10
"""Room for what stands around the numbers of an upload: names, and brackets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """What sites have in common; all but the space is fixed when it is created."""

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
    former: tuple[Mapping[str, Any], ...] = ()
    """The search space as it was before it was changed, the oldest first."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.terms.federation

    @property
    def server(self) -> ServerSide:
        """The strategy's shared half."""
        return make(find_server(self.terms.strategy), self.settings).build()

    @property
    def domain(self) -> Domain:
        """The search space as coordinates of the unit cube."""
        return _domain_of(json.dumps(self.space))

    @property
    def max_upload(self) -> int:
        """Most bytes of an upload: what its strategy can need in this space."""
        server = self.server
        if not isinstance(server, PlacedSide):
            return MAX_BODY // 2
        numbers = server.max_numbers(self.domain)
        return min(FRAME_BYTES + NUMBER_BYTES * numbers, MAX_BYTES)

    @property
    def max_body(self) -> int:
        """Most bytes of a request."""
        # An upload is a text in JSON in base64.
        return max(MAX_BODY, 2 * self.max_upload)

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
            "former": list(self.former),
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
            # Stores of earlier versions have none.
            former=tuple(body.pop("former", ())),
            **body,
        )


@lru_cache(maxsize=256)
def _domain_of(form: str) -> Domain:
    # Asked for every letter, and the same every time.
    return space_from_form(json.loads(form)).domain


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


def put_federation(connection: Connection, federation: Federation) -> None:
    """Store a federation that has changed."""
    row = federation.to_row()
    connection.execute(
        update(federations).where(federations.c.name == row.pop("name")).values(**row)
    )


def set_round(connection: Connection, name: str, number: int) -> None:
    """Store how often the uploads have changed."""
    connection.execute(
        update(federations).where(federations.c.name == name).values(round=number)
    )


def signing_key(connection: Connection, *, lock: bool = False) -> SigningKey:
    """Return the key that signs answers.

    Args:
        connection: To the store.
        lock: Whether it may not be changed until this transaction ends.
    """
    query = select(coordinator.c.secret)
    if lock:
        query = query.with_for_update(read=True)
    pem = connection.execute(query).scalar_one_or_none()
    if pem is None:
        raise Refusal("not_found", "There is no federation here yet.")
    return SigningKey.from_pem(pem.encode())


def change_signing_key(connection: Connection) -> Succession:
    """Have a new key sign answers from now on; the old one vouches for it and is gone.

    Args:
        connection: In a transaction that is committed afterwards.
    """
    connection.execute(select(coordinator.c.id).with_for_update())
    former, fresh = signing_key(connection), SigningKey.make()
    count = select(func.max(successions.c.number))
    number = (connection.execute(count).scalar_one_or_none() or 0) + 1
    changed = make_succession(former, fresh.public, number)
    connection.execute(
        insert(successions).values(
            number=number, former_key=changed.former_key, letter=changed.text
        )
    )
    pem = fresh.to_pem().decode()
    connection.execute(update(coordinator).values(secret=pem))
    return changed


def list_successions(connection: Connection) -> list[str]:
    """Return the letters by which keys followed each other, the newest, in order."""
    newest = successions.c.number.desc()
    query = select(successions.c.letter).order_by(newest).limit(MAX_SUCCESSIONS)
    return list(connection.execute(query).scalars())[::-1]


def ensure_signing_key(connection: Connection) -> SigningKey:
    """Return the key that signs answers, made when the first federation is."""
    if connection.execute(select(coordinator.c.id)).first() is None:
        pem = SigningKey.make().to_pem().decode()
        connection.execute(insert(coordinator).values(id=1, secret=pem))
    return signing_key(connection)

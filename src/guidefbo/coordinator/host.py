"""What the host does: create, invite, revoke, close, readers. Works on the store."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, update

from guidefbo.coordinator import members
from guidefbo.coordinator.codes import hash_code, hash_token, make_code, make_token
from guidefbo.coordinator.federation import (
    Federation,
    add_federation,
    change_signing_key,
    ensure_signing_key,
    find_federation,
    list_federations,
    set_round,
    signing_key,
)
from guidefbo.coordinator.members import JOINED, REVOKED, ROLES, Invitation, Member
from guidefbo.coordinator.refusal import Refusal
from guidefbo.coordinator.store import Store
from guidefbo.coordinator.tables import federations
from guidefbo.core.checks import require_count, shown
from guidefbo.core.errors import SettingsError, refuse_unknown
from guidefbo.core.names import require_name
from guidefbo.core.settings import settings_of
from guidefbo.core.space.form import fingerprint, space_from_form, space_to_form
from guidefbo.server.registry import find_server, server_names
from guidefbo.server.side import ListeningSide
from guidefbo.wire.envelope import Terms
from guidefbo.wire.succession import Succession

MAX_FEDERATIONS = 10_000
"""Most federations of one store."""
MAX_SITES = 10_000
"""Most sites that a federation can be created for."""
SOME_SITES = 1000
"""Most sites of a federation where nothing else is said."""
DAY = 86_400.0


def create(
    store: Store,
    name: str,
    space: Mapping[str, Any],
    *,
    goal: str,
    method: str,
    settings: Mapping[str, Any] | None = None,
    strategy_version: int = 1,
    min_sites: int = 3,
    max_sites: int = SOME_SITES,
) -> Federation:
    """Create a federation.

    The strategy's name and its server's settings are checked here. The rule and the
    settings of the agents are the sites' matter: this side cannot read them.

    Args:
        store: Where to.
        name: Its name.
        space: The search space, as plain data.
        goal: max or min.
        method: The sites' method, whose name begins with its strategy's.
        settings: Settings of the method that differ from the defaults.
        strategy_version: Version of the strategy's messages.
        min_sites: No packet is made of fewer uploads.
        max_sites: Most sites that may join.
    """
    if goal not in ("max", "min"):
        raise SettingsError(
            f"Say what is better: --goal max or --goal min, got {shown(goal)}."
        )
    checked = space_from_form(space)
    checked.refuse_unmet()
    strategy = strategy_of(method)
    given = dict(settings or {})
    kind = find_server(strategy)
    own = settings_of(kind)
    given |= {key: own[key].check(value) for key, value in given.items() if key in own}
    server = kind(**{key: given[key] for key in given if key in own}).build()
    federation = Federation(
        terms=Terms(
            federation=require_name("The federation's name", name),
            space=fingerprint(checked),
            strategy=strategy,
            strategy_version=strategy_version,
        ),
        space=space_to_form(checked),
        goal=goal,
        method=method,
        settings=given,
        min_sites=require_count("min_sites", min_sites, 1, MAX_SITES),
        max_sites=require_count("max_sites", max_sites, 1, MAX_SITES),
        shared_seed=secrets.randbits(31)
        if getattr(server, "needs_shared_seed", False)
        else None,
        secret_seed=secrets.randbits(64),
    )
    with store.writing() as connection:
        known = list_federations(connection)
        if any(other.name == name for other in known):
            raise SettingsError(
                f"There is a federation {name} already. Choose another name."
            )
        if len(known) >= MAX_FEDERATIONS:
            raise SettingsError(f"A store has at most {MAX_FEDERATIONS} federations.")
        ensure_signing_key(connection)
        add_federation(connection, federation)
    return federation


def strategy_of(method: str) -> str:
    """Return the strategy of a method's name."""
    names = server_names()
    # A rule's name may have hyphens too: the longest strategy is meant.
    heads = [n for n in names if method == n or method.startswith(f"{n}-")]
    if not heads:
        refuse_unknown("strategy with a server side", method, names)
    return max(heads, key=len)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """A code, shown once."""

    code: str
    invitation: Invitation


def invite(
    store: Store, federation: str, site: str, *, role: str = "site", days: float = 7.0
) -> Invited:
    """Make a code that lets a site join once; an earlier code of the site ends.

    Args:
        store: Where to.
        federation: Its name.
        site: The name that the site will have.
        role: site, listen-only or speak-only.
        days: After which the code expires.
    """
    require_name("The site's name", site)
    if role not in ROLES:
        refuse_unknown("role", role, ROLES)
    if not 0.0 < days <= 365.0:
        raise SettingsError(
            f"A code lives more than 0 and at most 365 days, got {days:g}."
        )
    code = make_code()
    invitation = Invitation(
        federation=federation,
        site=site,
        role=role,
        code_hash=hash_code(code),
        expires=time.time() + days * DAY,
    )
    with store.writing() as connection:
        found = _find(connection, federation)
        if not found.is_open:
            raise SettingsError(f"The federation {federation} is closed.")
        if role == "listen-only" and not isinstance(found.server, ListeningSide):
            raise SettingsError(
                f"The strategy {found.terms.strategy} has packets only for sites that "
                "upload: --role site."
            )
        members.put_invitation(connection, invitation)
    return Invited(code=code, invitation=invitation)


def revoke(store: Store, federation: str, site: str, *, forget: bool = False) -> None:
    """End a site's membership and its invitation; its upload is out of all packets.

    Args:
        store: Where.
        federation: Its name.
        site: The site's name.
        forget: Whether its uploads are removed from the store, too.
    """
    with store.writing() as connection:
        found = _find(connection, federation, lock=True)
        is_invited = members.drop_invitation(connection, federation, site)
        member = members.find_member(connection, federation, site)
        if member is None:
            if is_invited:
                return
            names = [m.name for m in members.list_members(connection, federation)]
            refuse_unknown("site", site, names)
        if member.speaks:
            set_round(connection, federation, found.round + 1)
        if forget:
            member = members.forget_uploads(connection, member)
        members.put_members(connection, [replace(member, state=REVOKED)])


def set_open(store: Store, federation: str, is_open: bool) -> None:
    """Close a federation, or open it again.

    A closed one takes no letters any more, except of sites that leave.
    """
    with store.writing() as connection:
        _find(connection, federation, lock=True)
        connection.execute(
            update(federations)
            .where(federations.c.name == federation)
            .values(is_open=is_open)
        )


def add_reader(store: Store, federation: str, name: str) -> str:
    """Return a new token of a reader; an earlier one of the same name ends."""
    require_name("The reader's name", name)
    token = make_token()
    with store.writing() as connection:
        _find(connection, federation)
        members.put_reader(connection, federation, name, hash_token(token))
    return token


def remove_reader(store: Store, federation: str, name: str) -> None:
    """End a reader's token."""
    with store.writing() as connection:
        _find(connection, federation)
        if not members.drop_reader(connection, federation, name):
            refuse_unknown("reader", name, members.list_readers(connection, federation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A federation and its sites."""

    federation: Federation
    members: list[Member]

    @property
    def num_joined(self) -> int:
        """How many sites take part."""
        return sum(member.state == JOINED for member in self.members)

    @property
    def num_uploads(self) -> int:
        """How many uploads packets are made of."""
        return sum(member.speaks for member in self.members)


def overview(store: Store, federation: str) -> Overview:
    """Return a federation and its sites."""
    with store.reading() as connection:
        found = _find(connection, federation)
        return Overview(
            federation=found, members=members.list_members(connection, federation)
        )


def overviews(store: Store) -> list[Overview]:
    """Return all federations and their sites."""
    with store.reading() as connection:
        return [
            Overview(
                federation=found, members=members.list_members(connection, found.name)
            )
            for found in list_federations(connection)
        ]


def public_key(store: Store) -> str:
    """Return the public half of the key that signs answers."""
    with store.reading() as connection:
        return signing_key(connection).public


def rotate_key(store: Store) -> Succession:
    """Have a new key sign answers from now on, which the old one vouches for."""
    with store.writing() as connection:
        return change_signing_key(connection)


def export(store: Store, federation: str) -> bytes:
    """Return a federation as JSON: what sites share and their newest uploads.

    No key, no code, no token and no seed is in it.
    """
    with store.reading() as connection:
        found = _find(connection, federation)
        newest = members.newest_uploads(connection, federation)
        everybody = members.list_members(connection, federation)
    row = found.to_row()
    form = {
        "format": "guidefbo-federation",
        "version": 1,
        "name": found.name,
        "is_open": found.is_open,
        "round": found.round,
        **{k: v for k, v in json.loads(row["body"]).items() if k != "shared_seed"},
        "sites": [
            {
                "name": m.name,
                "state": m.state,
                "role": m.role,
                "public_key": m.public_key,
                "sequence": m.sequence,
                "num_uploads": m.num_uploads,
                "upload": json.loads(newest[m.name][0]) if m.name in newest else None,
            }
            for m in everybody
        ],
    }
    return (json.dumps(form, indent=1, allow_nan=False) + "\n").encode()


def _find(connection: Connection, name: str, *, lock: bool = False) -> Federation:
    try:
        return find_federation(connection, name, lock=lock)
    except Refusal:
        names = [federation.name for federation in list_federations(connection)]
        refuse_unknown("federation", name, names)

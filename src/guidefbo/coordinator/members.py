"""Sites, their uploads, invitations and readers, as the store keeps them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from guidefbo.coordinator.codes import is_same
from guidefbo.coordinator.tables import invitations, readers, sites, uploads

JOINED, LEFT, REVOKED = "joined", "left", "revoked"
ROLES = ("site", "listen-only", "speak-only")
"""What a site may do: both, take packets only, hand over uploads only."""
MAX_KEPT = 10_000
"""Uploads of a site that are kept; packets are made of the newest alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One site of a federation, a row of the table."""

    federation: str
    """Name of the federation."""
    name: str
    """Name of the site."""
    state: str
    """joined, left or revoked."""
    role: str
    """One of `ROLES`."""
    public_key: str
    """The key its letters are signed with."""
    former_key: str | None
    """The key before, for the letter that changed it, should it come again."""
    number: int
    """Largest letter number it has used."""
    digest: str
    """Digest of the last letter that had an effect."""
    answer: bytes
    """What that letter was answered."""
    upload: int | None
    """Letter number of its newest upload."""
    sequence: int | None
    """Sequence number of its newest upload."""
    num_uploads: int
    """How many uploads brought new results."""
    seen: float
    """When it was last heard of, by the coordinator's clock; shown, never used."""

    @property
    def speaks(self) -> bool:
        """Whether its upload is part of packets."""
        return (
            self.state == JOINED
            and self.role != "listen-only"
            and self.upload is not None
        )


def find_member(connection: Connection, federation: str, name: str) -> Member | None:
    """Return a site, None where there is none of that name."""
    query = select(sites).where(sites.c.federation == federation, sites.c.name == name)
    row = connection.execute(query).mappings().first()
    return None if row is None else Member(**dict(row))


def list_members(connection: Connection, federation: str) -> list[Member]:
    """Return all sites of a federation, by name."""
    query = select(sites).where(sites.c.federation == federation)
    rows = connection.execute(query.order_by(sites.c.name)).mappings()
    return [Member(**dict(row)) for row in rows]


def count_joined(connection: Connection, federation: str) -> int:
    """Return how many sites take part."""
    query = select(func.count()).select_from(sites)
    return connection.execute(
        query.where(sites.c.federation == federation, sites.c.state == JOINED)
    ).scalar_one()


def find_members(
    connection: Connection, federation: str, names: Collection[str]
) -> dict[str, Member]:
    """Return some sites by name; those that are not there are left out."""
    query = select(sites).where(
        sites.c.federation == federation, sites.c.name.in_(names)
    )
    rows = connection.execute(query).mappings()
    return {row["name"]: Member(**dict(row)) for row in rows}


def add_member(connection: Connection, member: Member) -> None:
    """Store a site that was not there."""
    connection.execute(insert(sites), [_to_row(member)])


def put_members(connection: Connection, changed: Sequence[Member]) -> None:
    """Store sites that have changed."""
    rows = [
        {**_to_row(member), "of": member.federation, "whose": member.name}
        for member in changed
    ]
    if rows:
        connection.execute(_CHANGE, rows)


def put_answers(connection: Connection, answers: Mapping[Member, bytes]) -> None:
    """Store what the last letters of some sites were answered."""
    rows = [
        {"of": member.federation, "whose": member.name, "said": answer}
        for member, answer in answers.items()
    ]
    if rows:
        connection.execute(_ANSWER, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUpload:
    """A row of the table of uploads."""

    federation: str
    site: str
    number: int
    """Of the letter it came in; the same number twice is refused by the database."""
    sequence: int
    body: bytes


def add_uploads(connection: Connection, new: Sequence[NewUpload]) -> None:
    """Store uploads."""
    if new:
        rows = [{f.name: getattr(u, f.name) for f in fields(NewUpload)} for u in new]
        connection.execute(_UPLOAD, rows)


def prune_uploads(connection: Connection, federation: str, site: str) -> None:
    """Remove the oldest uploads of a site that has sent very many."""
    mine = and_(uploads.c.federation == federation, uploads.c.site == site)
    newest_first = uploads.c.number.desc()
    beyond = select(uploads.c.number).where(mine).order_by(newest_first)
    last = connection.execute(beyond.offset(MAX_KEPT).limit(1)).scalar_one_or_none()
    if last is not None:
        connection.execute(delete(uploads).where(mine, uploads.c.number <= last))


def newest_upload(connection: Connection, member: Member) -> bytes | None:
    """Return a site's newest upload."""
    query = select(uploads.c.body).where(
        uploads.c.federation == member.federation,
        uploads.c.site == member.name,
        uploads.c.number == member.upload,
    )
    return connection.execute(query).scalar_one_or_none()


def newest_uploads(
    connection: Connection, federation: str
) -> Mapping[str, tuple[bytes, int]]:
    """Return by site the newest upload of all that speak, and how many it has sent."""
    query = (
        select(sites.c.name, uploads.c.body, sites.c.num_uploads)
        .select_from(sites)
        .join(
            uploads,
            and_(
                uploads.c.federation == sites.c.federation,
                uploads.c.site == sites.c.name,
                uploads.c.number == sites.c.upload,
            ),
        )
        .where(
            sites.c.federation == federation,
            sites.c.state == JOINED,
            sites.c.role != "listen-only",
        )
    )
    return {name: (body, count) for name, body, count in connection.execute(query)}


def last_upload(connection: Connection, member: Member) -> bytes | None:
    """Return the last upload a site has sent, whether it is part of packets or not."""
    query = select(uploads.c.body).where(
        uploads.c.federation == member.federation, uploads.c.site == member.name
    )
    newest_first = uploads.c.number.desc()
    return connection.execute(query.order_by(newest_first).limit(1)).scalar()


def retire_uploads(connection: Connection, federation: str) -> None:
    """Make no packet of any upload that is here; they stay in the store."""
    mine = sites.c.federation == federation
    connection.execute(update(sites).where(mine).values(upload=None, sequence=None))


def forget_uploads(connection: Connection, member: Member) -> Member:
    """Remove every upload of a site, and return it without one."""
    connection.execute(
        delete(uploads).where(
            uploads.c.federation == member.federation, uploads.c.site == member.name
        )
    )
    return replace(member, upload=None, sequence=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A code that lets one site join once."""

    federation: str
    site: str
    role: str
    code_hash: str
    expires: float
    """When it ends, by the coordinator's clock, seconds since 1970."""
    used_by: str | None = None
    """Digest of the letter that has used it. The row stays, so that this letter can
    come again."""


def find_invitation(connection: Connection, code_hash: str) -> Invitation | None:
    """Return the invitation of a code's digest."""
    query = select(invitations).where(invitations.c.code_hash == code_hash)
    row = connection.execute(query).mappings().first()
    if row is None or not is_same(row["code_hash"], code_hash):
        return None
    return Invitation(**dict(row))


def put_invitation(connection: Connection, invitation: Invitation) -> None:
    """Store an invitation; an earlier one of the same site ends."""
    drop_invitation(connection, invitation.federation, invitation.site)
    values = {f.name: getattr(invitation, f.name) for f in fields(Invitation)}
    connection.execute(insert(invitations).values(**values))


def drop_invitation(connection: Connection, federation: str, site: str) -> bool:
    """Remove the invitation of a site, and say whether there was one."""
    done = connection.execute(
        delete(invitations).where(
            invitations.c.federation == federation, invitations.c.site == site
        )
    )
    return done.rowcount > 0


def use_invitation(connection: Connection, used: Invitation, digest: str) -> None:
    """Store that a letter has used an invitation."""
    connection.execute(
        update(invitations)
        .where(invitations.c.code_hash == used.code_hash)
        .values(used_by=digest)
    )


def put_reader(
    connection: Connection, federation: str, name: str, token_hash: str
) -> None:
    """Store a reader; an earlier token of the same name ends."""
    drop_reader(connection, federation, name)
    values = {"federation": federation, "name": name, "token_hash": token_hash}
    connection.execute(insert(readers).values(**values))


def drop_reader(connection: Connection, federation: str, name: str) -> bool:
    """Remove a reader, and say whether there was one."""
    done = connection.execute(
        delete(readers).where(
            readers.c.federation == federation, readers.c.name == name
        )
    )
    return done.rowcount > 0


def reader_of(connection: Connection, token_hash: str) -> str | None:
    """Return the federation that a token's digest may read."""
    row = connection.execute(
        select(readers).where(readers.c.token_hash == token_hash)
    ).first()
    if row is None or not is_same(row.token_hash, token_hash):
        return None
    return str(row.federation)


def list_readers(connection: Connection, federation: str) -> list[str]:
    """Return the names of a federation's readers."""
    query = select(readers.c.name).where(readers.c.federation == federation)
    return list(connection.execute(query.order_by(readers.c.name)).scalars())


def _to_row(member: Member) -> dict[str, Any]:
    return {f.name: getattr(member, f.name) for f in fields(Member)}


_WHOSE = and_(sites.c.federation == bindparam("of"), sites.c.name == bindparam("whose"))
# Statements that are run for every letter are built once.
_CHANGE = (
    update(sites)
    .where(_WHOSE)
    .values({f.name: bindparam(f.name) for f in fields(Member)})
)
_ANSWER = update(sites).where(_WHOSE).values(answer=bindparam("said"))
_UPLOAD = insert(uploads)

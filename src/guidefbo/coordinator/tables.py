"""The tables of the store: few key columns, and one serialised body a row."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

coordinator = Table(
    "coordinator",
    metadata,
    # One row. Its body is the key that signs answers.
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("secret", Text, nullable=False),
)

successions = Table(
    "successions",
    metadata,
    # Changes of that key, oldest first: each letter is signed by the key before.
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("former_key", String(64), nullable=False, unique=True),
    Column("letter", Text, nullable=False),
)

federations = Table(
    "federations",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("is_open", Boolean, nullable=False),
    # Grows by one whenever the set of newest uploads changes.
    Column("round", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    # Root of the server's randomness, which no site may know.
    Column("secret", Text, nullable=False),
)

sites = Table(
    "sites",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("role", String(16), nullable=False),
    Column("public_key", String(64), nullable=False),
    Column("former_key", String(64)),
    # The last letter that had an effect, and what it was answered.
    Column("number", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("answer", LargeBinary, nullable=False),
    # The newest upload: its letter's number, its sequence; how many there were.
    Column("upload", BigInteger),
    Column("sequence", BigInteger),
    Column("num_uploads", BigInteger, nullable=False),
    Column("seen", Float, nullable=False),
    ForeignKeyConstraint(["federation"], ["federations.name"]),
)

uploads = Table(
    "uploads",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("site", String(64), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    ForeignKeyConstraint(["federation", "site"], ["sites.federation", "sites.name"]),
)

invitations = Table(
    "invitations",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("site", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("code_hash", String(64), nullable=False, unique=True),
    Column("expires", Float, nullable=False),
    Column("used_by", String(64)),
    ForeignKeyConstraint(["federation"], ["federations.name"]),
)

readers = Table(
    "readers",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    ForeignKeyConstraint(["federation"], ["federations.name"]),
)

IN_ORDER = (
    coordinator,
    successions,
    federations,
    sites,
    uploads,
    invitations,
    readers,
)
"""Every table after those it refers to."""

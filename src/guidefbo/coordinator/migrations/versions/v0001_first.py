"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "coordinator",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("secret", sa.Text, nullable=False),
    )
    op.create_table(
        "federations",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("is_open", sa.Boolean, nullable=False),
        sa.Column("round", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
    )
    op.create_table(
        "sites",
        sa.Column("federation", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("public_key", sa.String(64), nullable=False),
        sa.Column("former_key", sa.String(64)),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.Column("upload", sa.BigInteger),
        sa.Column("sequence", sa.BigInteger),
        sa.Column("num_uploads", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"]),
    )
    op.create_table(
        "uploads",
        sa.Column("federation", sa.String(64), primary_key=True),
        sa.Column("site", sa.String(64), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(
            ["federation", "site"], ["sites.federation", "sites.name"]
        ),
    )
    op.create_table(
        "invitations",
        sa.Column("federation", sa.String(64), primary_key=True),
        sa.Column("site", sa.String(64), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("code_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("used_by", sa.String(64)),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"]),
    )
    op.create_table(
        "readers",
        sa.Column("federation", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"]),
    )

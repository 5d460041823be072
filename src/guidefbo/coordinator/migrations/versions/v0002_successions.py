"""Changes of the coordinator's key."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of successions."""
    op.create_table(
        "successions",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("former_key", sa.String(64), nullable=False, unique=True),
        sa.Column("letter", sa.Text, nullable=False),
    )

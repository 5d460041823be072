"""What Alembic runs: the migrations, on the connection it was handed."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
# The transaction is the caller's: all migrations together, or none.
context.run_migrations()

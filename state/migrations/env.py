"""Alembic's entry point: runs inside the transaction that `state.sql.schema` opened and locked, never opens its own."""

from alembic import context

from state.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()

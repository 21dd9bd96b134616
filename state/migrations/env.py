"""Alembic's entry point, within the transaction that `state.sql.schema` has begun and locked."""

from alembic import context

from state.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()

"""A database as the program left it before the table of mentions: the one list of what every later schema has added."""

from typing import Final

from sqlalchemy import Connection, text

VIEWS: Final = ("flow_definition", "flow_definition_history")
LATER_TABLES: Final = ("mentions", "runs", "definitions", "definition_keys", "definition_texts", "definition_sources", "definition_history")
"""Made by schema 4 and those after it."""


def take_back_to_0003(connection: Connection) -> None:
    """Drop what schemas after 3 brought, and say that this is one of schema 3."""
    later_indexes = ("ix_outbox_replaced", "ix_outbox_new") if connection.dialect.name == "sqlite" else ("ix_outbox_replaced",)
    for kind, names in (("VIEW", VIEWS), ("TABLE", LATER_TABLES), ("INDEX", later_indexes)):
        for name in names:
            connection.execute(text(f"DROP {kind} {name}"))
    connection.execute(text("UPDATE alembic_version SET version_num = '0003'"))

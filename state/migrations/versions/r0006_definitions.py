"""Adds the tables of stored definitions, and views of the definitions of flows. Older programs have no stored definitions."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Column, Computed, Text
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_NAME = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
_TYPES = {"kind": _NAME, "key": _NAME} | dict.fromkeys(
    ("enabled", "active_version", "last_version", "drafts", "revision", "version", "seq"), BigInteger()
)
_KEYS = ("kind", "key", "title", "enabled", "active_version", "last_version", "drafts", "revision", "updated_at", "updated_by")
_VERSIONS = (
    *("id", "kind", "key", "version", "status", "revision", "title", "digest", "note", "author", "author_name", "writers"),
    *("created_at", "updated_at", "updated_by", "published_by", "published_by_name", "published_at"),
)
_HISTORY = ("id", "seq", "at", "kind", "key", "version", "what", "by", "by_name", "note", "digest")

_FLOWS = """
CREATE VIEW flow_definition AS
SELECT v.id, v.key AS name, v.version, UPPER(v.status) AS status, {is_active} AS is_active, {is_enabled} AS is_enabled, v.title,
    COALESCE({description}, '') AS description, {document} AS definition_jsonb, v.updated_by, v.created_at, v.updated_at, v.published_at
FROM definitions v
JOIN definition_keys k ON k.kind = v.kind AND k.key = v.key
JOIN definition_texts t ON t.digest = v.digest
WHERE v.kind = 'flow'
"""
_CHANGES = """
CREATE VIEW flow_definition_history AS
SELECT h.id, h.seq, h.key AS name, h.version, h.what,
    CASE WHEN h.what IN ('published', 'deactivated', 'switched_off', 'switched_on') THEN 'PUBLISHED' ELSE 'DRAFT' END AS status,
    {document} AS definition_jsonb, h.note AS change_notes, h."by" AS created_by, h."at" AS created_at
FROM definition_history h
LEFT JOIN definition_texts t ON t.digest = h.digest
WHERE h.kind = 'flow'
"""
_SQLITE = {
    "is_active": "k.active_version = v.version",
    "is_enabled": "k.enabled",
    "description": "json_extract(t.document, '$.metadata.description')",
    "document": "t.document",
}
_POSTGRESQL = {
    "is_active": "k.active_version = v.version",
    "is_enabled": "k.enabled = 1",
    "description": "t.document_jsonb #>> '{metadata,description}'",
    "document": "t.document_jsonb",
}


def upgrade() -> None:
    """Create the tables with their indexes, and the views; on PostgreSQL with the text as JSONB, which the server keeps equal to it."""
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    keys = sa.PrimaryKeyConstraint("kind", "key", name="pk_definition_keys")
    op.create_table("definition_keys", *map(_build_column, _KEYS), keys, sqlite_with_rowid=False)
    op.create_table(
        "definitions",
        *map(_build_column, _VERSIONS),
        sa.PrimaryKeyConstraint("id", name="pk_definitions"),
        sa.UniqueConstraint("kind", "key", "version", name="uq_definitions_kind"),
    )
    computed = [Column("document_jsonb", postgresql.JSONB, Computed("document::jsonb", persisted=True))] if is_postgresql else []
    texts = (_build_column("digest"), _build_column("document"), *computed)
    op.create_table("definition_texts", *texts, sa.PrimaryKeyConstraint("digest", name="pk_definition_texts"))
    op.create_table("definition_history", *map(_build_column, _HISTORY), sa.PrimaryKeyConstraint("id", name="pk_definition_history"))
    op.create_index("ix_definition_history_key", "definition_history", ["kind", "key", "seq"])
    for view in (_FLOWS, _CHANGES):
        op.execute(sa.text(view.format(**(_POSTGRESQL if is_postgresql else _SQLITE))))


def _build_column(name: str) -> Column[Any]:
    return Column(name, _TYPES.get(name, Text()), nullable=False)

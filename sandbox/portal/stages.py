"""Sandbox portal, stages: which stages belong to which funnel and what a stage means; reads the status book only."""

from __future__ import annotations

from sandbox.portal.schema import Row, Schema
from sandbox.portal.store import Store


def book_of(schema: Schema, category_id: int) -> str:
    """The name of the status book with the stages of a lead or of a deal's funnel."""
    if schema.kind == "lead":
        return "STATUS"
    return f"DEAL_STAGE_{category_id}" if category_id else "DEAL_STAGE"


def entries(store: Store, book: str) -> list[Row]:
    """The entries of one status book in their order."""
    return sorted((row for row in store.walk("status") if row["ENTITY_ID"] == book), key=lambda row: row["SORT"])


def find(store: Store, book: str, status_id: str) -> Row | None:
    """One entry of a book, or nothing."""
    return next((row for row in entries(store, book) if row["STATUS_ID"] == status_id), None)


def semantic(entry: Row) -> str:
    """S success, F failure, P still in progress."""
    return entry["SEMANTICS"] or "P"


def extra_semantics(entry: Row) -> str:
    """The word that crm.status.list gives in EXTRA."""
    if entry["SEMANTICS"] == "F":
        return "apology" if "APOLOGY" in entry["STATUS_ID"] else "failure"
    return "success" if entry["SEMANTICS"] == "S" else "process"

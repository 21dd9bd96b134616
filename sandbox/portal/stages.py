"""Sandbox portal, stages: the stages of each funnel and their meaning, read from the statuses in the store."""

from __future__ import annotations

from sandbox.portal.schema import Row, Schema
from sandbox.portal.schema_smart import INVOICE_TYPE_ID
from sandbox.portal.store import Store


def book_of(schema: Schema, category_id: int) -> str:
    """Return the name of the status book (a list of codes in the store) with the stages of leads, of quotes, or of one funnel."""
    if schema.kind == "lead":
        return "STATUS"
    if schema.kind == "quote":
        return "QUOTE_STATUS"
    if schema.type_id == INVOICE_TYPE_ID:
        return f"SMART_INVOICE_STAGE_{category_id}"
    if schema.smart:
        return f"DYNAMIC_{schema.type_id}_STAGE_{category_id}"
    return f"DEAL_STAGE_{category_id}" if category_id else "DEAL_STAGE"


def entries(store: Store, book: str) -> list[Row]:
    """Return the entries of one status book in their display order."""
    return sorted((row for row in store.walk("status") if row["ENTITY_ID"] == book), key=lambda row: row["SORT"])


def find(store: Store, book: str, status_id: str) -> Row | None:
    """Return the entry of a status book with the code `status_id`, or None."""
    return next((row for row in entries(store, book) if row["STATUS_ID"] == status_id), None)


def semantic(entry: Row) -> str:
    """Return the meaning of a stage: `S` success, `F` failure, `P` in progress."""
    return entry["SEMANTICS"] or "P"


def extra_semantics(entry: Row) -> str:
    """Return the meaning of a stage as the word that `crm.status.list` shows in `EXTRA`, such as `process` or `failure`."""
    if entry["SEMANTICS"] == "F":
        return "apology" if "APOLOGY" in entry["STATUS_ID"] else "failure"
    return "success" if entry["SEMANTICS"] == "S" else "process"


def funnels(store: Store, schema: Schema) -> list[Row]:
    """Return the funnels of deals or of one smart process in display order. `IS_DEFAULT` is `Y` in the default funnel."""
    if schema.smart:
        rows = [row for row in store.walk("smart_category") if row["ENTITY_TYPE_ID"] == schema.type_id]
    else:
        rows = [{**row, "IS_DEFAULT": "N" if row["ID"] else "Y"} for row in store.walk("category")]
    return sorted(rows, key=lambda row: row["SORT"])


def has_funnel(store: Store, schema: Schema, category_id: int) -> bool:
    """Whether a funnel with this number belongs to this kind of record."""
    row = store.get("smart_category" if schema.smart else "category", category_id)
    return row is not None and row.get("ENTITY_TYPE_ID", schema.type_id) == schema.type_id


def default_funnel(store: Store, schema: Schema) -> int:
    """Return the id of the funnel for a new record without one. It is 0 for deals and for kinds without funnels."""
    return next((int(row["ID"]) for row in funnels(store, schema) if row["IS_DEFAULT"] == "Y"), 0) if schema.smart else 0

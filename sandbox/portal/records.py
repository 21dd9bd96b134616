"""Sandbox portal, records: creates, changes and deletes CRM records for the old methods and for `crm.item.*`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sandbox.portal import files, stages
from sandbox.portal.context import Call
from sandbox.portal.schema import Field, Row, Schema
from sandbox.portal.store import Store
from sandbox.portal.values import day, parse


def read_fields(schema: Schema, given: list[tuple[Field, Any]], old: Row | None = None) -> Row:
    """Parse the given raw values and return those of writable fields by field name.

    `old` is the stored record of an update: if a new main contact is given, the other contacts are taken from it. Raises ValueError with
    the name of the first field whose value is invalid.
    """
    values: Row = {}
    for field, raw in given:
        if field.read_only or field.type == "crm_multifield" or (field.multiple and raw == [] and field.type != "file"):
            continue
        try:
            values[field.name] = (
                files.parse(field, raw, (old or {}).get(field.name)) if field.type == "file" and field.custom else parse(field, raw)
            )
        except ValueError as error:
            raise ValueError(field.name) from error
    return _link_contacts(schema, values, old or {})


def tell(call: Call, schema: Schema, verb: str, row_id: int) -> None:
    """Raise the portal events of a record that was added, changed or deleted. `verb` is `ADD`, `UPDATE` or `DELETE`."""
    for name, fields in events(schema, verb, row_id):
        call.emit(name, {"FIELDS": fields})


def events(schema: Schema, verb: str, row_id: int) -> list[tuple[str, Row]]:
    """Return the portal events for a record and a verb (`ADD`, `UPDATE` or `DELETE`), as pairs of event name and data.

    An item of a smart process has two: the event that all smart processes share, and the event of this smart process alone.
    """
    if not schema.smart:
        return [(f"ONCRM{schema.kind.upper()}{verb}", {"ID": row_id})]
    fields = {"ID": row_id, "ENTITY_TYPE_ID": schema.type_id}
    return [(f"ONCRMDYNAMICITEM{verb}", fields), (f"ONCRMDYNAMICITEM{verb}_{schema.type_id}", fields)]


def create(call: Call, schema: Schema, values: Row, fm: list[Row]) -> int:
    """Add one record with the portal's defaults, raise its portal event, and return its id. `fm` is its phones and e-mails."""
    row: Row = dict.fromkeys(schema.plain)
    row |= _defaults(call, schema) | {k: v for k, v in values.items() if v is not None or k != "ASSIGNED_BY_ID"}
    if schema.stage_field:
        row |= _first_stage(call.store, schema, row)
    row["ID"] = values.get("ID") or call.store.next_id(schema.kind)  # only the seed sets ids
    if "TITLE" in schema.fields and not row.get("TITLE"):
        row["TITLE"] = f"{schema.default_title} #{row['ID']}"
    if fm:
        row["FM"] = fm
    if schema.kind == "quote":
        row["QUOTE_NUMBER"] = str(row["ID"])
    call.store.add(schema.kind, row)
    if _keeps_history(schema):
        write_history(call.store, schema, row, 1, call.stamp)
    tell(call, schema, "ADD", row["ID"])
    return int(row["ID"])


def change(call: Call, schema: Schema, old: Row, values: Row, fm: list[Row]) -> bool:
    """Write new values to a record and raise its portal event. Return False, and write nothing, if no value differs.

    `fm` is all phones and e-mails that the record has afterwards.
    """
    row = {**old, **values}
    if fm or "FM" in old:
        row["FM"] = fm
    if schema.sums:
        row |= _recount(call.store, schema, row)
    if not any(row.get(name) != old.get(name) for name in row):
        return False
    moved = bool(schema.stage_field) and _where(schema, row) != _where(schema, old)
    row |= {"DATE_MODIFY": call.stamp, "MODIFY_BY_ID": call.user_id}
    if moved:
        row |= _stage_marks(call.store, schema, row)
        row |= _of(schema, {"MOVED_BY_ID": call.user_id, "MOVED_TIME": call.stamp, "PREVIOUS_STAGE_ID": old[schema.stage_field]})
        _note_move(call, schema, old, row)
    call.store.put(schema.kind, row)
    _tell_changed(call, schema, old, row)
    return True


def touch(call: Call, schema: Schema, old: Row) -> None:
    """Save a record without a change of its values: as in the old methods, its modification time is updated and its portal event raised."""
    call.store.put(schema.kind, {**old, "DATE_MODIFY": call.stamp, "MODIFY_BY_ID": call.user_id})
    _tell_changed(call, schema, old, old)


def delete(call: Call, schema: Schema, row: Row) -> None:
    """Remove a record with its activities, comments, history and product rows, and raise its event."""
    mine = row["ID"]
    store = call.store
    owned = [("activity", row) for row in store.find("activity", "OWNER_ID", mine) if row["OWNER_TYPE_ID"] == schema.type_id]
    owned += [(history_kind(schema.type_id), row) for row in store.find(history_kind(schema.type_id), "OWNER_ID", mine)]
    owned += [("productrow", row) for row in store.find("productrow", "OWNER_ID", mine) if row["OWNER_TYPE"] == schema.code]
    for kind, part in owned:
        store.remove(kind, part["ID"])
    store.remove_where("comment", lambda c: c["ENTITY_TYPE"] == schema.kind and c["ENTITY_ID"] == mine)
    store.remove(schema.kind, mine)
    tell(call, schema, "DELETE", mine)


def recount_sum(call: Call, schema: Schema, row_id: int) -> None:
    """Store the sum of the product rows as the sum of their deal, quote or smart process item, unless its sum is set manually."""
    old = call.store.get(schema.kind, row_id)
    if old is not None and (difference := _recount(call.store, schema, old)) and difference["OPPORTUNITY"] != old["OPPORTUNITY"]:
        call.store.put(schema.kind, {**old, **difference, "DATE_MODIFY": call.stamp})


def history_kind(type_id: int) -> str:
    """Return the kind of rows in which the store keeps the stage history of one kind of records; each counts its ids apart."""
    return f"history_{type_id}"


def write_history(store: Store, schema: Schema, row: Row, kind: int, stamp: str) -> None:
    """Add one line to the stage history. `kind` says what happened: 1 created, 2 moved, 3 closed, 5 moved to another funnel."""
    deal = schema.funnels
    stage, semantic = row[schema.stage_field], _meaning(store, schema, row)
    store.add(
        history_kind(schema.type_id),
        {
            "TYPE_ID": kind,
            "ENTITY_TYPE_ID": schema.type_id,
            "OWNER_ID": row["ID"],
            "CREATED_TIME": stamp,
            "CATEGORY_ID": row["CATEGORY_ID"] if deal else None,
            "STAGE_ID": stage if deal else None,
            "STAGE_SEMANTIC_ID": semantic if deal else None,
            "STATUS_ID": None if deal else stage,
            "STATUS_SEMANTIC_ID": None if deal else semantic,
        },
    )


def _defaults(call: Call, schema: Schema) -> Row:
    today = day(call.now)
    row: Row = {
        "ASSIGNED_BY_ID": call.user_id,
        "CREATED_BY_ID": call.user_id,
        "MODIFY_BY_ID": call.user_id,
        "DATE_CREATE": call.stamp,
        "DATE_MODIFY": call.stamp,
        "LAST_ACTIVITY_TIME": call.stamp,
        "LAST_ACTIVITY_BY": call.user_id,
        "OPENED": "Y",
    }
    if schema.stage_field:
        row |= {"MOVED_BY_ID": call.user_id, "MOVED_TIME": call.stamp, "CURRENCY_ID": "RUB", "OPPORTUNITY": 0.0}
        row |= {"IS_MANUAL_OPPORTUNITY": "N", "IS_RETURN_CUSTOMER": "N"}
    if schema.funnels:
        row["CATEGORY_ID"] = stages.default_funnel(call.store, schema)
    if schema.stage_field and schema.kind != "lead":
        row |= {
            "TYPE_ID": "SALE",
            "BEGINDATE": today.isoformat(),
            "CLOSEDATE": (today + timedelta(days=7)).isoformat(),
            "IS_RECURRING": "N",
            "IS_REPEATED_APPROACH": "N",
            "CONTACT_IDS": [],
        }
    if schema.kind == "contact":
        row |= {"EXPORT": "Y", "TYPE_ID": "CLIENT"}
    if schema.kind == "company":
        row |= {"COMPANY_TYPE": "CUSTOMER", "IS_MY_COMPANY": "N", "CURRENCY_ID": "RUB"}
    return _of(schema, row)


def _first_stage(store: Store, schema: Schema, row: Row) -> Row:
    """Return the values of a new record with its stage set, and with the fields that follow from the stage.

    The stage in `row` is used if the funnel has it; otherwise the first stage of the funnel is used.
    """
    category = row.get("CATEGORY_ID") or 0
    if schema.funnels and not stages.has_funnel(store, schema, category):
        category = stages.default_funnel(store, schema)
    book = stages.entries(store, stages.book_of(schema, category))
    named = row.get(schema.stage_field)
    chosen = next((entry for entry in book if entry["STATUS_ID"] == named), book[0])
    row = {**row, schema.stage_field: chosen["STATUS_ID"]}
    if schema.funnels:
        row["CATEGORY_ID"] = category
    return row | _stage_marks(store, schema, row)


def _stage_marks(store: Store, schema: Schema, row: Row) -> Row:
    """Return the read-only fields that follow from the stage, such as `CLOSED` and `IS_NEW`."""
    meaning = _meaning(store, schema, row)
    if schema.kind == "lead":
        return {"STATUS_SEMANTIC_ID": meaning}
    book = stages.book_of(schema, row.get("CATEGORY_ID") or 0)
    first = stages.entries(store, book)[0]["STATUS_ID"] == row[schema.stage_field]
    marks = {"STAGE_SEMANTIC_ID": meaning, "CLOSED": "N" if meaning == "P" else "Y", "IS_NEW": "Y" if first else "N"}
    return _of(schema, marks)


def _meaning(store: Store, schema: Schema, row: Row) -> str:
    entry = stages.find(store, stages.book_of(schema, row.get("CATEGORY_ID") or 0), row[schema.stage_field])
    return stages.semantic(entry) if entry else "P"


def _of(schema: Schema, values: Row) -> Row:
    """Return those of the values whose fields exist in this kind of record."""
    return {name: value for name, value in values.items() if name in schema.fields}


def _keeps_history(schema: Schema) -> bool:
    """Whether the portal keeps a stage history: for leads, deals and smart processes."""
    return schema.funnels or schema.kind == "lead"


def _where(schema: Schema, row: Row) -> tuple[Any, Any]:
    return row.get("CATEGORY_ID"), row[schema.stage_field]


def _note_move(call: Call, schema: Schema, old: Row, row: Row) -> None:
    if not _keeps_history(schema):
        return
    kind = 2 if _meaning(call.store, schema, row) == "P" else 3
    if schema.funnels and row["CATEGORY_ID"] != old["CATEGORY_ID"]:
        kind = 5
    write_history(call.store, schema, row, kind, call.stamp)


def _tell_changed(call: Call, schema: Schema, old: Row, row: Row) -> None:
    if schema.kind == "deal" and row["CATEGORY_ID"] != old["CATEGORY_ID"]:
        where = {"ID": row["ID"], "CATEGORY_ID": row["CATEGORY_ID"], "STAGE_ID": row["STAGE_ID"]}
        call.emit("ONCRMDEALMOVETOCATEGORY", {"FIELDS": where})
    else:
        tell(call, schema, "UPDATE", row["ID"])


def _recount(store: Store, schema: Schema, record: Row) -> Row:
    """Return the new sum of a record as {"OPPORTUNITY": sum of its product rows}.

    The result is empty if the record has no product rows or its sum is set manually.
    """
    if record.get("IS_MANUAL_OPPORTUNITY") == "Y":
        return {}
    rows = [row for row in store.find("productrow", "OWNER_ID", record["ID"]) if row["OWNER_TYPE"] == schema.code]
    return {"OPPORTUNITY": round(sum(row["PRICE"] * row["QUANTITY"] for row in rows), 2)} if rows else {}


def _link_contacts(schema: Schema, values: Row, old: Row) -> Row:
    """Return the values with the main contact (`CONTACT_ID`) and the list of all contacts (`CONTACT_IDS`) made consistent.

    The main contact is the first one of the list. Kinds of records without contacts get their values back unchanged.
    """
    if "CONTACT_IDS" not in schema.fields:
        return values
    if "CONTACT_IDS" in values:
        ids = list(dict.fromkeys(values["CONTACT_IDS"]))
        return values | {"CONTACT_IDS": ids, "CONTACT_ID": ids[0] if ids else None}
    if "CONTACT_ID" in values:
        main = values["CONTACT_ID"]
        others = [i for i in (old.get("CONTACT_IDS") or [])[1:] if i != main]
        return values | {"CONTACT_IDS": [main, *others] if main else []}
    return values

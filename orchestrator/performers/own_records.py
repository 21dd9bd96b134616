"""Finds records that this program created, by its marks. Only reads."""

from datetime import datetime, timedelta
from typing import Final

from bitrix.bulk.lists import LISTS, build_inconsistency_error, extract_ids
from bitrix.bulk.offset_pages import read_first_rows
from bitrix.catalogue.names import list_origin_fields
from bitrix.client.client import BitrixClient
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.origin_marks import ORIGINATOR, find_origin_effect
from orchestrator.gate.call.ports import OwnRecord
from orchestrator.performers.reconciliation import CLASSIC_LISTS, find_mark
from state.clock import format_iso
from state.stored import JsonObject

_CLOCKS_DIFFER: Final = timedelta(minutes=10)
"""How far the portal's clock may be behind ours; the journal knows what is older."""
_MOST_RECORDS: Final = 2000


async def find_own_records(call: Call, since: datetime, client: BitrixClient) -> list[OwnRecord]:
    """Oldest first. Raises BitrixError."""
    adds = {(leaf.spec.entity, leaf.entity): leaf for leaf in call.leaves if leaf.spec.verb == "add" and find_mark(leaf)}
    return [record for leaf in adds.values() for record in await _find_records_of_kind(leaf, since - _CLOCKS_DIFFER, client)]


async def _find_records_of_kind(call: Call, since: datetime, client: BitrixClient) -> list[OwnRecord]:
    in_items = call.spec.entity == "item"
    method = "crm.item.list" if in_items else CLASSIC_LISTS.get(call.spec.entity)
    if method is None:
        return []
    created_name = "createdTime" if in_items else "CREATED" if call.entity == "activity" else "DATE_CREATE"
    originator, origin = list_origin_fields(in_items=in_items)
    ids = LISTS[method]
    params: dict[str, object] = {
        "filter": {f"={originator}": ORIGINATOR, f">={created_name}": format_iso(since)},
        "order": {ids.query_field: "ASC"},
        "select": [ids.query_field, originator, origin, created_name],
    }
    if in_items:
        params["entityTypeId"] = call.params["entityTypeId"]
    first_rows = await read_first_rows(client, method, params, max_rows=_MOST_RECORDS)
    if not first_rows.complete:
        raise build_inconsistency_error("of records that this program created could not be read to its end")
    return [
        OwnRecord(entity=call.entity, number=number, effect_id=effect_id)
        for number, row in zip(extract_ids(first_rows.rows, ids.row_field), first_rows.rows, strict=True)
        if (effect_id := find_origin_effect(row)) and _is_made_after(row, created_name, since)
    ]


def _is_made_after(row: JsonObject, name: str, since: datetime) -> bool:
    """Checked since a portal may ignore a filter; an unreadable time counts."""
    try:
        created_at = datetime.fromisoformat(str(find_value(row, name)))
    except ValueError:
        return True
    return created_at.tzinfo is None or created_at >= since

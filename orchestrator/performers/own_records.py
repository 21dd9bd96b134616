"""Finds records in the portal that this program created, by the marks that it leaves in them; it only reads."""

from datetime import datetime, timedelta
from typing import Final

from bitrix.catalogue.names import list_origin_fields
from bitrix.client.client import BitrixClient
from bitrix.errors import Refused
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.ports import OwnRecord
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize.normalize import ORIGINATOR
from orchestrator.performers.reconciliation import CLASSIC_LISTS, find_mark, read_listed
from state.clock import format_iso
from state.stored import JsonObject

_CLOCKS_DIFFER: Final = timedelta(minutes=10)
"""How far the portal's clock may be behind ours. What is found only because of it was created earlier, and the journal knows it."""
_ODD_ANSWER: Final = "ODD_ANSWER"
_PAGE: Final = 50
_MOST_PAGES: Final = 40
_EFFECT_ID: Final = 32
"""The length of an effect's id, which begins a mark; in a batch the key of the command follows."""


async def find_own_records(call: Call, since: datetime, client: BitrixClient) -> list[OwnRecord]:
    """Return the records of the kinds that `call` creates and that this program created after `since`, oldest first.

    Return none for what creates nothing with a mark. Raises BitrixError if the portal cannot be read.
    """
    adds = {(leaf.spec.entity, leaf.entity): leaf for leaf in call.leaves if leaf.spec.verb == "add" and find_mark(leaf)}
    return [found for leaf in adds.values() for found in await _find_records_of_kind(leaf, since - _CLOCKS_DIFFER, client)]


async def _find_records_of_kind(call: Call, since: datetime, client: BitrixClient) -> list[OwnRecord]:
    in_items = call.spec.entity == "item"
    method = "crm.item.list" if in_items else CLASSIC_LISTS.get(call.spec.entity)
    if method is None:
        return []
    made = "createdTime" if in_items else "CREATED" if call.entity == "activity" else "DATE_CREATE"
    originator, origin = list_origin_fields(in_items=in_items)
    return [
        OwnRecord(entity=call.entity, number=number, effect_id=str(row[origin])[:_EFFECT_ID])
        for number, row in (await _load_rows(method, call, made, since, client)).items()
        if row.get(originator) == ORIGINATOR and row.get(origin) and _is_made_after(row, made, since)
    ]


async def _load_rows(method: str, call: Call, made: str, since: datetime, client: BitrixClient) -> dict[int, JsonObject]:
    """Return all rows by their numbers, page by page: on a full page of known records the forgotten one may come next.

    Raises Refused for an answer from which nothing can be concluded, and if there are more than `_MOST_PAGES` pages.
    """
    in_items = method == "crm.item.list"
    number, (originator, origin) = "id" if in_items else "ID", list_origin_fields(in_items=in_items)
    found: dict[int, JsonObject] = {}
    last = 0
    for _ in range(_MOST_PAGES):
        params: dict[str, object] = {
            "filter": {f"={originator}": ORIGINATOR, f">={made}": format_iso(since), f">{number}": last},
            "order": {number: "ASC"},
            "select": [number, originator, origin, made],
        }
        if in_items:
            params["entityTypeId"] = call.params["entityTypeId"]
        rows = read_listed((await client.call(method, params, repeatable=True)).result, in_items=in_items)
        numbers = None if rows is None else [as_id(row.get(number)) for row in rows]
        if rows is None or numbers is None or None in numbers:
            raise Refused(_ODD_ANSWER, f"{method} gave no list of records")
        new = {one: row for one, row in zip(numbers, rows, strict=True) if one is not None and one > last}
        found |= new
        if len(rows) < _PAGE or not new:
            return found
        last = max(new)
    raise Refused(_ODD_ANSWER, f"{method} gave more than {_MOST_PAGES * _PAGE} records of this program")


def _is_made_after(row: JsonObject, name: str, since: datetime) -> bool:
    """Return whether a row was created after `since`, which is checked since a portal may ignore a filter; an unreadable time counts."""
    try:
        made = datetime.fromisoformat(str(find_value(row, name)))
    except ValueError:
        return True
    return made.tzinfo is None or made >= since

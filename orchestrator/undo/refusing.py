"""Why something is not taken back, said with the field, what stands there now, and who was last at the record. Ring 2; reads names only."""

from typing import Any, Final

from bitrix.errors import BitrixError
from orchestrator.gate import fields, multifields
from orchestrator.gate.criticals import code_of
from orchestrator.gate.preview import Names
from orchestrator.gate.shown import Context, Reader, plain, show, show_own
from orchestrator.messages import Actor, Notice
from orchestrator.undo.restoring import Changed, Conflict, Record, Records

_LAST_HAND: Final = ("MODIFY_BY_ID", "CHANGED_BY", "updatedBy")


async def in_words(conflict: Conflict, records: Records, actor: Actor, names: Names) -> Notice:
    """The sentence about the first of the fields, with how many others there are. Names that cannot be read are left out."""
    first = conflict.fields[0]
    record = records.get(first.part.target) or {}
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    who = await _last_hand(record, names)
    args = {
        "field": code_of(first.part.call, first.name),
        "now": await _value(first, record, reader),
        "more": len(conflict.fields) - 1,
        "others": ", ".join(code_of(one.part.call, one.name) for one in conflict.fields[1:]),
        "who": who,
        "known": "yes" if who else "no",
        "id": first.part.target[1],
    }
    return Notice(code="undo-changed", args=args)


async def _value(one: Changed, record: Record, reader: Reader) -> str:
    entity = one.part.call.entity
    info = fields.info(one.part.call.entities.get(entity), one.name)
    currency = str(fields.value_of(record, "CURRENCY_ID", entity) or "")
    category = int(fields.number(fields.value_of(record, "CATEGORY_ID", entity)) or 0)
    context = Context(entity=entity, currency=currency, category=category)
    if multifields.is_named(one.name):
        return plain(one.now, reader)
    if info is None:
        return await show_own(one.name, one.now, context=context, reader=reader)
    return await show(one.now, info.kind, context=context, reader=reader)


async def _last_hand(record: Record, names: Names) -> str:
    """Who changed the record last, "" where the portal does not say; it need not be who changed this field."""
    number: Any = next((found for name in _LAST_HAND if (found := fields.number(fields.value_of(record, name))) is not None), None)
    if not number or number < 0:
        return ""
    try:
        return await names.user(int(number))
    except BitrixError:
        return ""

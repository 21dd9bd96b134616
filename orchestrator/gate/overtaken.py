"""Whether somebody changed what an undo would put back, while its card waited; and the words for that. Ring 2; reads names only.

Any other call is shown anew when its record changed; an undo is refused then, since it must never overwrite what came after it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bitrix.errors import BitrixError
from bitrix.names import MULTIFIELDS
from orchestrator.gate import criticals, fields, multifields
from orchestrator.gate.before import before_image, meant_with
from orchestrator.gate.effects import Call, Facts, Refuse
from orchestrator.gate.preview import Names
from orchestrator.gate.shown import Context, Reader, plain, show, show_own
from orchestrator.gate.undoing import state_of
from orchestrator.messages import Actor, Notice

Record = Mapping[str, Any]
_LAST_HAND: Final = ("MODIFY_BY_ID", "CHANGED_BY", "updatedBy")


async def overtaken(call: Call, facts: Facts, shown: Mapping[str, Any], *, actor: Actor, names: Names) -> Refuse | None:
    """The refusal of an undo whose card showed `shown`; None where what it would replace still stands. Unreadable names are left out."""
    changed = list(_changed(call, facts, shown))
    if not changed:
        return None
    leaf, name = changed[0]
    record = facts.records.get(leaf.targets[0]) or {}
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    args = {
        "field": criticals.code_of(leaf, name),
        "now": await in_words(leaf, name, fields.value_of(record, name, leaf.entity), record, reader),
        "more": len(changed) - 1,
        "others": ", ".join(criticals.code_of(one, other) for one, other in changed[1:]),
        **who_was_last(await last_hand(record, names)),
        "id": leaf.targets[0][1],
    }
    return Refuse(reason=Notice(code="undo-changed", args=args), detail="somebody changed it while the card of the undo waited")


def _changed(call: Call, facts: Facts, shown: Mapping[str, Any]) -> Iterator[tuple[Call, str]]:
    fresh = before_image(call, facts)
    for leaf in call.leaves:
        if leaf.reads_only or not leaf.targets:
            continue
        place = f"{leaf.targets[0][0]}:{leaf.targets[0][1]}"
        old, now = shown.get(place) or {}, fresh.get(place) or {}
        if leaf.spec.leads_to:
            if state_of(old) != state_of(now):
                yield leaf, "STATUS"
            continue
        for name in _put_back(leaf) if leaf.spec.verb == "update" else sorted({*old, *now}):
            known = leaf.spec.stands_for.get(name, name)
            if not _same(leaf, known, fields.value_of(now, known, leaf.entity), fields.value_of(old, known, leaf.entity)):
                yield leaf, known


def _put_back(leaf: Call) -> Iterator[str]:
    """What the call writes, and what gives a written value its meaning: a sum of another currency by now is another sum."""
    found: dict[str, str] = {}
    for name in criticals.written_fields(leaf):
        for one in (*(MULTIFIELDS if name.upper() == "FM" else (name,)), meant_with(name, leaf.entity)):
            found.setdefault(fields.squeeze(one, leaf.entity), one)
    return (name for name in found.values() if name)


def _same(leaf: Call, name: str, now: Any, shown: Any) -> bool:
    if multifields.is_named(name):
        return bool(now == shown)
    found = fields.info(leaf.entities.get(leaf.entity), name)
    return fields.same(now, shown, kind=found.kind if found else "text")


def who_was_last(name: str) -> dict[str, str]:
    """The arguments of a sentence that names who changed the record last, where that is known."""
    return {"who": name, "known": "yes" if name else "no"}


async def last_hand(record: Record, names: Names) -> str:
    """Who changed the record last, "" where the portal does not say; it need not be who changed this field."""
    number: Any = next((found for name in _LAST_HAND if (found := fields.number(fields.value_of(record, name))) is not None), None)
    if not number or number < 0:
        return ""
    try:
        return await names.user(int(number))
    except BitrixError:
        return ""


async def in_words(call: Call, name: str, now: Any, record: Record, reader: Reader) -> str:
    """What a field of `record` holds now, as cards show it."""
    entity = call.entity
    info = fields.info(call.entities.get(entity), name)
    currency = str(fields.value_of(record, "CURRENCY_ID", entity) or "")
    category = int(fields.number(fields.value_of(record, "CATEGORY_ID", entity)) or 0)
    context = Context(entity=entity, currency=currency, category=category)
    if multifields.is_named(name):
        elements = [one.value for one in multifields.elements(record) if one.kind == name.upper()] if isinstance(now, list) else []
        return plain("; ".join(elements) if isinstance(now, list) else now, reader)
    if info is None:
        return await show_own(name, now, context=context, reader=reader)
    return await show(now, info.kind, context=context, reader=reader)

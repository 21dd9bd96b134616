"""An undo must never overwrite later changes: it is refused if its values changed while its card waited."""

from collections.abc import Iterator
from typing import Final

from bitrix.catalogue.names import MULTIFIELDS
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.before_image import build_before_image, find_context_field
from orchestrator.gate.call.effect import BeforeImage, Call, Facts, Refuse
from orchestrator.gate.call.ports import Names
from orchestrator.gate.preview.field_words import format_field_value, name_field
from orchestrator.gate.preview.format_values import Reader, shorten_value
from orchestrator.gate.undo.undo_policy import find_task_state
from state.stored import JsonObject

Record = JsonObject
_LAST_EDITOR_FIELDS: Final = ("MODIFY_BY_ID", "CHANGED_BY", "updatedBy")


async def check_undo_conflict(call: Call, facts: Facts, before_image: BeforeImage, *, actor: Actor, names: Names) -> Refuse | None:
    """Names the field, its present value and the last editor, as far as names can be read."""
    changed = list(_find_changed_fields(call, facts, before_image))
    if not changed:
        return None
    leaf, name = changed[0]
    record = facts.records.get(leaf.targets[0]) or {}
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    now = await format_field_value(leaf, name, fields.find_value(record, name, leaf.entity), record, reader)
    args = {
        "field": await name_field(leaf, name, reader),
        "now": shorten_value(now, actor.locale),
        "more": len(changed) - 1,
        "others": ", ".join([await name_field(one, other, reader) for one, other in changed[1:]]),
        **build_last_editor_args(await find_last_editor(record, names)),
        "id": leaf.targets[0][1],
    }
    return Refuse(reason=Notice(code="undo-changed", args=args), detail="somebody changed it while the card of the undo waited")


def _find_changed_fields(call: Call, facts: Facts, before_image: BeforeImage) -> Iterator[tuple[Call, str]]:
    fresh = build_before_image(call, facts)
    for leaf in call.leaves:
        if leaf.reads_only or not leaf.targets:
            continue
        place = f"{leaf.targets[0][0]}:{leaf.targets[0][1]}"
        old, now = before_image.get(place) or {}, fresh.get(place) or {}
        if leaf.spec.leads_to:
            if find_task_state(old) != find_task_state(now):
                yield leaf, "STATUS"
            continue
        restored = leaf.spec.replaces or (_list_restored_fields(leaf) if leaf.spec.verb == "update" else sorted({*old, *now}))
        for name in restored:
            known = leaf.spec.stands_for.get(name, name)
            present, on_card = [fields.find_value(record, known, leaf.entity) for record in (now, old)]
            if not critical_fields.is_same_field_value(leaf, known, present, on_card):
                yield leaf, known


def _list_restored_fields(leaf: Call) -> Iterator[str]:
    """And those needed to interpret them: the same number in another currency is another sum."""
    names_by_key: dict[str, str] = {}
    for name in leaf.written_fields:
        for restored in (*(MULTIFIELDS if name.upper() == "FM" else (name,)), find_context_field(name, leaf.entity)):
            names_by_key.setdefault(fields.to_field_key(restored, leaf.entity), restored)
    return (name for name in names_by_key.values() if name)


def build_last_editor_args(name: str) -> dict[str, str]:
    """`name` is "" if the editor is not known."""
    return {"who": name, "known": "yes" if name else "no"}


async def find_last_editor(record: Record, names: Names) -> str:
    """Empty if the portal does not say; they may have changed other fields."""
    number = next(
        (editor for name in _LAST_EDITOR_FIELDS if (editor := fields.parse_number(fields.find_value(record, name))) is not None), None
    )
    if not number or number < 0:
        return ""
    try:
        return await names.find_user_name(int(number))
    except BitrixError:
        return ""

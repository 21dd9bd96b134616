"""Describes what somebody changed in a record while its card waited, field by field.

Changes by approved steps of the same plan are left out. The only data read from the portal here are names.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.duplicates import decode_row, is_command_done
from orchestrator.gate.approve.own_lists import ListWrite, select_list_values
from orchestrator.gate.approve.revalidate import CHANGED
from orchestrator.gate.call import critical_fields, fields, multifields
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.call.targets import PRODUCT_ROW, find_row_owner
from orchestrator.gate.call.unread_lists import find_guests_place
from orchestrator.gate.normalize.merge_multifields import find_steps
from orchestrator.gate.preview.format_values import EMPTY, Reader, shorten_value
from orchestrator.gate.preview.list_changes import find_list_label
from orchestrator.gate.preview.preview import Names
from orchestrator.gate.undo.undo_conflict import format_field_value
from state.journal.store import EffectRow
from state.model.card import Card
from state.stored import JsonObject

DRIFTED: Final = "changed-values"
"""The code of the sentence that names the changed fields."""
_MAX_NAMED: Final = 3
"""How many changed fields the sentence names; the others are only counted."""
_LONGEST: Final = 80


@dataclass(frozen=True, kw_only=True)
class _ChangedField:
    """A field of a record whose present value differs from the value on the card."""

    call: Call
    """The call, or the command of a batch, whose card showed it; `Call.entity` is the kind of the record."""
    name: str
    old: JsonObject
    now: JsonObject


async def accept_own_steps(shown: BeforeImage, fresh: BeforeImage, entry: Card, catalogue: Catalogue, ledger: Ledger) -> BeforeImage:
    """Return `shown`, the before-image (the values) on the card `entry`, updated with what other approved steps of the card's plan wrote.

    A written value is taken over only if the record has it now (`fresh`). A later change by anybody else therefore still counts as a
    change.
    """
    plan = _find_plan(entry)
    if not plan or shown == fresh:
        return shown
    image = {place: dict(record) if record is not None else None for place, record in shown.items()}
    of_lists: dict[str, list[ListWrite]] = {}
    for leaf, row in await _list_own_writes(plan, catalogue, ledger):
        place = f"{leaf.targets[0][0]}:{leaf.targets[0][1]}"
        old, now = image.get(place), fresh.get(place)
        owner = find_row_owner(leaf.targets[0], row, catalogue) if row is not None else None
        if owner is not None:
            of_lists.setdefault(f"{owner[0]}:{owner[1]}", []).append(ListWrite(call=leaf, row=row))
        if leaf.spec.replaces:
            of_lists.setdefault(place, []).append(ListWrite(call=leaf))
        elif old is not None and now is not None:
            old.update(_select_written_values(leaf, old, now))
    for place, writes in of_lists.items():
        old, now = image.get(place), fresh.get(place)
        if old is not None and now is not None:
            old.update(select_list_values(writes, old, now))
    return image


async def _list_own_writes(plan: str, catalogue: Catalogue, ledger: Ledger) -> list[tuple[Call, JsonObject | None]]:
    """Return the calls of approved steps of `plan` that changed a record or a list of it (such as product rows), in their order.

    Of a batch, its commands are returned. What the portal did not carry out is left out. With a change of a single product row stands the
    row as it was before.
    """
    cards = [card for card in ledger.state.cards.values() if _find_plan(card) == plan and card.status == "executed"]
    rows = [row for card in cards if (row := await ledger.find_effect(card.effect_id)) is not None]
    return [write for row in sorted(rows, key=lambda one: one.updated_at) for write in _list_done_updates(row, catalogue)]


def _find_plan(card: Card) -> str:
    """Return the plan (steps that the model proposed together) of the card's step, as "<turn>/<iteration>".

    Return "" for a call that is not a step of a plan.
    """
    return card.slot.rpartition("/")[0] if card.turn_id and card.slot.startswith(f"{card.turn_id}/") else ""


def _list_done_updates(row: EffectRow, catalogue: Catalogue) -> Iterator[tuple[Call, JsonObject | None]]:
    """Yield each call of an effect (stored call) that updated a record or changed a list of it, such as product rows.

    With a change of a single product row stands the row as it was before. A batch yields its commands. Calls and commands that the portal
    did not carry out are left out.
    """
    call = decode_row(row, catalogue)
    before = StoredOrder.from_data(row.call).before if call is not None else {}
    for leaf in call.leaves if call is not None else ():
        is_row = bool(leaf.targets) and leaf.targets[0][0] == PRODUCT_ROW and leaf.spec.verb in {"update", "delete"}
        if leaf.targets and (is_row or leaf.spec.verb == "update" or leaf.spec.replaces) and is_command_done(row, leaf.key):
            yield leaf, before.get(f"{PRODUCT_ROW}:{leaf.targets[0][1]}") if is_row else None


def _select_written_values(leaf: Call, old: JsonObject, now: JsonObject) -> dict[str, object]:
    """Return the fields of the present record `now` that have the value that the call `leaf` wrote.

    The keys are spelled as in the record. `old` is the record before the call.
    """
    record = {**old, **now}
    written = leaf.written_fields
    held = {
        fields.to_field_key(leaf.spec.stands_for.get(name, name), leaf.entity)
        for name, value in written.items()
        if critical_fields.has_value(leaf, name, value, record)
    }
    parts = _holds_written_parts(leaf, old, now)
    return {
        key: value
        for key, value in now.items()
        if key in old and (parts if multifields.is_multifield(key) else fields.to_field_key(key, leaf.entity) in held)
    }


def _holds_written_parts(leaf: Call, old: JsonObject, now: JsonObject) -> bool:
    """Return whether the present phones and addresses (`now`) are exactly the result of applying the call to those in `old`."""
    steps = [step for named in find_steps(leaf, old).values() for step in named]
    expected, seen = [
        sorted((one.kind, one.value) for one in elements)
        for elements in (multifields.apply_steps(steps, multifields.parse_elements(old)), multifields.parse_elements(now))
    ]
    return bool(steps) and expected == seen


async def build_drift_notice(call: Call, fresh: BeforeImage, shown: BeforeImage, *, actor: Actor, names: Names) -> Notice:
    """Return the message that names each changed field with its old and new value: «сумма изменилась: 1 000 000 → 1 200 000 ₽».

    If the fields cannot be named, the message only says that the record changed.
    """
    changed = sorted(_find_changed_fields(call, fresh, shown), key=lambda one: not _is_critical(one))
    if not changed:
        return CHANGED
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    try:
        named = [await _describe_change(one, reader) for one in changed[:_MAX_NAMED]]
    except BitrixError:
        return CHANGED
    more = [Notice(code="changed-more", args={"count": len(changed) - _MAX_NAMED})] if len(changed) > _MAX_NAMED else []
    return Notice(code=DRIFTED, args={"changes": [one.model_dump(mode="json") for one in (*named, *more)]})


def _find_changed_fields(call: Call, fresh: BeforeImage, shown: BeforeImage) -> Iterator[_ChangedField]:
    seen: set[tuple[str, str]] = set()
    for leaf in call.leaves:
        for kind, number in (*leaf.targets, *leaf.ties, *find_guests_place(leaf)):
            place = f"{kind}:{number}"
            old, now = shown.get(place), fresh.get(place)
            if old is None or now is None:  # somebody deleted the record, or it could not be read: no field to name
                continue
            part = replace(leaf, entity=kind)
            for name in sorted({*old, *now}):
                if (place, name) not in seen and not _is_same(part, name, old, now):
                    seen.add((place, name))
                    yield _ChangedField(call=part, name=name, old=old, now=now)


def _is_critical(changed: _ChangedField) -> bool:
    key = fields.to_field_key(changed.name, changed.call.entity)
    return key in critical_fields.to_field_keys(changed.call.spec.critical, changed.call.entity)


def _is_same(part: Call, name: str, old: JsonObject, now: JsonObject) -> bool:
    if multifields.is_multifield(name):
        return bool(old.get(name) == now.get(name))
    info = fields.find_field_info(part.entities.get(part.entity), name)
    return fields.is_same_value(now.get(name), old.get(name), kind=info.kind if info else "text")


async def _describe_change(changed: _ChangedField, reader: Reader) -> Notice:
    part, name = changed.call, changed.name
    before, after = [await format_record_value(part, name, record, reader) for record in (changed.old, changed.now)]
    unit = _find_common_unit(before, after)
    args = {
        "field": critical_fields.to_field_code(part, name),
        "name": await find_title(part, name, reader),
        "before": before.removesuffix(unit) or before,
        "after": after,
    }
    return Notice(code="changed-field", args=args)


async def format_record_value(part: Call, name: str, record: JsonObject, reader: Reader) -> str:
    """Return the value of a field of `record` on one line, as cards show it."""
    value = record.get(name)
    if value in (None, "", [], {}):
        return EMPTY
    return shorten_value(await format_field_value(part, name, value, record, reader), reader.locale)


def _find_common_unit(before: str, after: str) -> str:
    """Return the currency sign, with the space before it, with which both sums `before` and `after` end; "" if there is no such sign."""
    unit = before[len(before.rstrip("₽$€")) :]
    space = before[: -len(unit)][-1:] if unit else ""
    return f"{space}{unit}" if unit and space.isspace() and after.endswith(f"{space}{unit}") else ""


async def find_title(part: Call, name: str, reader: Reader) -> str:
    """Return the title of the field `name`, as cards show it."""
    listed = find_list_label(part, name, reader.locale)
    if listed:
        return listed
    title = fields.find_label(part.entities.get(part.entity), name, reader.locale)
    if title == name:
        title = await reader.names.find_field_title(part.entity, name) or name
    return escape_text(title, locale=reader.locale, limit=_LONGEST)

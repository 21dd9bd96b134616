"""Builds a card from the same call object that will be sent: nothing that will be written is left out."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final, get_args

from bitrix.catalogue.catalogue import Method, Verb
from bitrix.client.batch import find_references
from bitrix.errors import BitrixError
from orchestrator.directory.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BULK
from orchestrator.domain.card_view import FORM, Preview, PreviewLine, PreviewPart
from orchestrator.gate.call import critical_fields, fields, held_parts, multifields
from orchestrator.gate.call.before_image import find_context_field
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.ports import Names
from orchestrator.gate.call.replaced_lists import find_guests_place, find_written_guests
from orchestrator.gate.normalize.merge_multifields import find_steps, walk_commands
from orchestrator.gate.preview.bulk_card import draw_bulk
from orchestrator.gate.preview.call_params import ShownParam, find_shown_entity, find_words, is_about_calendar, list_shown_params
from orchestrator.gate.preview.format_params import Place, format_param
from orchestrator.gate.preview.format_values import (
    EMPTY,
    UNKNOWN,
    Context,
    Reader,
    find_currency,
    format_multifield,
    format_own_value,
    format_plain,
    format_steps,
    format_value,
    join_lines,
    shorten_value,
    unescape_value,
)
from orchestrator.gate.preview.kind_lines import build_kind_view_lines, find_kind_title, has_view
from orchestrator.gate.preview.list_changes import build_list_lines, split_list_line
from orchestrator.gate.preview.made_records import name_made_records
from orchestrator.gate.preview.notified_lines import build_notified_lines, build_sender_lines
from orchestrator.gate.preview.old_texts import count_lost, mark_old_text, put_lost_first
from orchestrator.gate.preview.query_lines import build_query_lines
from orchestrator.gate.preview.record_titles import build_place_lines, find_title, name_target_once
from orchestrator.gate.preview.row_totals import fold_totals
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_CURRENCY_BOOK, find_base_currency, format_sum
from orchestrator.language.text import Locale, format_phone
from state.stored import JsonObject

_TEXTS: Final = frozenset({"TITLE", "POST_MESSAGE", "COMMENT_TEXT", "COMMENT"})


def put_old_text(lines: Sequence[PreviewLine], call: Call) -> list[PreviewLine]:
    """A changed text's line gets the old text, which the line of the part's id has as its name; that line goes."""
    if call.spec.verb != "update" or any(kind == call.entity for kind, _ in call.targets):
        return list(lines)
    part = next((line for line in lines if _names_part(line, call)), None)
    text = next((line for line in lines if line.field.upper() in _TEXTS and not line.before), None)
    if part is None or text is None:
        return list(lines)
    changed = text.model_copy(update={"before": part.after})
    return [changed if line is text else line for line in lines if line is not part]


def _names_part(line: PreviewLine, call: Call) -> bool:
    words = find_param_words(call.method, call.entity, line.field)
    return (
        words is not None and words.kind == "read" and words.detail.partition(" ")[0] == call.spec.before and not line.after.startswith("№")
    )


log = logging.getLogger(__name__)

KIND = "entityTypeId"
"""Names the kind of record, and shows no change."""
_WORDS: Final = load_lexicon("card_fields")
_KIND_NAME: Final = _WORDS.read_titles("kind_of_record")
_LOST: Final = _WORDS.read_titles("lost")
_HELD: Final = _WORDS.read_titles("held")
_MEANT_WITH: Final = ("IS_MANUAL_OPPORTUNITY", "isManualOpportunity")
_LOST_FIELDS = ("OPPORTUNITY", "STAGE_ID", "STATUS_ID", "COMPANY_ID", "CONTACT_ID", "DEADLINE")
_TITLE = 80
_SOME_NUMBER = 987654321
_NAMED_KINDS: Final = {"item:7": "quote", "item:31": "smartinvoice"}
_INCOMING = "1"
_OWN_CODES: Final = frozenset({"task", "activity"})
"""The product names their codes itself, the portal those of other kinds."""
_PLAIN_KINDS: Final = frozenset({"", "text", "prose"})
_NO_WORDS: Final = ParamWords(names={})
_YES: Final = frozenset({"Y", "1", "TRUE"})


async def preview(
    call: Call, facts: Facts, names: Names, *, locale: Locale, zone: str = "Europe/Moscow", user: int = 0, now: datetime | None = None
) -> Preview:
    """For the portal user `user`; dates in the year of `now` stand without it. Without a name the record's number is shown."""
    reader = Reader(names=names, locale=locale, zone=zone, user=user, now=now)
    if call.kind == BULK:
        return await draw_bulk(facts.bulk, call, reader)
    if not call.commands:
        return Preview.model_validate({**await _describe_part(call, facts, reader), "items": [], "count": 1, "form": FORM})
    parts = [await build_item(leaf, then, reader) for leaf, then in walk_commands(call, facts)]
    items = fold_totals(name_made_records(parts, call.commands, locale))
    total = await _format_total(call.commands, facts, reader)
    card = Preview(verb="batch", entity="", id=None, title="", url="", lines=[], items=items, count=len(items), form=FORM)
    return card.model_copy(update={"sum": total}) if total else card


async def build_item(leaf: Call, facts: Facts, reader: Reader) -> PreviewPart:
    """One command of several."""
    part = await _describe_part(leaf, facts, reader)
    item = PreviewPart.model_validate({**part, "key": leaf.key, "method": leaf.method})
    return item.model_copy(update={"is_critical": True}) if _is_critical(leaf) or any(line.lost for line in item.lines) else item


def _is_critical(leaf: Call) -> bool:
    field_values = leaf.written_fields
    return bool({"D", "M", "C"} & set(leaf.spec.classes)) or any(name in leaf.spec.critical for name in field_values)


async def _describe_part(call: Call, facts: Facts, reader: Reader) -> dict[str, object]:
    target = next(iter(call.targets), None)
    about = call.entity.partition(":")[0]
    title = find_kind_title(call, facts, reader) if has_view(call) else await find_title(call, facts, reader)
    part: dict[str, object] = {
        "verb": find_verb(call.spec),
        "entity": _find_kind_shown(call),
        "id": target[1] if target else None,
        "record": f"{target[0]}:{target[1]}" if target else "",
        "title": title,
        "url": reader.names.build_card_url(*target, user=reader.user) if target and not is_about_calendar(call) else "",
        "lines": [
            *await _build_kind_lines(call, reader),
            *await build_sender_lines(call, facts, reader),
            *name_target_once(call, await _build_lines(call, facts, reader), title, reader.locale),
            *await build_place_lines(call, facts, reader),
            *await build_notified_lines(call, reader),
        ],
    }
    if (place := facts.places.get(target) if target else None) is not None:
        part["place"] = f"{place.target[0]}:{place.target[1]}"
    if call.spec.verb == "add" and about and not target:
        part["made_url"] = _build_future_url(about, reader)
    return part


def _build_future_url(entity: str, reader: Reader) -> str:
    address = reader.names.build_card_url(entity, _SOME_NUMBER, user=reader.user)
    return "{id}".join(address.rsplit(str(_SOME_NUMBER), 1)) if address else ""


async def _build_kind_lines(call: Call, reader: Reader) -> list[PreviewLine]:
    if not call.entity.startswith("item:") or call.entity in _NAMED_KINDS:
        return []
    kind = escape_text(await reader.names.find_kind_name(call.entity, reader.locale), locale=reader.locale, limit=_TITLE)
    return [PreviewLine(field=KIND, name=_KIND_NAME[reader.locale], before="", after=kind)] if kind else []


def find_verb(spec: Method) -> str:
    """Of an action the last word of its name, unless that is a verb for records: crm.deal.contact.delete deletes no deal."""
    word = spec.name.rpartition(".")[2].lower()
    return spec.verb if spec.verb != "action" or word in get_args(Verb) else word


def _find_kind_shown(call: Call) -> str:
    kind = _NAMED_KINDS.get(call.entity, call.entity.partition(":")[0])
    if kind != "activity" or call.spec.verb != "add" or call.spec.fields_at != "fields":
        return kind
    activity = call.written_fields
    sort, direction, done = (str(fields.find_value(activity, name, kind) or "") for name in ("TYPE_ID", "DIRECTION", "COMPLETED"))
    match sort:
        case "1":
            return "meeting"
        case "2":
            return "phonecall" if done.upper() in _YES else "plannedcall"
        case "4":  # only what certainly stays in the portal is not named as sent
            return "emailrecord" if direction == _INCOMING or (done and done.upper() not in _YES) else "email"
    return kind


async def _build_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    """Critical fields first. Those that keep their value come last and say so; of a command they are left out, unless none changes."""
    if has_view(call):
        return build_kind_view_lines(call, facts, reader)
    if call.reads_only:

        async def describe(name: str, value: object) -> PreviewLine:
            param = ShownParam(name=name, value=value, siblings=call.params, is_field=True, is_written=False)
            return await _build_line(call, param, record=None, reader=reader)

        return await build_query_lines(call, describe, reader.locale) if call.key else []
    record = critical_fields.find_current_record(call, facts)
    context = _build_context(call, record, {})
    preview_lines = await build_list_lines(call, facts, context, reader)
    if preview_lines is not None:
        return preview_lines
    if call.spec.verb == "delete":
        lost = await _build_lost_lines(call, facts, reader) if _is_about_target(call) else []
        return [*lost, *[await _build_line(call, param, record=None, reader=reader) for param in list_shown_params(call)]]
    whole = held_parts.find_part(call, facts)
    present = whole or (record if call.spec.verb != "add" and _is_about_target(call) else None)
    if present is not record:
        record, context = present, _build_context(call, present, {})
    critical = set(call.spec.critical)
    lines: list[tuple[bool, bool, PreviewLine]] = []
    held: list[PreviewLine] = []
    silent = {*_MEANT_WITH, *(find_context_field(name, call.entity) for name in call.written_fields)}
    for param in _list_lines(call):
        line = await _build_line(call, param, record=record, reader=reader, context=context)
        parts = await split_list_line(line, call, facts, context, reader)
        is_held = param.is_held(call, record)
        lines.extend((is_held, param.name not in critical, part) for part in parts)
        if is_held and not (call.key or whole or param.paired or param.name in silent or line.after == EMPTY):
            held.append(_mark_held(line, reader.locale))
    changed = [line for line in lines if not line[0]]
    shown = [line for _, _, line in sorted(changed or lines, key=lambda line: line[1])]
    return [*put_lost_first(put_old_text(shown, call)), *(held if changed else ())]


def _mark_held(line: PreviewLine, locale: Locale) -> PreviewLine:
    after = _HELD[locale].format(value=shorten_value(line.after, locale))
    return PreviewLine(field=line.field, name=line.name, before="", after=after, is_held=True)


def _list_lines(call: Call) -> list[ShownParam]:
    """A call that removes all guests by naming none gets a line for them, too."""
    params = list_shown_params(call)
    if not find_guests_place(call) or any(one.name in call.spec.replaces for one in params):
        return params
    guests = ShownParam(name="", value=find_written_guests(call), siblings=call.params, is_field=False, is_written=True)
    return [*params, *(replace(guests, name=name) for name in call.spec.replaces)]


def _is_about_target(call: Call) -> bool:
    return call.unknown_target or any(kind == call.entity for kind, _ in call.targets)


async def _build_lost_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    """The main fields that a deletion loses; for a record that was not read the line says so."""
    record = critical_fields.find_current_record(call, facts)
    if record is None:
        return [PreviewLine(field="", name=_LOST[reader.locale], before="", after=UNKNOWN[reader.locale])]
    entity = call.entities.get(call.entity)
    names = [*_LOST_FIELDS, *([entity.owner_field] if entity else [])]
    context = _build_context(call, record, {})
    lines: list[PreviewLine] = []
    for name in names:
        value = fields.find_value(record, name, call.entity)
        if not name or value in (None, "", 0, "0", []) or not _find_kind(call, name):
            continue
        after = await _format_any_value(name, value, _find_kind(call, name), context=context, reader=reader)
        lines.append(PreviewLine(field=name, name=await _find_name(call, name, reader), before="", after=after))
    return list({(line.name, line.after): line for line in reversed(lines)}.values())[::-1]  # a lead has one stage under two names


async def _build_line(
    call: Call, param: ShownParam, *, record: JsonObject | None, reader: Reader, context: Context | None = None
) -> PreviewLine:
    name, value = param.name, param.value
    words = await _find_words(call, param, reader)
    kind = words.kind if words else _find_kind(call, name)
    title = escape_text(words.names[reader.locale]) if words else await _find_name(call, name, reader)
    if kind == "multifield":
        before, after = _format_multifield_change(call, name, value, record=record, reader=reader)
        return PreviewLine(field=name, name=title, before=before, after=after)
    field_values = call.written_fields

    async def show(item: object, context: Context, siblings: JsonObject) -> str:
        if words is not None:
            return await _format_any_param(item, words, Place(method=call.method, context=context, siblings=siblings), reader)
        own = await _format_any_value(name, item, kind, context=context, reader=reader)
        if kind in _PLAIN_KINDS and _has_parts(item) and own == format_plain(item, reader):  # a file of the portal has words of its own
            return await _format_any_param(item, _NO_WORDS, Place(method=call.method, context=context, siblings=siblings), reader)
        return own

    if record is None or not param.is_written:
        before = UNKNOWN[reader.locale] if param.is_written and "M" in call.classes and held_parts.updates_part(call) else ""
    elif not fields.has_field(record, call.spec.stands_for.get(name, name), call.entity):
        before = UNKNOWN[reader.locale] if call.targets and (param.is_field or words is None) else ""
    else:
        present = _find_present_value(call, record, name)
        read = present if (plain := unescape_value(present)) == value else plain
        before = await show(read, context or _build_context(call, record, {}), record)
    after = await show(value, _build_context(call, record, {**param.siblings, **field_values}), param.siblings)
    line = PreviewLine(field=name, name=title, before=before, after=after)
    return mark_old_text(line, _count_lost(call, param, kind, record), is_outward="N" in call.classes) if param.is_written else line


def _count_lost(call: Call, param: ShownParam, kind: str, record: JsonObject | None) -> int:
    kinds = {kind, _find_kind(call, param.name)}
    if record is None or not param.is_written or not kinds <= _PLAIN_KINDS:
        return 0
    return count_lost(unescape_value(_find_present_value(call, record, param.name)), param.value, is_prose="prose" in kinds)


def _has_parts(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, Mapping) for item in items)


async def _find_words(call: Call, param: ShownParam, reader: Reader) -> ParamWords | None:
    words = find_words(call, param.name, is_field=param.is_field)
    known = call.spec.stands_for.get(param.name, param.name)
    if words is not None or fields.find_field_info(call.entities.get(call.entity), known) is not None:
        return words
    field_title = await _find_field_title(call, known, reader) if param.is_field and call.spec.fields_at else ""
    return None if field_title else find_common_words(known)


async def _format_any_param(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    """Never raises."""
    try:
        if find_references(value):
            return await format_value(value, "text", context=place.context, reader=reader)
        return await format_param(value, words, place, reader)
    except Exception:  # an unforeseen value must not prevent the card from being shown
        log.exception("a parameter cannot be put in words", extra={"action": "preview_value_failed", "method": place.method})
        return format_plain(value, reader)


async def _format_any_value(name: str, value: object, kind: str, *, context: Context, reader: Reader) -> str:
    """With the portal's names if `kind` is "". Never raises."""
    try:
        if kind:
            return await format_value(value, kind, context=context, reader=reader)
        return await format_own_value(name, value, context=context, reader=reader)
    except Exception:  # an unforeseen value must not prevent the card from being shown
        log.exception("a value cannot be put in words", extra={"action": "preview_value_failed", "field": name})
        return format_plain(value, reader)


def _format_multifield_change(call: Call, name: str, value: object, *, record: JsonObject | None, reader: Reader) -> tuple[str, str]:
    elements = [element for element in multifields.parse_elements(record) if name.upper() in {element.kind, "FM"}]
    steps = find_steps(call, record).get(name)
    after = (
        format_steps(steps, reader, is_new=call.spec.verb == "add") if steps else format_plain(value, reader)
    )  # what cannot be parsed is shown as it is sent
    if record is None:
        return "", after
    values = [format_multifield(element.kind, element.value) for element in elements] or _format_plain_phone(
        _find_present_value(call, record, name)
    )
    return join_lines(values, reader) or EMPTY, after


def _format_plain_phone(value: object) -> list[str]:
    return [format_phone(value)] if isinstance(value, str) else []


def _find_present_value(call: Call, record: JsonObject, name: str) -> object:
    return fields.find_value(record, call.spec.stands_for.get(name, name), call.entity)


def _find_kind(call: Call, name: str) -> str:
    info = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    if info is None or (info.kind == "enum" and call.entity not in _OWN_CODES):
        return ""
    return info.kind


async def _find_name(call: Call, name: str, reader: Reader) -> str:
    locale = reader.locale
    known = call.spec.stands_for.get(name, name)
    label = fields.find_label(call.entities.get(call.entity), known, locale)
    if label == known:
        label = await _find_field_title(call, known, reader) or known
    return escape_text(label, locale=locale, limit=_TITLE)


async def _find_field_title(call: Call, name: str, reader: Reader) -> str:
    try:
        return await reader.names.find_field_title(find_shown_entity(call), name)
    except BitrixError:
        return ""


def _build_context(call: Call, record: JsonObject | None, new_values: JsonObject) -> Context:
    currency = find_currency(new_values, call.entity) or find_currency(record or {}, call.entity)
    category = fields.find_value(new_values, "CATEGORY_ID", call.entity) or fields.find_value(record or {}, "CATEGORY_ID", call.entity)
    funnel = fields.parse_number(category)
    is_new = call.spec.verb == "add" and record is None
    entity = find_shown_entity(call)
    return Context(entity=entity, currency=currency, category=int(funnel or 0), is_new=is_new)


def _find_kept_sum(record: JsonObject | None, new_values: JsonObject, leaf: Call) -> JsonObject:
    if record is None or fields.has_field(new_values, "OPPORTUNITY", leaf.entity):
        return {}
    return {"OPPORTUNITY": fields.find_value(record, "OPPORTUNITY", leaf.entity)}


def _writes_money(leaf: Call) -> bool:
    field_values = leaf.written_fields
    writes_sum = any(fields.has_field(field_values, name, leaf.entity) for name in ("OPPORTUNITY", "CURRENCY_ID"))
    return writes_sum or leaf.spec.verb == "delete"


async def _format_total(commands: Sequence[Call], facts: Facts, reader: Reader) -> str:
    """By currency, with the sums after the batch; "" if no record has one."""
    sums_by_record: dict[object, tuple[Context, Decimal]] = {}
    for leaf in commands:
        place = leaf.targets[0] if leaf.targets else leaf.key
        is_last = place not in sums_by_record or fields.has_field(leaf.written_fields, "OPPORTUNITY", leaf.entity)
        if not _writes_money(leaf) or not is_last:
            continue
        new_values, record = leaf.written_fields, critical_fields.find_current_record(leaf, facts)
        amount = fields.parse_number(
            fields.find_value({**new_values, **_find_kept_sum(record, new_values, leaf)}, "OPPORTUNITY", leaf.entity)
        )
        if amount is not None:
            sums_by_record[place] = (_build_context(leaf, record, new_values), amount)
    sums_found = list(sums_by_record.values())
    book = await reader.names.load_currency_book() if sums_found else NO_CURRENCY_BOOK
    sums: dict[str, Decimal] = {}
    for context, amount in sums_found:
        currency = escape_text(context.currency or (find_base_currency(book) if context.is_new else ""))
        sums[currency] = sums.get(currency, Decimal(0)) + amount
    return " + ".join(format_sum(amount, code or None, locale=reader.locale, book=book) for code, amount in sorted(sums.items()))


async def preview_for(actor: Actor, call: Call, facts: Facts, names: Names, *, now: datetime | None = None) -> Preview:
    """See `preview`."""
    return await preview(call, facts, names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0, now=now)

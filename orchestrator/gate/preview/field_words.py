"""Titles and values of fields as a card would show them."""

from collections.abc import Sequence
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.gate.call import fields, multifields
from orchestrator.gate.call.critical_fields import to_field_code
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.ports import Names
from orchestrator.gate.preview.format_values import (
    EMPTY,
    Context,
    Reader,
    format_own_value,
    format_plain,
    format_value,
    shorten_value,
    unescape_value,
)
from orchestrator.gate.preview.list_changes import find_list_label, format_list
from orchestrator.language.text import quote
from state.stored import JsonObject

_LONGEST: Final = 80
WORDED: Final = frozenset({
    "OPPORTUNITY", "CURRENCY_ID", "TAX_VALUE", "PRICE", "IS_MANUAL_OPPORTUNITY", "ASSIGNED_BY_ID", "RESPONSIBLE_ID", "CREATED_BY",
    "ACCOMPLICES", "AUDITORS", "OBSERVERS", "STAGE_ID", "STATUS_ID", "STATUS", "CATEGORY_ID", "DEADLINE", "START_TIME", "END_TIME",
    "CLOSEDATE", "BEGINDATE", "CLOSED", "COMPLETED", "COMPANY_ID", "CONTACT_ID", "CONTACT_IDS", "COMPANY_IDS", "ATTENDEES", "ROWS",
    "PRODUCT_ROWS", "PHONE", "EMAIL", "FM", "DATE_CREATE", "DATE_MODIFY", "PROBABILITY", "OPENED", "GROUP_ID", "IS_PRIMARY", "ITEMS",
    "PRODUCT_NAME", "PRODUCT_ID", "QUANTITY", "DISCOUNT_TYPE_ID", "DISCOUNT_RATE", "DISCOUNT_SUM", "TAX_RATE", "TAX_INCLUDED",
    "MEASURE_CODE", "MEASURE_NAME",
})  # fmt: skip
"""Fields with a word of their own in `gate-field`."""


async def describe_field(
    method: str, key: str, records: Sequence[JsonObject], *, actor: Actor, names: Names, catalogue: Catalogue
) -> tuple[str, list[str]] | None:
    """Gives (title, its value in each record on one line). None for an unknown method or without the portal's names."""
    spec = catalogue.find(method)
    if spec is None:
        return None
    call = Call(kind="bitrix", method=method, params={}, spec=spec, classes=(), portal="", entity=spec.entity, entities=catalogue.entities)
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    try:
        return await find_title(call, key, reader), [await format_record_value(call, key, record, reader) for record in records]
    except BitrixError:
        return None


async def format_record_value(part: Call, name: str, record: JsonObject, reader: Reader) -> str:
    value = record.get(name)
    if value in (None, "", [], {}):
        return EMPTY
    return shorten_value(await format_field_value(part, name, value, record, reader), reader.locale)


async def format_field_value(call: Call, name: str, now: object, record: JsonObject, reader: Reader) -> str:
    entity = call.entity
    info = fields.find_field_info(call.entities.get(entity), name)
    currency = str(fields.find_value(record, "CURRENCY_ID", entity) or "")
    category = int(fields.parse_number(fields.find_value(record, "CATEGORY_ID", entity)) or 0)
    context = Context(entity=entity, currency=currency, category=category)
    if name in call.spec.replaces:
        return await format_list(now, call.spec.replaces[name], context, reader)
    if multifields.is_multifield(name):
        elements = [part.value for part in multifields.parse_elements(record) if part.kind == name.upper()] if isinstance(now, list) else []
        return format_plain(elements if isinstance(now, list) else now, reader)
    if info is None:
        return await format_own_value(name, unescape_value(now), context=context, reader=reader)
    return await format_value(unescape_value(now), info.kind, context=context, reader=reader)


async def name_field(part: Call, name: str, reader: Reader) -> str:
    """For `gate-field` in bot/i18n: the code of a field that has a word there, the title of any other in quotation marks."""
    code = to_field_code(part, name)
    title = code if code in WORDED else await find_title(part, name, reader)
    return code if title in {code, name} else quote(title, reader.locale)


async def find_title(part: Call, name: str, reader: Reader) -> str:
    label = find_list_label(part, name, reader.locale)
    if label:
        return label
    title = fields.find_label(part.entities.get(part.entity), name, reader.locale)
    if title == name:
        title = await reader.names.find_field_title(part.entity, name) or name
    return escape_text(title, locale=reader.locale, limit=_LONGEST)

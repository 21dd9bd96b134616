"""Names for numbers, words for codes, each part of a value with its name. What nothing explains is shown unchanged, whole."""

import base64
import binascii
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.gate.call import fields
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.preview.format_values import EMPTY, Context, Reader, format_duration, format_plain, format_value
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, format_number, quote
from state.stored import JsonObject

log = logging.getLogger(__name__)

_WORDS: Final = load_lexicon("card_fields")
_FILE: Final = _WORDS.read_titles("file_of")
_NAMELESS_FILE: Final = _WORDS.read_titles("file_alone")
_CHAT: Final = _WORDS.read_titles("chat")
_EVERYBODY: Final = _WORDS.read_titles("everybody")
_YOURS: Final = _WORDS.read_titles("your_calendar")
_KINDS: Final = {"ru": _WORDS.read_table("kinds", "ru"), "en": _WORDS.read_table("kinds", "en")}
_BEFORE: Final = _WORDS.read_titles("before_event")
_AT_ONCE: Final = _WORDS.read_titles("at_the_time")
_MINUTE: Final = 60
_REMINDERS: Final = {"min": _MINUTE, "hour": 3600, "day": 86400}
_ACCESS: Final = {"ru": _WORDS.read_table("access", "ru"), "en": _WORDS.read_table("access", "en")}
_NAME: Final = 80
_PAIR, _DOCUMENT = 2, 3
_DOCUMENT_CLASS: Final = re.compile(r"(?:CCrmDocument|Bitrix\\Crm\\Integration\\BizProc\\Document\\)(\w+)", re.ASCII)
_DYNAMIC: Final = "dynamic_"
_TYPES: Final = {"1": "lead", "2": "deal", "3": "contact", "4": "company", "7": "item:7", "8": "requisite", "31": "item:31"}
_SHORT: Final = {"l": "lead", "d": "deal", "c": "contact", "co": "company", "q": "item:7", "si": "item:31", "quote": "item:7"}
_RECORDS: Final = frozenset({"lead", "deal", "contact", "company", "task", "activity", "user"})
_WHOLE: Final = frozenset({"file", "json", "free", "document"})
_PLAIN: Final = frozenset({"", "free", "fields"})
_PEOPLE: Final = frozenset({"user", "company", "contact"})
_LINKS: Final = frozenset({"id", "read", "record", "deal", "lead", "task", "activity"})
_KILO: Final = 1024


@dataclass(frozen=True, kw_only=True)
class Place:
    method: str
    context: Context
    siblings: JsonObject


async def format_param(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    """One line for each element of a list."""
    if value is None or value in ("", [], {}) or (words.kind in _LINKS and value in (0, "0")):
        return EMPTY
    if words.kind in _WHOLE or not isinstance(value, list):
        return escape_lines(await _format_one(value, words, place, reader))
    return "\n".join([escape_lines((await _format_one(item, words, place, reader)).replace("\n", ", ")) for item in value])


def escape_lines(text: str) -> str:
    """A dash if nothing is left."""
    return text.strip("\n") or EMPTY


async def _format_one(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    formatter = _FORMATTERS.get(words.kind)
    if formatter is not None:
        return await formatter(value, words, place, reader)
    if isinstance(value, Mapping) and words.kind not in _PEOPLE:
        return await format_parts(value, place, reader)
    if words.kind in _PLAIN:
        return format_plain(value, reader)
    context = place.context
    if words.kind in {"category", "stage"}:
        context = replace(context, entity=_find_context_kind(place))
    if words.kind == "money" and words.detail:
        context = replace(context, currency=str(fields.find_value(place.siblings, words.detail) or ""), is_new=False)
    return await format_value(value, words.kind, context=context, reader=reader)


async def _format_free(name: str, value: object, place: Place, reader: Reader) -> str:
    words = find_param_words(place.method, place.context.entity, name)
    inner = value["value"] if isinstance(value, Mapping) and set(value) == {"value"} else value
    return f"{words.names[reader.locale] if words else escape_text(name)}: {escape_text(_dump(inner))}"


def _find_context_kind(place: Place) -> str:
    kind = place.context.entity
    if kind in _RECORDS or kind.startswith("item:"):
        return kind
    return _to_record_kind(fields.find_value(place.siblings, "entityTypeId")) or "deal"


async def format_parts(value: JsonObject, place: Place, reader: Reader) -> str:
    """«Цена: 777 ₽, Количество: 3»."""
    inner = replace(place, siblings={**place.siblings, **value})
    # the words of a part: the method's, else the record's, else the common ones
    words_by_name = {
        name: find_param_words(place.method, place.context.entity, str(name)) or find_common_words(str(name)) for name in value
    }
    paired = {fields.to_field_key(words.detail) for words in words_by_name.values() if words is not None and words.kind == "record"}
    texts: list[str] = []
    for name, item in value.items():
        words = words_by_name[name]
        if fields.to_field_key(name) in paired:
            continue
        part_name = words.names[reader.locale] if words else escape_text(str(name))
        part_text = await format_param(item, words or ParamWords(names={}), inner, reader)
        text = "; ".join(part_text.split("\n"))
        is_plain = not part_name or (len(value) - len(paired & set(map(fields.to_field_key, value))) == 1 and _says_itself(name, words))
        texts.append(text if is_plain else f"{part_name}: {text}")
    return ", ".join(texts)


def _says_itself(name: str, words: ParamWords | None) -> bool:
    return fields.to_field_key(name) == "message" or (words is not None and words.kind == "record")


async def _format_title(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del place
    number = as_id(value)
    if number is None:
        return format_plain(value, reader)
    return await _find_title(words.kind, number, reader) or format_number(number, reader.locale)


async def _format_record(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    return await name_record(_to_record_kind(fields.find_value(place.siblings, words.detail)), value, reader)


async def _format_kind(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    return await find_kind_name(str(value), reader)


async def name_record(kind: str, value: object, reader: Reader) -> str:
    """«сделка «Ромашка»», or its number; what is no number stays."""
    number = as_id(value)
    if number is None:
        return format_plain(value, reader)
    kind_name = await find_kind_name(kind, reader)
    title = await _find_title(kind, number, reader)
    record_name = quote(title, reader.locale) if title else format_number(number, reader.locale)
    return f"{kind_name} {record_name}" if kind_name else record_name


async def find_kind_name(code: str, reader: Reader) -> str:
    """For a code such as "2", "DEAL", "dynamic_177"; an unknown one stays."""
    kind = _to_record_kind(code)
    known = _KINDS[reader.locale].get(kind)
    if known or not kind.startswith("item:"):
        return known or escape_text(code, locale=reader.locale)
    try:
        kind_name = await reader.names.find_kind_name(kind, reader.locale)
    except BitrixError:
        kind_name = ""
    return escape_text(kind_name, locale=reader.locale, limit=_NAME) or _KINDS[reader.locale]["item"]


async def _find_title(kind: str, number: int, reader: Reader) -> str:
    try:
        if kind == "requisite":
            title = await reader.names.find_name_by_read("crm.requisite.get", {"id": number}, number, reader.locale)
        elif kind in _RECORDS or kind.startswith("item:"):
            title = await reader.names.find_title(kind, number)
        else:
            title = ""
    except BitrixError:
        title = ""
    except Exception:  # a card is shown even without the name
        log.exception("a record cannot be named", extra={"action": "naming_failed", "kind": kind})
        title = ""
    return escape_text("" if title == f"№{number}" else title, locale=reader.locale, limit=_NAME)


def _to_record_kind(code: object) -> str:
    """Gives "deal" for 2, "D" and "DEAL"; an unknown code in lower case."""
    text = str(code or "").strip().lower()
    number = text.removeprefix(_DYNAMIC)
    if text.startswith("t") and text[1:].isalnum() and not text.isalpha() and _is_hex(text[1:]):
        number = str(int(text[1:], 16))
    if number.isascii() and number.isdecimal():
        return _TYPES.get(number, f"item:{number}")
    return _SHORT.get(text, text)


def _is_hex(text: str) -> bool:
    return all(sign in "0123456789abcdef" for sign in text)


async def _name_coded(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    kind, _, number = re.sub(r"[|:]", "_", str(value)).rpartition("_")
    return await name_record(_to_record_kind(kind), number, reader) if kind and as_id(number) else f"«{escape_text(str(value))}»"


async def _format_document(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    code = value[-1] if isinstance(value, list) and len(value) == _DOCUMENT and isinstance(value[-1], str) else ""
    document_class = _DOCUMENT_CLASS.fullmatch(str(value[1])) if code and isinstance(value, list) and value[0] == "crm" else None
    if document_class is None or not document_class[1].lower().startswith(
        code.partition("_")[0].lower()
    ):  # three parts that do not belong together
        return f"«{escape_text(_dump(value))}»"
    return await (_name_coded(code, words, place, reader) if "_" in code else find_kind_name(code, reader))


async def _name_by_read(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    number = as_id(value)
    if number is None:
        return format_plain(value, reader)
    method, _, param = words.detail.partition(" ")
    return await find_read_name(method, number, {**place.siblings, param or "id": number}, reader) or format_number(number, reader.locale)


async def find_read_name(method: str, number: int, params: JsonObject, reader: Reader) -> str:
    """Empty if the read fails or gives no name."""
    try:
        name = await reader.names.find_name_by_read(method, params, number, reader.locale)
    except BitrixError:
        name = ""
    except Exception:  # a card is shown even without the name
        log.exception("what a call changes cannot be named", extra={"action": "naming_failed", "method": method})
        name = ""
    return escape_text(name, locale=reader.locale, limit=_NAME)


async def _format_number(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    return format_number(escape_text(str(value)), reader.locale) if as_id(value) is not None else format_plain(value, reader)


async def _find_choice(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del place
    code = {True: "y", False: "n"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    choice = words.choices.get(code.strip().lower())
    return choice[reader.locale] if choice else format_plain(value, reader)


async def _name_dialog(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    text = str(value)
    number = text.removeprefix("chat").removeprefix("sg")
    if as_id(number) is None:
        return escape_text(text, locale=reader.locale)
    return _CHAT[reader.locale].format(number=number) if number != text else await name_person(int(number), reader)


async def name_person(number: int, reader: Reader) -> str:
    """«№7» without a name."""
    return await format_value(number, "user", context=Context(entity="user"), reader=reader)


async def _name_access(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    """U8 is an employee, UA everybody, SG5 a workgroup, DR3 a department."""
    del words, place
    text = str(value)
    letters = text.rstrip("0123456789")
    number = text[len(letters) :]
    if letters == "U" and number:
        return await name_person(int(number), reader)
    if letters in {"D", "DR"}:
        department = await find_read_name("department.get", int(number), {"ID": number}, reader) if number else ""
        kind = _ACCESS[reader.locale]["D"]
        return department if department.lower().startswith(kind) else f"{kind} {department or format_number(number, reader.locale)}"
    if not number:
        return _EVERYBODY[reader.locale] if letters in {"UA", "AU"} else escape_text(text)
    word = _ACCESS[reader.locale].get(letters)
    return f"{word} {format_number(number, reader.locale)}" if word else escape_text(text)


async def _name_calendar(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words
    number = as_id(value)
    sort = str(fields.find_value(place.siblings, "type") or "user").lower()
    if sort == "user" and number is not None:
        return _YOURS[reader.locale] if number == reader.user else await name_person(number, reader)
    word = _ACCESS[reader.locale].get(sort, escape_text(sort))
    return f"{word} {format_number(number, reader.locale)}" if number else word


async def _format_file(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    return _describe_file(value, reader)


def _describe_file(value: object, reader: Reader) -> str:
    if isinstance(value, list) and value and all(isinstance(item, list | Mapping) for item in value):
        return "\n".join(_describe_file(item, reader) for item in value)
    if isinstance(value, list) and len(value) == _PAIR and all(isinstance(item, str) for item in value):
        return _FILE[reader.locale].format(name=escape_text(str(value[0])), size=_format_size(str(value[1]), reader.locale))
    size = _format_size(value, reader.locale) if isinstance(value, str) else ""
    return _NAMELESS_FILE[reader.locale].format(size=size) if size else format_plain(value, reader)


def _format_size(content: str, locale: Locale) -> str:
    try:
        size = len(base64.b64decode(content, validate=True))
    except (binascii.Error, ValueError):
        return ""
    return _WORDS.read_titles("kilobytes")[locale].format(count=max(1, round(size / _KILO)))


async def _format_seconds(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    return escape_text(format_duration(value, reader.locale), locale=reader.locale)


async def _format_minutes(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place
    return _AT_ONCE[reader.locale] if value in (0, "0") else _format_count(value, _MINUTE, reader) or format_plain(value, reader)


def _format_count(count: object, length: int, reader: Reader) -> str:
    number = fields.parse_number(count)
    text = format_duration(number * length, reader.locale) if number is not None else ""
    return "" if number is None or text == str(number * length) else text


async def _format_reminder(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words
    length = _REMINDERS.get(str(value.get("type"))) if isinstance(value, Mapping) and set(value) == {"type", "count"} else None
    text = _format_count(value["count"], length, reader) if isinstance(value, Mapping) and length else ""
    if text:
        return _BEFORE[reader.locale].format(value=text)
    return await format_parts(value, place, reader) if isinstance(value, Mapping) else format_plain(value, reader)


async def _format_json(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words, place, reader
    return f"«{escape_text(_dump(value))}»"


async def _format_mapping(value: object, words: ParamWords, place: Place, reader: Reader) -> str:
    del words
    if not isinstance(value, Mapping):
        return format_plain(value, reader)
    return ", ".join([await _format_free(str(name), item, place, reader) for name, item in value.items()])


def _dump(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_Formatter = Callable[[object, ParamWords, Place, Reader], Awaitable[str]]
_FORMATTERS: Final[Mapping[str, _Formatter]] = {
    "choice": _find_choice,
    "kind": _format_kind,
    "record": _format_record,
    "crm": _name_coded,
    "read": _name_by_read,
    "id": _format_number,
    "deal": _format_title,
    "lead": _format_title,
    "task": _format_title,
    "activity": _format_title,
    "dialog": _name_dialog,
    "access": _name_access,
    "owner": _name_calendar,
    "file": _format_file,
    "document": _format_document,
    "json": _format_json,
    "code": _format_json,
    "free": _format_mapping,
    "seconds": _format_seconds,
    "minutes": _format_minutes,
    "reminder": _format_reminder,
}

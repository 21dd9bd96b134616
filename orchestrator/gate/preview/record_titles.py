"""The title for a card's heading: the present one, or that of a new record."""

import logging
from collections.abc import Sequence
from html import unescape
from typing import Final

from bitrix.client.batch import find_references
from bitrix.errors import BitrixError
from orchestrator.directory.answers import name_organisation
from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.held_parts import find_part
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize.batch import find_reference_key
from orchestrator.gate.preview.call_params import find_subject, find_words, is_about_calendar
from orchestrator.gate.preview.format_params import find_kind_name, find_read_name
from orchestrator.gate.preview.format_values import MADE_BY, NAMED_BY, Reader
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, quote
from state.stored import JsonObject

log = logging.getLogger(__name__)

_TITLE: Final = 80
_PAYEE: Final = 160
_BANK: Final = "bankdetail"
_WHOSE_UNKNOWN: Final = load_lexicon("card_fields").read_titles("whose_unknown")
_PEOPLE: Final = frozenset({"contact", "user"})
_PLACE: Final = "OWNER_ID"
_TITLES: Final = ("TITLE", "SUBJECT", "PRODUCT_NAME", "COMMENT")


async def find_title(call: Call, facts: Facts, reader: Reader) -> str:
    """Empty without title and number. Bank details name the payee too: who types an account there changes who is paid."""
    title = await _find_own_title(call, facts, reader)
    is_account = call.entity == _BANK and call.spec.verb in {"add", "update"}
    return ", ".join(filter(None, (title, await _name_payee(call, facts, reader)))) if is_account else title


def name_target_once(call: Call, lines: Sequence[PreviewLine], title: str, locale: Locale) -> list[PreviewLine]:
    """The heading has the target's title; its line only says of what kind it is."""
    if not title or len(call.targets) != 1:
        return list(lines)
    names, named = {path.rpartition(".")[2] for path in call.spec.target}, f" {quote(title, locale)}"
    return [line.model_copy(update={"after": line.after.removesuffix(named)}) if line.field in names else line for line in lines]


async def build_place_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    """On which record the changed activity stands: two may have one name."""
    place = next((found for target in call.targets if (found := facts.places.get(target)) is not None), None)
    if place is None:
        return []
    kind, title = await find_kind_name(place.target[0], reader), _extract_title(place.record, place.target[0])
    name = quote(escape_text(title, locale=reader.locale, limit=_TITLE), reader.locale) if title else f"№{place.target[1]}"
    label = fields.find_label(call.entities.get(call.entity), _PLACE, reader.locale)
    return [PreviewLine(field="", name=label, before="", after=f"{kind} {name}")]


async def _find_own_title(call: Call, facts: Facts, reader: Reader) -> str:
    if not call.targets and call.unknown_target:
        return _describe_by_command(call, reader.locale)
    subject = find_subject(call)
    if subject:
        return await _find_subject_title(call, subject, reader)
    if call.targets and not is_about_calendar(call):
        return await _find_target_title(call.targets[0], facts, reader)
    if call.spec.verb != "add":
        return ""
    return escape_text(find_new_title(call), locale=reader.locale, limit=_TITLE)


async def _find_subject_title(call: Call, subject: str, reader: Reader) -> str:
    number = as_id(call.params.get(subject)) or 0
    words = find_words(call, subject, is_field=False)
    own = words.detail if words is not None and words.kind == "read" else ""
    plain = subject.lower() == "id"  # the number of the very thing, which the method that reads it before a change reads too
    method, _, param = ((call.spec.before or own) if plain else (own or call.spec.before)).partition(" ")
    params = {**call.params, param or "id": number}
    name = await find_read_name(method, number, params, reader) if method else ""
    return name or f"№{number}"


async def _name_payee(call: Call, facts: Facts, reader: Reader) -> str:
    details = call.written_fields if call.spec.verb == "add" else find_part(call, facts) or {}
    number = as_id(fields.find_value(details, "ENTITY_ID"))
    try:
        payee = await reader.names.find_payee(number) if number is not None else ""
    except BitrixError:
        payee = ""
    return escape_text(payee, locale=reader.locale, limit=_PAYEE) or _WHOSE_UNKNOWN[reader.locale]


async def _find_target_title(target: Target, facts: Facts, reader: Reader) -> str:
    name, number = target
    record = facts.records.get(target)
    title = "" if record is None else _extract_title(record, name)
    if not title and record is None and name:
        try:
            title = await reader.names.find_title(name, number)
        except (BitrixError, KeyError):  # the portal is away, or the kind of record cannot be read
            title = ""
        except Exception:  # a card is shown even without the name
            log.exception("a record cannot be named", extra={"action": "naming_failed", "kind": name})
            title = ""
    return escape_text(title or f"№{number}", locale=reader.locale, limit=_TITLE)


def _extract_title(record: JsonObject, name: str) -> str:
    present_title = next((str(value) for field in _TITLES if (value := fields.find_value(record, field, name))), "")
    return unescape(", ".join([present_title or _join_name(record, name), *name_organisation(record)]))


def _join_name(record: JsonObject, name: str) -> str:
    return " ".join(str(part) for field in ("NAME", "LAST_NAME") if (part := fields.find_value(record, field, name)))


def find_new_title(call: Call) -> str:
    """As it is written; "" if there is none."""
    entity = call.entities.get(call.entity)
    new_values = call.written_fields
    if call.entity in _PEOPLE:
        return _join_name(new_values, call.entity)
    title = fields.find_value(new_values, entity.title_field if entity else "TITLE", call.entity)
    if not title:  # crm.activity.todo.add calls «title» what activities call SUBJECT
        title = fields.find_value(new_values, "NAME" if entity is None else "TITLE", call.entity if entity else "")
    return title if isinstance(title, str) else ""


def _describe_by_command(call: Call, locale: Locale) -> str:
    place = next((written for written in call.places.values() if find_references(written)), "")
    if not place:
        return ""
    words = (MADE_BY if call.target_created else NAMED_BY)[locale]
    return escape_text(words.format(key=find_reference_key(place) or "?"), locale=locale, limit=_TITLE)

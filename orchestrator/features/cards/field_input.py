"""Reads the new value for one field of a card from a person's text, by code and without a language model.

If the meaning of the text is not certain, no value is returned, and the caller asks the person again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.directory.answers import Resolution, Resolved, Unresolved
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview
from orchestrator.domain.message_views import EditableField
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.essence import MARKS
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import UnclearSum, format_sum, parse_sum
from orchestrator.language.request_words import is_quoted
from orchestrator.turns.feature import Tools
from state.canonical import to_storable_text
from state.model.session_state import SessionState
from state.stored import JsonObject

LONGEST: Final = 2000
"""The greatest length of a text value, in characters."""
_REFERENCES: Final = {"money": "sum", "number": "sum", "date": "date", "datetime": "date", "user": "user", "stage": "stage"}
_REFERENCES_TO: Final = {"category": "category", "company": "company", "contact": "contact"}
TEXTS: Final = frozenset({"text", "prose"})
_CUSTOM_TYPES: Final = {
    "string": "text",
    "date": "date",
    "datetime": "datetime",
    "employee": "user",
    "double": "number",
    "integer": "number",
    "boolean": "flag",
    "enumeration": "choice",
    "crm_status": "choice",
}
"""How answers for fields that only the portal describes are read, by the field's type; other types cannot be changed on a card."""
_WORDS: Final = load_lexicon("answers")
_YES: Final = frozenset(_WORDS.read_words("value", "yes"))
_NO: Final = frozenset(_WORDS.read_words("value", "no"))
_ME: Final = frozenset(_WORDS.read_words("value", "me"))
_FLAGS: Final[Mapping[object, str]] = {"Y": "N", "N": "Y", "1": "0", "0": "1"}


def list_editable_fields(call: Call, preview: Preview, own_types: Mapping[str, str]) -> list[EditableField]:
    """Return the fields of the call that the person can change with one reply, in the order of the card.

    `own_types` are the portal's types of custom fields and of fields with a list of values, by code.
    """
    if call.commands or call.kind != "bitrix":
        return []
    written = call.written_fields
    found = []
    for line in preview.lines:
        kind = find_answer_kind(call, line.field, own_types)
        if kind and isinstance(written.get(line.field), str | int | float | bool):
            found.append(EditableField(code=line.field, name=line.name, value=line.after, kind=kind))
    return found


def find_answer_kind(call: Call, code: str, own_types: Mapping[str, str]) -> str:
    """Return how a reply for this field must be read ("money", "date", "text", …); "" if the field cannot be changed on a card."""
    known = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(code, code))
    if known is not None and known.kind != "enum":
        return known.kind if known.kind in {*_REFERENCES, *_REFERENCES_TO, *TEXTS, "flag"} else ""
    return _CUSTOM_TYPES.get(own_types.get(code, ""), "")


def replace_value(params: JsonObject, code: str, value: object) -> dict[str, object]:
    """Return the call's parameters with the new value of the field `code`, and without the old call's origin marks.

    An origin mark is a value that the gate writes into a new record to recognize its own call. If it stayed, the gate would find the old
    call instead of making a new request.
    """
    return _set_value(strip_marks(params), code, value)


def _set_value(params: JsonObject, code: str, value: object) -> dict[str, object]:
    if code in params and not isinstance(params[code], Mapping):
        return {**params, code: value}
    return {key: _set_value(item, code, value) if isinstance(item, Mapping) else item for key, item in params.items()}


def strip_marks(params: JsonObject) -> dict[str, object]:
    """Return the parameters without origin marks: values that the gate adds to a call to recognize the record that the call creates."""
    return {key: strip_marks(item) if isinstance(item, Mapping) else item for key, item in params.items() if key not in MARKS}


@dataclass(frozen=True, kw_only=True)
class FieldContext:
    """What is needed to read a new value for a card's field: the card's call, its records before the call, and the session's state."""

    call: Call
    before: Mapping[str, JsonObject]
    state: SessionState


async def read_value(words: str, field: EditableField, place: FieldContext, *, actor: Actor, tools: Tools) -> Resolution:
    """Return the value that the person's text means for this field.

    If it means no value or several, the result is `Unresolved` with the reason or `Ambiguous` with the options. May raise BitrixError.
    """
    call = place.call
    said = to_storable_text(words).strip()
    if field.kind in TEXTS:
        return _read_text(said)
    if field.kind == "flag":
        return _read_flag(said, call.written_fields[field.code])
    if field.kind == "money" and (objection := _find_currency_objection(said, place, actor)) is not None:
        return objection
    reference = f"@{_REFERENCES.get(field.kind) or _REFERENCES_TO[field.kind]}:{said}"
    if field.kind == "user" and said.lower() in _ME:
        reference = "@me:"
    params = replace_value(call.params, field.code, reference)
    answer: Resolution = await tools.queries["resolve"](
        reference=reference, actor=actor, method=call.method, params=params, state=place.state, text=said
    )
    return answer


def _read_text(said: str) -> Resolution:
    if len(said) > LONGEST:
        return Unresolved(notice=Notice(code="too-long", args={"length": len(said), "limit": LONGEST}), detail="too long")
    text = said[1:-1].strip() or said if is_quoted(said) else said
    return Resolved(value=text, label=text, named_by_person=True)


def _read_flag(said: str, present: str | float) -> Resolution:
    """Return the value that «да» or «нет» means for a yes/no field, in the form of its present value ("Y", "1", True and so on).

    For any other text, return an `Unresolved`.
    """
    word = said.lower().strip(" .!")
    if word not in _YES | _NO:
        return Unresolved(notice=Notice(code="edit-yes-or-no"), detail="neither yes nor no")
    return Resolved(value=build_flag_value(present, is_yes=word in _YES), label=word, named_by_person=True)


def build_flag_value(present: str | float, *, is_yes: bool) -> str | float:
    """Return yes or no in the form of the value `present`: "Y", "N", 1, 0, True or False."""
    other = _FLAGS[present] if present in _FLAGS else type(present)(not present)
    return present if (present in {"Y", "1", 1}) == is_yes else other  # True == 1, so it is found as well


def _find_currency_objection(said: str, place: FieldContext, actor: Actor) -> Unresolved | None:
    """Return an objection if the text gives a sum in another currency than the record has; otherwise None.

    Such a sum would change two fields, so the person must make a new request.
    """
    call = place.call
    records = (call.written_fields, *place.before.values())
    present = next((found for record in records if (found := fields.find_value(record or {}, "CURRENCY_ID", call.entity))), None)
    try:
        given = parse_sum(said, locale=actor.locale)
    except UnclearSum:
        return None
    currency = given.currency
    if currency is None or (present or currency) == currency:
        return None
    args = {"has": str(present), "named": currency, "sum": format_sum(given.amount, None, locale=actor.locale)}
    return Unresolved(notice=Notice(code="edit-other-currency", args=args), detail="another currency")

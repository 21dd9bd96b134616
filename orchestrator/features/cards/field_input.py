"""Reads the new value of a card's field from a person's text, without a language model; none when in doubt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.answers import Option, Resolution, Resolved, Unresolved, User
from orchestrator.directory.reference import Reference, is_employed
from orchestrator.directory.reference_data import Field, parse_funnel
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview
from orchestrator.domain.message_views import EditableField
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.essence import MARKS
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import UnclearSum, format_sum, parse_sum
from orchestrator.language.request_words import is_quoted
from orchestrator.language.text import fold
from orchestrator.turns.feature import Tools
from state.canonical import to_storable_text
from state.model.session_state import SessionState
from state.stored import JsonObject

LONGEST: Final = 2000
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
"""Other types of fields cannot be changed on a card."""
_WORDS: Final = load_lexicon("answers")
_YES: Final = frozenset(_WORDS.read_words("value", "yes"))
_NO: Final = frozenset(_WORDS.read_words("value", "no"))
_ME: Final = frozenset(_WORDS.read_words("value", "me"))
_FLAGS: Final[Mapping[object, str]] = {"Y": "N", "N": "Y", "1": "0", "0": "1"}


def list_editable_fields(call: Call, preview: Preview, own_types: Mapping[str, str]) -> list[EditableField]:
    if call.commands or call.kind != "bitrix":
        return []
    values = call.written_fields
    editable = []
    for line in preview.lines:
        kind = find_answer_kind(call, line.field, own_types)
        if kind and isinstance(values.get(line.field), str | int | float | bool):
            editable.append(EditableField(code=line.field, name=line.name, value=line.after, kind=kind))
    return editable


def find_answer_kind(call: Call, code: str, own_types: Mapping[str, str]) -> str:
    """Such as "money", "date" or "text"; "" if a card cannot change the field."""
    known = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(code, code))
    if known is not None and known.kind != "enum":
        return known.kind if known.kind in {*_REFERENCES, *_REFERENCES_TO, *TEXTS, "flag"} else ""
    return _CUSTOM_TYPES.get(own_types.get(code, ""), "")


def replace_value(params: JsonObject, code: str, value: object) -> dict[str, object]:
    """The gate would find the old call by its origin marks."""
    return _set_value(strip_marks(params), code, value)


def _set_value(params: JsonObject, code: str, value: object) -> dict[str, object]:
    if code in params and not isinstance(params[code], Mapping):
        return {**params, code: value}
    return {key: _set_value(item, code, value) if isinstance(item, Mapping) else item for key, item in params.items()}


def strip_marks(params: JsonObject) -> dict[str, object]:
    """The gate adds marks to recognize a created record."""
    return {key: strip_marks(item) if isinstance(item, Mapping) else item for key, item in params.items() if key not in MARKS}


@dataclass(frozen=True, kw_only=True)
class FieldContext:
    call: Call
    before: Mapping[str, JsonObject]
    state: SessionState


async def read_value(words: str, field: EditableField, place: FieldContext, *, actor: Actor, tools: Tools) -> Resolution:
    """`Unresolved` or `Ambiguous` without a single meaning. May raise BitrixError."""
    call = place.call
    text = to_storable_text(words).strip()
    if field.kind in TEXTS:
        return _read_text(text)
    if field.kind == "flag":
        return _read_flag(text, call.written_fields[field.code])
    if field.kind == "money" and (objection := _find_currency_objection(text, place, actor)) is not None:
        return objection
    reference = f"@{_REFERENCES.get(field.kind) or _REFERENCES_TO[field.kind]}:{text}"
    if field.kind == "user" and text.lower() in _ME:
        reference = "@me:"
    params = replace_value(call.params, field.code, reference)
    answer: Resolution = await tools.queries["resolve"](
        reference=reference, actor=actor, method=call.method, params=params, state=place.state, text=text
    )
    return answer


def _read_text(words: str) -> Resolution:
    if len(words) > LONGEST:
        return Unresolved(notice=Notice(code="too-long", args={"length": len(words), "limit": LONGEST}), detail="too long")
    text = words[1:-1].strip() or words if is_quoted(words) else words
    return Resolved(value=text, label=text, named_by_person=True)


def _read_flag(words: str, present: str | float) -> Resolution:
    """In the form of the present value ("Y", "1", True …)."""
    word = words.lower().strip(" .!")
    if word not in _YES | _NO:
        return Unresolved(notice=Notice(code="edit-yes-or-no"), detail="neither yes nor no")
    return Resolved(value=build_flag_value(present, is_yes=word in _YES), label=word, named_by_person=True)


def build_flag_value(present: str | float, *, is_yes: bool) -> str | float:
    """In the form of `present`."""
    other = _FLAGS[present] if present in _FLAGS else type(present)(not present)
    return present if (present in {"Y", "1", 1}) == is_yes else other  # True == 1, so it is found as well


def _find_currency_objection(words: str, place: FieldContext, actor: Actor) -> Unresolved | None:
    """Another currency would change two fields."""
    call = place.call
    records = (call.written_fields, *place.before.values())
    present = next((code for record in records if (code := fields.find_value(record or {}, "CURRENCY_ID", call.entity))), None)
    try:
        amount = parse_sum(words, locale=actor.locale)
    except UnclearSum:
        return None
    currency = amount.currency
    if currency is None or (present or currency) == currency:
        return None
    args = {"has": str(present), "named": currency, "sum": format_sum(amount.amount, None, locale=actor.locale)}
    return Unresolved(notice=Notice(code="edit-other-currency", args=args), detail="another currency")


_MOST: Final = 12
_ANSWERS: Final = load_lexicon("card_fields")
_FLAG_WORDS: Final = {locale: _ANSWERS.read_table("flags", locale) for locale in ("ru", "en")}


async def list_options(field: EditableField, place: FieldContext, actor: Actor, reference: Reference) -> Sequence[Option]:
    """Without the one on the card; none if the portal fails."""
    present = place.call.written_fields[field.code]
    try:
        match field.kind:
            case "flag":
                return _list_flags(present, actor)
            case "stage":
                options = [
                    Option(value=row.id, label=row.name)
                    for row in await reference.load_stages(place.call.entity, parse_funnel(str(present)))
                ]
            case "category":
                entity = place.call.entity if place.call.entity.startswith("item:") else "deal"
                options = [Option(value=row.id, label=row.name) for row in await reference.load_categories(entity)]
            case "choice":
                options = await _load_choices(field.code, place, reference)
            case "user":
                options = _list_people(await reference.load_users(), _list_previous(field, place), actor)
            case _:
                return ()
    except BitrixError:
        return ()
    return [option for option in options if str(option.value) != str(present)][:_MOST]


async def read_choice(words: str, field: EditableField, place: FieldContext, reference: Reference) -> Resolution:
    """`Unresolved` unless exactly one name begins so. May raise BitrixError."""
    known = await _load_choices(field.code, place, reference)
    name = fold(words).strip(' .!«»"')
    exact = [option for option in known if fold(option.label) == name]
    options = exact or [option for option in known if name and fold(option.label).startswith(name)]
    if len(options) != 1:
        labels = ", ".join(option.label for option in known[:_MOST])
        return Unresolved(notice=Notice(code="edit-choose", args={"known": labels}), detail="no single value of the list")
    return Resolved(value=options[0].value, label=options[0].label, named_by_person=True)


async def _load_choices(code: str, place: FieldContext, reference: Reference) -> list[Option]:
    field = (await load_call_fields(place.call, reference)).get(code)
    if field is None:
        return []
    if field.status_entity_id:
        return [Option(value=row.id, label=row.name) for row in await reference.load_status_entries(field.status_entity_id)]
    return [Option(value=value, label=name) for value, name in field.choices.items()]


async def load_call_fields(call: Call, reference: Reference) -> Mapping[str, Field]:
    """By the code in this call; empty if it cannot be read."""
    kind = find_list_name(call) or call.entity
    try:
        return await reference.load_fields(kind) if kind else {}
    except BitrixError:
        return {}


def _list_flags(present: object, actor: Actor) -> list[Option]:
    if not isinstance(present, str | int | float):
        return []
    words = _FLAG_WORDS[actor.locale]
    return [Option(value=build_flag_value(present, is_yes=yes), label=words["set" if yes else "unset"]) for yes in (True, False)]


def _list_previous(field: EditableField, place: FieldContext) -> frozenset[str]:
    code = place.call.spec.stands_for.get(field.code, field.code)
    return frozenset(
        number for record in place.before.values() for number in fields.parse_ids(fields.find_value(record or {}, code, place.call.entity))
    )


def _list_people(users: Mapping[int, User], previous: frozenset[str], actor: Actor) -> list[Option]:
    """`actor`, `previous`, colleagues, all others; each by name."""
    me = users.get(actor.bitrix_user_id or 0)
    near = _to_set(me.departments) if me is not None else frozenset()

    def rank(user: User) -> tuple[int, str]:
        group = 0 if user.id == actor.bitrix_user_id else 1 if str(user.id) in previous else 2 if near & _to_set(user.departments) else 3
        return group, user.full_name

    working = sorted((user for user in users.values() if is_employed(user) and user.full_name), key=rank)
    names = [user.full_name for user in working]
    return [
        Option(value=user.id, label=user.full_name if names.count(user.full_name) == 1 else _describe_namesake(user)) for user in working
    ]


def _describe_namesake(user: User) -> str:
    return f"{user.full_name} · {user.work_position or f'№{user.id}'}"


def _to_set(value: object) -> frozenset[str]:
    return frozenset(str(item) for item in value) if isinstance(value, Iterable) and not isinstance(value, str) else frozenset()

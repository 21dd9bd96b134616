"""Values to choose by a button when a card's field is edited. Reads only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.answers import Option, Resolution, Resolved, Unresolved, User
from orchestrator.directory.reference import Reference, is_employed
from orchestrator.directory.reference_data import Field, parse_funnel
from orchestrator.domain.actor import Actor
from orchestrator.domain.message_views import EditableField
from orchestrator.domain.outputs import Notice
from orchestrator.features.cards.field_input import FieldContext, build_flag_value
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold

_MOST: Final = 12
_ANSWERS: Final = load_lexicon("card_fields")
_WORDS: Final = {locale: _ANSWERS.read_table("flags", locale) for locale in ("ru", "en")}


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
    words = _WORDS[actor.locale]
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

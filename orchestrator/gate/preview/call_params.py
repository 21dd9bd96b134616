"""Every parameter gets a line on the card, but for what the heading says and what this program sets itself. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bitrix.catalogue import names
from bitrix.client.batch import find_references
from orchestrator.directory.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.essence import MARKS
from orchestrator.gate.call.targets import as_id
from state.stored import JsonObject

_ADDRESS: Final = frozenset({"ownerId", "ownerTypeId"})
_CALENDAR: Final = "@type"
_TYPE: Final = "entityTypeId"
_PAIRED: Final = frozenset({"record", "owner"})
_SUBJECT_KINDS: Final = frozenset({"id", "read", "category"})


@dataclass(frozen=True, kw_only=True)
class ShownParam:
    """`siblings` stand beside it and may say what the value means, such as the kind of its record."""

    name: str
    value: object
    siblings: JsonObject
    is_field: bool
    """Of what the call writes, not a parameter of the call itself."""
    is_written: bool
    """Whether the record may hold a present value of it."""
    paired: tuple[str, ...] = ()
    """Parameters that its line says too, such as the kind of its record."""

    def is_held(self, call: Call, record: JsonObject | None) -> bool:
        """Writing it and its `paired` ones would change nothing."""
        values = [(self.name, self.value), *((name, self.siblings.get(name)) for name in self.paired)]
        return self.is_written and all(critical_fields.has_value(call, name, value, record) for name, value in values)


def find_words(call: Call, name: str, *, is_field: bool) -> ParamWords | None:
    """None if only the catalogue's fields or the portal can name it."""
    known = call.spec.stands_for.get(name, name)
    own = find_param_words(call.method, call.entity, known)
    if own is not None or fields.find_field_info(call.entities.get(call.entity), known) is not None:
        return own
    return None if is_field and call.spec.fields_at else find_common_words(known)


def list_shown_params(call: Call) -> list[ShownParam]:
    """First the fields that the call writes."""
    field_values = call.written_fields
    apart = {*MARKS, *call.spec.forced, *(_ADDRESS if _is_about_activity(call) else ())}
    if call.spec.author in call.system_fields:  # the person who asks: nobody needs to be told
        apart.add(call.spec.author)
    subject = find_subject(call)
    if subject and not call.spec.fields_at:
        apart.add(subject)
    params = [field for field in _list_fields(call, field_values) if field.name not in apart]
    params.extend(_list_options(call, field_values, subject))
    params = [replace(one, paired=paired) if (paired := _find_paired_names(call, one)) else one for one in params]
    paired_names = {name for one in params for name in one.paired}
    return [one for one in params if one.name not in paired_names]


def find_subject(call: Call) -> str:
    """Holds the id of what the call changes, if that is no target, such as a calendar event; "" for other calls."""
    if (call.targets and not is_about_calendar(call)) or call.unknown_target or call.spec.verb == "add":
        return ""
    for path in (*call.spec.required[:1], "id", "ID"):
        words = find_words(call, path, is_field=False)
        if as_id(call.params.get(path)) is not None and (words is None or words.kind in _SUBJECT_KINDS):
            return path
    return ""


def _is_about_activity(call: Call) -> bool:
    """Its `ownerId` and `ownerTypeId` then change nothing and get no line."""
    return call.entity == "activity" and call.spec.verb == "update" and not call.spec.fields_at


def find_shown_entity(call: Call) -> str:
    """If the catalogue only says "item", as for an import, entityTypeId decides."""
    number = as_id(call.params.get(_TYPE)) if call.entity == "item" else None
    return call.entity if number is None else names.CRM.get(number, f"item:{number}")


def is_about_calendar(call: Call) -> bool:
    """Its card is about the event, not about the person."""
    return call.spec.target_entity == _CALENDAR


def _list_fields(call: Call, field_values: JsonObject) -> Iterator[ShownParam]:
    inside = bool(call.spec.fields_at)
    for name, value in field_values.items():
        words = find_words(call, name, is_field=inside)
        if words is not None and words.kind == "fields" and isinstance(value, Mapping) and value and not find_references(value):
            yield from (
                ShownParam(name=inner, value=item, siblings={**call.params, **value}, is_field=True, is_written=True)
                for inner, item in value.items()
            )
        else:
            yield ShownParam(name=name, value=value, siblings={**call.params, **field_values}, is_field=inside, is_written=True)
    if is_about_calendar(call):
        yield ShownParam(name="ownerId", value=call.params.get("ownerId"), siblings=call.params, is_field=False, is_written=False)


def _list_options(call: Call, field_values: JsonObject, subject: str) -> Iterator[ShownParam]:
    if not call.spec.fields_at:
        return
    apart = {path.partition(".")[0] for path in (*call.spec.target, call.spec.target_entity.removeprefix("@"))}
    is_kind_named = call.entity.startswith("item") or bool(call.targets)
    apart |= {call.spec.fields_at, subject, *([_TYPE] if is_kind_named else [])}
    for name, value in call.params.items():
        if name not in apart and not (name == "params" and value == {}):
            words = find_words(call, name, is_field=False)
            if words is not None and words.kind == "fields" and isinstance(value, Mapping) and not find_references(value):
                yield from (
                    ShownParam(name=inner, value=item, siblings=value, is_field=False, is_written=False) for inner, item in value.items()
                )
            else:
                yield ShownParam(name=name, value=value, siblings={**field_values, **call.params}, is_field=False, is_written=False)


def _find_paired_names(call: Call, param: ShownParam) -> tuple[str, ...]:
    words = find_words(call, param.name, is_field=param.is_field) or find_common_words(param.name)
    if words is None or words.kind not in _PAIRED or param.value in (None, ""):
        return ()
    field_key = fields.to_field_key(words.detail or "type")
    return tuple(name for name in param.siblings if fields.to_field_key(name) == field_key)

"""Lists the parameters of a call that its card shows, one line each, and finds the parameter with the id of what the heading names. Pure.

Every parameter gets a line, except those that the heading already says (the id and the kind of what the call changes) and those that this
program sets itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bitrix.catalogue import names
from bitrix.client.batch import find_references
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.essence import MARKS
from orchestrator.gate.call.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.gate.call.targets import as_id
from state.stored import JsonObject

_ADDRESS: Final = frozenset({"ownerId", "ownerTypeId"})
"""Parameters that say which record an activity belongs to; they change nothing in it."""
_CALENDAR: Final = "@type"
"""The `target_entity` of methods about the calendar of a person, which is no record of its own."""
_TYPE: Final = "entityTypeId"
_PAIRED: Final = frozenset({"record", "owner"})
_SUBJECT_KINDS: Final = frozenset({"id", "read", "category"})


@dataclass(frozen=True, kw_only=True)
class ShownParam:
    """One parameter that a card shows, with its value.

    `siblings` are the parameters that stand beside it. One of them may say what the value means, such as the kind of the record whose id it
    is.
    """

    name: str
    value: object
    siblings: JsonObject
    is_field: bool
    """Whether it is a field of what the call writes, not a parameter of the call."""
    is_written: bool
    """Whether the record may hold a present value of it."""
    paired: tuple[str, ...] = ()
    """Names of parameters that the line of this one says too, such as the kind of the record whose number it is."""

    def is_held(self, call: Call, record: JsonObject | None) -> bool:
        """Return whether the record already has the values of this parameter and its `paired` ones; writing them then changes nothing."""
        values = [(self.name, self.value), *((name, self.siblings.get(name)) for name in self.paired)]
        return self.is_written and all(critical_fields.has_value(call, name, value, record) for name, value in values)


def find_words(call: Call, name: str, *, is_field: bool) -> ParamWords | None:
    """Return the words (name, kind of values) of the parameter `name`; None if only the catalogue's fields or the portal can name it.

    `is_field` says that `name` is a field of what the call writes, and not a parameter of the call itself.
    """
    known = call.spec.stands_for.get(name, name)
    own = find_param_words(call.method, call.entity, known)
    if own is not None or fields.find_field_info(call.entities.get(call.entity), known) is not None:
        return own
    return None if is_field and call.spec.fields_at else find_common_words(known)


def list_shown_params(call: Call) -> list[ShownParam]:
    """Return the parameters that get a line on the call's card: first the fields that it writes, then its other parameters."""
    written = call.written_fields
    apart = {*MARKS, *call.spec.forced, *(_ADDRESS if _is_about_activity(call) else ())}
    subject = find_subject(call)
    if subject and not call.spec.fields_at:
        apart.add(subject)
    shown = [field for field in _list_fields(call, written) if field.name not in apart]
    shown.extend(_list_options(call, written, subject))
    shown = [replace(one, paired=paired) if (paired := _find_paired_names(call, one)) else one for one in shown]
    said = {name for one in shown for name in one.paired}
    return [one for one in shown if one.name not in said]


def find_subject(call: Call) -> str:
    """Return the name of the parameter with the id of what the call changes, if that is no target of the call, such as a calendar event.

    Return "" for other calls.
    """
    if (call.targets and not is_about_calendar(call)) or call.unknown_target or call.spec.verb == "add":
        return ""
    for path in (*call.spec.required[:1], "id", "ID"):
        words = find_words(call, path, is_field=False)
        if as_id(call.params.get(path)) is not None and (words is None or words.kind in _SUBJECT_KINDS):
            return path
    return ""


def _is_about_activity(call: Call) -> bool:
    """Return whether the call updates an activity and names the written values directly in its parameters.

    Its parameters ownerId and ownerTypeId then only say which record the activity belongs to; they change nothing and get no line.
    """
    return call.entity == "activity" and call.spec.verb == "update" and not call.spec.fields_at


def find_shown_entity(call: Call) -> str:
    """Return the kind of the call's record, by which the names for the card are found.

    If the catalogue only says "item", as for an import, the kind follows from the call's parameter entityTypeId: "item:177" for 177.
    """
    number = as_id(call.params.get(_TYPE)) if call.entity == "item" else None
    return call.entity if number is None else names.CRM.get(number, f"item:{number}")


def is_about_calendar(call: Call) -> bool:
    """Return whether the call concerns a person's calendar, so that its card is about the event and not about the person."""
    return call.spec.target_entity == _CALENDAR


def _list_fields(call: Call, written: JsonObject) -> Iterator[ShownParam]:
    """Yield the fields in `written` (what the call writes); for a parameter that only holds fields, yield the fields in it instead.

    For a call about a calendar, the parameter with the calendar's owner follows.
    """
    inside = bool(call.spec.fields_at)
    for name, value in written.items():
        words = find_words(call, name, is_field=inside)
        if words is not None and words.kind == "fields" and isinstance(value, Mapping) and value and not find_references(value):
            yield from (
                ShownParam(name=inner, value=item, siblings={**call.params, **value}, is_field=True, is_written=True)
                for inner, item in value.items()
            )
        else:
            yield ShownParam(name=name, value=value, siblings={**call.params, **written}, is_field=inside, is_written=True)
    if is_about_calendar(call):
        yield ShownParam(name="ownerId", value=call.params.get("ownerId"), siblings=call.params, is_field=False, is_written=False)


def _list_options(call: Call, written: JsonObject, subject: str) -> Iterator[ShownParam]:
    """Yield the parameters that stand beside the fields, such as the record to which a comment is added.

    `written` are the fields that the call writes, `subject` is the parameter that `find_subject` returns. Parameters that the heading says
    are left out. Nothing is yielded if the fields themselves are parameters of the call.
    """
    if not call.spec.fields_at:
        return
    said = {path.partition(".")[0] for path in (*call.spec.target, call.spec.target_entity.removeprefix("@"))}
    named = call.entity.startswith("item") or bool(call.targets)
    said |= {call.spec.fields_at, subject, *([_TYPE] if named else [])}
    for name, value in call.params.items():
        if name not in said and not (name == "params" and value == {}):
            words = find_words(call, name, is_field=False)
            if words is not None and words.kind == "fields" and isinstance(value, Mapping) and not find_references(value):
                yield from (
                    ShownParam(name=inner, value=item, siblings=value, is_field=False, is_written=False) for inner, item in value.items()
                )
            else:
                yield ShownParam(name=name, value=value, siblings={**written, **call.params}, is_field=False, is_written=False)


def _find_paired_names(call: Call, one: ShownParam) -> tuple[str, ...]:
    """Return the names of the parameters that only say of which kind the record in the parameter `one` is.

    They get no line of their own, because the line of `one` names the kind together with the record.
    """
    words = find_words(call, one.name, is_field=one.is_field) or find_common_words(one.name)
    if words is None or words.kind not in _PAIRED or one.value in (None, ""):
        return ()
    field_key = fields.to_field_key(words.detail or "type")
    return tuple(name for name in one.siblings if fields.to_field_key(name) == field_key)

"""Compares a log's record with the journal, in the fields that the record has."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from state.audit_log.records import CHAIN
from state.clock import parse_iso
from state.stored import JsonObject

_LOG_ONLY: Final = frozenset({CHAIN, "rebuilt", "trace_id", "v", "mode", "timestamp"})
"""Not compared: the journal lacks them, such as the mode of a turn without a plan."""
_ADDED_LATER: Final = frozenset({"provider", "failed_before", "service_answers", "run"})
_PARTS: Final = frozenset({"outcome", "requested_by", "decided_by", "confirmation", "tokens"})
"""Their own fields are compared, where both have them."""
_AS_JUDGED: Final = frozenset({"proposed"})
"""In the journal only as the call was judged."""
_KNOWN_ONCE: Final = frozenset({"proposed", "class", "detail", "reason", "code", "answer", "params", "commands"})
"""Unknown to a turn that went on after a stop; its calls have no class."""
_UNKNOWN_AGAIN: Final[JsonObject] = {"answer": None, "reasons": []}
"""In a record of a call submitted a second time."""
_NO_EVENT: Final = frozenset({"waiting", "planned"})
"""Perhaps in no event: a card that waited already, a plan that is not stored."""
_TIME_APART: Final = timedelta(hours=1)
"""A run's records are written when it waits or ends."""


def is_without_event(record: JsonObject) -> bool:
    outcome = record.get("outcome")
    match record.get("type"):
        case "decision":
            return not isinstance(outcome, Mapping) or not (outcome.get("status") or outcome.get("notice") == "card-denied")
        case "iteration":
            return not record.get("model") and not record.get("executed_actions") and record.get("model_response") in ({}, {"raw": ""})
        case kind:
            return kind != "node"


def is_cut_off(projected: JsonObject) -> bool:
    """A stop cut off the call, so the decision may be in no log."""
    outcome = projected.get("outcome")
    return isinstance(outcome, Mapping) and "status" in outcome and "call_class" not in outcome


def find_difference(record: JsonObject, projected: JsonObject) -> str:
    """The first field that differs; "" if none."""
    return next(_find_differences(record, projected), "")


def _find_differences(record: JsonObject, projected: JsonObject) -> Iterator[str]:
    yield from (who for who in ("requested_by", "decided_by") if _get_key(record, who) != _get_key(projected, who))
    if _is_settled_later(record, projected):
        return
    if abs(parse_iso(str(record.get("timestamp"))) - parse_iso(str(projected["timestamp"]))) > _TIME_APART:
        yield "timestamp"
    for name in sorted((projected.keys() | record.keys()) - _LOG_ONLY):
        value, expected = record.get(name), projected.get(name)
        if name not in record:
            is_different = name not in _ADDED_LATER and bool(expected)
        elif name == "executed_actions" and record["type"] != "decision":
            yield from _compare_calls(_list_calls(value), _list_calls(expected))
            continue
        elif name == "targets":
            is_different = value != sorted({str(call.get("method")) for call in _list_calls(record.get("executed_actions"))})
        elif name in _PARTS and isinstance(value, Mapping) and isinstance(expected, Mapping):
            common = sorted(value.keys() & expected.keys())
            yield from (f"{name}.{part}" for part in common if not _is_same_part(part, value[part], expected[part]))
            continue
        elif name == "state":
            is_different = not _is_covered(value, expected)
        else:
            is_different = value != expected and not (name == "seconds" and not value)  # see _KNOWN_ONCE
        if is_different:
            yield name


def _is_settled_later(record: JsonObject, projected: JsonObject) -> bool:
    """The record has the card's fate, the journal what a later look found."""
    outcome = record.get("outcome")
    return is_cut_off(projected) and isinstance(outcome, Mapping) and "call_class" in outcome


def _is_same_part(name: str, value: object, expected: object) -> bool:
    is_erased = value == "" and name.endswith("name")
    return value == expected or is_erased or (name == "call" and not value)  # of what was not sent the journal has what was to be


def _is_covered(value: object, expected: object) -> bool:
    """The journal's state may have fields that were added later."""
    if isinstance(value, Mapping) and isinstance(expected, Mapping):
        return all(name in expected and (_is_covered(value[name], expected[name]) or _is_same_part(name, value[name], 0)) for name in value)
    if isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        return all(_is_covered(one, other) for one, other in zip(value, expected, strict=True))
    return value == expected


def _compare_calls(calls: list[JsonObject], events: list[JsonObject]) -> Iterator[str]:
    """The names of fields that differ."""
    known = {call.get("call_id"): call for call in events}
    for number, call in enumerate(calls):
        event = known.pop(call.get("call_id"), None)
        if event is None:
            if call.get("status") not in _NO_EVENT:
                yield f"executed_actions[{number}]"
            continue
        skipped = _KNOWN_ONCE if call.get("class") == "" and event.get("class") else _AS_JUDGED
        for name in sorted((call.keys() & event.keys()) - skipped):
            if call[name] != event[name] and (name not in _UNKNOWN_AGAIN or call[name] != _UNKNOWN_AGAIN[name]):
                yield f"executed_actions[{number}].{name}"
    if known:
        yield "executed_actions"


def _list_calls(value: object) -> list[JsonObject]:
    return [call for call in value if isinstance(call, Mapping)] if isinstance(value, list) else []


def _get_key(record: JsonObject, who: str) -> object:
    person = record.get(who)
    return person.get("key") if isinstance(person, Mapping) else None

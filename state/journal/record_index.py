"""Which CRM records and calls an event is about: the entries of table `mentions`; ids only."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

What = Literal["call", "made", "look", "began", "decision", "undo"]
"""Of a record: a call that changes it, one that created it ("made"), a reading ("look"). Of a call: the others."""
TYPES: Final = ("CallStarted", "CallSucceeded", "ConfirmationApproved", "ConfirmationDenied", "ConfirmationRequested", "RecordsSeen")
UNDO: Final = "undo:"
"""Begins the slot of an undoing call, before the undone effect's id."""
_NAMING_TYPES: Final = frozenset(TYPES)
_READS: Final = ("R",)


class IndexEntry(NamedTuple):
    """`about` is a record ("deal:481") or a call; `effect_id` is "" for a "look"."""

    about: str
    what: What
    event_id: str
    effect_id: str


def index_event(event_id: str, kind: str, data: Mapping[str, Any], call: Mapping[str, Any] | None) -> Iterator[IndexEntry]:
    """`call` is None for no call, or if its person was erased."""
    if kind not in _NAMING_TYPES:
        return
    if kind == "RecordsSeen":
        for record in {**data["records"], **dict.fromkeys(data["gone"])}:
            yield IndexEntry(record, "look", event_id, "")
        return
    if call is None:
        return
    effect_id = data["effect_id"]
    match kind:
        case "ConfirmationApproved" | "ConfirmationDenied":
            yield IndexEntry(effect_id, "decision", event_id, effect_id)
        case "CallSucceeded":
            if data.get("created"):
                yield IndexEntry(data["created"], "made", event_id, effect_id)
        case _:
            yield from _index_start(event_id, kind, data, call)


def _index_start(event_id: str, kind: str, data: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[IndexEntry]:
    effect_id = data["effect_id"]
    if kind == "ConfirmationRequested" or not data.get("confirmation_id"):  # an approved call began with its card
        yield IndexEntry(effect_id, "began", event_id, effect_id)
        for record in list_changed_records(call):
            yield IndexEntry(record, "call", event_id, effect_id)
    if kind == "CallStarted" and data["slot"].startswith(UNDO):
        yield IndexEntry(data["slot"].removeprefix(UNDO).partition("/")[0], "undo", event_id, effect_id)


def list_changed_records(call: Mapping[str, Any]) -> list[str]:
    """List existing records ("deal:481"), of a batch those of all commands."""
    frozen = call.get("call") or {}
    leaves = [leaf for leaf in frozen.get("commands") or [frozen] if tuple(leaf.get("classes") or ()) != _READS]
    return list(dict.fromkeys(f"{kind}:{number}" for leaf in leaves for kind, number in leaf.get("targets") or ()))

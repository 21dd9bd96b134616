"""Decides which CRM records and calls a journal event is about; the table `mentions` is the index of these. Reads and writes nothing.

The index holds only ids, kinds and numbers of records. It holds nothing that people wrote, and nothing about the calls of erased people.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

What = Literal["call", "made", "look", "began", "decision", "undo"]
"""About a record: a call that changes it ("call"), a call that created it ("made"), a reading of it ("look"). About a call: its first event
("began"), a person's decision, the start of the call that undoes it ("undo")."""
TYPES: Final = ("CallStarted", "CallSucceeded", "ConfirmationApproved", "ConfirmationDenied", "ConfirmationRequested", "RecordsSeen")
"""Only events of these types are indexed."""
UNDO: Final = "undo:"
"""The slot of a call that undoes another begins with this, followed by the effect id of the other."""
_NAMING_TYPES: Final = frozenset(TYPES)
_READS: Final = ("R",)


class IndexEntry(NamedTuple):
    """States that the event `event_id` is about `about`, which is a record ("deal:481") or the id of a call; `what` says in which way.

    `effect_id` is the call that the event belongs to, "" if the bot only read the record ("look").
    """

    about: str
    what: What
    event_id: str
    effect_id: str


def index_event(event_id: str, kind: str, data: Mapping[str, Any], call: Mapping[str, Any] | None) -> Iterator[IndexEntry]:
    """Yield the index entries of the event with the id `event_id`, the type `kind` and the data `data`.

    `call` is the stored call that the event belongs to; None if it belongs to none, or if the person of the call was erased.
    """
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
    """Return the existing CRM records ("deal:481") that a stored call changes; for a batch, those of all its commands."""
    frozen = call.get("call") or {}
    leaves = [leaf for leaf in frozen.get("commands") or [frozen] if tuple(leaf.get("classes") or ()) != _READS]
    return list(dict.fromkeys(f"{kind}:{number}" for leaf in leaves for kind, number in leaf.get("targets") or ()))

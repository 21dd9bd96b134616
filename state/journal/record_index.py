"""Where the journal speaks of a record or a call (ring 1, pure): the rule by which the table `mentions` follows from journal and effects.

Ids, kinds and numbers of records only, nothing that people wrote; of an erased person's call nothing at all.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

What = Literal["call", "made", "look", "began", "decision", "undo"]
"""About a record: a call that changes it, a call that made it, a look at it. About a call: its first event, the decision of a person, the
start of the call that takes it back."""
TYPES: Final = ("CallStarted", "CallSucceeded", "ConfirmationApproved", "ConfirmationDenied", "ConfirmationRequested", "RecordsSeen")
"""Only these events name something."""
UNDO: Final = "undo:"
"""How the slot of a call begins that takes back the one behind it."""
_NAMING_TYPES: Final = frozenset(TYPES)
_READS: Final = ("R",)


class IndexEntry(NamedTuple):
    """One event names a record ("deal:481") or a call (by its id); `effect_id` is the call that the event belongs to, "" for a look."""

    about: str
    what: What
    event_id: str
    effect_id: str


def index_event(event_id: str, kind: str, data: Mapping[str, Any], call: Mapping[str, Any] | None) -> Iterator[IndexEntry]:
    """What an event names. `call` is what the effects table holds of its effect, None where that has no row or its person was erased."""
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
    if kind == "ConfirmationRequested" or not data.get("confirmation_id"):  # what was approved began with its card
        yield IndexEntry(effect_id, "began", event_id, effect_id)
        for record in _list_records(call):
            yield IndexEntry(record, "call", event_id, effect_id)
    if kind == "CallStarted" and data["slot"].startswith(UNDO):
        yield IndexEntry(data["slot"].removeprefix(UNDO).partition("/")[0], "undo", event_id, effect_id)


def _list_records(call: Mapping[str, Any]) -> list[str]:
    """The records that are there already and that a stored call changes, of a batch those of all its commands."""
    frozen = call.get("call") or {}
    leaves = [leaf for leaf in frozen.get("commands") or [frozen] if tuple(leaf.get("classes") or ()) != _READS]
    return list(dict.fromkeys(f"{kind}:{number}" for leaf in leaves for kind, number in leaf.get("targets") or ()))

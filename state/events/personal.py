"""Which fields of an event are personal (encrypted) and which clear: the latter by name or type."""

from copy import deepcopy
from typing import Annotated, Any, Literal, TypeVar, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

T = TypeVar("T")
_MARK = "personal"
Personal = Annotated[T, _MARK]
"""May hold words of people or the model, or CRM values: encrypted, blank once erased."""

CLEAR = frozenset(
    {
        # places and ids
        *(
            "backup",
            "turn_id",
            "question_id",
            "report_id",
            "answers",
            "answered_records",
            "slot",
            "joined_slots",
            "waiting_steps",
            "waiting",
            "confirmation_id",
            "login_id",
            "effect_id",
            "replaces",
            "nonce",
            "covered_by",
        ),
        *("cause", "outbox_key"),
        # hashes
        *("fingerprint", "essence", "policy", "source_digest"),
        # times
        *("made_at", "requested_at", "approved_at", "denied_at", "expired_at", "expires_at", "look_at", "since"),
        # who, as the key of a person
        *("requested_by", "approved_by", "denied_by", "proposed_by", "person", "by"),
        # words of the program, and method and field names of the portal
        *("mode", "method", "call_class", "kind", "code", "model", "via", "why", "unchanged", "removed"),
        # the subjects of portal events
        *("event", "target", "member_id", "gone", "told", "created"),
        # the session that something belongs to
        "home",
        # names of providers of models in the settings, and the id of a reservation of tokens
        *("provider", "failed_before", "reservation"),
        # runs: their engine and definition, their nodes, and what a node waits for
        *("engine", "definition", "digest", "parent", "parent_node", "node", "waits_for", "until", "takes", "controls", "origins", "run"),
        # blocks: their id, which names the record and the run
        "block",
        # schedules: their id, and their moments
        *("schedule", "due", "following"),
        # standing orders: their id
        "order",
    }
)
"""Readable without a key in every event; numbers and literals always are."""


def is_personal(field: FieldInfo) -> bool:
    return _MARK in field.metadata


def list_undecided(fields: dict[str, FieldInfo]) -> list[str]:
    return [name for name, field in fields.items() if not (is_personal(field) or name in CLEAR or _is_plain(field))]


def build_blanks(fields: dict[str, FieldInfo]) -> dict[str, Any]:
    return {name: _build_blank(field) for name, field in fields.items() if is_personal(field)}


def build_fresh(blank: Any) -> Any:
    """Return a value that the caller may change."""
    if isinstance(blank, dict | list):
        return deepcopy(blank) if blank else type(blank)()
    return blank


def _is_plain(field: FieldInfo) -> bool:
    return field.annotation in {int, float, bool, int | None} or get_origin(field.annotation) is Literal


def _build_blank(field: FieldInfo) -> Any:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if value is not PydanticUndefined:
        return value
    kind = get_origin(field.annotation) or field.annotation
    return kind() if kind in {str, list, dict} else None

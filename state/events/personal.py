"""Which fields of an event are personal (ring 1): marked one by one, or clear by name or type. Decides nothing by itself."""

from copy import deepcopy
from typing import Annotated, Any, Literal, TypeVar, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

T = TypeVar("T")
_MARK = "personal"
Personal = Annotated[T, _MARK]
"""May hold what people, customers or the model wrote, or values of the CRM: sealed at rest, blank once the person is erased."""

CLEAR = frozenset(
    {
        # places and ids
        *("backup", "turn_id", "question_id", "answers", "slot", "confirmation_id", "effect_id", "replaces", "nonce"),
        *("cause", "outbox_key"),
        # hashes
        *("fingerprint", "essence", "policy"),
        # moments
        *("made_at", "requested_at", "approved_at", "denied_at", "expired_at", "expires_at", "look_at"),
        # who, as a key that stands for a person
        *("requested_by", "approved_by", "denied_by", "proposed_by", "person", "by"),
        # words of the program and names of the portal's methods and fields
        *("mode", "method", "call_class", "kind", "code", "model", "via", "why", "unchanged", "removed"),
        # what the portal's events are about
        *("event", "target", "member_id", "gone", "told", "created"),
        # the conversation that something belongs to
        "home",
    }
)
"""Fields of text that stay readable without a key, whatever event has them. Numbers and fixed words always do."""


def is_personal(field: FieldInfo) -> bool:
    """Whether it is marked `Personal`."""
    return _MARK in field.metadata


def list_undecided(fields: dict[str, FieldInfo]) -> list[str]:
    """The fields of which nobody said whether they are personal."""
    return [name for name, field in fields.items() if not (is_personal(field) or name in CLEAR or _is_plain(field))]


def build_blanks(fields: dict[str, FieldInfo]) -> dict[str, Any]:
    """What the personal ones read as where nothing is told of them: their default, or nothing in their own type."""
    return {name: _build_blank(field) for name, field in fields.items() if is_personal(field)}


def build_fresh(blank: Any) -> Any:
    """A blank that its reader may change."""
    if isinstance(blank, dict | list):
        return deepcopy(blank) if blank else type(blank)()
    return blank


def _is_plain(field: FieldInfo) -> bool:
    """Of a type that can hold nobody's words."""
    return field.annotation in {int, float, bool, int | None} or get_origin(field.annotation) is Literal


def _build_blank(field: FieldInfo) -> Any:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if value is not PydanticUndefined:
        return value
    kind = get_origin(field.annotation) or field.annotation
    return kind() if kind in {str, list, dict} else None

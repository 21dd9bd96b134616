"""Leaves out of a write what no value came for, so that it empties no field of the CRM; the person is told of each field. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from orchestrator.domain.finding import Path
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Value
from state.stored import JsonObject

_GONE: Final = object()
_MOST_TOLD: Final = 10
"""Of so many fields people are told by name."""


def leave_out_fields(fields: object, empty: Collection[Path], at: Path = ()) -> tuple[Any, tuple[str, ...]]:
    """Return (the fields of a record without those for which no value came, the names of these). `fields` may hold `Value` at any place.

    `empty` are the places, below those of `at`, of texts whose placeholders gave nothing. An object that lacks a part that way, such as a
    phone without its number, says nothing either. In what a model gave as a whole null is no value.
    """
    if isinstance(fields, Value):
        if not isinstance(fields.data, Mapping) or "model" not in fields.origins:
            return fields, ()
        left_out = tuple(name for name, field in fields.data.items() if field is None)
        return Value({name: field for name, field in fields.data.items() if field is not None}, fields.origins), left_out
    if not isinstance(fields, Mapping):
        return fields, ()
    kept: dict[str, object] = {name: _prune(field, empty, (*at, name)) for name, field in fields.items()}
    return {name: field for name, field in kept.items() if field is not _GONE}, tuple(name for name in kept if kept[name] is _GONE)


def list_left_out(names: Sequence[str]) -> tuple[Notice, ...]:
    """Return the sentences that tell a person which fields were not written."""
    told = [Notice(code="run-left-out", args={"field": name}) for name in dict.fromkeys(names)]
    more = len(told) - _MOST_TOLD
    return (*told[:_MOST_TOLD], Notice(code="run-left-out-more", args={"count": more})) if more > 0 else tuple(told)


def list_null_fields(fields: JsonObject) -> tuple[str, ...]:
    """Return the names of the fields that are null."""
    return tuple(name for name, field in fields.items() if field is None)


def _prune(tree: object, empty: Collection[Path], at: Path) -> object:
    """Return the tree without what is empty in it, `_GONE` if nothing is left of it."""
    if at in empty:
        return _GONE
    if isinstance(tree, Mapping):
        parts = {name: _prune(part, empty, (*at, name)) for name, part in tree.items()}
        return _GONE if any(part is _GONE for part in parts.values()) else parts
    if isinstance(tree, list):
        kept = [part for part in (_prune(part, empty, (*at, place)) for place, part in enumerate(tree)) if part is not _GONE]
        return kept if kept or not tree else _GONE
    return tree

"""Leaves out of a write what no value came for, so that it empties no field. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from orchestrator.domain.finding import Path
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Value
from state.stored import JsonObject

_GONE: Final = object()
_MOST_TOLD: Final = 10


def leave_out_fields(fields: object, empty: Collection[Path], at: Path = ()) -> tuple[Any, tuple[str, ...]]:
    """Return (fields, names left out).

    `empty` are places of placeholders that gave nothing; an object lacking a part goes whole.
    """
    if isinstance(fields, Value):
        if not isinstance(fields.data, Mapping) or "model" not in fields.origins:
            return fields, ()
        left_out = tuple(name for name, field in fields.data.items() if field is None)
        return Value({name: field for name, field in fields.data.items() if field is not None}, fields.origins), left_out
    if not isinstance(fields, Mapping):
        return fields, ()
    pruned: dict[str, object] = {name: _prune(field, empty, (*at, name)) for name, field in fields.items()}
    return {name: field for name, field in pruned.items() if field is not _GONE}, tuple(name for name in pruned if pruned[name] is _GONE)


def list_left_out(names: Sequence[str]) -> tuple[Notice, ...]:
    notices = [Notice(code="run-left-out", args={"field": name}) for name in dict.fromkeys(names)]
    more = len(notices) - _MOST_TOLD
    return (*notices[:_MOST_TOLD], Notice(code="run-left-out-more", args={"count": more})) if more > 0 else tuple(notices)


def list_null_fields(fields: JsonObject) -> tuple[str, ...]:
    return tuple(name for name, field in fields.items() if field is None)


def _prune(tree: object, empty: Collection[Path], at: Path) -> object:
    """`_GONE` if nothing is left."""
    if at in empty:
        return _GONE
    if isinstance(tree, Mapping):
        parts = {name: _prune(part, empty, (*at, name)) for name, part in tree.items()}
        return _GONE if any(part is _GONE for part in parts.values()) else parts
    if isinstance(tree, list):
        parts_left = [part for part in (_prune(part, empty, (*at, place)) for place, part in enumerate(tree)) if part is not _GONE]
        return parts_left if parts_left or not tree else _GONE
    return tree

"""The JSON Schemas of the kinds of definitions that have one."""

from functools import cache

from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part_of_kind
from state.stored import JsonObject


@cache
def build_kind_schema(kind: str) -> JsonObject | None:
    """Return the schema of a kind, None if none is published."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.build_schema() if face is not None and face.build_schema is not None else None

"""The published JSON Schemas of definitions, made from the models that the program itself checks with, so that they cannot differ."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from state.stored import JsonObject

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REFS: Final = "#/$defs/"
"""What stands before the name of a part of a schema that others refer to."""


def write_schema(title: str, whole: Mapping[str, Any], defs: Mapping[str, Any]) -> JsonObject:
    """Return a schema with its parts, as it is published."""
    return {"$schema": DIALECT, **_drop_titles(whole), "title": title, "$defs": _drop_titles(defs)}


def split_schema(model: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a model as it is written by authors, and those of its parts by name."""
    whole: dict[str, Any] = model.model_json_schema(ref_template=REFS + "{model}")
    return whole, dict(whole.pop("$defs", {}))


def _drop_titles(tree: Any) -> Any:
    """Return the schema without the titles that pydantic makes of the fields' names: editors would show them in place of the names."""
    if isinstance(tree, list):
        return [_drop_titles(one) for one in tree]
    if not isinstance(tree, Mapping):
        return tree
    return {name: _drop_titles(one) for name, one in tree.items() if not (name == "title" and isinstance(one, str))}

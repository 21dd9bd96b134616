"""JSON Schemas made from the models that check definitions, so that they cannot differ."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from state.stored import JsonObject

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REFS: Final = "#/$defs/"
"""Before the name of a part that others refer to."""


def write_schema(title: str, whole: Mapping[str, Any], defs: Mapping[str, Any]) -> JsonObject:
    return {"$schema": DIALECT, **_drop_titles(whole), "title": title, "$defs": _drop_titles(defs)}


def split_schema(model: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(schema of the model, those of its parts by name)."""
    whole: dict[str, Any] = model.model_json_schema(ref_template=REFS + "{model}")
    return whole, dict(whole.pop("$defs", {}))


def _drop_titles(tree: Any) -> Any:
    """Editors would show pydantic's titles in place of the names."""
    if isinstance(tree, list):
        return [_drop_titles(one) for one in tree]
    if not isinstance(tree, Mapping):
        return tree
    return {name: _drop_titles(one) for name, one in tree.items() if not (name == "title" and isinstance(one, str))}

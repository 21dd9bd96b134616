"""The API's description from the generated file `openapi.json`: no app is built for `--help`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

import orjson

from state.stored import JsonObject

Place = Literal["path", "query", "revision", "body"]
_AROUND_ROWS: Final = frozenset({"next", "more", "before", "after"})
_REVISION: Final = "If-Match"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    place: Place
    schema: JsonObject
    """JSON Schema without references and null."""
    is_required: bool

    @property
    def help(self) -> str:
        return str(self.schema.get("description", ""))

    @property
    def takes_pairs(self) -> bool:
        """An object of values by name."""
        return self.schema.get("type") == "object"

    @property
    def option(self) -> str:
        """Of several values the name of one."""
        return (self.name.removesuffix("s") if self.takes_pairs else self.name).replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    name: str
    verb: str
    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    takes_file: bool
    """Its body may be the text of a file."""
    waits: bool
    """For a bot, which may take a while."""
    rows: str
    """The field with the lines of a list; "" if the answer is one thing."""
    fields: tuple[str, ...]
    """Of the answer, or of each line."""

    @property
    def is_text(self) -> bool:
        """Not data."""
        return not self.fields

    @property
    def has_pages(self) -> bool:
        return any(parameter.name == "cursor" for parameter in self.parameters)


@cache
def load_operations() -> Mapping[str, Operation]:
    """By name, such as "runs.list"."""
    api = orjson.loads(Path(__file__).with_name("openapi.json").read_bytes())
    reader = _Reader(api["components"]["schemas"])
    operations = (reader.read(verb, path, item) for path, items in api["paths"].items() for verb, item in items.items())
    return {operation.name: operation for operation in operations}


@dataclass(frozen=True)
class _Reader:
    schemas: JsonObject

    def read(self, verb: str, path: str, item: JsonObject) -> Operation:
        content = item.get("requestBody", {}).get("content", {})
        takes_file = "application/yaml" in content
        answer = self._resolve(next(iter(item["responses"].values())).get("content", {}).get("application/json", {}).get("schema", {}))
        properties = {name: self._resolve(schema) for name, schema in answer.get("properties", {}).items()}
        lists = [name for name, schema in properties.items() if schema.get("type") == "array"]
        rows = lists[0] if len(lists) == 1 and properties.keys() - {*lists} <= _AROUND_ROWS else ""
        body = {} if takes_file else self._resolve(content.get("application/json", {}).get("schema", {}))
        return Operation(
            name=item["operationId"],
            verb=verb,
            path=path,
            summary=item["summary"],
            parameters=(*self._read_parameters(item.get("parameters", ())), *self._read_body(body)),
            takes_file=takes_file,
            waits="202" in item["responses"],
            rows=rows,
            fields=tuple(self._resolve(properties[rows]["items"])["properties"] if rows else properties),
        )

    def _read_parameters(self, items: Sequence[JsonObject]) -> Iterator[Parameter]:
        for item in items:
            if item["in"] == "header" and item["name"] != _REVISION:
                continue
            place: Place = "revision" if item["in"] == "header" else item["in"]
            schema = {"type": "integer", "minimum": 1} if place == "revision" else self._resolve(item["schema"])
            schema = {**schema, "description": item.get("description") or schema.get("description", "")}
            name = "revision" if place == "revision" else item["name"]
            yield Parameter(name=name, place=place, schema=schema, is_required=item["required"] or place == "revision")

    def _read_body(self, schema: JsonObject) -> Iterator[Parameter]:
        for name, part in schema.get("properties", {}).items():
            yield Parameter(name=name, place="body", schema=self._resolve(part), is_required=name in schema.get("required", ()))

    def _resolve(self, schema: JsonObject) -> JsonObject:
        """Without references, and without null."""
        if "$ref" in schema:
            return self._resolve(self.schemas[schema["$ref"].rpartition("/")[2]])
        others = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
        return {**self._resolve(others[0]), **{name: part for name, part in schema.items() if name != "anyOf"}} if others else schema

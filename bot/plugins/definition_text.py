"""The text of a definition as people get it: its author's where there is one, else written in the order of the schema of its kind."""

from functools import cache
from typing import Final

from bot.plugins.kind_face import build_kind_schema
from bot.plugins.schema_reader import Schema, SchemaReader, Shape
from orchestrator.definitions.sources import read_source
from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.keeping import keep_text
from orchestrator.documents.writing import write_document
from state.model.definitions import DefinitionVersion

_FIRST: Final = ("id", "name", "type")
_OPEN: Final = Schema.model_validate({})


def write_version(version: DefinitionVersion, form: DocumentFormat = "yaml") -> str:
    """Call it in a thread: a large one takes a moment."""
    source = read_source(version)
    if source is None:
        return write_ordered(version.kind, version.document, form)
    return source.source if form == "yaml" else write_document(source.data, form)


def write_ordered(kind: str, document: object, form: DocumentFormat = "yaml") -> str:
    """For what has no text of its author. Raises NotCanonical."""
    return write_document(order_fields(kind, document), form)


def write_compared(before: DefinitionVersion, after: DefinitionVersion) -> tuple[str, str]:
    """Texts in which only what differs differs, also where one of them is older than the keeping of texts. Call it in a thread."""
    old, new = read_source(before), read_source(after)
    if (old is None) == (new is None):
        return write_version(before), write_version(after)
    if new is not None:
        return keep_text(new.source, before.document) or write_version(before), new.source
    assert old is not None  # noqa: S101 - one of them is there
    return old.source, keep_text(old.source, after.document) or write_version(after)


def order_fields(kind: str, document: object) -> object:
    """As they stand where the schema of the kind says; what it does not name comes after, as it was."""
    reader = _open_reader(kind)
    return document if reader is None else _order(reader, Shape(reader.whole, reader.name), document)


@cache
def _open_reader(kind: str) -> SchemaReader | None:
    schema = build_kind_schema(kind)
    return SchemaReader(schema, kind) if schema is not None else None


def _order(reader: SchemaReader, shape: Shape, value: object) -> object:
    if isinstance(value, list):
        items = shape.schema.items or _OPEN
        return [_order(reader, reader.resolve(items, shape.owner, item), item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = {prop.name: prop for prop in reader.list_properties(shape, value)}
    names = dict.fromkeys([*_FIRST, *properties, *value] if properties else value)
    shapes = {name: reader.resolve(prop.schema, prop.owner, value.get(name)) for name, prop in properties.items()}
    return {name: _order(reader, shapes.get(name, Shape(_OPEN, "")), value[name]) for name in names if name in value}

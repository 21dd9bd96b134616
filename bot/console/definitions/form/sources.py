"""The fields of a kind of definitions, and how new elements begin."""

from collections.abc import Callable

from bot.console.definitions.form.fields import Field, Group, parse_value
from bot.console.definitions.form.form_face import FORM_FACE, FormSource
from bot.console.definitions.form.schema import SchemaReader
from bot.console.definitions.form.schema_form import SchemaForm
from bot.console.definitions.form.words import FormWords
from bot.console.visit import Visit
from bot.plugins.kind_face import KIND_FACE, build_kind_schema
from bot.plugins.loading import find_part_of_kind
from orchestrator.documents.changing import ABSENT, remove_value, set_value
from orchestrator.domain.finding import Path


class SchemaSource:
    def __init__(self, form: SchemaForm, build_item: Callable[[object, Path], object]) -> None:
        """New elements begin as `build_item` says."""
        self._form, self._build_item = form, build_item

    def describe(self, document: object) -> Group:
        return self._form.describe(document)

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Raises FieldRefused, and PlaceGone."""
        value = parse_value(field, typed)
        if value is ABSENT:
            return remove_value(document, field.path, keep=len(field.path) - 1)
        return set_value(document, field.path, value)

    def build_item(self, document: object, path: Path) -> object:
        return self._build_item(document, path)


async def open_source(visit: Visit, kind: str) -> FormSource | None:
    """None for a plugin's kind without a schema."""
    form = find_part_of_kind(FORM_FACE, kind)
    if form is not None:
        return await form.open(visit)
    face = find_part_of_kind(KIND_FACE, kind)
    schema = build_kind_schema(kind)
    if face is None or schema is None:
        return None
    return SchemaSource(SchemaForm(SchemaReader(schema, kind), FormWords(visit), face.steps), face.build_item)

"""What the form needs to know of a kind of definitions: its fields, how a typed text enters the document, and how new elements begin."""

from collections.abc import Mapping
from typing import Final, Protocol

from bot.console.definitions.form.changing import ABSENT, find_value, remove_value, set_value
from bot.console.definitions.form.fields import Field, Group, parse_value
from bot.console.definitions.form.kind_schemas import build_kind_schema
from bot.console.definitions.form.schema import SchemaReader
from bot.console.definitions.form.schema_form import SchemaForm
from bot.console.definitions.form.words import FormWords
from bot.console.visit import Visit
from engines.flows.core.kind import FLOW
from engines.flows.form.agent_choices import load_agents
from engines.flows.form.flow_fields import FlowFields
from engines.flows.form.flow_form import build_flow_definition, enter_text, find_new_step_id, read_flow_form
from orchestrator.domain.finding import Path

_STEPS: Final = "steps"
_TUUMS: Final = "tuums"
_RUNES: Final = frozenset({"runes", "promptRunes"})


class FormSource(Protocol):
    """The form of one kind of definitions."""

    def describe(self, document: object) -> Group:
        """Return the fields of a document."""

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Return the document with a text typed into a field. Raises FieldRefused, and PlaceGone."""

    def build_item(self, document: object, path: Path) -> object:
        """Return what a new element of the list at a place begins as."""


class FlowSource:
    """The form of flows."""

    def __init__(self, fields: FlowFields) -> None:
        """Describe it with `fields`."""
        self._fields = fields

    def describe(self, document: object) -> Group:
        """Return the fields of a flow."""
        return self._fields.describe(read_flow_form(document))

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Return the flow that `build_flow_definition` makes with the typed text. Raises FieldRefused, and PlaceGone."""
        built = build_flow_definition(enter_text(read_flow_form(document), field.path, typed))
        for one in built.mistakes:
            raise one.refusal
        return built.document

    def build_item(self, document: object, path: Path) -> object:
        """Return a new step with an id of its own, or another element without anything in it."""
        if path != (_STEPS,):
            return {}
        return {"id": find_new_step_id(read_flow_form(document)), "agentVersionId": ""}


class SchemaSource:
    """The form of a kind that has a JSON Schema."""

    def __init__(self, form: SchemaForm) -> None:
        """Describe it with `form`."""
        self._form = form

    def describe(self, document: object) -> Group:
        """Return the fields of a document."""
        return self._form.describe(document)

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Return the document with the value that the typed text means. Raises FieldRefused, and PlaceGone."""
        value = parse_value(field, typed)
        if value is ABSENT:
            return remove_value(document, field.path, keep=len(field.path) - 1)
        return set_value(document, field.path, value)

    def build_item(self, document: object, path: Path) -> object:
        """Return a new step, tuum or rune of the simplest type, or another element without anything in it."""
        if path == (_STEPS,):
            return {"type": "message", "params": {"text": ""}}
        if path == (_TUUMS,):
            return {"tuumId": _find_free_name("tuum", list_step_names(document))}
        return {"runeType": "prompt", "template": ""} if path[-1] in _RUNES else {}


async def open_source(visit: Visit, kind: str) -> FormSource | None:
    """Return the form of a kind of definitions, None for a kind that has none: one of a plugin without a schema."""
    if kind == FLOW:
        return FlowSource(FlowFields(visit.say, await load_agents(visit)))
    schema = build_kind_schema(kind)
    if schema is None:
        return None
    return SchemaSource(SchemaForm(SchemaReader(schema, kind), FormWords(visit), list_step_names))


def list_step_names(document: object) -> tuple[str, ...]:
    """Return the ids of the steps or tuums of a draft."""
    listed = next((found for name in (_STEPS, _TUUMS) if isinstance(found := find_value(document, (name,)), list)), [])
    names = (one.get("id") or one.get("tuumId") for one in listed if isinstance(one, Mapping))
    return tuple(dict.fromkeys(one for one in names if isinstance(one, str) and one))


def _find_free_name(word: str, taken: tuple[str, ...]) -> str:
    return next(name for number in range(len(taken) + 1, 2 * len(taken) + 3) if (name := f"{word}{number}") not in taken)

"""The form of flows."""

from typing import Final

from bot.console.definitions.form.fields import Field, Group
from engines.flows.form.flow_fields import FlowFields
from engines.flows.form.flow_form import build_flow_definition, enter_text, find_new_step_id, read_flow_form
from orchestrator.domain.finding import Path

_STEPS: Final = "steps"


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
        for mistake in built.mistakes:
            raise mistake.refusal
        return built.document

    def build_item(self, document: object, path: Path) -> object:
        """Return a new step with an id of its own, or another element without anything in it."""
        if path != (_STEPS,):
            return {}
        return {"id": find_new_step_id(read_flow_form(document)), "agentVersionId": ""}

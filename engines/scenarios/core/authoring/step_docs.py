"""What authors read about the types of steps, made from the types themselves (S000-64)."""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from engines.scenarios.core.plan import ACTION, ACTION_TYPE, StepTypes
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.documents.writing import write_document
from state.canonical import dumps
from state.stored import JsonObject

_NAMES: Final = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "nothing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterDoc:
    name: str
    type: str
    required: bool
    default: object
    """None for a required one, and for one that has no effect without a value."""
    meaning: str

    def to_json(self) -> JsonObject:
        fields = {"name": self.name, "type": self.type, "required": self.required, "meaning": self.meaning}
        return fields if self.required else {**fields, "default": self.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDoc:
    name: str
    summary: str
    parameters: tuple[ParameterDoc, ...]
    is_action: bool
    waits: bool
    example: str

    def to_json(self) -> JsonObject:
        return {
            "type": self.name,
            "does": self.summary,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "is_action": self.is_action,
            "waits": self.waits,
            "example": self.example,
        }


def describe_types(types: StepTypes) -> list[StepDoc]:
    described = [describe_type(type_) for type_ in types.values()]
    actions = [step_doc.name for step_doc in described if step_doc.is_action]
    parameter_doc = ParameterDoc(name=ACTION_TYPE, type=" | ".join(actions), required=True, default=None, meaning="Which of them.")
    step = {"type": ACTION, "params": {ACTION_TYPE: "update_context", "updates": {"stage": "new"}}}
    whole = StepDoc(
        name=ACTION,
        summary=f"The same as a step of the type that {ACTION_TYPE} names, with the parameters of that type.",
        parameters=(parameter_doc,),
        is_action=False,
        waits=False,
        example=_write_step(step),
    )
    return [*described, whole]


def describe_type(kind: AnyStepType) -> StepDoc:
    """Without an example of its author, one is made of the required parameters."""
    parameters = tuple(
        _describe_parameter(name, model_field, required=name in kind.needs or model_field.is_required())
        for name, model_field in kind.params.model_fields.items()
        if name not in kind.ignores
    )
    example = kind.example or {"params": {parameter.name: f"<{parameter.type}>" for parameter in parameters if parameter.required}}
    return StepDoc(
        name=kind.name,
        summary=kind.summary,
        parameters=parameters,
        is_action=kind.is_action,
        waits=kind.waits,
        example=_write_step({"type": kind.name, **example}),
    )


def _describe_parameter(name: str, field: FieldInfo, *, required: bool) -> ParameterDoc:
    default = None if required else field.get_default(call_default_factory=True)
    return ParameterDoc(name=name, type=_name_type(field), required=required, default=default, meaning=field.description or "")


def _name_type(field: FieldInfo) -> str:
    annotated: Any = field.annotation
    return _name_schema(TypeAdapter(annotated).json_schema())


def _name_schema(schema: JsonObject) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(name for one in schema["anyOf"] if (name := _name_schema(one)) != "nothing"))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_name_schema(schema.get('items', {}))}"
    if kind == "object" or "$ref" in schema:
        return "object"
    return _NAMES.get(str(kind), "any value")


def _write_step(step: JsonObject) -> str:
    return write_document([step], "yaml").strip()


def format_default(value: object) -> str:
    """ "" for one that says nothing."""
    return "" if value in (None, "", [], {}) else dumps(value)

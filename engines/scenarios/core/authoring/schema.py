"""The JSON Schema of scenarios, made from the models that check them."""

from collections.abc import Mapping
from typing import Any, Final

from engines.scenarios.core.definition import Scenario
from engines.scenarios.core.plan import ACTION, ACTION_TYPE, StepTypes
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.documents.json_schema import REFS, split_schema, write_schema
from state.stored import JsonObject

_PLACEHOLDER: Final[JsonObject] = {"type": "string", "pattern": r"\{[^{}]+\}", "description": "A placeholder such as {name}."}


def build_schema(types: StepTypes) -> JsonObject:
    whole, defs = split_schema(Scenario)
    step: dict[str, Any] = defs["Step"]
    for type_ in types.values():
        defs.update(_build_params(type_))
    step["properties"]["type"] = _build_type_choice(types)
    step["allOf"] = [_build_rule(step_type) for step_type in types.values()] + [_build_action_rule(types)]
    return write_schema("Scenario of Sdelka", whole, defs)


def _build_type_choice(types: StepTypes) -> JsonObject:
    known = [{"const": type_.name, "description": type_.summary} for type_ in types.values()]
    return {"description": "What the step does.", "oneOf": [*known, {"const": ACTION, "description": f"What {ACTION_TYPE} names."}]}


def _build_params(kind: AnyStepType) -> dict[str, Any]:
    schema: dict[str, Any] = kind.params.model_json_schema(ref_template=f"{REFS}{kind.name}.{{model}}")
    inner = {f"{kind.name}.{name}": one for name, one in schema.pop("$defs", {}).items()}
    properties = schema.get("properties", {})
    for name in kind.ignores:
        properties.pop(name, None)
    schema["properties"] = {name: one if name in kind.unfilled else _allow_placeholder(one) for name, one in properties.items()}
    if required := sorted({*schema.get("required", ()), *kind.needs}):
        schema["required"] = required
    return {kind.name: schema, **inner}


def _allow_placeholder(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Also allow a text with a placeholder, whose value is known only in the run."""
    if schema.get("type") == "string" and not {"enum", "pattern"} & schema.keys():
        return schema
    outer = {name: schema[name] for name in ("description", "default") if name in schema}
    return {**outer, "anyOf": [{name: one for name, one in schema.items() if name not in outer}, _PLACEHOLDER]}


def _build_rule(kind: AnyStepType) -> JsonObject:
    needed = ["params"] if kind.needs or any(model_field.is_required() for model_field in kind.params.model_fields.values()) else []
    needed += ["condition", "branches"] if kind.decides else []
    then: dict[str, Any] = {"properties": {"params": {"$ref": REFS + kind.name}}, **({"required": needed} if needed else {})}
    return {"if": {"properties": {"type": {"const": kind.name}}, "required": ["type"]}, "then": then}


def _build_action_rule(types: StepTypes) -> JsonObject:
    actions = [type_ for type_ in types.values() if type_.is_action]
    rules = [
        {"if": {"properties": {ACTION_TYPE: {"const": action.name}}, "required": [ACTION_TYPE]}, "then": {"$ref": REFS + action.name}}
        for action in actions
    ]
    params = {"properties": {ACTION_TYPE: {"enum": [action.name for action in actions]}}, "required": [ACTION_TYPE], "allOf": rules}
    rule = {"properties": {"params": params}, "required": ["params"]}
    return {"if": {"properties": {"type": {"const": ACTION}}, "required": ["type"]}, "then": rule}

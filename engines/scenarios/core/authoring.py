"""What authors are given, made from the types of steps themselves: pictures, a schema, what each type does (S000-64), a first scenario."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from engines.scenarios.core.deeds import list_ports
from engines.scenarios.core.definition import Scenario
from engines.scenarios.core.plan import ACTION, ACTION_TYPE, Node, StepTypes, Target, build_graph, list_steps
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.charts.chart import Arrow, Box, Chart, Shape, cut_text
from orchestrator.documents.json_schema import REFS, split_schema, write_schema
from orchestrator.documents.writing import write_document
from state.canonical import dumps
from state.stored import JsonObject

_STEPS: Final = "steps"
_LONGEST_LINE: Final = 34
_LONGEST_LABEL: Final = 24
_SHOWN: Final = ("prompt", "text", "method", "sub_scenario_id", "scenario_id", "collection_name", "query", "question", "message", "seconds")


def build_chart(document: object, types: StepTypes) -> Chart:
    """Draw also a scenario with mistakes, without ways to unknown steps."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    steps = list_steps(document)
    nodes = build_graph(steps, types)
    places = {node.id: node.index for node in reversed(nodes) if node.id}
    boxes = [_build_box(node, step if isinstance(step, Mapping) else {}) for node, step in zip(nodes, steps, strict=True)]
    arrows = [arrow for node in nodes for arrow in _list_arrows(node, places)]
    return Chart(title=str(raw.get("name") or ""), boxes=boxes, arrows=arrows)


def _build_box(node: Node, step: JsonObject) -> Box:
    kind = str(step.get("type") or "?")
    text = str(step.get("condition") or "") if node.type is not None and node.type.decides else ""
    text = text or next((str(node.params[name]) for name in _SHOWN if node.params.get(name)), "")
    title = cut_text(f"{node.id or node.index + 1} · {kind}", _LONGEST_LINE)
    return Box(
        title=title,
        text=cut_text(text, _LONGEST_LINE),
        shape=_find_shape(node),
        key=node.id,
        path=(_STEPS, node.index),
        kind=str(step.get("type") or ""),
        ports=list_ports(node),
    )


def _find_shape(node: Node) -> Shape:
    kind = node.type
    if kind is None:
        return "step"
    if kind.decides:
        return "choice"
    if kind.name == "input":
        return "question"
    if not kind.can_continue(node.params):
        return "end"
    writes = kind.list_writes(node.params)
    return "effect" if writes is None or writes else "step"


def _list_arrows(node: Node, places: Mapping[str, int]) -> Iterator[Arrow]:
    has_next = False
    ports = {port.path: place for place, port in enumerate(list_ports(node))}
    for target in node.targets:
        has_next |= target.path[-1] == "next_step"
        if target.id in places:
            yield Arrow(source=node.index, target=places[target.id], label=_find_label(target), port=ports.get(target.path, 0))
    if not has_next and node.goes_to is not None:
        decides = node.type is not None and node.type.decides
        port = ports.get((_STEPS, node.index, "branches", "else"), 0)
        yield Arrow(source=node.index, target=node.goes_to, label="else" if decides else "", port=port, is_own=False)


def _find_label(target: Target) -> str:
    last = str(target.path[-1])
    return "" if last == "next_step" else cut_text(last.removeprefix("on_"), _LONGEST_LABEL)


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


Doing = Literal["say", "deal", "lead"]
DOINGS: Final[tuple[Doing, ...]] = ("say", "deal", "lead")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTexts:
    hello: str
    summary: str
    done: str


def build_first(name: str, description: str, questions: Sequence[str], doing: Doing, texts: FirstTexts) -> JsonObject:
    """Build a correct scenario. Raises ValueError without questions, or for an empty one."""
    if not questions or not all(questions):
        raise ValueError("at least one question is needed, and none may be empty")
    variables = [f"answer_{number}" for number in range(1, len(questions) + 1)]
    question_steps = [
        {"id": f"ask_{number}", "type": "input", "params": {"prompt": _escape(question), "input_variable": variable}}
        for number, (question, variable) in enumerate(zip(questions, variables, strict=True), start=1)
    ]
    lines = [f"{_escape(question)} {{{variable}}}" for question, variable in zip(questions, variables, strict=True)]
    steps: list[JsonObject] = [{"id": "hello", "type": "message", "params": {"text": _escape(texts.hello)}}, *question_steps]
    steps.append({"id": "summary", "type": "message", "params": {"text": "\n".join([texts.summary, *lines])}})
    if doing != "say":
        steps.append({"id": doing, "type": "bitrix_call", "params": _build_call(doing, variables[0], lines)})
    steps += [{"id": "done", "type": "message", "params": {"text": texts.done}}, {"id": "bye", "type": "end"}]
    return {"name": name, **({"description": description} if description else {}), "version": "1.0", "steps": steps}


def _build_call(doing: Doing, title: str, lines: Sequence[str]) -> JsonObject:
    fields = {"TITLE": f"{{{title}}}", "COMMENTS": "\n".join(lines)}
    return {"method": f"crm.{doing}.add", "params": {"fields": fields}, "output_var": f"{doing}_id"}


def _escape(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


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

"""Wide schemas are split at every depth, and arguments come back as the tool declares them."""

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.domain.models import ModelTool, ToolCall
from orchestrator.model_client.failures import RejectedRequest
from orchestrator.model_client.providers import _to_gigachat_messages
from orchestrator.model_client.wide_schemas import WIDEST, _list_schemas, _read_mapping, fit_tool, join_arguments, split_arguments

TEXT = {"type": "string"}


def build_object(count: int, *, required: int = 0, prefix: str = "f", **more: Any) -> dict[str, Any]:
    """Return the schema of an object with so many texts, the first of which are required."""
    names = [f"{prefix}{number}" for number in range(count)]
    return {"type": "object", "properties": {name: dict(TEXT) for name in names}, "required": names[:required], **more}


def build_tool(parameters: Mapping[str, Any]) -> ModelTool:
    return ModelTool(name="card", parameters=parameters)


def join(tool: ModelTool, arguments: Any) -> ToolCall:
    return join_arguments(ToolCall(id="1", name="card", arguments=arguments), [tool], "split")


def measure_widest(schema: Any) -> int:
    return max(len(_read_mapping(one, "properties")) for one in _list_schemas(schema))


WIDE = build_object(9, required=2)
SHAPES: dict[str, tuple[dict[str, Any], Any]] = {
    "at the top": (WIDE, {"f0": "a", "f8": "b"}),
    "in an object": ({"type": "object", "properties": {"card": WIDE}}, {"card": {"f0": "a", "f1": "b", "f8": "c"}}),
    "in a list": ({"type": "object", "properties": {"cards": {"type": "array", "items": WIDE}}}, {"cards": [{"f0": "a"}, {"f8": "b"}]}),
    "in a tuple": (
        {"type": "object", "properties": {"pair": {"type": "array", "prefixItems": [TEXT, WIDE]}}},
        {"pair": ["x", {"f8": "b"}]},
    ),
    "behind a reference": (
        {"type": "object", "properties": {"card": {"$ref": "#/$defs/card"}}, "$defs": {"card": WIDE}},
        {"card": {"f0": "a", "f8": "b"}},
    ),
    "in itself": (
        build_object(9, **{"$defs": {"node": build_object(8) | {"additionalProperties": {"$ref": "#"}}}}),
        {"f0": "a", "f8": "b"},
    ),
    "in an alternative": (
        {"type": "object", "properties": {"who": {"oneOf": [TEXT, WIDE, {"type": "null"}]}}},
        {"who": {"f0": "a", "f8": "b"}},
    ),
    "as other properties": ({"type": "object", "additionalProperties": WIDE}, {"any": {"f0": "a", "f8": "b"}}),
    "in parts of allOf": (
        {"type": "object", "allOf": [build_object(6, prefix="a", required=1), build_object(6, prefix="b")]},
        {"a0": "x", "b5": "y"},
    ),
    "in a wide object": (
        {"type": "object", "properties": {**WIDE["properties"], "inner": build_object(10, prefix="g")}},
        {"f0": "a", "inner": {"g0": "b", "g9": "c"}},
    ),
    "hundred": (build_object(100, required=70), {"f0": "a", "f69": "b", "f99": "c"}),
    "with names like parts": (build_object(12, prefix="part_"), {"part_0": "a", "part_11": "b"}),
    "with longer names like parts": (build_object(12, prefix="part__", required=9), {"part__0": "a", "part__11": "b"}),
    "beside one of two": ({**WIDE, "oneOf": [{"required": ["f0"]}, {"required": ["f8"]}]}, {"f8": "b"}),
    "with an alternative of its own": (
        {**WIDE, "anyOf": [{"properties": {"extra": TEXT}, "required": ["extra"]}, {"properties": {"other": TEXT}}]},
        {"f0": "a", "extra": "b"},
    ),
    "closed": ({**WIDE, "additionalProperties": False}, {"f0": "a", "f8": "b"}),
    "with an example": ({**WIDE, "default": {"f0": "a"}, "examples": [{"f0": "a"}], "minProperties": 9}, {"f0": "a", "f8": "b"}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_no_object_is_wide_and_arguments_come_back(name: str) -> None:
    """Wherever the wide object stands: in parts as the model was asked for them, or flat as it may give them all the same."""
    parameters, arguments = SHAPES[name]
    tool = build_tool(parameters)
    fitted = fit_tool(tool, "split").parameters
    jsonschema.Draft202012Validator.check_schema(fitted)
    assert measure_widest(fitted) <= WIDEST
    parts = split_arguments("card", arguments, [tool], "split")
    assert parts != arguments
    for way in (parts, arguments):
        call = join(tool, way)
        assert (call.arguments, call.problem) == (arguments, "")


def test_what_is_required_stays_required_in_its_part_and_the_part_too() -> None:
    """Parts without required properties may be left out."""
    fitted = fit_tool(build_tool(build_object(20, required=9)), "split").parameters
    assert fitted["required"] == ["part_1", "part_2"]
    assert fitted["properties"]["part_2"]["required"] == ["f8"]
    assert fitted["properties"]["part_3"]["required"] == []


def test_a_reference_into_a_split_object_is_written_out() -> None:
    """Its place is gone; a reference to itself that cannot be written out is refused by name."""
    shared = {**WIDE["properties"], "same": {"$ref": "#/properties/f0"}}
    fitted = fit_tool(build_tool({"type": "object", "properties": shared}), "split").parameters
    assert "$ref" not in str(fitted)
    circle = {"type": "object", "properties": {**WIDE["properties"], "deep": {"type": "array", "items": {"$ref": "#/properties/deep"}}}}
    with pytest.raises(RejectedRequest, match="refer to themselves"):
        fit_tool(build_tool(circle), "split")


def test_narrow_tools_stay_as_they_are_also_if_they_refer_to_themselves() -> None:
    """But an object that declares no properties declares none explicitly: GigaChat refuses it otherwise."""
    tool = build_tool({"type": "object", "properties": {"node": {"type": "array", "items": {"$ref": "#/properties/node"}}}})
    assert fit_tool(tool, "split") == tool
    bare = fit_tool(build_tool({"type": "object", "properties": {"data": {"type": "object"}}}), "split").parameters
    assert bare["properties"]["data"] == {"type": "object", "properties": {}}


FAULTY: list[Any] = [
    None,
    5,
    ["x"],
    {"properties": 5},
    {"type": "object", "required": None, "properties": {f"f{n}": True for n in range(9)}},
]


@pytest.mark.parametrize("part", FAULTY)
def test_a_schema_of_any_form_is_no_error_of_our_own(part: Any) -> None:
    """Definitions of tools come from people."""
    tool = build_tool({"type": "object", "properties": {**WIDE["properties"], "x": part}})
    assert measure_widest(fit_tool(tool, "split").parameters) <= WIDEST
    assert join(tool, {"part_1": {"f0": "a"}}).arguments == {"f0": "a"}
    deep: Any = WIDE
    for _ in range(3_000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(RejectedRequest, match="nested too deeply"):
        fit_tool(build_tool({"type": "object", "properties": {"x": deep}}), "split")
    with pytest.raises(RejectedRequest, match="at most 512"):
        fit_tool(build_tool(build_object(513)), "split")


@pytest.mark.parametrize(
    "wrong",
    [
        {"cards": [{"part_1": "x"}]},
        {"cards": [{"part_1": {"f0": "a"}, "part_2": {"f0": "b"}}]},
        {"cards": [{"part_1": {"f0": "a"}, "f0": "b"}]},
        {"cards": [{}, {"part_1": {"part_2": ["x"]}}]},
    ],
)
def test_parts_that_do_not_join_are_a_problem_at_any_depth(wrong: Any) -> None:
    """No value of two is chosen."""
    call = join(build_tool(SHAPES["in a list"][0]), wrong)
    assert (call.arguments, bool(call.problem)) == ({}, True)


def test_free_data_that_looks_like_a_part_stays_as_it_is() -> None:
    """Only objects that were split have parts."""
    tool = build_tool({"type": "object", "properties": {**WIDE["properties"], "data": {"type": "object"}}})
    data = {"part_1": {"x": 1}, "part_2": "y"}
    assert join(tool, {"part_1": {"f0": "a", "data": data}}).arguments == {"f0": "a", "data": data}


def test_narrowing_reaches_every_depth() -> None:
    """The required properties and the first others stay; more than eight required ones are refused."""
    fitted = fit_tool(build_tool({"type": "object", "properties": {"card": build_object(12, required=3)}}), "narrow").parameters
    assert len(fitted["properties"]["card"]["properties"]) == WIDEST
    with pytest.raises(RejectedRequest, match="wide_schemas: split"):
        fit_tool(build_tool({"type": "object", "properties": {"card": build_object(12, required=9)}}), "narrow")


def call_of(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}}


def test_several_calls_of_a_conversation_become_pairs_for_gigachat() -> None:
    """After a fallback it reads calls that another provider made: each with its result, in the form in which the tool is offered now."""
    tools = [build_tool(WIDE)]
    past: list[dict[str, Any]] = [
        {"role": "assistant", "content": "Смотрю.", "tool_calls": [call_of("a", "card", '{"f8": "x"}'), call_of("b", "other", "{")]},
        {"role": "tool", "tool_call_id": "b", "content": "второй"},
        {"role": "tool", "tool_call_id": "a", "content": '{"ok": true}'},
        {"role": "user", "content": "дальше"},
        {"role": "assistant", "tool_calls": [call_of("c", "other", "{}"), call_of("d", "other", "{}")]},
    ]
    sent = _to_gigachat_messages(past, tools, "split")
    assert [(one["role"], (one.get("function_call") or one).get("name")) for one in sent] == [
        ("assistant", "other"),
        ("function", "other"),
        ("assistant", "card"),
        ("function", "card"),
        ("user", None),
        ("assistant", "other"),
    ]
    assert [one["content"] for one in sent[:2]] == ["Смотрю.", '{"result": "второй"}']
    assert sent[2]["function_call"]["arguments"] == {"part_2": {"f8": "x"}}
    assert sent[0]["function_call"]["arguments"] == {}


NAMES = st.sampled_from([*(f"f{number}" for number in range(14)), "part_1", "part_2", "part__1", "items", "properties"])
LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}, {}]
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Return schemas of objects, many of them wide, whose properties are from `inner`."""
    properties = st.dictionaries(NAMES, inner, max_size=14)
    made = properties.flatmap(
        lambda one: st.tuples(st.just(one), st.lists(st.sampled_from(sorted(one)), unique=True) if one else st.just([]))
    )
    return st.builds(
        lambda pair, closed: {"type": "object", "properties": pair[0], "required": pair[1], **closed},
        made,
        st.sampled_from([{}, {"additionalProperties": False}]),
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        objects(inner)
        | st.builds(lambda one: {"type": "array", "items": one}, inner)
        | st.builds(lambda one: {"oneOf": [{"type": "null"}, one]}, inner)
    ),
    max_leaves=30,
)


def draw_value(data: st.DataObject, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value that the schema allows."""
    if "$ref" in schema:
        return draw_value(data, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, depth)
    if "oneOf" in schema:
        return None if depth > 6 or data.draw(st.booleans()) else draw_value(data, schema["oneOf"][1], root, depth + 1)
    match schema.get("type"):
        case "object":
            chosen = [name for name in schema["properties"] if name in schema["required"] or (depth < 6 and data.draw(st.booleans()))]
            return {name: draw_value(data, schema["properties"][name], root, depth + 1) for name in chosen}
        case "array":
            return [] if depth > 6 else [draw_value(data, schema["items"], root, depth + 1) for _ in range(data.draw(st.integers(0, 2)))]
        case "integer":
            return data.draw(st.integers(0, 9))
        case "boolean":
            return data.draw(st.booleans())
        case _:
            return data.draw(st.sampled_from(["a", "b"]))


@pytest.mark.long
@settings(max_examples=60)
@given(objects(SCHEMAS), objects(LEAVES.filter(lambda one: "$ref" not in one)), st.data())
def test_arguments_survive_the_way_through_parts(top: dict[str, Any], one: dict[str, Any], data: st.DataObject) -> None:
    """For any schema: no object is wide, what the old schema allows is allowed in parts, and it comes back as it was."""
    root = {**top, "$defs": {"one": one, "two": {"type": "array", "items": {"$ref": "#/$defs/one"}}}}
    tool = build_tool(root)
    arguments = draw_value(data, root, root)
    assume(jsonschema.Draft202012Validator(root).is_valid(arguments))
    fitted = fit_tool(tool, "split").parameters
    assert measure_widest(fitted) <= WIDEST
    parts = split_arguments("card", arguments, [tool], "split")
    assert [*jsonschema.Draft202012Validator(fitted).iter_errors(parts)] == []
    call = join(tool, parts)
    assert (call.problem, call.arguments) == ("", arguments)
    assert join(tool, arguments).arguments == arguments

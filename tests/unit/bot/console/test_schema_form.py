"""The form that is made of a JSON Schema, and how its fields change a document, without a page."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.console.definitions.document import has_comments
from bot.console.definitions.form.fields import Field, FieldRefused, Group, Listing, Node, parse_value, show_value, walk_fields
from bot.console.definitions.form.places import assign_findings
from bot.console.definitions.form.schema_form import SchemaForm
from bot.console.definitions.form.sources import FormWords, SchemaSource
from bot.i18n.translate import Translator
from bot.plugins.choices import Known
from bot.plugins.kind_face import KIND_FACE, Steps, build_kind_schema
from bot.plugins.loading import find_part_of_kind
from bot.plugins.schema_reader import SchemaReader
from engines.scenarios.core.registry import load_step_types
from engines.workflows.core.registry import load_rune_types
from orchestrator.charts.chart import Chart
from orchestrator.documents.changing import ABSENT, PlaceGone, find_value, insert_item, move_item, remove_item, remove_value, set_value
from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding
from state.stored import JsonObject

ROOT = Path(__file__).parents[4]
EXAMPLES = {
    "flow": sorted(path for path in (ROOT / "engines/flows/examples").glob("*.yaml") if ".test." not in path.name),
    "scenario": sorted((ROOT / "engines/scenarios/examples").glob("*.yaml")),
    "agent": sorted((ROOT / "engines/flows/examples/agents").glob("*.yaml")),
    "workflow": sorted(path for path in (ROOT / "engines/workflows/examples").glob("*.yaml") if ".test." not in path.name),
    "tuum": sorted((ROOT / "engines/workflows/examples/tuums").glob("*.yaml")),
}
SHIPPED = [(kind, path) for kind, paths in EXAMPLES.items() for path in paths]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["steps", "type", "params", "id", "x"]), below, max_size=4),
    max_leaves=12,
)


STEPS = Steps(field="steps", draw=lambda _document, _parts: Chart(title="", boxes=(), arrows=()))


class Plain:
    """Words that are the codes."""

    def name_field(self, owner: str, name: str) -> str:
        return f"{owner}.{name}"

    def explain_field(self, owner: str, name: str, description: str) -> str:
        return description

    def name_choice(self, name: str, value: str, description: str) -> str:
        return value

    def name_addition(self, name: str) -> str:
        return f"+{name}"

    def name_more(self) -> str:
        return "more"

    def name_nothing(self, name: str) -> str:
        return "-"

    def name_columns(self, owner: str, name: str) -> tuple[str, str]:
        return name, owner


def make_form(schema: JsonObject, name: str = "it", steps: Steps | None = STEPS) -> SchemaForm:
    return SchemaForm(SchemaReader(schema, name), Plain(), steps)


def make_kind(kind: str) -> SchemaForm:
    schema = build_kind_schema(kind)
    assert schema is not None
    face = find_part_of_kind(KIND_FACE, kind)
    return make_form(schema, kind, face.steps if face is not None else None)


KNOWN = Known(say=Translator("ru").translate)


def make_source(kind: str) -> SchemaSource:
    face = find_part_of_kind(KIND_FACE, kind)
    assert face is not None
    return SchemaSource(make_kind(kind), face, KNOWN)


def find(form: Group, *path: str | int) -> Node:
    """The node at a path."""

    def walk(nodes: tuple[Node, ...]) -> list[Node]:
        found: list[Node] = []
        for one in nodes:
            found.append(one)
            if isinstance(one, Group):
                found += walk(one.nodes)
            elif isinstance(one, Listing):
                found += walk(one.items)
        return found

    return next(one for one in walk(form.nodes) if one.path == path)


def find_field(form: Group, *path: str | int) -> Field:
    found = find(form, *path)
    assert isinstance(found, Field)
    return found


@pytest.mark.req("C-27", "C-26")
@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=lambda one: one if isinstance(one, str) else one.stem)
def test_whatever_a_shipped_definition_says_can_be_read_and_typed_again(kind: str, path: Path) -> None:
    """Each value of an example stands in a field, and the text in the field means just this value."""
    data = read_document(path.read_bytes()).require_document().data
    fields = walk_fields(make_kind(kind).describe(data).nodes)

    for field in fields:
        value = find_value(data, field.path)
        assert field.value == show_value(field.kind, value)
        if field.value:
            assert json.dumps(parse_value(field, field.value)) == json.dumps(value), field
    shown = {field.path for field in fields}
    for leaf in _list_leaves(data, ()):
        assert any(leaf[: len(one)] == one for one in shown), leaf


def _list_leaves(data: object, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    below = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found = [leaf for key, one in below for leaf in _list_leaves(one, (*path, key))]
    return found or ([path] if not isinstance(data, dict | list) else [])


@pytest.mark.long
@pytest.mark.req("C-27")
@given(JSON)
def test_a_draft_with_any_content_has_a_form(data: object) -> None:
    """Whatever stands in a draft, its form is drawn."""
    for kind in EXAMPLES:
        make_kind(kind).describe(data)


@pytest.mark.req("C-27")
def test_each_type_of_steps_and_runes_has_its_own_fields() -> None:
    """A step of a type has the fields of that type's parameters, required ones marked, and so has a rune."""
    for step in load_step_types().values():
        form = make_kind("scenario").describe({"steps": [{"type": step.name, "params": {}}]})
        names = {one.path[3] for one in walk_fields(form.nodes) if one.path[:3] == ("steps", 0, "params") and len(one.path) > 3}
        known = step.params.model_json_schema().get("properties", {})
        assert names == set(known) - set(step.ignores)
    for rune in load_rune_types().values():
        form = make_kind("tuum").describe({"tuumId": "t", "runes": [{"runeType": rune.name}]})
        required = {one.path[2] for one in walk_fields(form.nodes) if one.path[:2] == ("runes", 0) and one.is_required}
        assert required == {"runeType", *rune.params.model_json_schema().get("required", ())}


@pytest.mark.req("C-27")
def test_fields_are_what_the_schema_says() -> None:
    """Enums are choices, numbers have bounds, lists of texts are lines, objects are JSON, long texts have several lines."""
    step = {"type": "input", "id": "ask", "params": {"prompt": "?", "tries": 2}}
    form = make_kind("scenario").describe({"steps": [step, {"type": "message", "id": "say"}]})

    def at(name: str) -> Field:
        return find_field(form, "steps", 0, "params", name)

    assert [one.value for one in at("type").choices][:3] == ["", "text", "number"]
    assert (at("tries").kind, at("tries").least, at("tries").most, at("tries").is_open) == ("integer", 1, 10, True)
    assert at("choices").kind == "words"
    assert (at("next_step_map").kind, at("next_step_map").inner) == ("pairs", "line")
    assert at("prompt").kind == "text"
    assert at("prompt").is_required
    assert at("only_buttons").kind == "boolean"
    assert at("only_buttons").usual == "false"
    assert [one.value for one in at("on_timeout").choices] == ["", "ask", "say"]
    assert at("prompt").hint == "The question."


@pytest.mark.req("C-26")
def test_where_a_branch_leads_is_chosen_among_the_steps() -> None:
    """Both ways of a branch are dropdowns of the steps; one that is not there is shown all the same."""
    form = make_kind("scenario").describe(
        {"steps": [{"id": "b", "type": "branch", "branches": {"if": "gone"}}, {"id": "c", "type": "end"}]}
    )

    assert [one.value for one in find_field(form, "steps", 0, "branches", "if").choices] == ["", "b", "c", "gone"]
    assert [one.value for one in find_field(form, "steps", 0, "branches", "else").choices] == ["", "b", "c"]


@pytest.mark.req("C-27")
@pytest.mark.parametrize(
    ("schema", "value", "kind"),
    [
        ({"type": "string"}, "a", "line"),
        ({"type": "string", "maxLength": 5000}, "a", "text"),
        ({"type": "string"}, "a\nb", "text"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, 1, "number"),
        ({"type": "boolean"}, True, "boolean"),
        ({"type": "boolean"}, "yes", "any"),
        ({"enum": ["a", "b"]}, "a", "choice"),
        ({"enum": [1, 2]}, 1, "any"),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "a", "choice"),
        ({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, {"kind": "a"}, "json"),
        ({"oneOf": [{"type": "string"}, {"type": "object"}]}, "a", "any"),
        ({"type": "array", "items": {"type": "string"}}, ["a"], "words"),
        ({"type": "array", "items": {"type": "string"}}, [1], "items"),
        ({"type": "array"}, {"a": 1}, "json"),
        ({"type": "object"}, [1], "json"),
        ({"type": "object"}, {}, "pairs"),
        ({"type": "array", "items": {"type": "number"}}, [1], "items"),
        ({"anyOf": [{"type": "number"}, {"type": "array"}]}, 1, "any"),
        ({}, {"a": 1}, "any"),
        ({"not": {}}, 1, "any"),
        ({"$ref": "#/$defs/nowhere"}, 1, "any"),
    ],
)
def test_a_field_of_a_plugin_has_a_form(schema: JsonObject, value: object, kind: str) -> None:
    """Fields are chosen by the type; what a schema says otherwise is JSON or a text."""
    form = make_form({"properties": {"a": schema}}).describe({"a": value})

    assert find_field(form, "a").kind == kind


@pytest.mark.req("C-27")
def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    """A circle of references gives a form of the data that is there."""
    loop: dict[str, Any] = {"properties": {"a": {"$ref": "#/$defs/Loop"}}, "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}

    assert make_form(loop).describe({"a": {"b": 1}}).nodes


@pytest.mark.req("C-27", "C-26")
def test_a_typed_text_changes_its_place_alone() -> None:
    """A number is stored as a number, an emptied field goes, and everything else stays."""
    source = make_source("scenario")
    data = {"steps": [{"type": "input", "params": {"prompt": "?", "ours": 1}}], "ours": [1]}
    form = source.describe(data)

    tried = source.enter(data, find_field(form, "steps", 0, "params", "tries"), "2")
    emptied = source.enter(tried, find_field(form, "steps", 0, "params", "prompt"), "")
    open_number = source.enter(data, find_field(form, "steps", 0, "params", "timeout"), "{patience}")

    assert tried == {"steps": [{"type": "input", "params": {"prompt": "?", "ours": 1, "tries": 2}}], "ours": [1]}
    assert emptied == {"steps": [{"type": "input", "params": {"ours": 1, "tries": 2}}], "ours": [1]}
    assert find_value(open_number, ("steps", 0, "params", "timeout")) == "{patience}"
    assert data == {"steps": [{"type": "input", "params": {"prompt": "?", "ours": 1}}], "ours": [1]}


@pytest.mark.req("C-26")
@pytest.mark.parametrize(
    ("name", "typed", "code"),
    [
        ("tries", "two", "console-form-integer"),
        ("tries", "11", "console-form-most"),
        ("minimum", "x", "console-form-number"),
        ("minimum", "1,500", "console-form-comma"),
        ("minimum", "1e400", "console-form-number"),
        ("tries", "9007199254740993", "console-form-integer"),
        ("next_step_map", '{"a" "b"}', "finding-colon-missing"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(name: str, typed: str, code: str) -> None:
    """The refusal says what is wrong."""
    source = make_source("scenario")
    data = {"steps": [{"type": "input", "params": {"prompt": "?"}}]}

    with pytest.raises(FieldRefused) as refused:
        source.enter(data, find_field(source.describe(data), "steps", 0, "params", name), typed)

    assert refused.value.notice.code == code


@pytest.mark.req("C-26")
@given(JSON, st.lists(st.sampled_from(["steps", "type", "params", "id", "x"]) | st.integers(0, 3), max_size=4).map(tuple), JSON)
def test_what_was_set_is_found_and_what_was_removed_is_not(data: object, path: tuple[str | int, ...], value: object) -> None:
    """After a value was set it stands at its place; after it was removed nothing does, or in a list what stood behind it."""
    try:
        changed = set_value(data, path, value)
    except PlaceGone:
        return
    assert find_value(changed, path) == value
    if path and isinstance(path[-1], str):
        assert find_value(remove_value(changed, path, keep=len(path) - 1), path) is ABSENT


@pytest.mark.req("C-26")
def test_elements_are_added_moved_and_removed() -> None:
    """The others stay in their order; an element that is not there is not touched."""
    data = {"steps": ["a", "b"]}

    assert insert_item({}, ("steps",), 0, "x") == {"steps": ["x"]}
    assert move_item(data, ("steps",), 0, 1) == {"steps": ["b", "a"]}
    assert remove_item(data, ("steps",), 0) == {"steps": ["b"]}
    with pytest.raises(PlaceGone):
        remove_item(data, ("steps",), 2)


@pytest.mark.req("C-26")
def test_a_finding_is_shown_at_the_innermost_field_that_holds_it() -> None:
    """A finding inside of a JSON field is shown there, one of a whole step at the step, one of nowhere at the top."""
    data = {"steps": [{"type": "input", "params": {"prompt": "?", "next_step_map": {"a": "b"}}}]}
    places = ["steps[0].params.next_step_map.a", "steps[0]", "steps[0].params.prompt", "else.where", "[broken"]
    findings = [Finding(code="c", message=one, path=one) for one in places]

    assigned = assign_findings(make_kind("scenario").describe(data), findings)

    assert {path: [one.message for one in found] for path, found in assigned.items()} == {
        ("steps", 0, "params", "next_step_map"): [places[0]],
        ("steps", 0): [places[1]],
        ("steps", 0, "params", "prompt"): [places[2]],
        (): [places[3], places[4]],
    }


@pytest.mark.req("C-26", "C-27")
def test_every_field_has_a_name_in_russian() -> None:
    """No field of the shipped kinds is called by its code, and every type of steps and runes has a name."""
    words = FormWords(SimpleNamespace(say=Translator("ru").translate))  # type: ignore[arg-type]  # only speaks
    for kind in EXAMPLES:
        schema = build_kind_schema(kind)
        assert schema is not None
        parts = {kind: schema, **schema["$defs"]}
        names = [(owner, name) for owner, part in parts.items() for name, said in part.get("properties", {}).items() if said]
        assert [(owner, name) for owner, name in names if not re.search("[а-я]", words.name_field(owner, name).lower())] == []
    assert [name for name in load_step_types() if words.name_choice("type", name, "") == name] == []
    assert [name for name in load_rune_types() if words.name_choice("runeType", name, "") == name] == []


@pytest.mark.req("C-26")
@pytest.mark.parametrize(
    ("text", "form", "has"),
    [
        ("a: 1 # why\n", "yaml", True),
        ("# why\na: 1\n", "yaml", True),
        ("a: 1\n# at the end", "yaml", True),
        ("a: b#c\nd: 'x # y'\ne: \"# z\"\n", "yaml", False),
        ("a: |\n  # no comment\n  text\nb: 1\n", "yaml", False),
        ("a: |\n  text\n# a comment\nb: 1\n", "yaml", True),
        ("я: «#» ok\nб: 2\n", "yaml", False),
        ('{"a": "// no"}', "json", False),
        ('{"a": "\\"// no"}', "json", False),
        ('{"a": 1} // yes', "json", True),
        ('{/* yes */"a": 1}', "json", True),
    ],
)
def test_comments_are_noticed(text: str, form: DocumentFormat, has: object) -> None:
    """A sign in a text is no comment."""
    assert has_comments(text, form) is has

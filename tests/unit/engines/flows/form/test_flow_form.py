"""The form of a flow and the document that is made of it, without a page."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.console.definitions.form.fields import parse_text
from engines.flows.core.kind import FLOWS
from engines.flows.flow_form import (
    Entry,
    FlowForm,
    Items,
    ParameterForm,
    ReadForm,
    StepForm,
    WriteForm,
    build_flow_definition,
    enter_text,
    find_new_step_id,
    list_places,
    read_flow_form,
)
from engines.flows.kind_face import build_flow_schema
from orchestrator.documents.changing import PlaceGone, find_value
from orchestrator.documents.document import Document
from orchestrator.documents.reading import read_document

ROOT = Path(__file__).parents[5]
EXAMPLES = sorted(path for path in (ROOT / "engines/flows/examples").glob("*.yaml") if not path.name.endswith(".test.yaml"))
NAMES = st.sampled_from(
    [
        "flowId", "steps", "id", "name", "transitions", "onSuccess", "next", "complete", "memoryReads", "limit", "maxAttempts", "ours",
        "metadata",
    ]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES | st.text(max_size=4), below, max_size=4),
    max_leaves=12,
)
SLUGS = st.sampled_from(["a", "b", "gather", "review"])
STEPS = st.fixed_dictionaries(
    {"id": SLUGS | JSON},
    optional={
        "name": st.text(max_size=5) | JSON,
        "agentVersionId": SLUGS,
        "prompt": st.none() | st.text(max_size=9),
        "overrides": JSON | st.fixed_dictionaries({"temperature": st.floats(0, 2) | JSON}),
        "memoryReads": JSON | st.lists(st.fixed_dictionaries({"channel": SLUGS}, optional={"limit": st.integers() | JSON, "x": JSON})),
        "memoryWrites": st.lists(st.fixed_dictionaries({"channel": SLUGS}, optional={"mode": SLUGS, "payload": JSON})),
        "transitions": JSON | st.fixed_dictionaries({"onSuccess": JSON | st.fixed_dictionaries({"next": SLUGS | JSON})}),
        "maxAttempts": st.integers(-1, 30) | JSON,
        "ours": JSON,
    },
)
FLOWS_GIVEN = st.fixed_dictionaries(
    {"flowId": SLUGS | JSON, "steps": st.lists(STEPS | JSON, max_size=4)},
    optional={"launchParameters": JSON, "metadata": JSON, "memory": JSON, "outputs": JSON, "budget": JSON, "triggers": JSON, "ours": JSON},
)


def _dump(value: object) -> str:
    """A text that tells apart what == takes as equal, such as 1 and true, and orders of keys."""
    return repr(value)


def _build(form: FlowForm) -> Any:
    built = build_flow_definition(form)
    assert not built.mistakes
    return built.document


@pytest.mark.req("S002-56", "C-26")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_shipped_flow_comes_back_from_its_form(path: Path) -> None:
    """What the form was made of is what it makes, key by key."""
    data = read_document(path.read_bytes()).require_document().data

    assert _dump(_build(read_flow_form(data))) == _dump(data)


@pytest.mark.long
@pytest.mark.req("S002-56")
@given(FLOWS_GIVEN | JSON)
def test_any_draft_comes_back_from_its_form(data: object) -> None:
    """Whatever a draft holds, also what the form cannot show, stands in the document that the form makes."""
    assert _dump(_build(read_flow_form(data))) == _dump(data)


@pytest.mark.long
@pytest.mark.req("S002-56")
@given(FLOWS_GIVEN, st.text(max_size=12), st.data())
def test_a_change_of_one_field_changes_nothing_else(data: dict[str, Any], typed: str, choose: st.DataObject) -> None:
    """After a text was typed into a field of a step, the other steps and what the form does not know are as they were."""
    form = read_flow_form(data)
    if not form.steps:
        return
    at = choose.draw(st.integers(0, len(form.steps) - 1))
    name, entry = choose.draw(st.sampled_from([one for one in list_places(StepForm) if isinstance(one[1], Entry)]))

    changed = enter_text(form, ("steps", at, *entry.path), typed)
    built = build_flow_definition(changed)

    assert isinstance(built.document, Mapping)
    rest = {key: one for key, one in built.document.items() if key != "steps"}
    assert _dump(rest) == _dump({key: one for key, one in data.items() if key != "steps"})
    others = [one for number, one in enumerate(built.document["steps"]) if number != at]
    assert _dump(others) == _dump([one for number, one in enumerate(data["steps"]) if number != at])
    step = built.document["steps"][at]
    if isinstance(data["steps"][at], dict) and "ours" in data["steps"][at]:
        assert _dump(step["ours"]) == _dump(data["steps"][at]["ours"])
    if not built.mistakes and typed != getattr(form.steps[at], name):
        assert _dump(find_value(step, entry.path)) == _dump(parse_text(entry.kind, typed, least=entry.least, most=entry.most))


@pytest.mark.req("S002-56", "S002-53")
def test_a_form_that_was_filled_in_makes_a_flow_that_the_check_takes() -> None:
    """The example of the seed, typed into the fields, is a correct flow with numbers as numbers and JSON as JSON."""
    form = FlowForm(
        flow_id="solution-workshop",
        title="Solution Design Workshop",
        tags="sales\n design ",
        parameters=(
            ParameterForm(name="problemStatement", type="string"),
            ParameterForm(name="n", type="number", default="3", required="false"),
        ),
        steps=(
            StepForm(
                id="gather",
                agent="analyst",
                prompt="Gather.",
                temperature="0,2",
                max_tokens="1 500",
                reads=(ReadForm(channel="context", limit="5"),),
                writes=(WriteForm(channel="log", mode="STATIC", payload='{"event": "bootstrap"}'),),
                next="review",
                next_after_failure="review",
                fail="true",
                attempts="2",
            ),
            StepForm(id="review", agent="analyst", complete="true"),
        ),
        result='{"all": "$steps.review.output.content"}',
    )

    data = _build(form)

    assert data == {
        "flowId": "solution-workshop",
        "metadata": {"title": "Solution Design Workshop", "tags": ["sales", "design"]},
        "launchParameters": [
            {"name": "problemStatement", "type": "string"},
            {"name": "n", "type": "number", "required": False, "default": 3},
        ],
        "steps": [
            {
                "id": "gather", "agentVersionId": "analyst", "prompt": "Gather.",
                "transitions": {"onSuccess": {"next": "review"}, "onFailure": {"next": "review", "fail": True}}, "maxAttempts": 2,
                "memoryReads": [{"channel": "context", "limit": 5}],
                "memoryWrites": [{"channel": "log", "mode": "STATIC", "payload": {"event": "bootstrap"}}],
                "overrides": {"temperature": 0.2, "maxTokens": 1500},
            },
            {"id": "review", "agentVersionId": "analyst", "transitions": {"onSuccess": {"complete": True}}},
        ],
        "outputs": {"resultPayload": {"all": "$steps.review.output.content"}},
    }  # fmt: skip
    assert isinstance(data["steps"][0]["maxAttempts"], int)
    assert not [one for one in FLOWS.check(Document.from_data(data)) if one.severity == "error"]


@pytest.mark.req("S002-50", "S002-56")
@pytest.mark.parametrize(("place", "typed", "code"), [
    (("maxAttempts",), "two", "console-form-integer"),
    (("maxAttempts",), "1.5", "console-form-integer"),
    (("maxAttempts",), "21", "console-form-most"),
    (("overrides", "temperature"), "hot", "console-form-number"),
    (("overrides", "temperature"), "2,1", "console-form-most"),
    (("overrides", "topP"), "-0.1", "console-form-least"),
    (("overrides", "maxTokens"), "1e400", "console-form-integer"),
    (("transitions",), "{next: 1}", "finding-key-unquoted"),
    (("memoryWrites", 0, "payload"), '{"a": ', "finding-bracket-unclosed"),
    (("memoryReads", 0, "limit"), "NaN", "console-form-integer"),
])  # fmt: skip
def test_a_text_that_is_no_number_or_no_json_is_refused_at_its_field(place: tuple[str | int, ...], typed: str, code: str) -> None:
    """The mistake names the field, and the document keeps what it had there."""
    step = {"id": "a", "agentVersionId": "x", "maxAttempts": 3, "memoryReads": [{"channel": "c"}], "memoryWrites": [{"channel": "c"}]}
    data = {"flowId": "f", "steps": [step]}

    built = build_flow_definition(enter_text(read_flow_form(data), ("steps", 0, *place), typed))

    assert [(one.path, one.refusal.notice.code) for one in built.mistakes] == [(("steps", 0, *place), code)]
    assert built.document == data


@pytest.mark.req("S002-49", "S002-56")
def test_what_is_emptied_goes_from_the_document() -> None:
    """An emptied field is left out, with the objects that held nothing else; those beside it stay."""
    step = {
        "id": "a", "agentVersionId": "x", "prompt": "p", "transitions": {"onSuccess": {"next": "b"}},
        "overrides": {"topP": 1, "ours": 2},
    }  # fmt: skip
    form = read_flow_form({"flowId": "f", "startStepId": "a", "steps": [step]})

    emptied = replace(form, start_step="", steps=(replace(form.steps[0], prompt="", next="", top_p=""),))

    assert _build(emptied) == {"flowId": "f", "steps": [{"id": "a", "agentVersionId": "x", "overrides": {"ours": 2}}]}


@pytest.mark.req("S002-56")
def test_true_and_one_are_told_apart() -> None:
    """A number that is typed in place of true is stored as a number."""
    form = read_flow_form({"flowId": "f", "steps": [{"id": "a", "memoryReads": [{"channel": "c", "limit": True}]}]})

    changed = _build(enter_text(form, ("steps", 0, "memoryReads", 0, "limit"), "1"))

    assert changed["steps"][0]["memoryReads"][0]["limit"] is not True


@pytest.mark.req("S002-56")
def test_a_field_that_is_not_there_any_more_takes_nothing() -> None:
    """A text for a step that was removed meanwhile changes nothing."""
    with pytest.raises(PlaceGone):
        enter_text(read_flow_form({"steps": []}), ("steps", 0, "prompt"), "x")


@pytest.mark.req("S002-53")
def test_a_further_step_has_an_id_of_its_own() -> None:
    """No step has it yet."""
    form = read_flow_form({"steps": [{"id": "step3"}, {"id": "step4"}]})

    assert find_new_step_id(form) not in {"step3", "step4"}


def _find_schema(part: str, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """What the schema says of a field of a part of a flow."""
    whole = build_flow_schema()
    at: Any = whole if part == "FlowForm" else whole["$defs"][part]
    for name in path:
        at = at["properties"].get(name)
        if at is None:
            return None
        at = {**at, **whole["$defs"][at["$ref"].rsplit("/", 1)[-1]]} if "$ref" in at else at
    found = next((one for one in at.get("anyOf", ()) if one.get("type") != "null"), {})
    return {**at, **found}


PARTS = {
    "FlowForm": FlowForm, "FlowStep": StepForm, "LaunchParameter": ParameterForm, "MemoryRead": ReadForm,
    "MemoryWrite": WriteForm,
    "SharedChannel": (next(one.part for name, one in list_places(FlowForm) if name == "channels" and isinstance(one, Items))),
}  # fmt: skip


@pytest.mark.req("S002-53", "C-26")
@pytest.mark.parametrize("part", PARTS)
def test_the_fields_are_those_of_the_schema(part: str) -> None:
    """Each field stands for one that the schema of flows has, of its type and within its bounds."""
    types = {"line": "string", "text": "string", "number": "number", "integer": "integer", "boolean": "boolean", "words": "array"}
    for name, place in list_places(PARTS[part]):
        said = _find_schema(part, tuple(str(one) for one in place.path))
        assert said is not None, name
        if isinstance(place, Entry) and place.kind in types:
            assert said["type"] == types[place.kind], name
            bounds = (said.get("minimum", said.get("exclusiveMinimum")), said.get("maximum"))
            assert bounds == (place.least, place.most) or place.kind not in {"number", "integer"}, name
            assert place.is_required or not place.usual or str(said["default"]).lower() == place.usual, name

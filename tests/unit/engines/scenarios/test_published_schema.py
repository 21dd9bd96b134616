"""The published JSON Schema and the pages about step types say what the program itself does."""

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engines.scenarios.core.authoring import build_schema, describe_types
from engines.scenarios.core.checks import check_scenario
from engines.scenarios.core.step_types import StepParams, StepType
from engines.scenarios.core.steps.talking import MESSAGE
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import has_errors
from tests.unit.engines.scenarios.scenario_kit import TYPES, ask, say, scenario

SCHEMA = build_schema(TYPES)
WAYS = ({"id": "large", "type": "end"}, {"id": "small", "type": "end"})


def fits(document: Any) -> bool:
    return Draft202012Validator(SCHEMA).is_valid(document)


def is_accepted(document: Any) -> bool:
    """Whether the program's own check takes a document."""
    reading = read_document(json.dumps(document))
    return reading.document is not None and not has_errors(check_scenario(reading.document, TYPES))


@pytest.mark.req("S000-7", "S000-9", "S000-10")
def test_it_is_a_schema_with_a_rule_for_each_type() -> None:
    """A validator reads it, and each type's parameters stand in it under its name."""
    Draft202012Validator.check_schema(SCHEMA)
    ruled = {rule["if"]["properties"]["type"]["const"] for rule in SCHEMA["$defs"]["Step"]["allOf"]}
    assert ruled == {*TYPES, "action"}
    assert set(SCHEMA["$defs"]["input"]["properties"]) == set(TYPES["input"].params.model_fields)


@pytest.mark.req("S000-64")
@pytest.mark.parametrize("name", TYPES)
def test_the_example_of_each_type_is_taken_by_the_check_and_the_schema(name: str) -> None:
    """An example that is copied works, also as an action where there is one."""
    step = {"type": name, **TYPES[name].example}
    assert is_accepted(scenario(step, *WAYS))
    assert fits(scenario(step, *WAYS))
    if TYPES[name].is_action:
        action = {"type": "action", "params": {"action_type": name, **step["params"]}}
        assert is_accepted(scenario(action, *WAYS))
        assert fits(scenario(action, *WAYS))


@pytest.mark.req("S000-3", "S000-5", "S000-6", "S000-11")
@pytest.mark.parametrize(("document", "is_right"), [
    (scenario(say("x"), note="mine"), True),
    (scenario({**say("x"), "author": "Anna"}), True),
    (scenario(ask(tries="{tries}")), True),
    (scenario(ask(buttons=["yes", {"text": "no", "value": 0}])), True),
    ({"name": "x"}, False),
    ({"name": "x", "steps": {}}, False),
    (scenario(say("x"), initial_context=[]), False),
    (scenario({"params": {"text": "x"}}), False),
    (scenario({"type": "message"}), False),
    (scenario({"type": "mesage", "params": {"text": "x"}}), False),
    (scenario(ask(tries=99)), False),
    (scenario(ask(type="fax")), False),
    (scenario({"type": "action", "params": {"action_type": "input"}}), False),
    (scenario({"type": "mongo_insert_one", "params": {"collection_name": "x"}}), False),
    (scenario({"type": "branch", "branches": {"if": "large"}}, *WAYS), False),
])  # fmt: skip
def test_schema_and_check_agree(document: Any, *, is_right: bool) -> None:
    """What the one refuses the other refuses, and what is right is right for both."""
    assert (fits(document), is_accepted(document)) == (is_right, is_right)


class ShoutParams(StepParams):
    """What is shouted."""

    text: str
    times: int = 2


@pytest.mark.req("S000-55", "S000-64")
def test_a_plugins_type_is_documented_from_its_model() -> None:
    """Parameters, types, defaults, and an example of what must be given."""
    shout = StepType(name="shout", summary="Shouts.", params=ShoutParams, perform=MESSAGE.perform)
    (told, _) = describe_types({"shout": shout})  # type: ignore[dict-item]
    assert [(one.name, one.type, one.required, one.default) for one in told.parameters] == [
        ("text", "text", True, None),
        ("times", "whole number", False, 2),
    ]
    assert told.example == "- type: shout\n  params:\n    text: <text>"
    own = replace(shout, example={"params": {"text": "hey"}})
    assert describe_types({"shout": own})[0].example.endswith("text: hey")  # type: ignore[dict-item]

"""The published JSON Schemas of workflows and tuums say what the program itself checks."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from engines.workflows.core.checks import check_tuum, check_workflow
from engines.workflows.core.registry import build_rune_types
from engines.workflows.core.rune_types import AnyRuneType, Changes, RuneCall, RuneParams, RuneType
from engines.workflows.kind_face import build_tuum_schema, build_workflow_schema
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import has_errors
from tests.unit.engines.workflows.workflow_kit import TYPES, link, parameter, put, script, tuum, workflow

WORKFLOWS, TUUMS = build_workflow_schema(TYPES), build_tuum_schema(TYPES)


@pytest.mark.req("S003-5", "S003-60")
@pytest.mark.parametrize(("document", "is_right"), [
    (workflow(link("a", gives=["x"]), author="Anna"), True),
    (workflow({"tuum": "a@2", "id": "b", "inputMappings": {"x": "y"}}), True),
    (workflow({"tuum": "a", "tuumId": "b"}), True),
    (workflow(tuum("a", put("имя"), outputMappings={"имя": "имя"})), True),
    (workflow(link("a"), triggerParameters=[parameter("x", default="y")], scheduling="batch", kind="micro", record="deal"), True),
    (workflow(tuum("a", {"runeType": "ai", "aiService": "x", "options": {"temperature": 1}}, promptRunes=[put("Prompts")])), True),
    (workflow(), False),
    ({"workflowId": "a"}, False),
    (workflow({}), False),
    (workflow({"tuum": ""}), False),
    (workflow(tuum("a b")), False),
    (workflow(tuum("a", {"variable": "x", "value": 1})), False),
    (workflow(tuum("a", {"runeType": "dance"})), False),
    (workflow(tuum("a", {"runeType": "set", "variable": "x"})), False),
    (workflow(tuum("a", {"runeType": "set", "variable": "x y", "value": 1})), False),
    (workflow(tuum("a", {"runeType": "ai", "aiService": "x", "options": {"temperature": 3}}, promptRunes=[put("Prompts")])), False),
    (workflow(tuum("a", put("x"), outputMappings={"a b": "x"})), False),
    (workflow(link("a"), scheduling="slow"), False),
    (workflow(tuum("a", mainScript={"consumes": []})), False),
])  # fmt: skip
def test_schema_and_check_of_workflows_agree(document: Any, *, is_right: bool) -> None:
    """What the one refuses the other refuses, and what is right is right for both."""
    reading = read_document(json.dumps(document))
    is_accepted = not has_errors(check_workflow(reading.require_document(), TYPES))
    assert (Draft202012Validator(WORKFLOWS).is_valid(document), is_accepted) == (is_right, is_right)


@pytest.mark.req("S003-4")
@pytest.mark.parametrize(("document", "is_right"), [
    (tuum("a", script("x")), True), ({}, False), (tuum("a", isStreaming="yes"), False), (tuum("a", {"runeType": "dance"}), False),
])  # fmt: skip
def test_schema_and_check_of_tuums_agree(document: Any, *, is_right: bool) -> None:
    """As for workflows."""
    is_accepted = not has_errors(check_tuum(read_document(json.dumps(document)).require_document(), TYPES))
    assert (Draft202012Validator(TUUMS).is_valid(document), is_accepted) == (is_right, is_right)


@pytest.mark.parametrize("name", TYPES)
def test_the_parameters_of_each_type_are_those_of_its_model(name: str) -> None:
    """Its example fits, and without a field that it needs it does not."""
    kind = TYPES[name]
    rune = {"runeType": name, **kind.example}
    validator = Draft202012Validator(TUUMS)
    assert validator.is_valid(tuum("a", rune))
    for field, one in kind.params.model_fields.items():
        if one.is_required():
            left = {key: value for key, value in rune.items() if key != (one.alias or field)}
            assert not validator.is_valid(tuum("a", left)), field


def test_a_rune_of_a_plugin_is_part_of_the_schema() -> None:
    """With its parameters and its sentence."""

    class Params(RuneParams):
        loudness: int = Field(ge=1, description="How loud.")

    async def shout(_call: RuneCall[Params]) -> Changes:
        return {}

    loud: AnyRuneType = RuneType[Params](name="loud", summary="Shouts.", params=Params, perform=shout)
    validator = Draft202012Validator(build_workflow_schema(build_rune_types([loud])))
    assert validator.is_valid(workflow(tuum("a", {"runeType": "loud", "loudness": 1})))
    assert not validator.is_valid(workflow(tuum("a", {"runeType": "loud", "loudness": 0})))

"""The published JSON Schemas of flows, agents, workflows and tuums: described, printed as they are, and fitted by what authors copy."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import engines
from bot.cli import schema
from engines.flows.core.definition import Agent, Flow, FlowStep, Transitions
from engines.workflows.core.definition import Rune, Terminal, Tuum, TuumReference, Workflow
from orchestrator.documents.reading import read_document
from orchestrator.engines.shared.declared import LaunchParameter
from tests.unit.engines.flows.test_flow_schema import AGENTS, FLOWS
from tests.unit.engines.workflows.test_workflow_schema import TUUMS, WORKFLOWS

FOLDER = Path(engines.__file__).parent
PARTS = [(FLOWS, (FlowStep, LaunchParameter, Transitions)), (WORKFLOWS, (Tuum, TuumReference, Terminal, Rune))]


@pytest.mark.parametrize(("whole", "model"), [(FLOWS, Flow), (AGENTS, Agent), (WORKFLOWS, Workflow), (TUUMS, Tuum)])
def test_every_field_has_the_name_that_authors_write(whole: Any, model: Any) -> None:
    """A validator reads the schema, and each field of the model stands in it."""
    Draft202012Validator.check_schema(whole)
    assert {field.alias for field in model.model_fields.values()} <= set(whole["properties"])


@pytest.mark.parametrize(("whole", "part"), [(whole, part) for whole, parts in PARTS for part in parts])
def test_every_field_is_described(whole: Any, part: Any) -> None:
    """Editors show what it is for; the titles that pydantic makes are not shown in place of names."""
    properties = whole["$defs"][part.__name__]["properties"]
    for field in part.model_fields.values():
        assert properties[field.alias or ""]["description"] == field.description
        assert "title" not in properties[field.alias or ""]


@pytest.mark.parametrize(("whole", "place", "least"), [
    (FLOWS, "flows/examples", 3), (AGENTS, "flows/examples/agents", 3),
    (WORKFLOWS, "workflows/examples", 3), (TUUMS, "workflows/examples/tuums", 1),
])  # fmt: skip
def test_the_examples_to_copy_fit_their_schemas(whole: Any, place: str, least: int) -> None:
    """Flows and workflows, agents and tuums alike."""
    files = [path for path in (FOLDER / place).glob("*.yaml") if not path.stem.endswith(".test")]
    assert len(files) >= least
    for path in files:
        Draft202012Validator(whole).validate(read_document(path.read_bytes(), "yaml").require_document().data)


@pytest.mark.parametrize(("command", "whole"), [("flow", FLOWS), ("agent", AGENTS), ("workflow", WORKFLOWS), ("tuum", TUUMS)])
def test_the_schemas_are_printed_as_json(command: str, whole: Any) -> None:
    """As `sdelka schema scenario` prints its own."""
    result = CliRunner().invoke(schema.app, [command])
    assert (result.exit_code, json.loads(result.output)) == (0, json.loads(json.dumps(whole)))

"""The published JSON Schemas of flows and agents say what the program itself checks."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engines.flows.core.checks import check_flow
from engines.flows.core.kind import check_agent
from engines.flows.kind_face import build_agent_schema, build_flow_schema
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import has_errors
from tests.unit.engines.flows.flow_kit import agent, flow, step

FLOWS, AGENTS = build_flow_schema(), build_agent_schema()


def write_to(mode: str) -> dict[str, Any]:
    return flow(step("a", memoryWrites=[{"channel": "x", "mode": mode}]))


@pytest.mark.req("S002-4")
@pytest.mark.parametrize(("document", "is_right"), [
    (flow(step("a", success="b"), step("b")), True), (flow(step("a", author="Анна"), note="моё"), True),
    (write_to("AGENT_OUTPUT"), True), (write_to("agent_output"), True),
    (flow(step("a", maxAttempts=0, memoryReads=[{"channel": "x", "limit": -1}])), True), (flow(step("a"), startStepId=None), True),
    (flow(step("a"), launchParameters=[{"name": "x", "type": "array", "default": ["y"]}]), True), (write_to("APPEND"), False),
    (flow(), False), ({"flowId": "x"}, False), (flow(step("a"), flowId="a b"), False), (flow(step("a"), syncOnly=False), False),
    (flow(step("a", retryPolicy={})), False), (flow(step("a"), timeoutSec=5), False), (flow(step("a", maxAttempts="2")), False),
    (flow(step("a", overrides={"temperature": 3})), False),
    (flow(step("a"), launchParameters=[{"name": "x", "type": "date"}]), False),
])  # fmt: skip
def test_schema_and_check_of_flows_agree(document: Any, *, is_right: bool) -> None:
    """What the one refuses the other refuses, and what is right is right for both."""
    reading = read_document(json.dumps(document))
    is_accepted = not has_errors(check_flow(reading.require_document()))
    assert (Draft202012Validator(FLOWS).is_valid(document), is_accepted) == (is_right, is_right)


@pytest.mark.parametrize(("document", "is_right"), [
    (agent(title="x", model="gpt", effects=["crm.deal.update"]), True), ({}, False), (agent(""), False), (agent(effects="x"), False),
])  # fmt: skip
def test_schema_and_check_of_agents_agree(document: Any, *, is_right: bool) -> None:
    """As for flows."""
    is_accepted = not has_errors(check_agent(read_document(json.dumps(document)).require_document()))
    assert (Draft202012Validator(AGENTS).is_valid(document), is_accepted) == (is_right, is_right)

"""The kinds of definitions that flows and their agents are."""

from collections.abc import Iterable, Mapping
from typing import Final

from engines.flows.core.checks import check_flow
from engines.flows.core.definition import AGENT, OWN_TOOLS, Agent, Flow
from orchestrator.definitions.kinds import DefinitionKind, MethodUse, Reference
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Finding

FLOW: Final = "flow"


def check_agent(document: Document) -> Iterable[Finding]:
    findings = Findings(document)
    report_model_mistakes(findings, Agent, document.data, ())
    return findings.list_all()


def list_agent_methods(document: object) -> Iterable[MethodUse]:
    agent = Agent.model_validate(document)
    for index, tool in enumerate(agent.tools):
        if tool not in OWN_TOOLS:
            yield MethodUse(("tools", index), tool, must_read=True)
    for index, method in enumerate(agent.effects):
        yield MethodUse(("effects", index), method)


def list_agents(document: object) -> Iterable[Reference]:
    steps = document.get("steps") if isinstance(document, Mapping) else None
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        agent_version_id = step.get("agentVersionId") if isinstance(step, Mapping) else None
        if isinstance(agent_version_id, str) and agent_version_id:
            yield Reference(("steps", index, "agentVersionId"), AGENT, agent_version_id)


AGENTS: Final = DefinitionKind(
    name=AGENT,
    check=check_agent,
    list_writes=lambda document: [("bitrix", method) for method in Agent.model_validate(document).effects],
    list_methods=list_agent_methods,
    find_title=lambda document: Agent.model_validate(document).title,
    is_told=False,
)
FLOWS: Final = DefinitionKind(
    name=FLOW,
    check=check_flow,
    list_writes=lambda _document: (),  # agents are published on their own, with what they propose
    list_references=list_agents,
    find_title=lambda document: Flow.model_validate(document).metadata.title,
    key_field="flowId",
    number_field="version",
)

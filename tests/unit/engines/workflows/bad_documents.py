"""A workflow with every field of its form, and what may not stand in each of them: the matrix of bad documents."""

import copy
from typing import Any

from orchestrator.domain.finding import Path
from tests.unit.engines.flows.bad_documents import Field

FULL: dict[str, Any] = {
    "workflowId": "dossier",
    "version": 1,
    "configId": "c1",
    "metadata": {"title": "Досье", "description": "О чём", "tags": ["a"]},
    "kind": "main",
    "record": "deal",
    "triggers": {"ui": True, "api": True},
    "triggerParameters": [{"name": "client", "type": "string", "required": True, "description": "Кто?"}],
    "tuums": [
        {
            "tuumId": "deals",
            "configId": "c2",
            "metadata": {"title": "Сделки"},
            "enabled": True,
            "inputMappings": {"who": "client"},
            "outputMappings": {"told": "ai_final_output", "count": "number"},
            "variableTypes": {"number": "number"},
            "promptRunes": [
                {"runeType": "query", "configId": "c3", "name": "Сделки", "enabled": True, "method": "crm.deal.list", "params": {"a": 1}, "output": "rows"},
                {"runeType": "prompt", "role": "User", "template": "{{who}} {{rows}}"},
            ],
            "aiService": "tool",
            "isStreaming": True,
            "options": {"temperature": 0.5, "topP": 0.9, "maxTokens": 100},
            "blocks": "program",
            "chunkCallback": {"source": "1", "consumes": ["ai_stream_output_total"]},
            "runes": [{"runeType": "regex", "input": "ai_final_output", "pattern": "\\d+", "group": 0, "isAll": True, "output": "found"}],
            "mainScript": {"source": "{}", "consumes": ["found"], "produces": ["number"]},
        },
        {"tuum": "letter@2", "id": "letter", "enabled": True, "inputMappings": {"told": "told"}, "outputMappings": {"text": "text"}},
    ],
    "terminal": {"rawText": "text", "operations": "count"},
    "scheduling": "ready",
    "onFailure": "stop",
    "budget": {"maxTokens": 1000, "maxCost": 5, "maxSeconds": 60},
}  # fmt: skip

_T, _R = "tuums[0]", "tuums[1]"
FIELDS = (
    Field("workflowId", "slug", required=True),
    Field("version", "integer", nullable=True),
    Field("configId", "word", largest="т" * 201),
    Field("metadata", "object"),
    Field("metadata.title", "word", largest="т" * 201),
    Field("kind", "choice"),
    Field("record", "choice", nullable=True),
    Field("triggers", "object"),
    Field("triggers.ui", "boolean"),
    Field("triggerParameters", "list", largest=[{"name": f"p{n}"} for n in range(101)]),
    Field("triggerParameters[0]", "object"),
    Field("triggerParameters[0].name", "name", required=True, largest="т" * 101),
    Field("triggerParameters[0].type", "choice"),
    Field("tuums", "list", required=True, largest=[{"tuumId": f"t{n}"} for n in range(10_001)]),
    Field(_T, "object"),
    Field(f"{_T}.tuumId", "slug", required=True),
    Field(f"{_T}.configId", "word", largest="т" * 201),
    Field(f"{_T}.metadata", "object"),
    Field(f"{_T}.enabled", "boolean"),
    Field(f"{_T}.inputMappings", "object", nullable=True, largest={f"a{n}": "client" for n in range(201)}),
    Field(f"{_T}.inputMappings.who", "variable"),
    Field(f"{_T}.outputMappings", "object", largest={f"a{n}": "number" for n in range(201)}),
    Field(f"{_T}.outputMappings.count", "variable"),
    Field(f"{_T}.variableTypes", "object"),
    Field(f"{_T}.variableTypes.number", "choice"),
    Field(f"{_T}.promptRunes", "list", largest=[{"runeType": "prompt", "template": "x"}] * 201),
    Field(f"{_T}.promptRunes[0]", "object"),
    Field(f"{_T}.promptRunes[0].runeType", "name", required=True, largest="т" * 101),
    Field(f"{_T}.promptRunes[0].configId", "word", largest="т" * 201),
    Field(f"{_T}.promptRunes[0].name", "word", largest="т" * 201),
    Field(f"{_T}.promptRunes[0].enabled", "boolean"),
    Field(f"{_T}.promptRunes[0].method", "name", required=True, largest="т" * 201),
    Field(f"{_T}.promptRunes[0].params", "object"),
    Field(f"{_T}.promptRunes[0].output", "variable", required=True),
    Field(f"{_T}.promptRunes[1].role", "choice"),
    Field(f"{_T}.promptRunes[1].template", "name", required=True, largest="т" * 100_001),
    Field(f"{_T}.aiService", "name", nullable=True, largest="т" * 201),
    Field(f"{_T}.isStreaming", "boolean"),
    Field(f"{_T}.blocks", "choice"),
    Field(f"{_T}.options", "object"),
    Field(f"{_T}.options.topP", "number", nullable=True),
    Field(f"{_T}.chunkCallback", "object", nullable=True),
    Field(f"{_T}.chunkCallback.source", "name", required=True, largest="т" * 20_001),
    Field(f"{_T}.chunkCallback.consumes", "list", largest=["a"] * 101),
    Field(f"{_T}.chunkCallback.consumes[0]", "variable"),
    Field(f"{_T}.runes", "list"),
    Field(f"{_T}.runes[0].input", "variable", required=True),
    Field(f"{_T}.runes[0].pattern", "name", required=True, largest="т" * 501),
    Field(f"{_T}.runes[0].isAll", "boolean"),
    Field(f"{_T}.runes[0].output", "variable", required=True),
    Field(f"{_T}.mainScript", "object", nullable=True),
    Field(f"{_T}.mainScript.source", "name", required=True, largest="т" * 20_001),
    Field(f"{_T}.mainScript.produces", "list"),
    Field(f"{_T}.mainScript.produces[0]", "variable"),
    Field(_R, "object"),
    Field(f"{_R}.tuum", "name", largest="т" * 201),
    Field(f"{_R}.id", "slug", nullable=True),
    Field(f"{_R}.enabled", "boolean"),
    Field(f"{_R}.inputMappings", "object", nullable=True),
    Field(f"{_R}.outputMappings", "object", nullable=True),
    Field("terminal", "object"),
    Field("terminal.rawText", "variable", nullable=True),
    Field("terminal.operations", "variable", nullable=True),
    Field("scheduling", "choice"),
    Field("onFailure", "choice"),
    Field("budget", "object"),
)


def put(path: Path, value: Any) -> dict[str, Any]:
    """The workflow with this value at this place."""
    document = copy.deepcopy(FULL)
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return document


def drop(path: Path) -> dict[str, Any]:
    """The workflow without the field at this place."""
    document = copy.deepcopy(FULL)
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    return document

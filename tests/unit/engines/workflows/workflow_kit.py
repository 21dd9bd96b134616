"""Small workflows for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from engines.workflows.core.compile import CompiledWorkflow, compile_workflow
from engines.workflows.core.definition import Tuum, Workflow
from engines.workflows.core.registry import build_rune_types

TYPES = build_rune_types()


def script(*consumes: str, gives: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    """A rune that needs and gives these variables."""
    return {"runeType": "script", "source": "{}", "consumes": [*consumes], "produces": [*gives], **fields}


def prompt(template: str = "Hello", **fields: Any) -> dict[str, Any]:
    """A rune that adds this to the prompt."""
    return {"runeType": "prompt", "template": template, **fields}


def put(variable: str, value: Any = 1, **fields: Any) -> dict[str, Any]:
    """A rune that sets a variable."""
    return {"runeType": "set", "variable": variable, "value": value, **fields}


def tuum(name: str, *runes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A tuum with these runes."""
    return {"tuumId": name, "runes": [*runes], **fields}


def link(name: str, needs: Sequence[str] = (), gives: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    """A tuum that needs these globals and publishes those."""
    return tuum(name, script(*needs, gives=gives), outputMappings={one: one for one in gives}, **fields)


def workflow(*tuums: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A workflow of these tuums."""
    return {"workflowId": "dossier", "metadata": {"title": "Dossier"}, "tuums": [*tuums], **fields}


def parameter(name: str, **fields: Any) -> dict[str, Any]:
    """A trigger parameter."""
    return {"name": name, "type": "string", **fields}


def compile_document(document: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> CompiledWorkflow:
    """Compile a workflow whose references name these tuums."""
    tuums = {name: Tuum.model_validate(one) for name, one in (stored or {}).items()}
    return compile_workflow(Workflow.model_validate(document), tuums, TYPES)


def list_names(compiled: CompiledWorkflow) -> list[list[str]]:
    """The names of the tuums of each level."""
    return [[compiled.tuums[position].id for position in level] for level in compiled.levels]

"""What the steps of a run gave, and the result that its flow makes of it (S002-42, S002-43, S002-A9)."""

from typing import Any

from engines.flows.core.definition import Outputs
from engines.flows.core.operations import OPERATIONS
from engines.flows.core.prompt import CONTENT
from engines.flows.core.references import MARK, list_references, read_reference
from orchestrator.domain.taint import Value, join_origins
from state.stored import JsonObject


def list_read_by_fields(outputs: Outputs) -> frozenset[str]:
    """Steps whose answers the result takes fields of; what became of their operations is no such field."""
    paths = [*outputs.summary_fields, *(text for _, text in list_references(outputs.result_payload))]
    references = [reference for path in paths if (reference := read_reference(path)) is not None]
    return frozenset(reference.step for reference in references if reference.fields and reference.fields[0] not in {CONTENT, OPERATIONS})


class StepOutputs:
    def __init__(self) -> None:
        self._outputs: dict[str, Value] = {}
        self._failed: list[str] = []

    def add(self, step: str, output: Value) -> None:
        self._outputs[step] = output

    def find(self, step: str) -> Value | None:
        return self._outputs.get(step)

    def note_failure(self, step: str) -> None:
        self._failed.append(step)

    def list_all(self) -> list[tuple[str, JsonObject]]:
        """(step, its output) in the order of the first visits."""
        return [(step, output.data) for step, output in self._outputs.items()]

    def resolve(self, outputs: Outputs) -> Value:
        """Return {payload, summary}, with null for a path that leads nowhere, and `failedSteps` if any failed."""
        data: JsonObject = {
            "payload": self._fill(outputs.result_payload),
            "summary": {path: self._find(path) for path in outputs.summary_fields},
        }
        if self._failed:
            data = {**data, "failedSteps": list(self._failed)}
        return Value(data, join_origins(self._outputs.values()))

    def _fill(self, part: Any) -> Any:
        if isinstance(part, str):
            return self._find(part) if part.startswith(MARK) else part
        if isinstance(part, dict):
            return {name: self._fill(one) for name, one in part.items()}
        return [self._fill(one) for one in part] if isinstance(part, list) else part

    def _find(self, path: str) -> object:
        reference = read_reference(path)
        output = self._outputs.get(reference.step) if reference is not None else None
        return reference.find(output.data) if reference is not None and output is not None else None

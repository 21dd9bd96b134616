"""Paths such as steps.review.output.content, what steps gave, and the result that a flow makes of it (S002-42, S002-43, S002-A9)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engines.flows.core.definition import Outputs
from engines.flows.core.operations import OPERATIONS
from engines.flows.core.prompt import CONTENT
from orchestrator.domain.finding import Path
from orchestrator.domain.taint import Value, join_origins
from state.stored import JsonObject

EXAMPLE: Final = "steps.review.output.content"
_PATH: Final = re.compile(r"\$?steps\.(?P<step>[A-Za-z0-9][A-Za-z0-9_-]{0,63})\.output(?P<rest>[.\[].+)?", re.DOTALL)
_INDEX: Final = re.compile(r"""\[(?:([0-9]{1,9})|'([^'.\]]+)'|"([^".\]]+)")\]""")
"""An element of a list, or a field, in brackets as in scenarios."""
MARK: Final = "$steps."
_LONGEST: Final = 500
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Reference:
    """A step, and the fields on the way; none for its whole output."""

    step: str
    fields: tuple[str, ...] = ()

    def find(self, output: object) -> object:
        """None if there is none; elements of lists have their numbers as names."""
        part: object = output
        for name in self.fields:
            if isinstance(part, Mapping):
                part = part.get(name)
            elif isinstance(part, list) and name.isdecimal() and len(name) <= _MOST_DIGITS and int(name) < len(part):
                part = part[int(name)]
            else:
                return None
        return part


def read_reference(path: str) -> Reference | None:
    """None if it is no path."""
    match = _PATH.fullmatch(path) if len(path) <= _LONGEST else None
    if match is None:
        return None
    rest = _INDEX.sub(lambda part: f".{part[1] or part[2] or part[3]}", match["rest"] or "")
    fields = tuple(rest.removeprefix(".").split(".")) if rest else ()
    return Reference(match["step"], fields) if all(fields) else None


def list_references(payload: JsonObject) -> Iterator[tuple[Path, str]]:
    return ((path, text) for path, text in list_texts(payload) if text.startswith(MARK))


def list_texts(payload: JsonObject) -> Iterator[tuple[Path, str]]:
    waiting: list[tuple[Path, object]] = [((), payload)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, Mapping):
            waiting.extend(((*path, str(name)), one) for name, one in part.items())
        elif isinstance(part, list):
            waiting.extend(((*path, index), one) for index, one in enumerate(part))


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

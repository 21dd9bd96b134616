"""Checks what whoever starts a flow gives for its launch parameters (S002-20, S002-A12)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Path
from orchestrator.engines.shared.declared import LaunchParameter, ParameterType
from state.stored import JsonObject

Problem = Literal["missing", "type", "choice", "unknown"]


@dataclass(frozen=True, slots=True)
class ParameterMistake:
    """What is wrong with one parameter. `expected` says what it should be."""

    name: str
    problem: Problem
    expected: str = ""


def fits_type(value: object, kind: ParameterType) -> bool:
    """Return whether a value of JSON is of the type of a launch parameter."""
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)


def read_parameters(declared: Sequence[LaunchParameter], given: Mapping[str, object]) -> tuple[JsonObject, list[ParameterMistake]]:
    """Return the parameters with their defaults, and everything that is wrong with those given. None counts as not given."""
    known = {one.name: one for one in declared}
    mistakes = [ParameterMistake(name, "unknown", ", ".join(known)) for name in given if name not in known]
    read: dict[str, object] = {}
    for name, one in known.items():
        value = given.get(name)
        if value is None:
            value = one.default
        if value is None:
            if one.required:
                mistakes.append(ParameterMistake(name, "missing", one.type))
            continue
        if not fits_type(value, one.type):
            mistakes.append(ParameterMistake(name, "type", one.type))
        elif one.choices and value not in one.choices:
            mistakes.append(ParameterMistake(name, "choice", ", ".join(str(choice) for choice in one.choices)))
        else:
            read[name] = value
    return read, mistakes


SENTENCES: Final[dict[str, str]] = {
    "finding-flow-default-unfit": "the default is no {type}",
    "finding-flow-choice-unfit": "the choice is no {type}",
    "finding-flow-default-no-choice": "the default is none of the choices",
}


def check_launch_parameter(findings: Findings, path: Path, one: LaunchParameter) -> None:
    """Report values of a launch parameter that are not of its type, or not among its choices. Workflows declare theirs in the same way."""
    if one.default is not None and not fits_type(one.default, one.type):
        _add(findings, "finding-flow-default-unfit", (*path, "default"), type=one.type)
    elif one.default is not None and one.choices and one.default not in one.choices:
        _add(findings, "finding-flow-default-no-choice", (*path, "default"))
    for index, choice in enumerate(one.choices):
        if not fits_type(choice, one.type):
            _add(findings, "finding-flow-choice-unfit", (*path, "choices", index), type=one.type)


def _add(findings: Findings, code: str, path: Path, **args: str | int) -> None:
    findings.add(code, SENTENCES[code].format(**args), path, args=dict(args))

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
    name: str
    problem: Problem
    expected: str = ""


def fits_type(value: object, kind: ParameterType) -> bool:
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


def read_parameters(declared: Sequence[LaunchParameter], start_values: Mapping[str, object]) -> tuple[JsonObject, list[ParameterMistake]]:
    """Return (parameters with defaults, mistakes). None counts as not given."""
    known = {launch_parameter.name: launch_parameter for launch_parameter in declared}
    mistakes = [ParameterMistake(name, "unknown", ", ".join(known)) for name in start_values if name not in known]
    read: dict[str, object] = {}
    for name, parameter in known.items():
        value = start_values.get(name)
        if value is None:
            value = parameter.default
        if value is None:
            if parameter.required:
                mistakes.append(ParameterMistake(name, "missing", parameter.type))
            continue
        if not fits_type(value, parameter.type):
            mistakes.append(ParameterMistake(name, "type", parameter.type))
        elif parameter.choices and value not in parameter.choices:
            mistakes.append(ParameterMistake(name, "choice", ", ".join(str(choice) for choice in parameter.choices)))
        else:
            read[name] = value
    return read, mistakes


SENTENCES: Final[dict[str, str]] = {
    "finding-flow-default-unfit": "the default is no {type}",
    "finding-flow-choice-unfit": "the choice is no {type}",
    "finding-flow-default-no-choice": "the default is none of the choices",
}


def check_launch_parameter(findings: Findings, path: Path, launch_parameter: LaunchParameter) -> None:
    if launch_parameter.default is not None and not fits_type(launch_parameter.default, launch_parameter.type):
        _add(findings, "finding-flow-default-unfit", (*path, "default"), type=launch_parameter.type)
    elif launch_parameter.default is not None and launch_parameter.choices and launch_parameter.default not in launch_parameter.choices:
        _add(findings, "finding-flow-default-no-choice", (*path, "default"))
    for index, choice in enumerate(launch_parameter.choices):
        if not fits_type(choice, launch_parameter.type):
            _add(findings, "finding-flow-choice-unfit", (*path, "choices", index), type=launch_parameter.type)


def _add(findings: Findings, code: str, path: Path, **args: str | int) -> None:
    findings.add(code, SENTENCES[code].format(**args), path, args=dict(args))

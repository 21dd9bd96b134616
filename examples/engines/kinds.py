"""What definitions of the two example engines are: their mistakes, each with its place, and what they write."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.definitions.kinds import DefinitionKind, Write
from orchestrator.definitions.mistakes import (
    Shape,
    has_shape,
    report_missing,
    report_name_twice,
    report_one_of,
    report_unknown_fields,
    report_unknown_value,
)
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Finding, Path

_DEEDS: Final[Mapping[str, Sequence[str]]] = {
    "say": (),
    "ask": ("options", "takes", "timeout"),
    "model": (),
    "write": ("params", "kind"),
    "later": (),
    "sleep": (),
    "child": ("engine",),
    "turn": (),
}
"""What a step does, with the fields that belong to it."""
_NUMBERS: Final = ("later", "sleep")
_SHAPES: Final[Mapping[str, Shape]] = {
    "timeout": "number",
    "params": "object",
    "kind": "text",
    "engine": "text",
    "takes": "list",
    "options": "list",
}
_TAKES: Final = ("text", "contact", "photo", "document")


def check_steps(document: Document) -> Iterable[Finding]:
    """Return what is wrong with a definition of the engine "steps"."""
    findings = Findings(document)
    data = document.data
    if has_shape(findings, (), data, "object"):
        report_unknown_fields(findings, (), data, ("steps",))
        if "steps" not in data:
            report_missing(findings, (), "steps")
        elif has_shape(findings, ("steps",), data["steps"], "list", may_be_empty=False):
            names: set[str] = set()
            for number, step in enumerate(data["steps"]):
                if has_shape(findings, ("steps", number), step, "object"):
                    _check_step(findings, ("steps", number), step, names)
    return findings.list_all()


def _check_step(findings: Findings, path: Path, step: Mapping[str, Any], names: set[str]) -> None:
    _check_name(findings, path, step, names)
    deeds = [deed for deed in _DEEDS if deed in step]
    fields = {field for deed in deeds or _DEEDS for field in _DEEDS[deed]}
    report_unknown_fields(findings, path, step, ("name", *_DEEDS, *fields))
    if len(deeds) != 1:
        report_one_of(findings, path, _DEEDS)
    for deed in deeds:
        has_shape(findings, (*path, deed), step[deed], "number" if deed in _NUMBERS else "text", may_be_empty=deed in _NUMBERS)
    for field, shape in _SHAPES.items():
        if field in step and has_shape(findings, (*path, field), step[field], shape) and shape == "list":
            _check_answers(findings, (*path, field), step[field], is_takes=field == "takes")


def _check_name(findings: Findings, path: Path, step: Mapping[str, Any], names: set[str]) -> None:
    if "name" not in step:
        report_missing(findings, path, "name")
    elif has_shape(findings, (*path, "name"), step["name"], "text", may_be_empty=False):
        if step["name"] in names:
            report_name_twice(findings, (*path, "name"), step["name"])
        names.add(step["name"])


def _check_answers(findings: Findings, path: Path, answers: Sequence[Any], *, is_takes: bool) -> None:
    for number, one in enumerate(answers):
        if is_takes and one not in _TAKES:
            report_unknown_value(findings, (*path, number), one, _TAKES)
        elif not is_takes and isinstance(one, Mapping):
            _check_option(findings, (*path, number), one)


def _check_option(findings: Findings, path: Path, option: Mapping[str, Any]) -> None:
    report_unknown_fields(findings, path, option, ("label", "value"))
    for name in ("label", "value"):
        if name not in option:
            report_missing(findings, path, name)


def list_step_writes(document: Any) -> Sequence[Write] | None:
    """Return what the steps write; None if one of them is a turn of the CRM agent, which may propose anything."""
    steps = document["steps"]
    if any("turn" in step for step in steps):
        return None
    return [(step.get("kind", "bitrix"), step["write"]) for step in steps if "write" in step]


def check_fan(document: Document) -> Iterable[Finding]:
    """Return what is wrong with a definition of the engine "fan"."""
    findings = Findings(document)
    data = document.data
    if has_shape(findings, (), data, "object"):
        report_unknown_fields(findings, (), data, ("things", "prompt", "summary"))
        for name in ("things", "prompt"):
            if name not in data:
                report_missing(findings, (), name)
        if "things" in data and has_shape(findings, ("things",), data["things"], "list", may_be_empty=False):
            for number, thing in enumerate(data["things"]):
                has_shape(findings, ("things", number), thing, "text", may_be_empty=False)
        for name in ("prompt", "summary"):
            if name in data:
                has_shape(findings, (name,), data[name], "text", may_be_empty=False)
    return findings.list_all()


def list_fan_writes(_document: Any) -> Sequence[Write]:
    """Return no writes: this engine only asks the model."""
    return ()


STEPS: Final = DefinitionKind(name="steps", check=check_steps, list_writes=list_step_writes)
FAN: Final = DefinitionKind(name="fan", check=check_fan, list_writes=list_fan_writes)

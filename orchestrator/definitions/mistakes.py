"""Reports mistakes common to all kinds of definitions."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

from orchestrator.documents.findings import MOST, Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import WHOLE, Path, Severity, format_path
from orchestrator.domain.suggestions import suggest_name

Shape = Literal["object", "list", "text", "number", "integer", "boolean"]
SENTENCES: Final[dict[str, str]] = {
    "finding-check-failed": "the document cannot be checked as a definition of kind {kind}",
    "finding-definition-key": '"{key}" is no key: it begins with a Latin letter or a digit and has at most {most} letters, digits, - and _',
    "finding-definition-key-other": 'the definition is called "{name}", and it is saved as "{key}"',
    "finding-field-missing": 'the field "{name}" is missing',
    "finding-field-unknown": 'there is no field "{name}" here',
    "finding-field-shape": '"{name}" is no {shape}',
    "finding-field-empty": '"{name}" is empty',
    "finding-name-twice": 'the name "{name}" stands twice',
    "finding-value-unknown": '"{value}" is none of {known}',
    "finding-one-of": "exactly one of {known} is needed",
    "finding-value-least": '"{name}" is less than {bound}',
    "finding-value-least-open": '"{name}" is not more than {bound}',
    "finding-value-most": '"{name}" is more than {bound}',
    "finding-value-most-open": '"{name}" is not less than {bound}',
    "finding-text-long": '"{name}" has more than {bound} characters',
    "finding-list-long": '"{name}" has more than {bound} elements',
    "finding-reference-unknown": 'there is no {kind} "{name}"',
    "finding-reference-draft": 'the {kind} "{name}" is not published',
    "finding-reference-off": 'the {kind} "{name}" is switched off',
    "finding-method-unknown": 'there is no method "{name}" of the portal',
    "finding-call-field": "{method} has no parameter {name}",
    "finding-call-own-field": "whether there is a field {name} can be seen in a portal only, and none could be asked",
    "finding-portal-silent": "the portal could not be asked, so calls were checked against what every portal has",
    "finding-call-lacks": "{method} needs {name}",
    "finding-call-choice": "{value} is no value of {name}",
    "finding-call-wrong": "{method} would be refused: {problem}",
    "finding-method-writes": 'the method "{name}" changes something, and only reading methods may stand here',
    "finding-method-reads": 'the method "{name}" only reads, so nothing is there to propose',
    "finding-host-closed": "the policy does not open the host of {name} for http.get, so nothing is fetched from there",
    "finding-name-given": 'whoever starts it may give "{name}": to decide or write by it use "{own}", which the program gives',
    "finding-value-critical": "a {source} gives this value, and {field} is critical: a card asks a person before it is written",
    "finding-value-unfit": '"{name}" does not fit: {problem}',
}
"""English, by code; the Fluent files have the same for people."""
_SHAPES: Final[Mapping[Shape, type | tuple[type, ...]]] = {"object": dict, "list": list, "text": str, "number": (int, float)}


class Suggestions:
    """For a limited number of wrong names: more would take minutes for a hostile document."""

    def __init__(self, most: int = MOST) -> None:
        self._left = most

    def find(self, wrong: str, known: Iterable[str]) -> str:
        self._left -= 1
        return suggest_name(wrong, known) if self._left >= 0 else ""


def report_mistake(
    findings: Findings,
    code: str,
    path: Path = WHOLE,
    *,
    sentences: Mapping[str, str] = SENTENCES,
    severity: Severity = "error",
    suggestion: str = "",
    of_value: bool = False,
    **args: str | int,
) -> None:
    """`args` fill the sentence of the code."""
    findings.add(code, sentences[code].format(**args), path, severity=severity, suggestion=suggestion, of_value=of_value, args=args)


def report_missing(findings: Findings, path: Path, name: str) -> None:
    report_mistake(findings, "finding-field-missing", (*path, name), name=name)


def report_unknown_fields(findings: Findings, path: Path, fields: Mapping[str, object], known: Collection[str]) -> None:
    for name in fields:
        if name not in known:
            report_mistake(findings, "finding-field-unknown", (*path, name), suggestion=suggest_name(name, known), name=quote_part(name))


def report_one_of(findings: Findings, path: Path, known: Collection[str]) -> None:
    report_mistake(findings, "finding-one-of", path, known=", ".join(known))


def report_name_twice(findings: Findings, path: Path, name: str) -> None:
    report_mistake(findings, "finding-name-twice", path, of_value=True, name=quote_part(name))


def report_unknown_value(findings: Findings, path: Path, value: object, known: Collection[str]) -> None:
    text = value if isinstance(value, str) else type(value).__name__
    report_mistake(
        findings,
        "finding-value-unknown",
        path,
        of_value=True,
        suggestion=suggest_name(text, known),
        value=quote_part(text),
        known=", ".join(known),
    )


def report_shape(findings: Findings, path: Path, name: str, shape: Shape) -> None:
    report_mistake(findings, "finding-field-shape", path, of_value=True, name=name, shape=shape)


def has_shape(findings: Findings, path: Path, value: object, shape: Shape, *, may_be_empty: bool = True) -> bool:
    name = format_path(path[-1:]) if path and isinstance(path[-1], str) else format_path(path[-2:]) or "/"
    if not isinstance(value, _SHAPES[shape]) or (shape in {"number", "integer"} and isinstance(value, bool)):
        report_shape(findings, path, quote_part(name), shape)
        return False
    if not may_be_empty and not value:
        report_mistake(findings, "finding-field-empty", path, of_value=True, name=quote_part(name))
        return False
    return True

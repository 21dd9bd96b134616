"""What is wrong with the text of a policy, with lines and suggestions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from pydantic_core import ErrorDetails

from orchestrator.definitions.mistakes import report_unknown_fields, report_unknown_value
from orchestrator.definitions.model_mistakes import list_expected, report_objection
from orchestrator.documents.findings import Findings
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import quote_part
from orchestrator.domain.budget import WrongValue
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import Finding, Path, format_path
from orchestrator.domain.http_address import OddSite, parse_listed_site
from orchestrator.gate.call.policy import PARTS, InvalidPolicy, Policy, UnknownName
from orchestrator.gate.call.policy_format import Places

SENTENCES: Final[dict[str, str]] = {
    "finding-policy-duration": '"{name}": a duration such as 1h, 90m or 2d is needed',
    "finding-policy-duration-least": '"{name}": a duration longer than nothing is needed, such as 1h, 90m or 2d',
    "finding-policy-word-empty": "an empty word fits nothing; remove it",
    "finding-policy-why": '"{name}": one plain sentence is needed: people read it when the rule applies',
    "finding-policy-condition-missing": "the rule names no condition, so it would concern every change; name one, such as role: manager",
    "finding-policy-currency-alone": 'a currency is that of "above"; name the sum, or remove the currency',
    "finding-policy-prices-missing": "a limit in money needs prices, such as prices: {example}",
    "finding-policy-site": '"{name}" is no host; write it without a path, such as api.example.com',
    "finding-policy-code": '"{name}" is no code of a currency, such as RUB',
    "finding-policy-person": '"{name}" is no key of a person, which is a channel and an account there',
    "finding-policy-method-unknown": 'the catalogue has no method "{name}"',
    "finding-policy-pattern-unfit": '"{name}" fits no method of the catalogue',
    "finding-policy-entity-unknown": 'there is no kind of record "{name}"',
    "finding-policy-field-unknown": 'the catalogue has no field "{name}"',
    "finding-policy-kind-unknown": 'there is no kind of definitions "{name}"',
    "finding-policy-no-keys": "keys with values are needed, such as {example}",
    "finding-policy-empty": "the text says nothing; write {example} if nothing is wanted",
    "finding-policy-long": "the text has more than {most} characters",
    "finding-policy-yaml": "the text is no YAML that can be read; look at indents, colons, quotes and brackets",
    "finding-policy-catalogue": "the methods added to the catalogue do not fit: {problem}",
}
"""By code; people get the same from the Fluent files."""
_PRICES: Final = "{gpt-5-thinking: {input: 120, output: 960}}"
_UNKNOWN: Final = {
    "method": "finding-policy-method-unknown",
    "pattern": "finding-policy-pattern-unfit",
    "entity": "finding-policy-entity-unknown",
    "field": "finding-policy-field-unknown",
    "kind": "finding-policy-kind-unknown",
}
_LONGEST_PROBLEM: Final = 500


def build_mistake(code: str, path: Path = (), places: Places | None = None, *, suggestion: str = "", **args: str | int) -> Finding:
    """`places` tells the line of `path`; `args` are those of the sentence."""
    short_args = {key: arg[:_LONGEST_PROBLEM] if isinstance(arg, str) else arg for key, arg in args.items()}
    findings = Findings()
    findings.add(code, SENTENCES[code].format(**short_args), path, suggestion=suggestion, args=short_args)
    return _place(findings, path, places or {})[0]


def _place(findings: Findings, path: Path, places: Places) -> tuple[Finding, ...]:
    """With the line of the nearest key at or above `path`."""
    line = next((places[path[:end]][1] for end in range(len(path), 0, -1) if path[:end] in places), 0)
    return tuple(replace(finding, line=line) for finding in findings.list_all())


def list_unreadable(text: str, error: SettingsError) -> tuple[Finding, ...]:
    reading = read_document(text, "yaml")
    findings = tuple(finding for finding in reading.findings if finding.severity == "error" and finding.code != "finding-document-empty")
    if findings:
        return findings
    data = reading.document.data if reading.document is not None else None
    if reading.document is None and not reading.findings:
        return (replace(build_mistake("finding-policy-yaml"), message=error.reason),)
    if data is None or data == {}:
        return (build_mistake("finding-policy-empty", example="rules: []"),)
    return (replace(build_mistake("finding-policy-no-keys", example="refuse_methods: [crm.deal.add]"), line=1),)


def list_unknown_names(names: Iterable[UnknownName], places: Places) -> tuple[Finding, ...]:
    return tuple(
        build_mistake(_UNKNOWN[one.kind], one.place, places, suggestion=one.suggestion, name=quote_part(one.name)) for one in names
    )


def list_objections(error: InvalidPolicy) -> tuple[Finding, ...]:
    """Why keys and values make no policy."""
    findings = [finding for one in error.errors for finding in _list_objections(one, error.places)]
    return tuple(sorted(findings, key=lambda finding: finding.line))


def _list_objections(error: ErrorDetails, places: Places) -> tuple[Finding, ...]:
    """What pydantic objects to at one place; a wrong key is named itself."""
    path, kind, input_value = tuple(part for part in error["loc"] if part != "[key]"), error["type"], error["input"]
    if code := _find_own_code(error):
        name = _find_odd_site(input_value) if code == "finding-policy-site" else _name_value(path, error)
        return (build_mistake(code, path, places, name=quote_part(name), example=_PRICES),)
    findings = Findings()
    if kind == "extra_forbidden":
        model = PARTS.get(str(path[0]), Policy) if len(path) > 1 else Policy
        report_unknown_fields(findings, path[:-1], {str(path[-1]): input_value}, list(model.model_fields))
    elif kind == "literal_error":
        report_unknown_value(findings, path, input_value, list_expected(str(error.get("ctx", {}).get("expected", ""))))
    else:
        report_objection(findings, error, _put_at(path[:-1] if kind == "missing" else path, input_value), ())
    return _place(findings, path, places)


def _find_own_code(error: ErrorDetails) -> str:
    """For what only policies object to; "" for everything else."""
    context = error.get("ctx", {})
    match error["type"], context.get("error"):
        case "value_error", WrongValue() as wrong:
            return wrong.code
        case "value_error", OddSite():
            return "finding-policy-site"
        case "greater_than", _ if "timedelta" in str(context.get("gt")):
            return "finding-policy-duration-least"
        case "string_pattern_mismatch", _:
            return "finding-policy-code" if "A-Z" in str(context.get("pattern")) else "finding-policy-person"
        case _:
            return ""


def _name_value(path: Path, error: ErrorDetails) -> str:
    """A text of the wrong form, otherwise the key."""
    return str(error["input"]) if error["type"] == "string_pattern_mismatch" else format_path(path[-1:])


def _find_odd_site(input_value: object) -> str:
    for entry in input_value if isinstance(input_value, Iterable) and not isinstance(input_value, str) else ():
        try:
            parse_listed_site(str(entry))
        except OddSite:
            return str(entry)
    return str(input_value)


def _put_at(path: Sequence[str | int], value: object) -> object:
    """The value at `path` in otherwise empty data."""
    data = value
    for part in reversed(path):
        data = {part: data}
    return data

"""Finds every mistake of a scenario before it runs (S000-62, S000-A2, A4, A7, A12)."""

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from engines.scenarios.core.answers import compile_pattern
from engines.scenarios.core.day_answers import DAYS
from engines.scenarios.core.definition import (
    ABOUT_PERSON,
    AGENT,
    RESERVED,
    SCENARIO_FIELDS,
    STEP_FIELDS,
    Scenario,
    is_for_customers,
)
from engines.scenarios.core.plan import ACTION, ACTION_TYPE, Node, StepTypes, build_graph, find_endless_loops, find_reached
from engines.scenarios.core.spoken import find_spoken
from engines.scenarios.core.step_types import StepMistake, is_later
from engines.scenarios.core.text_order import find_typed_texts, list_ordered_texts
from orchestrator.definitions.mistakes import SENTENCES as COMMON
from orchestrator.definitions.mistakes import Suggestions, report_missing, report_mistake
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_args, quote_part, quote_sentence
from orchestrator.domain.finding import DefinitionRefused, Finding, Path, Severity, format_path
from orchestrator.expressions.conditions import Condition, compile_condition
from orchestrator.expressions.paths import parse_path
from orchestrator.expressions.placeholders import SCENARIO, Template, TemplateRefused
from state.stored import JsonObject

SENTENCES: Final[dict[str, str]] = {
    "finding-step-id-twice": 'there is a step "{name}" already',
    "finding-step-type-unknown": 'there is no type of steps "{name}"',
    "finding-action-type-unknown": 'there is no action "{name}"',
    "finding-step-target-unknown": 'there is no step "{name}"',
    "finding-step-target-variable": 'a run goes to a step that its author names, not to one that a variable does: "{name}"',
    "finding-branch-condition-missing": "the branch has no condition",
    "finding-branch-ways-missing": "the branch leads nowhere: it needs branches with if and else",
    "finding-field-elsewhere": 'the field "{name}" has an effect only in a step of type branch',
    "finding-loop-endless": "the steps {names} repeat without end: there is no question, wait or condition between them",
    "finding-step-unreachable": "nothing leads to this step",
    "finding-variable-unset": 'nothing sets the variable "{name}": whoever starts the scenario has to give it',
    "finding-variable-reserved": 'the name "{name}" is taken: only the program gives it a value',
    "finding-variable-unreached": 'no placeholder reaches a variable "{name}": letters, digits, _ and - behind a letter or _ can be read',
    "finding-variable-keyword": 'a condition cannot read "{name}" by its name: only {{{name}}} and context["{name}"] can',
    "finding-schedule-when": "exactly one of run_in_seconds, at and cron says when it starts",
    "finding-schedule-terms": "it would never start: {problem}",
    "finding-part-of-text": "{name} is the text of a model and has no parts: add output: json to its step",
    "finding-required-of-text": "what is required is looked for in JSON: add output: json",
    "finding-prompt-missing": "the model is asked nothing: a prompt or messages are needed",
    "finding-bounds-crossed": "no answer fits: {least} is more than {most}",
    "finding-bound-day": "{name} must be a day such as 2026-12-31, or a moment such as 2026-12-31T15:00:00+03:00",
    "finding-bound-useless": "{name} has no effect on an answer of type {type}",
    "finding-texts-ordered": "letters decide here, as {name} is a text: ask with type: date or number, and write a day as 2026-12-31",
    "finding-path-outside": "no file of the folder of files can be called so: {problem}",
    "finding-buttons-equal": 'there is a button "{name}" already: nobody can tell them apart',
    "finding-answer-never": 'nobody can answer "{name}": answers are exactly what the buttons and choices say',
    "finding-update-twice": "{name} is a part of {whole}, which this step sets too: set them in two steps",
    "finding-names-alike": "{name} and {other} differ in capitals alone and are two variables",
    "finding-mapping-missing": "without output_mapping the sub-scenario overwrites all variables of the same names",
    "finding-step-internal": "{name} answers from all that the company knows, so it is not for a scenario for customers",
    "finding-address-host-open": "the host of the address is a fixed text: placeholders may stand behind it only",
    "finding-address-odd": "the address cannot be used: {problem}",
    "finding-pattern-wrong": "the expression regex cannot be read: {problem}",
    "finding-scenario-elsewhere": 'no file beside this one is called "{name}": a scenario of this key has to be published',
    "finding-scenario-name-missing": "the scenario has no name: people will see its key instead",
}


SYSTEM_NAMES: Final = (
    *("__current_scenario_id__", "__scenario_instance_id__", AGENT),
    "text",
    *sorted(ABOUT_PERSON),
    *(RESERVED + name for name in sorted(ABOUT_PERSON)),
)
"""Variables that every run has."""
_NAMING: Final = ("updates", "values", "output_mapping")
TAKEN: Final = "finding-variable-reserved"
UNREACHED: Final = "finding-variable-unreached"
TOLD_LATE: Final = (
    "finding-schedule-when",
    "finding-schedule-terms",
    "finding-prompt-missing",
    "finding-bounds-crossed",
    "finding-path-outside",
    "finding-buttons-equal",
)
"""They ended a run at its step, and no check looked for them once."""
_HANDED_ON: Final = ("input_parameters", "context_to_pass")
_SHOWN_LOOP: Final = 6
_SENTENCES: Final = {**COMMON, **SENTENCES}


def check_scenario(document: Document, types: StepTypes) -> Iterable[Finding]:
    checking = _Checking(document, types)
    checking.check()
    return checking.findings.list_all()


class _Checking:
    def __init__(self, document: Document, types: StepTypes) -> None:
        self.findings = Findings(document)
        self._data, self._types, self._document = document.data, types, document
        self._reads: list[tuple[str, Path]] = []
        self._parts: list[tuple[str, Path]] = []
        self._conditions: list[tuple[str, Path]] = []
        self._suggest = Suggestions().find

    def check(self) -> None:
        findings = self.findings
        report_model_mistakes(findings, Scenario, self._data, ())
        if not isinstance(self._data, Mapping):
            return
        self._warn_of_misspelt_fields((), self._data, SCENARIO_FIELDS)
        if not self._data.get("name"):
            self._add("finding-scenario-name-missing", (), severity="warning")
        steps = self._data.get("steps")
        if not isinstance(steps, list):
            return
        nodes = build_graph(steps, self._types)
        self._check_ids(steps)
        ids = dict.fromkeys(node.id for node in nodes if node.id)
        for node, step in zip(nodes, steps, strict=True):
            if isinstance(step, Mapping):
                self._check_step(node, step)
            self._check_targets(node, ids)
        self._check_loops(nodes)
        reached = find_reached(nodes)
        for node in nodes:
            if node.index not in reached:
                self._add("finding-step-unreachable", ("steps", node.index), severity="warning")
        self._check_variables(nodes)
        self._check_orders(nodes)
        self._check_alike(nodes)
        self._check_parts(nodes)

    def _check_ids(self, steps: Sequence[object]) -> None:
        seen: set[str] = set()
        for index, step in enumerate(steps):
            name = step.get("id") if isinstance(step, Mapping) else None
            if isinstance(name, str) and name:
                if name in seen:
                    self._add("finding-step-id-twice", ("steps", index, "id"), name=quote_part(name))
                seen.add(name)

    def _check_targets(self, node: Node, ids: Mapping[str, None]) -> None:
        for target in node.targets:
            name = quote_part(target.id)
            if is_later(target.id):
                self._add("finding-step-target-variable", target.path, name=name)
            elif target.id not in ids:
                self._add("finding-step-target-unknown", target.path, suggestion=self._suggest(target.id, ids), name=name)

    def _check_step(self, node: Node, step: JsonObject) -> None:
        path: Path = ("steps", node.index)
        self._warn_of_misspelt_fields(path, step, STEP_FIELDS)
        kind = step.get("type")
        if node.type is None:
            if isinstance(kind, str) and kind:
                self._report_unknown_type(path, kind, node.params)
            return
        step_params = {name: param for name, param in node.params.items() if not (kind == ACTION and name == ACTION_TYPE)}
        params: Path = (*path, "params")
        report_model_mistakes(self.findings, node.type.params, step_params, params, is_open=is_later)
        for name in sorted(node.type.needs - step_params.keys()):
            report_missing(self.findings, params, name)
        fields = tuple(node.type.params.model_fields)
        if fields:
            self._warn_of_misspelt_fields(params, step_params, fields, every=True)
        fixed = node.type.unfilled.union(str(place[0]) for place, _ in node.type.list_targets(step_params))
        self._read_templates({name: one for name, one in step_params.items() if name not in fixed}, params)
        self._check_pattern(params, step_params)
        self._check_branch(node, step, path)
        if node.type.is_internal and is_for_customers(self._data):
            self._add("finding-step-internal", (*path, "type"), name=node.type.name)
        for place, source in node.type.list_expressions(node.params):
            self._check_condition(source, (*params, *place))
        self._report_mistakes(node.type.list_mistakes(step_params), params)
        for name in node.type.list_outputs(node.params):
            if name.startswith(RESERVED) or name.split(".")[0] == AGENT:
                self._add(TAKEN, (*params, *_find_name(step_params, name)), name=quote_part(name))
            self._check_name(name, (*params, *_find_name(step_params, name)))
        if node.type.name == "execute_sub_scenario" and "output_mapping" not in step_params:
            self._add("finding-mapping-missing", params, severity="warning")

    def _report_mistakes(self, mistakes: Iterable[StepMistake], params: Path) -> None:
        for mistake in mistakes:
            args = quote_args(mistake.args)
            self.findings.add(
                mistake.code, _SENTENCES[mistake.code].format(**args), (*params, *mistake.path), args=args, severity=mistake.severity
            )

    def _report_unknown_type(self, path: Path, kind: str, params: JsonObject) -> None:
        if kind != ACTION:
            known = (*self._types, ACTION)
            self._add("finding-step-type-unknown", (*path, "type"), suggestion=self._suggest(kind, known), name=quote_part(kind))
            return
        action_type = params.get(ACTION_TYPE)
        if not isinstance(action_type, str):
            report_missing(self.findings, (*path, "params"), ACTION_TYPE)
            return
        actions = [name for name, type_ in self._types.items() if type_.is_action]
        place = (*path, "params", ACTION_TYPE)
        self._add("finding-action-type-unknown", place, suggestion=self._suggest(action_type, actions), name=quote_part(action_type))

    def _check_branch(self, node: Node, step: JsonObject, path: Path) -> None:
        is_branch = node.type is not None and node.type.decides
        for name in ("condition", "branches"):
            if name in step and not is_branch:
                self._add("finding-field-elsewhere", (*path, name), severity="warning", name=name)
        if not is_branch:
            return
        condition = step.get("condition")
        if isinstance(condition, str) and condition.strip():
            self._check_condition(condition, (*path, "condition"))
        elif condition is None or condition == "":
            self._add("finding-branch-condition-missing", path)
        branches = step.get("branches")
        if branches is None or (isinstance(branches, Mapping) and not any(way in branches for way in ("if", "else"))):
            self._add("finding-branch-ways-missing", path)

    def _check_condition(self, source: str, path: Path) -> None:
        compiled = self._compile(source, path)
        self._conditions.append((source, path))
        for name in sorted(compiled.reads or ()) if compiled is not None else ():
            self._reads.append((name, path))

    def _compile(self, source: str, path: Path) -> Condition | None:
        try:
            return compile_condition(source)
        except DefinitionRefused as error:
            for finding in error.findings:
                line, column = self._document.find_inside(path, finding.line, finding.column)
                step = self._document.find_step(path)
                self.findings.append(replace(finding, path=format_path(path), line=line, column=column, step=step))
            return None

    def _check_pattern(self, path: Path, params: JsonObject) -> None:
        pattern = params.get("regex")
        if isinstance(pattern, str) and pattern:
            try:
                compile_pattern(pattern)
            except ValueError as error:
                self._add("finding-pattern-wrong", (*path, "regex"), problem=quote_sentence(str(error)))

    def _read_templates(self, params: JsonObject, path: Path) -> None:
        try:
            template = Template(params, SCENARIO)
        except TemplateRefused as error:
            finding = error.finding
            self.findings.add(finding.code, finding.message, path, args=dict(finding.args))
            return
        self._reads.extend((place.name, (*path, *place.at)) for place in template.placeholders)
        self._parts.extend((place.name, (*path, *place.at)) for place in template.placeholders if len(place.path) > 1)

    def _check_loops(self, nodes: Sequence[Node]) -> None:
        for loop in find_endless_loops(nodes):
            loop_ids = [nodes[place].id or f"{place + 1}" for place in loop[:_SHOWN_LOOP]]
            names = " → ".join(quote_part(one) for one in loop_ids) + (" → …" if len(loop) > _SHOWN_LOOP else "")
            self._add("finding-loop-endless", ("steps", min(loop)), names=names)

    def _check_variables(self, nodes: Sequence[Node]) -> None:
        """Warn of variables that only a caller may set."""
        initial = self._data.get("initial_context")
        known = {*SYSTEM_NAMES, *(initial if isinstance(initial, Mapping) else ())}
        self._check_values(initial, ("initial_context",))
        for node in nodes:
            for field in _HANDED_ON:
                self._check_values(node.params.get(field), ("steps", node.index, "params", field))
        for node in nodes:
            if node.type is None:
                return
            known.update(name.split(".")[0] for name in node.type.list_outputs(node.params))
            if node.type.name == "execute_sub_scenario" and "output_mapping" not in node.params:
                return
        reported: set[str] = set()
        for name, path in self._reads:
            if name not in known and name not in reported:
                reported.add(name)
                suggestion = self._suggest(name, known)
                self._add("finding-variable-unset", path, severity="warning", suggestion=suggestion, name=quote_part(name))

    def _check_alike(self, nodes: Sequence[Node]) -> None:
        initial = self._data.get("initial_context")
        seen = {str(name).casefold(): str(name) for name in (*SYSTEM_NAMES, *(initial if isinstance(initial, Mapping) else ()))}
        for node in nodes:
            for output in node.type.list_outputs(node.params) if node.type is not None else ():
                name = output.split(".")[0]
                other = seen.setdefault(name.casefold(), name)
                if other != name:
                    place = ("steps", node.index, "params", *_find_name(node.params, output))
                    self._add("finding-names-alike", place, severity="warning", name=quote_part(name), other=quote_part(other))
                    seen[name.casefold()] = name

    def _check_orders(self, nodes: Sequence[Node]) -> None:
        steps = [(node.type.name, node.params) for node in nodes if node.type is not None]
        set_otherwise = {
            name for node in nodes if node.type is not None and not node.type.asks for name in node.type.list_outputs(node.params)
        }
        initial = self._data.get("initial_context")
        typed = find_typed_texts(steps) - set_otherwise - set(initial if isinstance(initial, Mapping) else ())
        days = frozenset(name for name, kind in find_spoken(steps).items() if kind in DAYS)
        for source, path in self._conditions:
            for name in dict.fromkeys(list_ordered_texts(source, typed, days)):
                self._add("finding-texts-ordered", path, severity="warning", name=quote_part(name))

    def _check_parts(self, nodes: Sequence[Node]) -> None:
        texts: set[str] = set()
        initial = self._data.get("initial_context")
        others = set(initial) if isinstance(initial, Mapping) else set()
        for node in nodes:
            if node.type is not None:
                names = texts if node.type.gives_text(node.params) else others
                names.update(name.split(".")[0] for name in node.type.list_outputs(node.params))
        for name, path in dict(self._parts).items():
            if name in texts - others:
                self._add("finding-part-of-text", path, severity="warning", name=quote_part(name))

    def _check_values(self, variables: object, path: Path) -> None:
        for name in variables if isinstance(variables, Mapping) else ():
            if str(name).startswith(RESERVED) or name == AGENT:
                self._add(TAKEN, (*path, name), severity="warning" if name == AGENT else "error", name=quote_part(str(name)))
            self._check_name(str(name), (*path, name))

    def _check_name(self, name: str, path: Path) -> None:
        if parse_path(name) is None or [str(part) for part in parse_path(name) or ()] != name.split("."):
            self._add(UNREACHED, path, name=quote_part(name))
        elif keyword.iskeyword(name.split(".", maxsplit=1)[0]):
            self._add("finding-variable-keyword", path, severity="warning", name=quote_part(name.split(".", maxsplit=1)[0]))

    def _warn_of_misspelt_fields(self, path: Path, fields_json: JsonObject, known: Sequence[str], *, every: bool = False) -> None:
        """Warn of names like one of `known`, or with `every` of all that are none: they have no effect (S000-11)."""
        wrong = [name for name in fields_json if name not in known and (every or self._suggest(name, known))]
        for name in wrong:
            place, near = (*path, name), self._suggest(name, known)
            report_mistake(self.findings, "finding-field-unknown", place, severity="warning", suggestion=near, name=quote_part(name))

    def _add(self, code: str, path: Path, *, severity: Severity = "error", suggestion: str = "", **args: str | int) -> None:
        report_mistake(self.findings, code, path, sentences=SENTENCES, severity=severity, suggestion=suggestion, of_value=False, **args)


def _find_name(params: JsonObject, name: str) -> Path:
    """Where the step names this variable; () if it has the usual name."""
    for param, value in params.items():
        if value == name:
            return (param,)
        if param in _NAMING and isinstance(value, Mapping) and name in value:
            return (param, name)
        if param in _NAMING and isinstance(value, list) and name in value:
            return (param, value.index(name))
    return ()

"""The mistakes of workflows (S003-X6), and the report that they enter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from engines.workflows.core.definition import PROPOSAL, VARIABLE
from orchestrator.definitions.mistakes import Suggestions
from orchestrator.documents.findings import MOST, Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Path, Severity

Grade = Literal["Hint", "Warning", "Error", "Fatal"]
Rule = Literal["DataFlow", "SingleInTuum", "InLastTuum", "InFrontOf", "Behind", "Form"]
"""What is broken; the last one is ours."""
SEVERITIES: Final[Mapping[Grade, Severity]] = {"Hint": "info", "Warning": "warning", "Error": "error", "Fatal": "error"}


@dataclass(frozen=True, slots=True)
class Mistake:
    """One kind of mistakes."""

    grade: Grade
    rule: Rule
    sentence: str
    """In English, with arguments in braces; the Fluent files have the same for people."""


MISTAKES: Final[Mapping[str, Mistake]] = {
    "finding-workflow-cycle": Mistake("Fatal", "DataFlow", "CircularDependency: each of these tuums waits for the one before it: {names}"),
    "finding-workflow-two-producers": Mistake("Fatal", "DataFlow", 'two tuums publish "{name}": {first} and {second}'),
    "finding-workflow-names-alike": Mistake(
        "Warning", "DataFlow", '"{name}" and "{other}" differ in capitals alone, and a placeholder takes either'
    ),
    "finding-workflow-no-source": Mistake("Fatal", "DataFlow", 'no tuum publishes "{name}", and no trigger parameter is called so'),
    "finding-workflow-tuum-missing": Mistake("Fatal", "Form", 'the tuum "{name}" is not at hand'),
    "finding-workflow-reference-field": Mistake(
        "Warning", "Form", '"{name}" has no effect beside tuum: the tuum that is named here has its own'
    ),
    "finding-workflow-rune-unfit": Mistake("Fatal", "Form", 'the tuum {tuum} has a rune of type "{name}" that this program cannot run'),
    "finding-workflow-types": Mistake("Error", "DataFlow", '"{name}" is {given} where it comes from, and {wanted} here'),
    "finding-workflow-terminal-twice": Mistake("Error", "InLastTuum", "the result is said twice: a workflow has one terminal"),
    "finding-workflow-terminal-inside": Mistake(
        "Error", "InLastTuum", 'others wait for this tuum, such as "{name}", so it cannot make the result'
    ),
    "finding-workflow-terminal-empty": Mistake("Warning", "DataFlow", 'nothing gives "{name}": that part of the result will be empty'),
    "finding-workflow-output-unused": Mistake("Warning", "DataFlow", 'no tuum reads "{name}", and it is no part of the result'),
    "finding-workflow-template-empty": Mistake("Warning", "DataFlow", 'nothing gives "{name}": nothing will stand in its place'),
    "finding-workflow-template-form": Mistake(
        "Warning",
        "DataFlow",
        "{name} stays in the text as it is written: the name of a variable stands in the braces, or a path such as deal.TITLE",
    ),
    "finding-workflow-parameter-optional": Mistake("Warning", "DataFlow", 'this fails if the start does not give the parameter "{name}"'),
    "finding-workflow-parameter-unused": Mistake("Hint", "DataFlow", 'no tuum reads the parameter "{name}"'),
    "finding-workflow-parameter-record": Mistake(
        "Error", "DataFlow", '"{name}" is the number of the record on which the workflow works: no parameter may be called so'
    ),
    "finding-workflow-name-form": Mistake(
        "Error", "Form", '"{name}" is no name of a variable: it begins with a letter and has at most 100 letters, digits and _'
    ),
    "finding-workflow-title-missing": Mistake("Warning", "Form", "there is no title: people will see the name instead"),
    "finding-workflow-budget-steps": Mistake(
        "Warning", "Form", "maxSteps bounds nothing here, for each tuum runs once: write maxTokens, maxCost or maxSeconds"
    ),
    "finding-workflow-all-off": Mistake("Warning", "Form", "no tuum takes part"),
    "finding-tuum-variable-unmapped": Mistake("Error", "DataFlow", 'no input is mapped to "{name}", and nothing before this gives it'),
    "finding-tuum-variable-late": Mistake("Error", "Behind", '"{name}" is made behind this, in the same tuum'),
    "finding-tuum-output-missing": Mistake("Error", "DataFlow", 'nothing in this tuum gives "{name}"'),
    "finding-tuum-input-unused": Mistake("Hint", "DataFlow", 'nothing in this tuum reads "{name}"'),
    "finding-tuum-variable-unused": Mistake("Hint", "DataFlow", 'nothing reads "{name}", and it is not published'),
    "finding-tuum-prompt-missing": Mistake("Error", "InFrontOf", "the prompt is needed here, and no rune before this adds to it"),
    "finding-tuum-prompt-unused": Mistake(
        "Warning", "InFrontOf", "a prompt is built, and no model is asked with it: there is no aiService"
    ),
    "finding-tuum-streaming-idle": Mistake("Warning", "InFrontOf", "isStreaming has no effect without aiService"),
    "finding-tuum-callback-idle": Mistake("Warning", "InFrontOf", "chunkCallback never runs: it needs aiService and isStreaming"),
    "finding-tuum-variable-replaced": Mistake("Error", "DataFlow", 'the program itself sets "{name}" here: give it another name'),
    "finding-tuum-not-proposed": Mistake("Error", "Form", '"{name}" is not in mayPropose of this tuum'),
    "finding-tuum-proposal-form": Mistake("Error", "Form", '"{name}" is no kind of operations: one looks like ModifyEntity deal'),
    "finding-tuum-proposes-nothing": Mistake("Error", "Form", 'mayPropose of this tuum is empty, so "{name}" cannot hold operations'),
    "finding-tuum-empty": Mistake("Warning", "Form", "this tuum does nothing"),
    "finding-tuum-terminal-twice": Mistake("Error", "SingleInTuum", "a tuum has one terminal"),
    "finding-tuum-ai-twice": Mistake("Warning", "SingleInTuum", "this tuum asks a model by aiService already"),
    "finding-rune-type-unknown": Mistake("Fatal", "Form", 'there is no type of runes "{name}"'),
    "finding-rune-not-preparing": Mistake("Error", "InFrontOf", "a rune of type {name} cannot stand among those that build the prompt"),
    "finding-rune-field-unknown": Mistake("Warning", "Form", 'runes of type {type} have no field "{name}"'),
    "finding-rune-template": Mistake("Error", "Form", "this cannot be filled in: {problem}"),
    "finding-rune-wrong": Mistake("Error", "Form", "this rune cannot run: {problem}"),
    "finding-rune-pattern": Mistake("Error", "Form", "the expression cannot be read: {problem}"),
    "finding-rune-group": Mistake("Error", "Form", 'the expression has no group "{name}"'),
    "finding-rune-path": Mistake("Error", "Form", '"{name}" is no path: one looks like items[0].title'),
    "finding-rune-method-template": Mistake("Error", "Form", 'a method stands in the definition itself: "{name}"'),
    "finding-rune-operation-lacks": Mistake("Error", "Form", "{operation} needs {name}"),
    "finding-rune-operation-extra": Mistake("Error", "Form", "{operation} has no {name}"),
    "finding-rune-operation-deletes": Mistake(
        "Warning", "Form", "a deletion will probably be refused, and with it all that the workflow proposes"
    ),
    "finding-rune-incremental-type": Mistake("Warning", "Form", "incrementalType has no effect unless updateMode is Incremental"),
    "finding-workflow-scripts-many": Mistake("Warning", "Form", "only {most} different scripts are checked, and this is not one of them"),
    "finding-workflow-scripts-unchecked": Mistake("Warning", "Form", "scripts could not be checked from here on: {problem}"),
    "finding-script-variable-word": Mistake("Error", "Form", 'a script cannot read "{name}": it is a word of the language'),
}


_MOST_NAMES: Final = 30
_PATTERNS: Final[Mapping[str, str]] = {VARIABLE: "finding-workflow-name-form", PROPOSAL: "finding-tuum-proposal-form"}


class Report:
    def __init__(self, findings: Findings, *, suggests: bool = True) -> None:
        """Without `suggests` no near names are looked for, which takes time."""
        self.findings = findings
        self.suggest = Suggestions(MOST if suggests else 0).find

    @property
    def has_errors(self) -> bool:
        return self.findings.has_errors

    def add(
        self, code: str, path: Path, *, names: Sequence[str] = (), suggestion: str = "", of_value: bool = False, **args: str | int
    ) -> None:
        """Add a mistake about what is at `path`; texts in `args` are cut.

        `names` are tuums, of which the first are told, with arrows between them.
        """
        mistake = MISTAKES[code]
        quoted_args = {name: arg if isinstance(arg, int) else quote_part(arg) for name, arg in args.items()}
        if names:
            quoted_args["names"] = " -> ".join([*names[:_MOST_NAMES], *(["…"] if len(names) > _MOST_NAMES else [])])
        self.findings.add(
            code,
            mistake.sentence.format(**quoted_args),
            path,
            severity=SEVERITIES[mistake.grade],
            suggestion=suggestion,
            of_value=of_value,
            args={**quoted_args, "rule": mistake.rule, "grade": mistake.grade},
        )

    def explain(self, pattern: str, path: Path, value: str) -> bool:
        """Report a text that does not fit; return whether the pattern is one of the form."""
        code = _PATTERNS.get(pattern)
        if code is not None:
            self.add(code, path, of_value=True, name=value)
        return code is not None

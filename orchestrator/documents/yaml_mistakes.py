"""Says in an author's words what the parser of YAML says in its own."""

from typing import Final

import yaml

from orchestrator.documents.reports import Reports

_PROBLEMS: Final = (
    ("mapping values are not allowed", "finding-yaml-colon"),
    ("could not find expected ':'", "finding-yaml-colon-missing"),
    ("cannot start any token", "finding-yaml-character"),
    ("unexpected end of stream", "finding-yaml-quote"),
    ("unexpected document indicator", "finding-yaml-quote"),
    ("unknown escape", "finding-bad-escape"),
    ("did not find expected hexdecimal", "finding-bad-escape"),
    ("expected escape sequence", "finding-bad-escape"),
    ("invalid Unicode character", "finding-lone-surrogate"),
    ("',' or", "finding-yaml-flow"),
    ("did not find expected", "finding-yaml-indent"),
    ("block sequence entries are not allowed", "finding-yaml-indent"),
    ("block mapping keys are not allowed", "finding-yaml-indent"),
    ("but found", "finding-yaml-indent"),
    ("nesting", "finding-document-deep"),
)
"""What the parser says, as a part of its text, and the finding that it becomes."""
_IN_ESCAPE: Final = frozenset({"finding-bad-escape", "finding-lone-surrogate"})
_LAST: Final = frozenset({"finding-yaml-flow", "finding-yaml-indent", "finding-document-deep"})


def report_syntax(error: yaml.MarkedYAMLError, text: str, reports: Reports) -> int:
    """Report a mistake of syntax where the author can mend it.

    Return its line, 0 if what follows it cannot be judged because it may belong to what is not closed.
    """
    problem = error.problem or str(error)
    code = next((code for part, code in _PROBLEMS if part in problem), "finding-yaml-syntax")
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark is not None else 0
    if code == "finding-yaml-quote" and error.context_mark is not None:
        at = error.context_mark.index
    sign = text[at : at + 1]
    if code == "finding-yaml-character" and sign == "\t":
        code = "finding-yaml-tab"
    if code in _IN_ESCAPE:
        at = max(text.rfind("\\", 0, at + 1), 0)
        sign = text[at : at + 2]
    reports.report(code, at, sign=sign, problem=problem, most=1000)
    return 0 if code in _LAST else reports.lines.locate(at)[0]

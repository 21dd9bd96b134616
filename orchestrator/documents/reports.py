"""How the readers report mistakes, and numbers, alike for JSON and YAML; what two programs could read differently is refused."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from orchestrator.documents.document import LineIndex
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Finding, Path, Severity, format_path
from state.canonical import to_storable_text

SENTENCES: Final[dict[str, str]] = {
    # the text as a whole
    "finding-document-empty": "the document is empty",
    "finding-document-large": "the document has {size} bytes, at most {most} are read",
    "finding-document-encoding": "the text is not UTF-8: save it as UTF-8",
    "finding-document-deep": "values are nested deeper than {most} levels",
    "finding-document-wide": "the document has more than {most} values",
    "finding-text-after-end": "there is text after the end of the document",
    # texts and numbers
    "finding-duplicate-key": 'the key "{key}" stands twice in this object, first in line {first}',
    "finding-number-large": "the integer {number} is too large to be exact: write it in quotes",
    "finding-number-not-finite": "{number} is not a number that can be stored",
    "finding-number-form": "{number} is not written as a number",
    "finding-zero-character": "a text may not hold the character NUL",
    "finding-lone-surrogate": "the text holds half of a character ({sign}): write the character itself",
    "finding-control-character": "the character {sign} may not stand here unescaped",
    "finding-bad-escape": "there is no escape {sign}: a backslash itself is written twice",
    # JSON
    "finding-text-unclosed": "the text that begins here has no closing quote in its line",
    "finding-comment-unclosed": "the comment that begins here has no end",
    "finding-comment-form": "a comment begins with //",
    "finding-quotes-form": "a text stands between straight double quotes",
    "finding-key-unquoted": 'the key {key} must stand in quotes: "{key}"',
    "finding-key-missing": "a key in quotes is missing here",
    "finding-colon-missing": 'a colon is missing after the key "{key}"',
    "finding-colon-form": 'a colon and not = stands after the key "{key}"',
    "finding-value-missing": 'the value of the key "{key}" is missing',
    "finding-comma-missing": "a comma is missing before this",
    "finding-comma-extra": "there is a comma too many",
    "finding-word-unknown": "{word} is no JSON value: a text must stand in quotes",
    "finding-character-unexpected": "{sign} may not stand here",
    "finding-bracket-unclosed": "the {sign} that begins here is not closed",
    "finding-bracket-extra": "this {sign} closes nothing",
    "finding-bracket-other": "this {sign} does not match the {open} in line {first}",
    # YAML
    "finding-yaml-syntax": "the YAML cannot be read here: {problem}",
    "finding-yaml-colon": "a second colon in one line: put the text after the first into quotes",
    "finding-yaml-colon-missing": "a key without a colon and a value",
    "finding-yaml-character": "no value may begin with {sign}: put it into quotes",
    "finding-yaml-tab": "a tab in the indentation: use spaces",
    "finding-yaml-indent": "the indentation does not fit the lines above, or a quote is not closed",
    "finding-yaml-flow": "a comma or a closing bracket is missing",
    "finding-yaml-quote": "a text is not closed by its quote",
    "finding-yaml-tag": "the tag {sign} is not supported: put the value into quotes if it is a text",
    "finding-yaml-alias": "anchors and aliases ({sign}) are not supported: write the value out",
    "finding-yaml-merge": "the merge key << is not supported: write the keys out",
    "finding-yaml-key": "a key must be a plain text",
    "finding-yaml-documents": "there is more than one document in the text",
    "finding-yaml-word": "{word} is read as a text: write {value} if true or false is meant, or put it into quotes",
}


MAX_DEPTH: Final = 100
MAX_VALUES: Final = 50_000
MAX_SAFE: Final = 2**53 - 1
_LONGEST_QUOTE: Final = 40
_LONGEST_SENTENCE: Final = 300


class ReadingStopped(Exception):
    """A limit is exceeded and reported; nothing more is read."""


AnyPath = Path | Callable[[], Path]
"""A path is only computed when there is something to report."""


class Reports:
    def __init__(self, lines: LineIndex) -> None:
        self.lines = lines
        self.findings = Findings()

    def report(
        self,
        code: str,
        offset: int,
        path: AnyPath = (),
        *,
        severity: Severity = "error",
        suggestion: str = "",
        **args: str | int,
    ) -> None:
        """Raises ReadingStopped if there are too many."""
        line, column = self.lines.locate(offset)
        quoted_args = quote_args(args)
        finding = Finding(
            code=code,
            message=SENTENCES[code].format(**quoted_args),
            path=to_storable_text(format_path(path if isinstance(path, tuple) else path())),
            line=line,
            column=column,
            severity=severity,
            suggestion=suggestion,
            args=quoted_args,
        )
        is_full = self.findings.is_full
        self.findings.append(finding)
        if is_full:
            raise ReadingStopped(code)

    def stop(self, code: str, offset: int, path: AnyPath = (), **args: str | int) -> ReadingStopped:
        """For a mistake after which nothing is read."""
        self.report(code, offset, path, severity="error", suggestion="", **args)
        return ReadingStopped(code)


def quote_args(args: Mapping[str, str | int]) -> dict[str, str | int]:
    """The problem as a sentence, all else as pieces of the document."""
    quote = {name: quote_sentence if name == "problem" else quote_part for name in args}
    return {name: quote[name](arg) if isinstance(arg, str) else arg for name, arg in args.items()}


def quote_sentence(text: str) -> str:
    """Cut only if very long."""
    return _quote(text, _LONGEST_SENTENCE)


def quote_part(text: str) -> str:
    """Cut, without characters that cannot be shown."""
    return _quote(text, _LONGEST_QUOTE)


def _quote(text: str, most: int) -> str:
    short = text if len(text) <= most else text[:most] + "…"
    visible = "".join(sign if sign.isprintable() or sign == " " else f"U+{ord(sign):04X}" for sign in short)
    return to_storable_text(visible)


JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MOST_DIGITS: Final = 400


def read_number(text: str, offset: int, path: AnyPath, reports: Reports) -> int | float:
    """0 if it is too large, which is reported."""
    if len(text) > _MOST_DIGITS:
        reports.report("finding-number-large", offset, path, number=text)
        return 0
    if text.lstrip("-").isdigit():
        number = int(text)
        if abs(number) <= MAX_SAFE:
            return number
        reports.report("finding-number-large", offset, path, number=text, suggestion=f'"{text}"' if len(text) < 100 else "")  # noqa: PLR2004
        return 0
    value = float(text)
    if math.isfinite(value):
        return value
    reports.report("finding-number-not-finite", offset, path, number=text)
    return 0

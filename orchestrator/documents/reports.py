"""How the readers report mistakes."""

from collections.abc import Callable, Mapping
from typing import Final

from orchestrator.documents.document import LineIndex
from orchestrator.documents.findings import Findings
from orchestrator.documents.sentences import SENTENCES
from orchestrator.domain.finding import Finding, Path, Severity, format_path
from state.canonical import to_storable_text

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

"""One mistake in a definition (a scenario, a flow, a workflow, an expression, a script), in the one shape in which every part reports it.

A finding says what is wrong, where, and how to mend it. `code` is a message of the Fluent files, which hold the sentence for people;
`message` is the same in English, for logs and for clients of the HTTP API.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from orchestrator.domain.outputs import Notice
from state.stored import JsonObject

Severity = Literal["error", "warning", "info"]
"""error: the definition cannot be used; warning: it can, but its author probably meant something else; info: worth knowing."""
Path = tuple[str | int, ...]
"""A place in a document: the keys and indexes that lead to it from the top."""
WHOLE: Final[Path] = ()
"""The path of the whole document."""
_PLAIN_KEY: Final = re.compile(r"[^\W\d]\w*", re.ASCII)
_PART: Final = re.compile(r'\.?([^\W\d]\w*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]', re.ASCII)
_LONGEST_KEY: Final = 60
_LONGEST_PATH: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One mistake in a definition, with its place; `line` and `column` count from 1 and are 0 if the place is not known."""

    code: str
    """The message of the Fluent files that tells people about it, such as "finding-duplicate-key"."""
    message: str
    """What is wrong and how to mend it, in English."""
    path: str = ""
    """Where in the document, such as `steps[3].branches.if`; "" for the whole document."""
    line: int = 0
    column: int = 0
    step: str = ""
    """The id of the step (node, task) in which it is; "" if it is in none."""
    severity: Severity = "error"
    suggestion: str = ""
    """What was probably meant: a name, or a text to write in its place; "" if nothing is near."""
    args: Mapping[str, str | int] = field(default_factory=dict)
    """The arguments of the sentence in the Fluent files."""

    @property
    def notice(self) -> Notice:
        """The sentence for people, with `path`, `line`, `column`, `step` and `suggestion` as arguments beside its own."""
        place = {"path": self.path, "line": self.line, "column": self.column, "step": self.step, "suggestion": self.suggestion}
        return Notice(code=self.code, args={**place, **self.args})

    def to_json(self) -> JsonObject:
        """Return the finding as clients get it."""
        return {
            "code": self.code,
            "message": self.message,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "step": self.step,
            "severity": self.severity,
            "suggestion": self.suggestion,
            "args": dict(self.args),
        }

    def __str__(self) -> str:
        """Return a line for logs: place, severity, message, suggestion."""
        place = f"{self.line}:{self.column} " if self.line else ""
        path = f"{self.path}: " if self.path else ""
        hint = f" (did you mean {self.suggestion}?)" if self.suggestion else ""
        return f"{place}{self.severity} {path}{self.message}{hint}"


class DefinitionRefused(ValueError):
    """A definition cannot be used. `findings` says why; at least one of them is an error."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Keep the findings; the text of the error quotes the first ones."""
        super().__init__("; ".join(str(finding) for finding in findings[:5]) or "the definition is refused")
        self.findings = tuple(findings)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Return whether any of the findings keeps the definition from being used."""
    return any(finding.severity == "error" for finding in findings)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of their places; those without a place come first."""
    return sorted(findings, key=lambda finding: (finding.line, finding.column, finding.path, finding.code))


def format_path(path: Iterable[str | int]) -> str:
    """Return a path as text: `steps[3].branches.if`; a key that is no plain word as `["a b"]`. Long keys and paths are cut."""
    parts: list[str] = []
    length = 0
    for part in path:
        text = _format_part(part, is_first=not parts)
        length += len(text)
        if length > _LONGEST_PATH:
            return "".join([*parts, "…"])
        parts.append(text)
    return "".join(parts)


def _format_part(part: str | int, *, is_first: bool) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if len(part) <= _LONGEST_KEY and _PLAIN_KEY.fullmatch(part):
        return part if is_first else f".{part}"
    short = part if len(part) <= _LONGEST_KEY else part[:_LONGEST_KEY] + "…"
    quoted = short.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{quoted}"]'


def parse_path(text: str) -> Path:
    """Return the path that `format_path` wrote as `text`. Raises ValueError for other texts."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            raise ValueError(f"no path: {text!r}")
        word, index, quoted = found.groups()
        parts.append(word if word is not None else int(index) if index is not None else re.sub(r"\\(.)", r"\1", quoted))
        at = found.end()
    return tuple(parts)

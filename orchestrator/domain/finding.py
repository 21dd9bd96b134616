import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from orchestrator.domain.outputs import Notice
from state.stored import JsonObject

Severity = Literal["error", "warning", "info"]
"""error: cannot be used; warning: probably meant otherwise; info: worth knowing."""
Path = tuple[str | int, ...]
WHOLE: Final[Path] = ()
_PLAIN_KEY: Final = re.compile(r"[^\W\d]\w*", re.ASCII)
_PART: Final = re.compile(r'\.?([^\W\d]\w*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]', re.ASCII)
_LONGEST_KEY: Final = 60
_LONGEST_PATH: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    code: str
    """Of the Fluent files: "finding-duplicate-key"."""
    message: str
    path: str = ""
    """Such as `steps[3].branches.if`; "" for the whole document."""
    line: int = 0
    column: int = 0
    step: str = ""
    severity: Severity = "error"
    suggestion: str = ""
    args: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def notice(self) -> Notice:
        place = {"path": self.path, "line": self.line, "column": self.column, "step": self.step, "suggestion": self.suggestion}
        return Notice(code=self.code, args={**place, **self.args})

    def to_json(self) -> JsonObject:
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
        """For logs."""
        place = f"{self.line}:{self.column} " if self.line else ""
        path = f"{self.path}: " if self.path else ""
        hint = f" (did you mean {self.suggestion}?)" if self.suggestion else ""
        return f"{place}{self.severity} {path}{self.message}{hint}"


class DefinitionRefused(ValueError):
    """At least one of `findings` is an error."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(str(finding) for finding in findings[:5]) or "the definition is refused")
        self.findings = tuple(findings)


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.line, finding.column, finding.path, finding.code))


def format_path(path: Iterable[str | int]) -> str:
    """`steps[3].branches.if`; other keys as `["a b"]`. Long ones are cut."""
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
    """The inverse of `format_path`. Raises ValueError."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            raise ValueError(f"no path: {text!r}")
        word, index, quoted = match.groups()
        parts.append(word if word is not None else int(index) if index is not None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
    return tuple(parts)

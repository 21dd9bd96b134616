"""Collects mistakes, and fills in their places in the document."""

from collections.abc import Iterable
from typing import Final

from orchestrator.documents.document import NO_PLACE, Document
from orchestrator.domain.finding import WHOLE, Finding, Path, Severity, format_path, sort_findings

MOST: Final = 200
"""Findings of one document; one more says that others were left out."""


LEFT_OUT: Final = "finding-more"
"""It stands last."""


class Findings:
    """Errors are kept before warnings when there are too many."""

    def __init__(self, document: Document | None = None, *, most: int = MOST) -> None:
        """Without a document they have no line, column and step."""
        self._document, self._most = document, most
        self._errors: list[Finding] = []
        self._others: list[Finding] = []
        self._left_out = 0

    @property
    def has_errors(self) -> bool:
        """The definition cannot be used."""
        return bool(self._errors)

    @property
    def is_full(self) -> bool:
        """A validator may stop."""
        return len(self._errors) >= self._most

    def add(  # noqa: PLR0913 - the fields of a finding
        self,
        code: str,
        message: str,
        path: Path = WHOLE,
        *,
        severity: Severity = "error",
        suggestion: str = "",
        step: str | None = None,
        of_value: bool = False,
        args: dict[str, str | int] | None = None,
    ) -> None:
        """`of_value` points at the value in place of its key. `step` replaces that of the document."""
        document = self._document
        line, column = document.find_position(path, of_value=of_value) if document else NO_PLACE
        if step is None:
            step = document.find_step(path) if document else ""
        self.append(
            Finding(
                code=code,
                message=message,
                path=format_path(path),
                line=line,
                column=column,
                step=step,
                severity=severity,
                suggestion=suggestion,
                args=args or {},
            )
        )

    def append(self, finding: Finding) -> None:
        """It is complete."""
        findings = self._errors if finding.severity == "error" else self._others
        if len(findings) < self._most:
            findings.append(finding)
        else:
            self._left_out += 1

    def extend(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.append(finding)

    def list_all(self) -> tuple[Finding, ...]:
        """By place, then one that says if others were left out."""
        findings = [*self._errors, *self._others[: self._most - len(self._errors)]]
        left_out = self._left_out + len(self._errors) + len(self._others) - len(findings)
        sorted_findings = sort_findings(findings)
        if left_out:
            sorted_findings.append(
                Finding(
                    code=LEFT_OUT,
                    message=f"only {self._most} findings are listed: mend these first",
                    severity="info",
                    args={"most": self._most},
                )
            )
        return tuple(sorted_findings)

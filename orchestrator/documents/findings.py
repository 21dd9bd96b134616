"""Collects the mistakes that a reader or a validator finds, and fills in where in the document they are."""

from collections.abc import Iterable
from typing import Final

from orchestrator.documents.document import NO_PLACE, Document
from orchestrator.domain.finding import WHOLE, Finding, Path, Severity, format_path, sort_findings

MOST: Final = 200
"""How many findings are reported of one document; one more says that others were left out."""


LEFT_OUT: Final = "finding-more"
"""The code of that one, which stands last."""


class Findings:
    """The findings about one document. Errors are kept before warnings when there are too many."""

    def __init__(self, document: Document | None = None, *, most: int = MOST) -> None:
        """Start without findings. Without a document they have no line, column and step."""
        self._document, self._most = document, most
        self._errors: list[Finding] = []
        self._others: list[Finding] = []
        self._left_out = 0

    @property
    def has_errors(self) -> bool:
        """Whether any finding so far keeps the definition from being used."""
        return bool(self._errors)

    @property
    def is_full(self) -> bool:
        """Whether further errors will be counted and left out, so that a validator may stop."""
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
        """Add a finding about what is at `path`; its line, column and step come from the document.

        `of_value` points at the value in place of its key. `step` replaces the step that the document says.
        """
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
        """Add a finding that is complete."""
        findings = self._errors if finding.severity == "error" else self._others
        if len(findings) < self._most:
            findings.append(finding)
        else:
            self._left_out += 1

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add complete findings, such as those of another reader or validator."""
        for finding in findings:
            self.append(finding)

    def list_all(self) -> tuple[Finding, ...]:
        """Return the findings in the order of their places, followed by one that says so if others were left out."""
        findings = [*self._errors, *self._others[: self._most - len(self._errors)]]
        left_out = self._left_out + len(self._errors) + len(self._others) - len(findings)
        found = sort_findings(findings)
        if left_out:
            found.append(
                Finding(
                    code=LEFT_OUT,
                    message=f"only {self._most} findings are listed: mend these first",
                    severity="info",
                    args={"most": self._most},
                )
            )
        return tuple(found)

"""The HTTP status with which a refused flow or agent is answered, by what is wrong with it (S002-44 … S002-48, S002-58, S002-X4)."""

from collections.abc import Iterable
from typing import Final

from orchestrator.domain.finding import Finding

MALFORMED: Final = 400
"""The document cannot be read, or it lacks fields or has such of wrong types: nobody can tell what it means."""
UNPROCESSABLE: Final = 422
"""Its form is right, and it names agents, steps or methods that are not there, or could never end."""
_OF_MEANING: Final = frozenset(
    {
        "finding-reference-unknown",
        "finding-reference-draft",
        "finding-reference-off",
        "finding-method-unknown",
        "finding-method-writes",
        "finding-flow-step-unknown",
        "finding-flow-success-open",
        "finding-flow-loop-endless",
        "finding-flow-reference-unknown",
        "finding-flow-field-excluded",
    }
)
"""The codes of findings that are answered with 422; every other error is one of form."""


def find_status(findings: Iterable[Finding]) -> int:
    """Return the status for these findings: that of an error of form if there is one among them."""
    return UNPROCESSABLE if all(finding.code in _OF_MEANING for finding in findings if finding.severity == "error") else MALFORMED

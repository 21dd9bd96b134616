"""What became of the changes that a run proposed, in the words of its result, of its last message and of the list of runs.

Engines report each operation as {…, status, error}. An operation that was not made is told in one line under the text of the author, who
wrote that before anybody decided.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import TOLD_BY_CARD, Changes

MADE: Final = frozenset({"succeeded", "planned", "already"})
"""The statuses of operations that nobody need be told of: their card, or the plan at the end, has said it."""
_DENIED: Final = "A person has denied it."
_EXPIRED: Final = "Nobody decided about it in time."
_BY_CARD: Final = {f"{TOLD_BY_CARD}denied": _DENIED, f"{TOLD_BY_CARD}expired": _EXPIRED}
_WHY: Final = {_DENIED: "denied", _EXPIRED: "expired"}


def explain_unmade(outcome: Outcome) -> str:
    """Return why an effect was not made, as an English sentence for programs; "" if it was made."""
    if outcome.status in MADE or outcome.already:
        return ""
    return _BY_CARD.get(outcome.reason.code if outcome.reason is not None else "", outcome.detail)


def find_untold_reason(outcome: Outcome) -> Notice | None:
    """Return why an effect was refused, None if it was not, or if its card says why."""
    reason = outcome.reason
    if outcome.status != "refused" or outcome.already or reason is None or reason.code.startswith(TOLD_BY_CARD):
        return None
    return reason


def count_changes(reports: Iterable[Mapping[str, object]]) -> Changes:
    """Return how many of the operations were made, and how many not."""
    statuses = [report.get("status") for report in reports]
    made = sum(status in MADE for status in statuses)
    return Changes(made=made, left=len(statuses) - made)


def build_left_notice(reports: Iterable[Mapping[str, object]]) -> Notice | None:
    """Return the line that says how many operations were not made, and whether people have decided so; None if all were."""
    told = tuple(reports)
    changes = count_changes(told)
    if not changes.left:
        return None
    errors = {str(report.get("error", "")) for report in told if report.get("status") not in MADE}
    why = _WHY.get(errors.pop(), "other") if len(errors) == 1 else "other"
    return Notice(code="run-changes-left", args={"made": changes.made, "left": changes.left, "why": why})

from collections.abc import Iterable, Mapping
from typing import Final

from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import TOLD_BY_CARD, Changes

MADE: Final = frozenset({"succeeded", "planned", "already"})
"""Statuses that the card or the plan has told already."""
_DENIED: Final = "A person has denied it."
_EXPIRED: Final = "Nobody decided about it in time."
_BY_CARD: Final = {f"{TOLD_BY_CARD}denied": _DENIED, f"{TOLD_BY_CARD}expired": _EXPIRED}
_WHY: Final = {_DENIED: "denied", _EXPIRED: "expired"}


def explain_unmade(outcome: Outcome) -> str:
    """In English, for programs; "" if it was made."""
    if outcome.status in MADE or outcome.already:
        return ""
    return _BY_CARD.get(outcome.reason.code if outcome.reason is not None else "", outcome.detail)


def find_untold_reason(outcome: Outcome) -> Notice | None:
    """None if it was not refused, or its card says why."""
    reason = outcome.reason
    if outcome.status != "refused" or outcome.already or reason is None or reason.code.startswith(TOLD_BY_CARD):
        return None
    return reason


def count_changes(reports: Iterable[Mapping[str, object]]) -> Changes:
    statuses = [report.get("status") for report in reports]
    made = sum(status in MADE for status in statuses)
    return Changes(made=made, left=len(statuses) - made)


def build_left_notice(reports: Iterable[Mapping[str, object]]) -> Notice | None:
    all_reports = tuple(reports)
    changes = count_changes(all_reports)
    if not changes.left:
        return None
    errors = {str(report.get("error", "")) for report in all_reports if report.get("status") not in MADE}
    why = _WHY.get(errors.pop(), "other") if len(errors) == 1 else "other"
    return Notice(code="run-changes-left", args={"made": changes.made, "left": changes.left, "why": why})

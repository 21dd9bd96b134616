"""Reports that stand in a chat; their buttons and a later question go on from the question of one."""

from typing import Any, Final

from pydantic import Field

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import SessionState
from state.stored import JsonObject

State = SessionState

KEEP_REPORTS: Final = 20
KEEP_BEFORE: Final = 10


class ReportShown(Event):
    """`before` are the questions that the message showed earlier, for its way back; the newest last."""

    report_id: str
    question: Personal[dict[str, Any]]
    before: Personal[list[dict[str, Any]]] = Field(default_factory=list)


def find_last_question(state: State) -> JsonObject | None:
    """Of the report that was shown last."""
    report = next(reversed(state.reports.values()), None) if state.reports else None
    return report["question"] if report is not None else None


def _fold_report(state: State, data: JsonObject, _ts: str) -> None:
    others = {key: report for key, report in (state.reports or {}).items() if key != data["report_id"]}
    kept = dict(list(others.items())[-KEEP_REPORTS + 1 :])
    before = list(data.get("before") or ())[-KEEP_BEFORE:]
    state.reports = {**kept, data["report_id"]: {"question": data["question"], "before": before}}


FOLDS: Final[dict[str, Fold]] = {"ReportShown": _fold_report}

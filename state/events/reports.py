"""Reports that stand in a chat; their buttons and a later question go on from the question of one."""

from typing import Any, Final

from pydantic import Field

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import SessionState
from state.model.shown_lists import ShownList, find_last_shown
from state.stored import JsonObject

State = SessionState

KEEP_REPORTS: Final = 20
KEEP_BEFORE: Final = 10


class ReportShown(Event):
    """`before` are the questions that the message showed earlier, for its way back; the newest last."""

    report_id: str
    by: str
    question: Personal[dict[str, Any]]
    changes: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """What each of its buttons changes in the question, in their order."""
    before: Personal[list[dict[str, Any]]] = Field(default_factory=list)


class RecordsShown(Event):
    """The records behind a number; row numbers refer to them from now on."""

    report_id: str
    lists: Personal[list[dict[str, Any]]]


def find_last_question(state: State, by: str) -> JsonObject | None:
    """Of the report that this person was shown last."""
    report = next((report for report in reversed((state.reports or {}).values()) if report["by"] == by), None)
    return report["question"] if report is not None else None


def _fold_report(state: State, data: JsonObject, _ts: str) -> None:
    others = {key: report for key, report in (state.reports or {}).items() if key != data["report_id"]}
    kept = dict(list(others.items())[-KEEP_REPORTS + 1 :])
    before = list(data.get("before") or ())[-KEEP_BEFORE:]
    report = {"by": data["by"], "question": data["question"], "changes": list(data.get("changes") or ()), "before": before}
    state.reports = {**kept, data["report_id"]: report}


def _fold_records(state: State, data: JsonObject, _ts: str) -> None:
    state.last_shown, state.last_asked = find_last_shown([ShownList.from_stored(one) for one in data["lists"]]), None


FOLDS: Final[dict[str, Fold]] = {"ReportShown": _fold_report, "RecordsShown": _fold_records}

"""The buttons under a report: the question with one thing changed, the way back, the records behind the number, a file, its definition."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.analytics.again import merge_question
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice, Reply, ReportPart, build_reply
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Reports, Tools
from orchestrator.turns.turn import admit_actor
from orchestrator.turns.turn_ending import build_report_key, read_shown_table
from state.events.base import Event
from state.events.reports import RecordsShown, ReportShown
from state.journal.store import InboxRow, OutboxRow
from state.stored import JsonObject

BUTTON: Final = "report"
BACK, RECORDS, FILE, HOW, PICTURE = "back", "list", "file", "how", "picture"
VARIANT: Final = "v"
"""Before the number of a change."""
_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class _Shown:
    row: OutboxRow
    toast: Notice
    events: Sequence[Event] = ()


class ReportButtons:
    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    async def apply(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Only for who asked; with the rights of now."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        words: list[str] = list(row.body.get("words") or ())
        report_id, wish = words[1:] if len(words) == _WORDS else ("", "")
        report = (session.state.reports or {}).get(report_id)
        if report is None:
            shown: _Shown | Notice = Notice(code="report-gone")
        elif report["by"] != actor.key:
            shown = Notice(code="report-of-another")
        else:
            shown = await self._show(report_id, report, wish, actor, session)
        callback = str(row.body.get("callback_id") or "")
        toast = shown if isinstance(shown, Notice) else shown.toast
        rows = [outbox.build_toast_row(session.key, callback, toast, session.now)] if callback else []
        if isinstance(shown, Notice):
            if not callback:  # a door without toasts
                rows = [outbox.build_reply_row(session.key, build_reply(shown), session.now)]
            await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])
        else:
            await session.commit(*shown.events, actor=actor.key, outbox=[*rows, shown.row], inbox_done=[row.id])

    async def _show(self, report_id: str, report: JsonObject, wish: str, actor: Actor, session: Session) -> _Shown | Notice:
        question, before = dict(report["question"]), list(report["before"])
        if wish == RECORDS:
            return await self._show_records(report_id, question, actor, session)
        if wish in {FILE, HOW}:
            answer = await self._answer(question, actor)
            return answer if isinstance(answer, Notice) else _show_beside(report_id, answer, wish, session)
        if wish == BACK and before:
            question = before.pop()
        elif (change := _find_change(report, wish)) is not None:
            before.append(question)
            question = merge_question(question, change)
        elif wish != PICTURE:
            return Notice(code="report-gone")
        answer = await self._answer(question, actor)
        return answer if isinstance(answer, Notice) else _replace(report_id, answer, before, actor, session)

    async def _answer(self, question: JsonObject, actor: Actor) -> ReportAnswer | Notice:
        answer = await self._reports.answer(question, sees=find_visible_users(actor), zone=actor.time_zone, locale=actor.locale)
        return Notice(code="report-trouble", args={"text": answer.text}) if isinstance(answer, ReportTrouble) else answer

    async def _show_records(self, report_id: str, question: JsonObject, actor: Actor, session: Session) -> _Shown | Notice:
        try:
            table = await self._reports.list_records(question, actor=actor)
        except BitrixError as error:
            return build_read_refusal(error).reason
        if isinstance(table, ReportTrouble):
            return Notice(code="report-trouble", args={"text": table.text})
        seen = read_shown_table(table, None, has_file=True)
        row = outbox.build_reply_row(session.key, Reply(parts=(table,)), session.now)
        return _Shown(row, Notice(code="report-records"), [RecordsShown(report_id=report_id, lists=[seen.to_stored()])])


def _find_change(report: JsonObject, wish: str) -> Mapping[str, object] | None:
    number = wish.removeprefix(VARIANT)
    changes = report["changes"]
    return changes[int(number)] if wish.startswith(VARIANT) and number.isdecimal() and int(number) < len(changes) else None


def _replace(report_id: str, answer: ReportAnswer, before: list[JsonObject], actor: Actor, session: Session) -> _Shown:
    changes = [dict(variant.change) for variant in answer.variants]
    shown = ReportShown(
        report_id=report_id, by=actor.key, question=dict(answer.question), changes=changes, before=[dict(one) for one in before]
    )
    reply = Reply(parts=(ReportPart(report_id=report_id, answer=answer, has_way_back=bool(before)),))
    row = outbox.build_reply_row(session.key, reply, session.now, key=build_report_key(report_id))
    return _Shown(row, Notice(code="report-changed"), [shown])


def _show_beside(report_id: str, answer: ReportAnswer, wish: str, session: Session) -> _Shown:
    if wish == FILE:
        part = ReportPart(report_id=report_id, answer=answer, is_file=True)
        return _Shown(outbox.build_reply_row(session.key, Reply(parts=(part,)), session.now), Notice(code="report-file"))
    reply = build_reply(*list_how(answer))
    return _Shown(outbox.build_reply_row(session.key, reply, session.now), Notice(code="report-how-shown"))


def list_how(answer: ReportAnswer) -> Iterator[Notice]:
    """Definition, periods, filter, and what is left out."""
    texts = {
        "definition": " ".join(filter(None, (answer.definition, answer.details))),
        "period": answer.period.text if answer.period else "",
        "compared": answer.compared.text if answer.compared else "",
        "filter": answer.filter_text,
    }
    for name, text in texts.items():
        if text:
            yield Notice(code=f"report-how-{name}", args={"text": text})
    yield Notice(code="report-how-records", args={"count": answer.records})
    for note in (*answer.remarks, *answer.notes, answer.as_of):
        if note:
            yield Notice(code="report-how-note", args={"text": note})


def build_feature(reports: Reports) -> Feature:
    return Feature(buttons={BUTTON: ReportButtons(reports).apply})

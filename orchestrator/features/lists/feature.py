"""«Excel» under a list: it is read anew with the rights of now, and comes as a table file."""

from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.answers import OutcomeView
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Outcome, Provenance
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Notice, Reply, SheetPart, build_reply
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from orchestrator.turns.turn_ending import LIST_BUTTON, shorten_turn
from state.journal.store import InboxRow
from state.model.session_state import SessionState
from state.model.shown_lists import ShownList

_WORDS: Final = 3


async def send_file(row: InboxRow, session: Session, tools: Tools) -> None:
    """Only to who asked for the list."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    words = FeatureClick.model_validate(row.body).words
    shown = find_list(session.state, *words[1:]) if len(words) == _WORDS else None
    if shown is None:
        sheet: SheetPart | Notice = Notice(code="list-gone")
    elif shown.by != actor.key:
        sheet = Notice(code="list-of-another")
    else:
        sheet = await _read_sheet(shown, actor, row, session, tools)
    if isinstance(sheet, Notice):
        rows = build_click_toasts(row, session, sheet) or [outbox.build_reply_row(session.key, build_reply(sheet), session.now)]
    else:
        toasts = build_click_toasts(row, session, Notice(code="report-file"))
        rows = [*toasts, outbox.build_reply_row(session.key, Reply(parts=(sheet,)), session.now)]
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


def find_list(state: SessionState, turn: str, place: str) -> ShownList | None:
    """None if the conversation does not hold it any more."""
    lists = (one for line in reversed(state.history) if shorten_turn(line.turn_id) == turn for one in line.shown_lists)
    return next((one for one in lists if one.place == place and one.method), None)


async def _read_sheet(shown: ShownList, actor: Actor, row: InboxRow, session: Session, tools: Tools) -> SheetPart | Notice:
    effect = Effect(method=shown.method, params=shown.params, slot=f"{LIST_BUTTON}:{row.id}", provenance=Provenance(message=None))
    mode = resolve_mode(tools.mode, actor)
    outcome = await tools.gate.submit(effect, actor=actor, mode=mode, turn_id=row.id, ledger=session)
    if not isinstance(outcome, Outcome) or outcome.status != "succeeded":
        reason = outcome.reason if isinstance(outcome, Outcome) else None
        return reason or Notice(code="list-unread")
    outcome = outcome.cut(shown.limit)
    try:
        seen: OutcomeView = await tools.queries["present"](outcome=outcome, actor=actor)
        if seen.table is None or not seen.table.rows:
            return Notice(code="list-unread")
        sheet: SheetPart = await tools.queries["sheet"](outcome=outcome, table=seen.table, fields=shown.fields, actor=actor)
    except BitrixError as error:
        return build_read_refusal(error).reason
    return sheet


def build_feature() -> Feature:
    return Feature(buttons={LIST_BUTTON: send_file})

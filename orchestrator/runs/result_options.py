"""Options in a finished workflow's message: a press hands their text into the chat.

Strangers may have written it, so it is quoted: a change that follows always asks.
"""

from collections.abc import Mapping
from typing import Final
from uuid import uuid5

from orchestrator.domain.inputs import FeatureClick, TextMessage
from orchestrator.domain.outputs import Notice
from orchestrator.engines.shared.rendering import OPTION, list_result_options
from orchestrator.language.lexicon import load_lexicon
from orchestrator.runs.listening import refuse_click
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import UUID_NAMESPACE
from state.events.runs import RunFinished
from state.journal.async_store import AsyncStore
from state.journal.run_index import PREFIX, RunFilter, RunRow
from state.journal.store import InboxRow

_CHOSEN: Final = load_lexicon("runs").read_titles("chosen")
_LAST: Final = 50
"""Last events searched for a run's end; a refused retry may follow it."""


async def take_option(row: InboxRow, session: Session, tools: Tools) -> None:
    """One request, however often it is pressed. Raises StoreError.

    Words: (`OPTION`, run id, number). Only the run's chat and owner may press.
    """
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, run_id, number = (*FeatureClick.model_validate(row.body).words, "", "")[:3]
    runs = await tools.store.list_runs(RunFilter(run_id=run_id)) if run_id else []
    run = runs[0] if runs and runs[0].home == session.key else None
    option = await _find_option(run, number, tools.store) if run is not None and run.owner == actor.key else ""
    if run is None or not option:
        code = "choice-not-yours" if run is not None and run.owner != actor.key else "choice-outdated"
        await session.commit(actor=actor.key, outbox=refuse_click(row, session, code), inbox_done=[row.id])
        return
    slot = f"{session.key}/{OPTION}/{run_id}/{number}"
    inbox_row = TextMessage(text=_CHOSEN[actor.locale], quoted=option, origin="button").to_row(
        session.key, source=f"press:{slot}", actor=row.actor, now=session.now, lane="turn", row_id=uuid5(UUID_NAMESPACE, slot).hex
    )
    is_known = await tools.store.find_inbox(inbox_row.source) is not None
    click_toasts = build_click_toasts(row, session, Notice(code="toast-already" if is_known else "toast-doing"))
    await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id], inbox_new=[] if is_known else [inbox_row])


async def _find_option(run: RunRow, number: str, store: AsyncStore) -> str:
    """Of the run's last result; "" if there is none."""
    key = f"{PREFIX}{run.run_id}"
    head, _ = await store.read_head(key)
    events = await store.read_events(key, after=max(0, head - _LAST), limit=_LAST)
    ended = next((RunFinished.from_data(event.data) for event in reversed(events) if event.type == RunFinished.__name__), None)
    result = ended.result if ended is not None and ended.status == "done" else None
    text = result.get("rawText") if isinstance(result, Mapping) else None
    options = list_result_options(text) if isinstance(text, str) else []
    places = {str(place): option for place, option in enumerate(options)}
    return places.get(number, "")

"""Registers what runs take in, takes the options of a result, and removes runs that ended long ago."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import uuid5

from orchestrator.domain.inputs import FeatureClick, TextMessage
from orchestrator.domain.outputs import Notice
from orchestrator.domain.run_inputs import (
    RunAnswer,
    RunAskAgain,
    RunChildEnd,
    RunEngineBack,
    RunFile,
    RunForget,
    RunLeave,
    RunMessage,
    RunOrder,
    RunOwnerGone,
    RunPlay,
    RunQuestion,
    RunRestored,
    RunSentItem,
    RunStart,
)
from orchestrator.engines.shared.rendering import OPTION, list_result_options
from orchestrator.language.lexicon import load_lexicon
from orchestrator.runs import doubts, inputs, listening
from orchestrator.runs.absent_engines import EngineReturns, take_engine_back
from orchestrator.runs.commands import build_command_specs, build_commands
from orchestrator.runs.ending import build_forget_row
from orchestrator.runs.listening import refuse_click
from orchestrator.runs.offers import OFFER, take_offer
from orchestrator.runs.questions import BUTTON
from orchestrator.runs.registry import Engines
from orchestrator.runs.reminders import REMIND, remind_person
from orchestrator.runs.run_pass import SLEEP, TIMEOUT
from orchestrator.runs.runner import Runner
from orchestrator.runs.sent_items import FileTaker, pass_item
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Files, PeriodicTask, Receive, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import UUID_NAMESPACE, format_iso
from state.events.runs import RunFinished, RunForgotten
from state.journal.async_store import AsyncStore
from state.journal.blobs import list_digests
from state.journal.pages import iterate_later
from state.journal.run_index import PREFIX, RunFilter, RunRow
from state.journal.store import InboxRow
from state.model.run_state import ENDED

_CHOSEN: Final = load_lexicon("runs").read_titles("chosen")
_LAST: Final = 50
"""Last events searched for a run's end; a refused retry may follow it."""


async def take_option(row: InboxRow, session: Session, tools: Tools) -> None:
    """One request, however often it is pressed. Raises StoreError.

    Words: (`OPTION`, run id, number). Only the run's chat and owner may press.
    Strangers may have written its text, so it is quoted: a change that follows always asks.
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


KEPT: Final = timedelta(days=90)
"""The default time to keep a finished run."""
EVERY: Final = timedelta(hours=6)
AT_ONCE: Final = 200
"""Runs removed in one round."""


class RunRetention:
    """Orders the removal of runs that ended long ago.

    Their records stay for the hash chain, readable until the owner is erased.
    """

    def __init__(self, store: AsyncStore, keep: timedelta) -> None:
        self._store, self._keep = store, keep
        self._next: datetime | None = None

    async def run(self, receive: Receive, now: datetime) -> None:
        if self._next is not None and now < self._next:
            return
        gone = RunFilter(statuses=tuple(sorted(ENDED)), before=format_iso(now - self._keep), limit=AT_ONCE)
        runs = await self._store.list_runs(gone)
        if runs:
            await receive([build_forget_row(PREFIX + row.run_id, now) for row in runs])
        self._next = now + EVERY if len(runs) < AT_ONCE else None


async def forget_run(row: InboxRow, session: Session, tools: Tools) -> None:
    """If the process dies in between, the order comes again."""
    run = session.state.run
    if run is not None and not run.is_over:  # retried at this very moment
        await session.commit(actor="system", inbox_done=[row.id])
        return
    digests = await _list_digests(session, tools.store)
    if run is not None:
        await session.commit(RunForgotten(blobs=len(digests)), actor="system")
    await tools.store.remove_run(session.key, digests)
    await session.commit(actor="system", inbox_done=[row.id])


async def _list_digests(session: Session, store: AsyncStore) -> list[str]:
    """Without texts of definitions, which other runs may share."""
    digests: dict[str, None] = {}
    await session.flush()
    async for event in iterate_later(store, session.stream):
        if event.type != "RunStarted":
            digests |= dict.fromkeys(list_digests(event.type, event.data))
    return list(digests)


def build_feature(engines: Engines, *, store: AsyncStore | None = None, keep: timedelta = KEPT, files: Files | None = None) -> Feature:
    """With a `store` it also removes runs that ended longer ago than `keep` (zero: never). `files` downloads answers."""
    runner, taker = Runner(engines), FileTaker(files)
    return Feature(
        inbox={
            RunStart.KIND: runner.start,
            RunPlay.KIND: runner.play,
            RunAnswer.KIND: inputs.take_answer,
            RunOrder.KIND: inputs.take_order,
            RunLeave.KIND: inputs.take_leave,
            RunChildEnd.KIND: inputs.take_child_end,
            RunOwnerGone.KIND: inputs.take_owner_gone,
            RunEngineBack.KIND: partial(take_engine_back, engines=engines),
            RunForget.KIND: forget_run,
            RunRestored.KIND: inputs.take_restore,
            RunMessage.KIND: inputs.pass_message,
            RunQuestion.KIND: listening.note_question,
            RunAskAgain.KIND: doubts.ask_again,
            RunSentItem.KIND: pass_item,
            RunFile.KIND: taker.take_file,
        },
        periodic_tasks=_list_tasks(engines, store, keep),
        timers={SLEEP: inputs.take_timer, TIMEOUT: inputs.take_timer, REMIND: remind_person},
        buttons={
            BUTTON: listening.take_click,
            doubts.DOUBT: doubts.take_doubt,
            OFFER: partial(take_offer, engines=engines),
            OPTION: take_option,
        },
        commands=build_commands(engines),
        command_specs=build_command_specs(engines),
        message_takers=(partial(listening.take_message, engines=engines),),
        given_up_inputs={RunStart.KIND: runner.give_up, RunPlay.KIND: runner.give_up, RunFile.KIND: taker.give_up},
    )


def _list_tasks(engines: Engines, store: AsyncStore | None, keep: timedelta) -> tuple[PeriodicTask, ...]:
    if store is None:
        return ()
    return (EngineReturns(engines, store).run, *([RunRetention(store, keep).run] if keep else []))

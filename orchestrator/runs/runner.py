"""Starts runs and plays them: begin reading runs here.

A run is played from its beginning each time something has come; finished nodes do nothing, and the pass ends where it must wait.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import orjson

from bitrix.limits.askers import Asker, ask_for
from bitrix.limits.limiter import Priority
from orchestrator.domain.actor import MODES, Actor, Mode
from orchestrator.domain.address import Address
from orchestrator.domain.errors import ModelClientError, OverBudget, RunOver
from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.domain.run_inputs import RunChildEnd, RunPlay, RunStart
from orchestrator.engines.runs import NOTHING, Definition, Reasons, RunEngine, RunFailed, RunResult, RunSuspended, find_cause
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.runs.absent_engines import EngineAbsent, rest_without_engine
from orchestrator.runs.context import Context
from orchestrator.runs.definitions import build_blobs, build_pins, describe_run, find_definitions
from orchestrator.runs.ending import build_last_words, finish_run
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runs.memo import Memo
from orchestrator.runs.nodes import MAX_DETAIL, EngineMistake, check_result, trim_args
from orchestrator.runs.planned import build_plan_notices
from orchestrator.runs.registry import Engines, RegisteredEngine, may_start
from orchestrator.runs.titles import NONE, find_title
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.sessions.steps import build_passed_message
from orchestrator.turns.feature import Tools
from state.canonical import to_storable, to_storable_text
from state.clock import parse_iso
from state.events.runs import RunStarted
from state.journal.async_store import AsyncStore
from state.journal.store import RESTORED, SET_ASIDE, InboxRow, StoreError
from state.model.run_state import RunState

log = logging.getLogger(__name__)

MAX_PLAYING: Final = 256
"""Runs played at once in this process, without waiting ones."""
_FAULT: Final = "failed"
"""A fault of the program or engine."""
KEPT_MEMOS: Final = 64


@dataclass
class _PlayingRun:
    """/stop and a cancellation end it."""

    actor: Actor
    task: asyncio.Task[RunResult]
    asker: Asker
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True
        self.asker.leave()
        self.task.cancel()


class Runner:
    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._places = asyncio.Semaphore(MAX_PLAYING)
        self._restored = RestoreTime()
        self._memos: dict[str, tuple[Session, Memo]] = {}
        """The last played, so that long runs are not read anew each time."""

    async def start(self, row: InboxRow, session: Session, tools: Tools) -> None:
        order = RunStart.model_validate(row.body)
        if session.state.run is None and not await self._store_start(order, row, session, tools):
            return
        await self.play(row, session, tools)

    async def _store_start(self, order: RunStart, row: InboxRow, session: Session, tools: Tools) -> bool:
        """If not, person and parent are told why."""
        actor = tools.refresh_actor(Actor.model_validate(row.actor))
        registered = self._engines.runs.get(order.engine)
        try:
            definitions = await find_definitions(order, self._engines, tools.store)
        except RunFailed as error:
            await _refuse_start(Notice(code=error.code, args=trim_args(error.args_of_notice)), order, row, session)
            return False
        refusal = _find_refusal(order, actor, registered, definitions)
        if refusal is not None or actor is None or registered is None:
            await _refuse_start(refusal or Notice(code="run-not-begun"), order, row, session)
            return False
        own, *pins = build_pins(definitions)
        mode = resolve_mode(tools.mode, actor)
        event = RunStarted(
            engine=order.engine,
            definition=own["definition"],
            version=own["version"],
            digest=own["digest"],
            edition=own["edition"],
            pinned=pins,
            replay=registered.engine.replay,
            home=_choose_home(order.home, actor, mode),
            mode=mode,
            parent=order.parent,
            parent_node=order.parent_node,
            depth=order.depth,
            actor=actor.model_dump(mode="json"),
            args=dict(order.args),
            title=find_title(definitions[0].document, registered),
            since=order.since,
        )
        await session.commit(event, actor=actor.key, blobs=build_blobs(definitions))
        return True

    async def play(self, row: InboxRow, session: Session, tools: Tools) -> None:
        async with self._places:
            queued = await _list_queued(row, session, tools)
            await session.catch_up()  # what is queued may have been stored with an event that wakes the run, such as a retry
            run = session.state.run
            if run is None or run.is_over or run.status == "paused":
                last = await build_last_words(session, tools) if run is not None and run.is_over else []
                await session.commit(actor="system", outbox=last, inbox_done=queued)
                return
            try:
                context, registered = await self._prepare(run, row, session, tools)
            except EngineAbsent:
                await rest_without_engine(run, session, queued)
                return
            except RunFailed as error:
                await _fail(error, session, tools, queued)
                return
            await self._play(registered, context, queued)

    async def _prepare(self, run: RunState, row: InboxRow, session: Session, tools: Tools) -> tuple[Context, RegisteredEngine]:
        """Raises EngineAbsent, and RunFailed if the definition or person is gone or the engine plays it no more."""
        registered = self._engines.runs.get(run.engine)
        if registered is None:
            raise EngineAbsent(run.engine)
        if run.replay not in registered.engine.replays:
            raise RunFailed("run-version-gone", f"this program cannot play runs of {run.engine} of replay version {run.replay}")
        actor = tools.refresh_actor(Actor.model_validate(run.actor)) if run.actor else None
        if actor is None:
            raise RunFailed("run-owner-gone", f"{run.owner} has no access any more")
        if actor.role not in registered.roles:
            raise RunFailed("run-not-allowed-now", f"{run.owner} is {actor.role} now", definition=run.name)
        memo = await self._load_memo(session, tools)
        if memo.started is None:
            raise RunFailed("run-not-begun", "the event that started the run is missing")
        if memo.is_incomplete:
            raise RunFailed("run-value-gone", "a person was erased whose answer or value the run worked with")
        info = await describe_run(session.key, run, memo.started, memo.started_at, tools)
        mode = _choose_mode(memo.started.mode, resolve_mode(tools.mode, actor))
        memo.came_back = await self._restored.has_come_back(memo.since, tools.store)
        return Context(session, row, tools, run=info, actor=actor, mode=mode, memo=memo), registered

    async def _load_memo(self, session: Session, tools: Tools) -> Memo:
        known, memo = self._memos.pop(session.key, (None, Memo()))
        if known is not session:
            memo = Memo()
        await session.flush()
        memo.waited = frozenset(session.state.run.waits if session.state.run else ())
        await memo.read(tools.store, session.stream)
        self._memos[session.key] = session, memo
        while len(self._memos) > KEPT_MEMOS:
            del self._memos[next(iter(self._memos))]
        return memo

    async def _play(self, registered: RegisteredEngine, context: Context, queued: Sequence[str]) -> None:
        session, tools = context.session, context.tools
        person = context.actor.key
        with ask_for(Asker(source=person, urgency=_choose_urgency(person, registered))) as asker:
            task = asyncio.ensure_future(_run_engine(registered.engine, context))
        playing = _PlayingRun(actor=context.actor, task=task, asker=asker)
        tools.running[session.key] = playing
        try:
            result = await task
        except asyncio.CancelledError:
            me = asyncio.current_task()
            if not playing.stopped and (me is None or not me.cancelling()):  # the engine cancelled itself
                await self._end_with(EngineMistake("the engine let its own work be cancelled"), context, queued)
                return
            if not playing.stopped:
                task.cancel()  # the process stops: a call that was sent is awaited, the rest is left to the restart
                with contextlib.suppress(BaseException):
                    await task
                raise
            await session.commit(actor="system", inbox_done=queued)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises ends its run, and only its run
            await self._end_with(find_cause(error), context, queued)
        else:
            self._memos.pop(session.key, None)
            notice = Notice(code=result.code) if result.code else None
            result = await _add_plan(replace(result, value=context.foreign.mark(result.value)), context)
            await finish_run(session, tools, result=result, notice=notice, done=queued)
        finally:
            tools.running.pop(session.key, None)
            await context.record_audit()

    async def _end_with(self, cause: BaseException, context: Context, queued: Sequence[str]) -> None:
        """Raises the errors of the store."""
        session, tools = context.session, context.tools
        match cause:
            case RunSuspended() | RunOver():
                await self._rest(context, queued)
            case RunFailed():
                await _fail(cause, session, tools, queued, context.foreign)
            case ModelClientError():
                await _fail(RunFailed("degraded", cause.reason), session, tools, queued)
            case OverBudget():
                await _fail(RunFailed(cause.reason), session, tools, queued)
            case StoreError():
                raise cause
            case _:
                log.error("a run failed", exc_info=cause, extra={"action": "run_failed", "run": session.key})
                await _fail(RunFailed(_FAULT, str(cause)[:MAX_DETAIL], id=session.key[-8:]), session, tools, queued)

    async def _rest(self, context: Context, queued: Sequence[str]) -> None:
        """Without anything to wait for, the run fails."""
        session, tools = context.session, context.tools
        run = session.state.run
        if run is not None and run.status == "running" and not run.waits:
            await session.flush()  # what has woken the run meanwhile may be buffered still, and with it the input that lets it go on
            waiting = await tools.store.list_waiting_inbox(session.key, "turn")
            if not [inbox_row for inbox_row in waiting if inbox_row.id not in queued]:
                await _fail(RunFailed("run-stuck", "the engine waits for nothing"), session, tools, queued)
                return
        await session.commit(actor="system", inbox_done=queued)

    async def give_up(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Each attempt ended the process without progress."""
        if session.state.run is None and row.kind == RunStart.KIND:
            came_back = row.attempts > SET_ASIDE  # restored from a backup: the run may have begun since
            notice = Notice(code="restored-not-worked") if came_back else Notice(code="failed", args={"id": row.id[-8:]})
            await _refuse_start(notice, RunStart.model_validate(row.body), row, session)
            return
        await _fail(RunFailed(_FAULT, "each attempt ended the process", id=row.id[-8:]), session, tools, [])


async def _run_engine(engine: RunEngine, context: Context) -> RunResult:
    """What would end the process is the engine's mistake here."""
    try:
        return check_result(await engine.run(context))
    except (SystemExit, GeneratorExit) as error:
        raise EngineMistake(f"the engine raised {type(error).__name__}") from error
    finally:
        await context.drafts.end()


async def _add_plan(result: RunResult, context: Context) -> RunResult:
    """Only of the run that a person started."""
    if context.mode == "full" or context.run.parent:
        return result
    plan_notices = await build_plan_notices(context.session.key, context.known, context.tools.store)
    reply = result.reply or Reply()
    return replace(result, reply=reply.model_copy(update={"notices": (*plan_notices, *reply.notices)})) if plan_notices else result


def _choose_urgency(person: str, registered: RegisteredEngine) -> Priority:
    if registered.is_background:
        return Priority.BULK
    return Priority.PROGRAM if Address.parse(person).is_pulled else Priority.RUN


def _choose_home(home: str, actor: Actor, mode: Mode) -> str:
    """In shadow never another person's chat."""
    is_own = home == actor.key or home.startswith(f"{actor.key}:") or Address.parse(home).is_group
    if is_own or mode != "shadow":
        return home
    return actor.key if Address.parse(actor.key).is_messenger else f"{actor.key}:runs"


def _find_refusal(
    order: RunStart, actor: Actor | None, registered: RegisteredEngine | None, definitions: Sequence[Definition]
) -> Notice | None:
    if actor is None:
        return Notice(code="run-owner-gone")
    if registered is None:
        return Notice(code="run-engine-gone", args=trim_args({"engine": order.engine}))
    if actor.role not in registered.roles:
        title = find_title(definitions[0].document, registered) if definitions and not actor.for_customers else ""
        return Notice(code="run-not-allowed", args=trim_args({"definition": title or order.definition}))
    if not definitions or not may_start(actor, registered, definitions[0].document):  # what is not for customers does not exist for them
        list_command = next((name for name, run_command in registered.commands.items() if not run_command.definition), NONE)
        command = NONE if actor.for_customers else list_command
        return Notice(code="run-definition-gone", args=trim_args({"definition": order.definition, "command": command}))
    return None


async def _refuse_start(notice: Notice, order: RunStart, row: InboxRow, session: Session) -> None:
    reply_row = outbox.build_reply_row(order.home, build_reply(notice), session.now)
    passed = [build_passed_message(reply_row, order.home, dict(reply_row.body))] if Address.parse(order.home).is_pulled else []
    parents = [_build_parent_row(notice, order, row, session)] if order.parent else []
    rows = [] if passed or parents else [reply_row]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id], inbox_new=[*(passed if not parents else []), *parents])


def _build_parent_row(notice: Notice, order: RunStart, row: InboxRow, session: Session) -> InboxRow:
    child_end = RunChildEnd(
        node=order.parent_node,
        run=session.key,
        status="failed",
        code=notice.code,
        value=NOTHING.to_stored(),
        reasons=Reasons((notice,)).to_stored(),
    )
    return child_end.to_row(order.parent, source=f"ended:{session.key}:{row.id}", actor=SYSTEM, now=session.now)


async def _fail(error: RunFailed, session: Session, tools: Tools, done: Sequence[str], foreign: ForeignTexts | None = None) -> None:
    """`foreign` are the texts of strangers that it has got."""
    log.warning("a run failed: %s", error, extra={"action": "run_failed", "run": session.key, "code": error.code})
    notice = Notice(code=error.code, args=trim_args(error.args_of_notice))
    detail = error.detail if error.code != _FAULT else ""  # of a fault of the program it is for the log alone
    value, detail_text = error.value.map(to_storable), to_storable_text(detail)
    result = RunResult(status="failed", code=error.code, value=value, detail=detail_text, reasons=error.reasons)
    origins = error.origins if foreign is None else foreign.find_origins(notice.args, error.origins)
    await finish_run(session, tools, result=result, notice=notice, origins=origins, done=done)


async def _list_queued(row: InboxRow, session: Session, tools: Tools) -> list[str]:
    """The input and the waiting ones that also only say "go on": one pass serves all."""
    waiting = await tools.store.list_waiting_inbox(session.key, "turn")
    return [row.id, *(inbox_row.id for inbox_row in waiting if inbox_row.kind == RunPlay.KIND and inbox_row.id != row.id)]


def _choose_mode(begun: str, present: Mode) -> Mode:
    """The safer of the two."""
    return next((mode for mode in MODES if mode in {begun, present}), "shadow")


class RestoreTime:
    """Read once: no restore begins while a program works."""

    def __init__(self) -> None:
        self._known = False
        self._at: datetime | None = None

    async def has_come_back(self, since: str, store: AsyncStore) -> bool:
        """Whether the run may have worked since before the restore. Raises StoreError.

        A child or scheduled run begun later may have begun in the lost database, too, with the same key.
        """
        if not self._known:
            text = await store.get_value(RESTORED)
            self._at = parse_iso(orjson.loads(text)["restored_at"]) if text else None
            self._known = True
        return self._at is not None and parse_iso(since) <= self._at

"""Plays a run with its real engine over a journal in memory; an `Outside`, a person or a script, gives what comes from outside."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Protocol
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice, Reply, SentFile, Text, build_reply
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import UNDECLARED, Origins, Value, join_origins, split_values
from orchestrator.engines.base import find_step_id
from orchestrator.engines.runs import (
    Ask,
    Definition,
    Heard,
    NodeState,
    RunContext,
    RunEffect,
    RunEngine,
    RunFailed,
    RunInfo,
    RunLimits,
    RunModelRequest,
    RunResult,
    RunSuspended,
    RunUpdate,
)
from orchestrator.rehearsals.case import PERSON, Names
from orchestrator.runs.children import MAX_DEPTH
from orchestrator.runs.memo import Memo, copy_data
from orchestrator.runs.nodes import NodeNames, check_ask, check_reply, check_result, check_value, plays_node, trim_args
from orchestrator.runs.questions import build_answer, store_answer
from state.canonical import dumps
from state.events.runs import NodeDone, RunWoken
from state.stored import JsonObject

NO_ANSWER: Final = "degraded"
"""A model or an agent gives no answer."""
CALLS: Final = "calls"
_MODEL: Final[Origins] = frozenset({"model"})
TakeText = Callable[[str], Awaitable[None]]
Kind = Literal["message", "question", "answer", "effect", "model", "agent", "wait", "child", "log", "failure"]


class RehearsalStopped(Exception):
    """For a reason that is none of the run's."""


class RunLeft(RehearsalStopped):
    """The person leaves it, with all that was started around it."""


@dataclass(frozen=True, slots=True)
class Place:
    definition: str
    node: str
    name: str = ""
    """As the author wrote it, if the node says otherwise."""

    @property
    def step(self) -> str:
        return self.name or find_step_id(self.node)


@dataclass(frozen=True, kw_only=True)
class Happening:
    kind: Kind
    place: Place
    reply: Reply | None = None
    text: str = ""
    options: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    """Codes of the program's own buttons."""
    data: Any = None
    """Effect {kind, method, params, comment, confirm, status, result}; an answer's value; a log's level."""


class Outside(Protocol):
    """All that a run meets outside of the program; a RunFailed ends the run."""

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None: ...

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Its text or, with tools, perhaps {text, calls: [{name, arguments}]}."""

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Nothing may really be sent."""

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str: ...

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Of an engine that is not rehearsed. Raises RunFailed."""

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """In the product, what `make` gives."""

    async def find_file_problem(self, place: Place) -> str:
        """ "" if it is to be had; nothing is fetched."""

    def show(self, place: Place, update: RunUpdate) -> None:
        """May be dropped."""

    def tell(self, happening: Happening) -> None: ...


@dataclass
class _Playing:
    info: RunInfo
    engine: RunEngine
    memo: Memo = field(default_factory=Memo)
    said: set[str] = field(default_factory=set)
    ended: dict[str, RunResult] = field(default_factory=dict)
    """Of started runs, by node."""
    wait: tuple[str, Ask | datetime] | None = None
    """(node, its question or moment)."""


class Rehearsal:
    def __init__(
        self,
        engines: Mapping[str, RunEngine],
        find: Callable[[str, str], Any],
        outside: Outside,
        *,
        now: datetime,
        person: Actor = PERSON,
        names: Mapping[str, Names] | None = None,
    ) -> None:
        """`find` gives the document of (engine, key). `names` are of steps by key, where nodes do not show them."""
        self._engines, self._find, self.outside, self._names = engines, find, outside, names or {}
        self.now, self.person = now, person
        self._count = 0

    async def play(self, engine: str, key: str, args: Mapping[str, Value]) -> RunResult:
        """A failure is a result; raises RehearsalStopped and SettingsError."""
        try:
            return await self.play_run(engine, key, args, depth=0, parent="")
        except RunLeft:
            return RunResult(status="cancelled")

    def has_engine(self, engine: str) -> bool:
        return engine in self._engines

    def find_place(self, key: str, node: str) -> Place:
        label = node.partition("/")[0]
        return Place(key, node, self._names.get(key, {}).get(label, find_step_id(node)))

    async def play_run(self, engine: str, key: str, args: Mapping[str, Value], *, depth: int, parent: str) -> RunResult:
        """`depth` runs wait for it."""
        document, playing_engine = self._find(engine, key), self._engines.get(engine)
        if document is None or playing_engine is None:
            return RunResult(status="failed", code="run-definition-gone")
        self._count += 1
        info = RunInfo(
            run_id=f"rehearsal-{self._count}",
            definition=Definition(key=key, version=1, document=document, engine=engine),
            owner=self.person.key,
            home=self.person.key,
            owner_name=self.person.name,
            employee=self.person.bitrix_user_id,
            time_zone=self.person.time_zone,
            today=self.now.astimezone(ZoneInfo(self.person.time_zone)).date().isoformat(),
            parent=parent,
            depth=depth,
            replay=playing_engine.replay,
            args=args,
        )
        return await self._play(_Playing(info=info, engine=playing_engine))

    async def _play(self, run: _Playing) -> RunResult:
        while True:
            run.wait = None
            try:
                return check_result(await run.engine.run(_Context(self, run)))
            except RunFailed as error:
                return self._fail(run, error)
            except RunSuspended as error:
                stuck = RunFailed("run-stuck", f"the engine waits for nothing ({error})")
            except (RehearsalStopped, SettingsError):
                raise
            except Exception as error:  # noqa: BLE001 - as in the product, whatever a step raises ends its run
                return self._fail(run, RunFailed("failed", f"{type(error).__name__}: {error}", id=run.info.run_id[-8:]))
            try:
                await self._wait(run, stuck)
            except RunFailed as error:
                return self._fail(run, error)

    def _fail(self, run: _Playing, error: RunFailed) -> RunResult:
        place = Place(run.info.definition.key, "")
        reply = Reply(notices=(Notice(code=error.code, args=trim_args(error.args_of_notice)),))
        self.outside.tell(Happening(kind="failure", place=place, reply=reply, text=error.detail, data=error.code))
        return RunResult(status="failed", code=error.code, value=error.value)

    async def _wait(self, run: _Playing, stuck: RunFailed) -> None:
        """The clock jumps to a moment. Raises `stuck` if there is nothing."""
        if run.wait is None:
            raise stuck
        node, awaited = run.wait
        place = self.find_place(run.info.definition.key, node)
        if isinstance(awaited, datetime):
            self.now = max(self.now, awaited)
            run.memo.woken[node] = RunWoken(node=node, by="timer")
            return
        run_answer = await self.outside.answer(place, awaited)
        if run_answer is None:
            self.now += awaited.timeout or timedelta()
            woken = RunWoken(node=node, by="timeout")
        else:
            stored, origins = store_answer(run_answer)
            woken = RunWoken(node=node, by="answer", value=stored, origins=sorted(origins))
        run.memo.woken[node] = woken
        heard = build_answer(woken, awaited)
        pressed = tuple(control.label for control in awaited.controls if heard.kind == "option" and control.value == heard.value.data)
        self.outside.tell(Happening(kind="answer", place=place, text=heard.kind, data=heard.value.data, controls=pressed))


class _Context(RunContext):
    def __init__(self, rehearsal: Rehearsal, playing: _Playing) -> None:
        self._rehearsal, self._playing = rehearsal, playing
        self._outside, self._memo = rehearsal.outside, playing.memo
        self.run, self.actor, self.mode = playing.info, rehearsal.person, "shadow"
        self.names = NodeNames(playing.memo.done, playing.memo.woken)

    @property
    def now(self) -> datetime:
        return self._rehearsal.now

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        if is_message:
            return "finished" if node in self._playing.said else "new"
        is_over = node in self._memo.done or node in self._memo.woken or node in self._playing.ended
        return "finished" if is_over else "new"

    def count_failures(self, node: str) -> int:
        return self._memo.attempts.get(node, 0)

    def find_time(self, node: str) -> datetime:
        del node
        return self.now

    def is_before_retry(self, node: str) -> bool:
        del node
        return False

    def limit(self, limits: RunLimits) -> None: ...

    def _find_place(self, node: str) -> Place:
        return self._rehearsal.find_place(self.run.definition.key, node)

    def _tell(self, kind: Kind, node: str, **more: Any) -> None:
        self._outside.tell(Happening(kind=kind, place=self._find_place(node), **more))

    async def say(self, reply: Reply, *, key: str, message: str = "") -> None:
        del message
        self.names.add_message(key)
        check_reply(key, reply)
        if key not in self._playing.said:
            self._playing.said.add(key)
            self._tell("message", key, reply=reply, text=reply.text)

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        del load
        await self.say(build_reply(text=f"📎 {file.name}\n{file.caption}".strip()), key=key)

    @plays_node("memo")
    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        del load
        if node not in self._memo.done:
            problem = await self._outside.find_file_problem(self._find_place(node))
            self._keep(node, {"problem": problem, "why": "", "args": {}} if problem else {"digest": "", "size": 0}, origins)
        return self._recall(node)

    async def show(self, update: RunUpdate, *, node: str) -> None:
        self._outside.show(self._find_place(node), update)

    @plays_node("model")
    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        if node not in self._memo.done:
            try:
                answer = await self._outside.ask_model(self._find_place(node), request, on_delta)
            except RunFailed as error:
                if error.code == NO_ANSWER:
                    self._memo.attempts[node] = self._memo.count_attempt(node)
                raise
            output = _build_tool_answer(answer) if request.tools else answer
            self._keep(node, output, request.origins | _MODEL, kind="model")
            text = answer if isinstance(answer, str) else dumps(answer)
            self._tell("model", node, text=text, data=[dict(message) for message in request.messages])
        return self._recall(node)

    @plays_node("memo")
    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        if node not in self._memo.done:
            self._keep(node, await self._outside.read_memo(self._find_place(node), make), origins)
        return self._recall(node)

    @plays_node("effect")
    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        if node not in self._memo.done:
            params = split_values(effect.params)[0]
            check_value(node, params)
            outcome = await self._outside.perform(self._find_place(node), effect, params)
            call_data = {"kind": effect.kind, "method": effect.method, "params": params, "comment": effect.comment}
            status = "already" if outcome.already else outcome.status
            effect_data = {**call_data, "confirm": effect.requires_confirmation, "status": status, "result": outcome.result}
            self._tell("effect", node, text=outcome.detail, data=effect_data)
            self._keep(node, outcome.model_dump(mode="json"), frozenset({"label"}), kind="effect")
        return Outcome.model_validate(self._recall(node).data)

    async def accept_refusal(self, node: str) -> None: ...

    @plays_node("input")
    async def wait_input(self, node: str, ask: Ask) -> Heard:
        check_ask(node, ask)
        if (woken := self._memo.woken.get(node)) is not None:
            return build_answer(woken, ask)
        options, controls = (tuple(option.label for option in some) for some in (ask.options, ask.controls))
        self._tell("question", node, reply=_build_question(ask), text=ask.text, options=options, controls=controls)
        self._playing.wait = node, ask
        raise RunSuspended(node)

    async def load_file(self, sent: Value) -> Value:
        return Value(b"", sent.origins)

    @plays_node("timer")
    async def sleep(self, node: str, until: datetime) -> None:
        if node in self._memo.woken:
            return
        self._tell("wait", node, text=until.isoformat())
        self._playing.wait = node, until
        raise RunSuspended(node)

    @plays_node("run")
    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        if (ended := self._playing.ended.get(node)) is not None:
            return ended
        place = self._find_place(node)
        if not definition:  # an engine that holds conversations
            arg_data = {name: arg.data for name, arg in args.items()}
            text = await self._outside.ask_agent(place, engine, arg_data)
            self._tell("agent", node, text=text, data=arg_data)
            ended = RunResult(value=Value({"text": text}, _MODEL))
        elif not self._rehearsal.has_engine(engine):
            arg_data = {name: arg.data for name, arg in args.items()}
            self._tell("child", node, text=definition, data=arg_data)
            output = await self._outside.run_elsewhere(place, engine, arg_data)
            ended = RunResult(value=Value(output, _MODEL | join_origins(args.values())))
        else:
            self._tell("child", node, text=definition, data={name: arg.data for name, arg in args.items()})
            run, key = self._rehearsal, self.run.run_id
            if self.run.depth >= MAX_DEPTH:
                raise RunFailed("run-too-deep", f"more than {MAX_DEPTH} runs wait for each other", most=MAX_DEPTH)
            ended = await run.play_run(engine, definition, args, depth=self.run.depth + 1, parent=key)
        self._playing.ended[node] = ended
        return ended

    def _keep(self, node: str, output: Any, origins: Origins, *, kind: Literal["memo", "model", "effect"] = "memo") -> None:
        check_value(node, output)
        self._memo.done[node] = NodeDone(node=node, kind=kind, output=output, origins=sorted(origins))

    def _recall(self, node: str) -> Value:
        done = self._memo.done[node]
        return Value(copy_data(done.output), frozenset(done.origins))  # type: ignore[arg-type]  # origins are stored as text


def _build_tool_answer(answer: Any) -> JsonObject:
    fields: JsonObject = answer if isinstance(answer, Mapping) else {"text": answer}
    calls = [
        {"id": f"call-{number}", "name": str(one.get("name", "")), "arguments": one.get("arguments") or {}, "problem": ""}
        for number, one in enumerate(fields.get(CALLS) or (), start=1)
    ]
    return {"text": str(fields.get("text") or ""), "calls": calls, "finish_reason": "tool_calls" if calls else "stop"}


def _build_question(ask: Ask) -> Reply:
    parts = (Text(text=ask.text),) if ask.text else ()
    return Reply(parts=parts, notices=(ask.notice,) if ask.notice is not None else ())

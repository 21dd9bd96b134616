"""Plays a run with its real engine over a journal in memory: nothing is stored and nothing is sent.

As in the product the engine is played from its beginning each time something has come, and reads what its nodes gave before. What would
reach people, models, the portal or other parties is asked of an `Outside`: a person at a terminal, or the script of a test.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Protocol
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import REHEARSAL_PERSON
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice, Reply, SentFile, Text, build_reply
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import UNDECLARED, Origins, Value, join_origins, split_values
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
from orchestrator.engines.step_nodes import find_step_id
from orchestrator.rehearsals.known_steps import Names
from orchestrator.runs.children import MAX_DEPTH
from orchestrator.runs.memo import Memo, copy_data
from orchestrator.runs.nodes import NodeNames, check_ask, check_reply, check_result, check_value, plays_node, trim_args
from orchestrator.runs.questions import build_answer, store_answer
from state.canonical import dumps
from state.events.runs import NodeDone, RunWoken
from state.stored import JsonObject

PERSON: Final = Actor(key=REHEARSAL_PERSON, name="Test", role="admin", sees="all", bitrix_user_id=1)
"""The person of a rehearsal, unless another is given."""
NO_ANSWER: Final = "degraded"
"""The code of the failure of a model or an agent that gives no answer."""
CALLS: Final = "calls"
_MODEL: Final[Origins] = frozenset({"model"})
TakeText = Callable[[str], Awaitable[None]]
"""Takes the next piece of an answer while it comes."""
Kind = Literal["message", "question", "answer", "effect", "model", "agent", "wait", "child", "log", "failure"]


class RehearsalStopped(Exception):
    """The rehearsal cannot go on, for a reason that is none of the run's."""


class RunLeft(RehearsalStopped):
    """The person leaves the run at a question, with all that was started around it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a rehearsal something happens."""

    definition: str
    """The key of the definition that is played there."""
    node: str
    name: str = ""
    """The name of the step as its author wrote it, if it is not what stands in the node."""

    @property
    def step(self) -> str:
        """The step to which the node belongs: its name, without one the first part of the node."""
        return self.name or find_step_id(self.node)


@dataclass(frozen=True, kw_only=True)
class Happening:
    """One thing that happened, for whoever watches the rehearsal."""

    kind: Kind
    place: Place
    reply: Reply | None = None
    """What is said to the person: of a message, a question or a failure."""
    text: str = ""
    options: tuple[str, ...] = ()
    """The buttons of a question."""
    controls: tuple[str, ...] = ()
    """The codes of the program's own buttons below them."""
    data: Any = None
    """JSON data: of an effect {kind, method, params, comment, confirm, status, result}, of an answer what it gets, of a log its level."""


class Outside(Protocol):
    """Everything that a run meets outside of the program. Its methods may raise RunFailed, which ends the run as such an error does."""

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Return what the person answers, None if the time for it runs out."""

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Return the answer of the model: its text or, if tools are offered, perhaps {text, calls: [{name, arguments}]}.

        `on_delta` takes the pieces of the text in order, if the engine wants them.
        """

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Return what becomes of an effect with these plain parameters. Nothing may really be sent."""

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Return what an engine that holds conversations says."""

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Return what a run of an engine gives that is not rehearsed, such as a flow. Raises RunFailed if it fails."""

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the run reads or notes at this place, which in the product is what `make` gives."""

    async def find_file_problem(self, place: Place) -> str:
        """Return why a file of another host is not to be had at this place, "" if it is; nothing is fetched in either case."""

    def show(self, place: Place, update: RunUpdate) -> None:
        """Take in what the run shows of its progress; it may be dropped."""

    def tell(self, happening: Happening) -> None:
        """Take in what happened."""


@dataclass
class _Playing:
    """One run: what it plays, and its journal."""

    info: RunInfo
    engine: RunEngine
    memo: Memo = field(default_factory=Memo)
    said: set[str] = field(default_factory=set)
    ended: dict[str, RunResult] = field(default_factory=dict)
    """The results of the runs that it started, by node."""
    wait: tuple[str, Ask | datetime] | None = None
    """The node that waits, with its question or moment."""


class Rehearsal:
    """Plays one run, with those that it starts."""

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
        """Play with these engines by name; `find` returns the document of (engine, key), or None. The clock begins at `now`.

        `names` are those of steps by the key of their definition, where they are not what stands in their nodes.
        """
        self._engines, self._find, self.outside, self._names = engines, find, outside, names or {}
        self.now, self.person = now, person
        self._count = 0

    async def play(self, engine: str, key: str, args: Mapping[str, Value]) -> RunResult:
        """Return the result of a run. A failure is a result too; RehearsalStopped and SettingsError of the outside are raised."""
        try:
            return await self.play_run(engine, key, args, depth=0, parent="")
        except RunLeft:
            return RunResult(status="cancelled")

    def has_engine(self, engine: str) -> bool:
        """Return whether runs of this engine are played here."""
        return engine in self._engines

    def find_place(self, key: str, node: str) -> Place:
        """Return the place of this node of a run of the definition `key`."""
        label = node.partition("/")[0]
        return Place(key, node, self._names.get(key, {}).get(label, find_step_id(node)))

    async def play_run(self, engine: str, key: str, args: Mapping[str, Value], *, depth: int, parent: str) -> RunResult:
        """Return the result of a run that `parent` started, which `depth` runs wait for."""
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
        return RunResult(status="failed", code=error.code)

    async def _wait(self, run: _Playing, stuck: RunFailed) -> None:
        """Let come what the run waits for: an answer, or its moment, to which the clock jumps. Raises `stuck` if there is nothing."""
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
    """The access of the engine to the outside in one pass."""

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
        """Return how often the model gave no answer to this node."""
        return self._memo.attempts.get(node, 0)

    def find_time(self, node: str) -> datetime:
        """Return the present time: a rehearsal keeps no times, and nothing in it grows old."""
        del node
        return self.now

    def is_before_retry(self, node: str) -> bool:
        """Return False: nobody has a rehearsal retried."""
        del node
        return False

    def limit(self, limits: RunLimits) -> None:
        """Hold to nothing: the answers of a rehearsal are given, and cost nothing."""

    def _find_place(self, node: str) -> Place:
        return self._rehearsal.find_place(self.run.definition.key, node)

    def _tell(self, kind: Kind, node: str, **more: Any) -> None:
        self._outside.tell(Happening(kind=kind, place=self._find_place(node), **more))

    async def say(self, reply: Reply, *, key: str) -> None:
        self.names.add_message(key)
        check_reply(key, reply)
        if key not in self._playing.said:
            self._playing.said.add(key)
            self._tell("message", key, reply=reply, text=reply.text)

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        """Tell of the file by its name: whoever rehearses need not have it."""
        del load
        await self.say(build_reply(text=f"📎 {file.name}\n{file.caption}".strip()), key=key)

    @plays_node("memo")
    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """Return a file without content, or the problem that the outside has with it."""
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
            written = _build_tool_answer(answer) if request.tools else answer
            self._keep(node, written, request.origins | _MODEL, kind="model")
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
            told = {"kind": effect.kind, "method": effect.method, "params": params, "comment": effect.comment}
            status = "already" if outcome.already else outcome.status
            shown = {**told, "confirm": effect.requires_confirmation, "status": status, "result": outcome.result}
            self._tell("effect", node, text=outcome.detail, data=shown)
            self._keep(node, outcome.model_dump(mode="json"), frozenset({"label"}), kind="effect")
        return Outcome.model_validate(self._recall(node).data)

    async def accept_refusal(self, node: str) -> None:
        """Note nothing: nobody has a rehearsal retried."""

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
            told = {name: arg.data for name, arg in args.items()}
            text = await self._outside.ask_agent(place, engine, told)
            self._tell("agent", node, text=text, data=told)
            ended = RunResult(value=Value({"text": text}, _MODEL))
        elif not self._rehearsal.has_engine(engine):
            told = {name: arg.data for name, arg in args.items()}
            self._tell("child", node, text=definition, data=told)
            given = await self._outside.run_elsewhere(place, engine, told)
            ended = RunResult(value=Value(given, _MODEL | join_origins(args.values())))
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
    """Return an answer to a request with tools as the product stores it."""
    told: JsonObject = answer if isinstance(answer, Mapping) else {"text": answer}
    calls = [
        {"id": f"call-{number}", "name": str(one.get("name", "")), "arguments": one.get("arguments") or {}, "problem": ""}
        for number, one in enumerate(told.get(CALLS) or (), start=1)
    ]
    return {"text": str(told.get("text") or ""), "calls": calls, "finish_reason": "tool_calls" if calls else "stop"}


def _build_question(ask: Ask) -> Reply:
    """Return the question as a message, without its buttons."""
    parts = (Text(text=ask.text),) if ask.text else ()
    return Reply(parts=parts, notices=(ask.notice,) if ask.notice is not None else ())

"""Reads of a finished run what a test of any kind needs; outcomes of operations become mocks, and mocks outcomes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import CommandReport, Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.domain.value_faults import describe_fault
from orchestrator.engines.runs import RunFailed, RunResult
from orchestrator.language.request_words import read_run_words
from orchestrator.rehearsals.case import EACH, FAILED, REFUSED, FilePart, Given, Person
from orchestrator.rehearsals.rehearsal import Happening
from orchestrator.runs.memo import Memo, load_output, read_args
from state.canonical import dumps, hash_text, loads
from state.clock import parse_iso
from state.events.runs import NodeDone, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.pages import iterate_later
from state.stored import JsonObject

_ALREADY: Final = Notice(code="gate-already-so")


class _CommandError(FilePart):
    error: str


class _OperationMock(FilePart):
    result: Any = Field(None, description="What the portal answers.")
    created: str = Field("", description="The record that was made, such as lead:481.")
    already: str | None = Field(None, description="Why nothing was sent: what it should bring about was there already.")
    commands: dict[str, Literal["success", "not_run"] | _CommandError] = Field(
        default_factory=dict, description="Of several operations what became of each, by op01, op02 and so on."
    )


_OWN: Final = frozenset(_OperationMock.model_fields) - {"result"}


def apply_operation_mock(outcome: Outcome) -> Outcome:
    """Raises ValueError that names the wrong field."""
    mock_data = outcome.result
    if not isinstance(mock_data, Mapping) or not _OWN & set(mock_data) or set(mock_data) - _OWN - {"result"}:
        return outcome
    try:
        mock = _OperationMock.model_validate(mock_data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {describe_fault(first)}") from None
    if mock.already is not None:
        return outcome.model_copy(update={"status": "refused", "result": None, "reason": _ALREADY, "detail": mock.already})
    commands = tuple(_read_command(key, command) for key, command in mock.commands.items())
    return outcome.model_copy(update={"result": mock.result, "created": mock.created, "commands": commands})


def _read_command(key: str, command: Literal["success", "not_run"] | _CommandError) -> CommandReport:
    if isinstance(command, _CommandError):
        return CommandReport(key=key, method="", status="error", error=command.error)
    return CommandReport(key=key, method="", status=command)


def build_operation_mock(outcome: Outcome) -> Any:
    """`NOTHING` if they were only planned.

    An object with fields but `result`, otherwise the result alone.
    """
    if outcome.already:
        return {"already": outcome.detail}
    mock: dict[str, object] = {} if outcome.result is None else {"result": outcome.result}
    if outcome.created:
        mock["created"] = outcome.created
    if any(command.status != "success" for command in outcome.commands):
        mock["commands"] = {one.key: {"error": one.error} if one.status == "error" else one.status for one in outcome.commands}
    return mock if _OWN & set(mock) else build_mock("effect", outcome.model_dump(mode="json"))


STREAM: Final = "run:"
NOTHING: Final = object()


class NotRecordable(Exception):
    """The text says why."""


@dataclass(frozen=True)
class Done:
    """An effect that must come again when the recording is played."""

    definition: str
    step: str
    method: str
    is_refused: bool

    def __str__(self) -> str:
        return f"{self.definition}/{self.step}: {self.method}{' (refused)' if self.is_refused else ''}"


async def read_tape(stream: str, store: AsyncStore, take: Callable[[str, JsonObject], Awaitable[None]]) -> None:
    async for event in iterate_later(store, stream):
        await take(event.type, event.data)


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A run that has ended, as it was started and as it ended."""

    stream: str
    key: str
    document: Any
    person: Person
    day: str
    """In the time zone of the person."""
    args: JsonObject
    status: str
    code: str
    result: Any
    """None if it has none."""


async def read_finished(store: AsyncStore, stream: str, engine: str) -> FinishedRun:
    """Raises NotRecordable unless a run of this engine has ended, and its text is as it was."""
    memo = Memo()
    await memo.read(store, stream)
    started, finished = memo.started, memo.finished
    if started is None:
        raise NotRecordable(f"there is no run {stream.removeprefix(STREAM)}")
    if started.engine != engine:
        raise NotRecordable(f"it is a run of the engine {started.engine}, not of {engine}")
    if memo.is_incomplete or finished is None:
        raise NotRecordable("a person was erased whose answer it worked with" if memo.is_incomplete else "the run has not ended yet")
    text = await store.load_blob(started.digest)
    if text is None or hash_text(text) != started.digest:
        raise NotRecordable(f"the text of {started.definition} that it executed is gone")
    actor = Actor.model_validate(started.actor)
    return FinishedRun(
        stream=stream,
        key=started.definition,
        document=loads(text),
        person=Person(name=actor.name, key=actor.key, employee=actor.bitrix_user_id, time_zone=actor.time_zone),
        day=parse_iso(memo.started_at).astimezone(ZoneInfo(actor.time_zone)).date().isoformat(),
        args={name: arg.data for name, arg in read_args(started).items()},
        status=finished.status,
        code=finished.code,
        result=finished.result,
    )


def list_done(happenings: Sequence[Happening]) -> list[Done]:
    effects = [happening for happening in happenings if happening.kind == "effect"]
    return [Done(one.place.definition, one.place.step, one.data["method"], one.data["status"] == "refused") for one in effects]


def check_effects(recorded: Sequence[Done], played: Sequence[Done]) -> None:
    for had, came in zip_longest(recorded, played):
        if had != came:
            raise NotRecordable(f"the run did {had or 'nothing more'}, and played again it does {came or 'nothing more'}")


def check_end(recorded: FinishedRun, played: RunResult, problem: str, *, left: int = 0) -> None:
    """Raise NotRecordable unless it ends alike, with all inputs asked for."""
    if problem:
        raise NotRecordable(f"played again it does not come to its end: {problem}")
    if left:
        raise NotRecordable(f"played again it asks for {left} inputs less")
    if (played.status, played.code) != (recorded.status, recorded.code):
        came = f"{played.status} {played.code}".strip()
        raise NotRecordable(f"the run ended as {recorded.status} {recorded.code}, and played again it ends as {came}")


def compare_variables(had: JsonObject, came: JsonObject) -> dict[str, str]:
    """Raises NotRecordable if only one run has a variable."""
    if only := sorted(had.keys() ^ came.keys()):
        where = "the run" if only[0] in had else "the run that was played again"
        raise NotRecordable(f"only {where} has the variable {only[0]}")
    differing = [name for name, one in had.items() if dumps(one) != dumps(came[name])]
    return {name: f"{name}: the run had {dumps(had[name])}, played again it is {dumps(came[name])}" for name in differing}


async def load_recorded_output(done: NodeDone, store: AsyncStore) -> Any:
    """Raises NotRecordable if it is gone."""
    try:
        return (await load_output(done, store)).data
    except RunFailed as error:
        raise NotRecordable(error.detail) from None


def build_mocks(values: Sequence[Any]) -> Any:
    """`EACH` if there are several."""
    return values[0] if len(values) == 1 else {EACH: list(values)}


def read_input(woken: RunWoken, buttons: Sequence[str]) -> str | Given:
    stored: JsonObject = woken.value if isinstance(woken.value, Mapping) else {}
    sent: JsonObject = stored.get("sent") or {}
    match stored.get("kind") if woken.by != "timeout" else "timeout":
        case "timeout":
            return Given(timeout=True)
        case "option":
            number = int(stored["option"])
            return Given(press=buttons[number]) if number < len(buttons) else ""
        case "contact":
            return Given(contact=str(sent.get("phone", "")))
        case "photo":
            return Given(photo=str(sent.get("name", "")))
        case "document":
            return Given(document=str(sent.get("name", "")))
        case "back":
            return "back"
        case _:
            text = str(stored.get("text", ""))
            return Given(text=text) if text in buttons or read_run_words(text) in {"leave", "back"} else text


def build_mock(kind: str, output: Any) -> Any:
    """`NOTHING` for one that needs none."""
    if kind == "effect":
        outcome = Outcome.model_validate(output)
        if outcome.status == "refused" and not outcome.already:
            return {REFUSED: outcome.detail}
        return NOTHING if outcome.status == "planned" else outcome.result
    if kind == "turn":
        return output.get("text", NOTHING)
    if isinstance(output, Mapping) and set(output) == {"error"}:
        return {FAILED: output["error"]}
    return output

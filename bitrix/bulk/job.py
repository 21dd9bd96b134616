"""Sends steps (calls) in batches of 50, and says for each what is proven."""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from bitrix.answers import Answer
from bitrix.bulk.sender import LIMITS, Backoff, Sender
from bitrix.catalogue.names import is_method_name
from bitrix.client.batch import MAX_COMMANDS, BatchError, Command, CommandOutcome, build_cmd, find_references, read_answer
from bitrix.errors import BitrixError, NotSent, OutcomeUnknown, Refused

Step = tuple[str, Mapping[str, Any]]
Steps = Iterable[Step] | AsyncIterable[Step]
Status = Literal["done", "refused", "unknown", "not_sent"]
Send = Callable[[str, Mapping[str, Any]], Awaitable[Answer]]

_LOST_IN_A_ROW = 3
_ACCESS_STATUSES = frozenset({401, 403})  # the webhook as a whole is refused: the next batch would be too
_SERVER_FAULTS = frozenset({"INTERNAL_SERVER_ERROR", "ERROR_UNEXPECTED_ANSWER"})  # may come after the call took effect


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOutcome:
    """`unknown`: the call was sent and nothing proves its outcome; look it up. `not_sent`: not executed, may be sent again."""

    index: int
    method: str
    status: Status
    result: Any = None
    code: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class _Item:
    index: int
    command: Command
    text: str

    def build_outcome(self, status: Status, error: BitrixError) -> ItemOutcome:
        description = error.description if isinstance(error, Refused) else error.detail
        return ItemOutcome(index=self.index, method=self.command.method, status=status, code=error.code, description=description)


class Job:
    def __init__(self, sender: Sender, send: Send) -> None:
        self._sender = sender
        self._send = send
        self._allowed = 1
        self._lost = 0
        self._shut: BitrixError | None = None

    def count_allowed(self) -> int:
        return self._allowed

    async def generate_batches(self, steps: Steps) -> AsyncGenerator[Coroutine[Any, Any, list[ItemOutcome]], None]:
        chunk: list[Step] = []
        first = 0
        async with aclosing(_iterate_steps(steps)) as source:
            async for step in source:
                chunk.append(step)
                if len(chunk) == MAX_COMMANDS:
                    yield self._run_chunk(first, chunk)
                    first += MAX_COMMANDS
                    chunk = []
        if chunk:
            yield self._run_chunk(first, chunk)

    async def _run_chunk(self, first: int, steps: Sequence[Step]) -> list[ItemOutcome]:
        prepared = [_prepare_item(first + place, f"c{place:02}", step) for place, step in enumerate(steps)]
        settled = {item.index: item for item in prepared if isinstance(item, ItemOutcome)}
        waiting = [item for item in prepared if isinstance(item, _Item)]
        patience = Backoff(self._sender)
        while waiting:
            why = self._find_halt()
            if why is None:
                outcomes, why = await self._send_once(waiting)
                settled |= {outcome.index: outcome for outcome in outcomes}
                if outcomes:
                    patience.reset()
                waiting = [item for item in waiting if item.index not in settled]
                if why is None or await patience.wait():
                    continue
            settled |= {item.index: item.build_outcome("not_sent", why) for item in waiting}
            break
        return [settled[item.index] for item in prepared]

    def _find_halt(self) -> BitrixError | None:
        if self._sender.stop.is_set():
            return NotSent("stopped before it was sent")
        if self._sender.calculate_time_left() == 0:
            return NotSent("it could not be sent in time")
        return self._shut

    async def _send_once(self, items: Sequence[_Item]) -> tuple[list[ItemOutcome], BitrixError | None]:
        try:
            answer = await self._send("batch", {"halt": 0, "cmd": {item.command.key: item.text for item in items}})
        except NotSent as error:
            if error.code in LIMITS:
                return [], error
            self._shut = error
            return [item.build_outcome("not_sent", error) for item in items], None
        except Refused as error:
            if error.status in _ACCESS_STATUSES:
                self._shut = NotSent(f"the portal refuses everything: {error.description}", code=error.code, status=error.status)
            return [item.build_outcome("refused", error) for item in items], None
        except OutcomeUnknown as error:
            self._note_loss()
            return [item.build_outcome("unknown", error) for item in items], None
        self._lost, self._allowed = 0, self._sender.in_flight
        return _read_outcomes(items, answer)

    def _note_loss(self) -> None:
        """After several losses in a row, stop: every further batch would get an unknown outcome, too."""
        self._lost += 1
        self._allowed = 1
        if self._lost >= _LOST_IN_A_ROW:
            self._shut = NotSent("the portal lost several answers in a row: nothing more is sent")


def _read_outcomes(items: Sequence[_Item], answer: Answer) -> tuple[list[ItemOutcome], BitrixError | None]:
    settled: list[ItemOutcome] = []
    limit: BitrixError | None = None
    for item, outcome in zip(items, read_answer([item.command for item in items], answer), strict=True):
        if outcome.status == "error" and outcome.error in LIMITS:
            limit = NotSent(outcome.description, code=outcome.error)
        else:
            settled.append(_to_item_outcome(item, outcome))
    return settled, limit


def _to_item_outcome(item: _Item, outcome: CommandOutcome) -> ItemOutcome:
    if outcome.status == "success":
        return ItemOutcome(index=item.index, method=item.command.method, status="done", result=outcome.result)
    if outcome.status == "error":
        status: Status = "unknown" if outcome.error in _SERVER_FAULTS else "refused"
        return item.build_outcome(status, Refused(outcome.error, outcome.description))
    return item.build_outcome("unknown", OutcomeUnknown("the portal's answer says nothing of this command"))


def _prepare_item(index: int, key: str, step: Step) -> _Item | ItemOutcome:
    method, params = step
    command = Command(key, method, dict(params))
    why = ""
    if not is_method_name(method) or method.lower() == "batch":
        why = "not a method that a batch can hold"
    elif find_references(params):
        why = "steps of a bulk run cannot refer to each other"
    else:
        try:
            return _Item(index, command, build_cmd([command])[key])
        except BatchError as error:
            why = error.why
    return ItemOutcome(index=index, method=method, status="not_sent", description=why)


async def _iterate_steps(steps: Steps) -> AsyncGenerator[Step, None]:
    if isinstance(steps, AsyncIterable):
        async for step in steps:
            yield step
    else:
        for step in steps:
            yield step

"""What loading and refreshing share: batches of reads, and writing in a thread, one portion at a time."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from bitrix.bulk.sender import LIMITS, Sender
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome, build_cmd, read_answer
from bitrix.client.read_only import PortalCaller
from bitrix.errors import NotSent, OutcomeUnknown
from bitrix.limits.limiter import Priority
from state.mirror.reading import PartStatus
from state.mirror.writing import MirrorWriter

T = TypeVar("T")
_SCOPE_CODES: Final = frozenset({"INSUFFICIENT_SCOPE", "ERROR_METHOD_NOT_FOUND", "METHOD_NOT_FOUND"})
_ABSENT_CODES: Final = frozenset({"NOT_FOUND", "ENTITY_TYPE_NOT_SUPPORTED"})
_RIGHT_CODES: Final = frozenset({"ACCESS_DENIED", "FORBIDDEN", "INVALID_CREDENTIALS", "PERMISSION_DENIED", "ERROR_CORE"})


class MirrorSession:
    """One process's hands on the mirror. May raise BitrixError and MirrorError."""

    def __init__(self, client: PortalCaller, writer: MirrorWriter, priority: Priority = Priority.BULK) -> None:
        self.client, self.writer, self.priority = client, writer, priority
        self._sender = Sender(client=client, priority=priority)
        self._lock = asyncio.Lock()

    async def ask(self, commands: Sequence[Command]) -> list[CommandOutcome]:
        """All answers, in order, as `send` gives them."""
        outcomes: list[CommandOutcome] = []
        for start in range(0, len(commands), MAX_COMMANDS):
            part = commands[start : start + MAX_COMMANDS]
            outcomes += await self.send(build_cmd(part))
        return outcomes

    async def send(self, cmd: Mapping[str, str]) -> list[CommandOutcome]:
        """One batch. Every answer is a success or an error of its own; NotSent is raised if a limit stopped one of them."""
        answer = await self._sender.read("batch", {"halt": 0, "cmd": dict(cmd)})
        outcomes = read_answer([Command(key, text.partition("?")[0], {}) for key, text in cmd.items()], answer)
        for outcome in outcomes:
            if outcome.error in LIMITS:
                raise NotSent(outcome.description, code=outcome.error)
            if outcome.status not in {"success", "error"}:
                raise OutcomeUnknown(f"{outcome.method} is not in the answer")
        return list(outcomes)

    async def write(self, work: Callable[[], T]) -> T:
        """In one transaction. A cancelled caller waits for its end: the connection is never used by two."""
        async with self._lock:
            thread = asyncio.ensure_future(asyncio.to_thread(self._write_in_thread, work))
            try:
                return await asyncio.shield(thread)
            except asyncio.CancelledError:
                await asyncio.wait([thread])
                raise

    def _write_in_thread(self, work: Callable[[], T]) -> T:
        with self.writer.transaction():
            return work()


def classify_refusal(outcome: CommandOutcome) -> PartStatus | None:
    """Why a list cannot be read for the time being; None for a trouble that may pass by itself."""
    code = outcome.error.upper()
    if code in _SCOPE_CODES:
        return "no_scope"
    if code in _ABSENT_CODES:
        return "absent"
    return "no_right" if code in _RIGHT_CODES or "access" in outcome.description.lower() else None

"""What loading and refreshing share: batches of reads, and writing in a thread, one portion at a time."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from bitrix.bulk.sender import LIMITS, Sender
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome, build_cmd, read_answer
from bitrix.client.read_only import PortalCaller
from bitrix.errors import NotSent, OutcomeUnknown, Refused, Unreadable
from bitrix.limits.limiter import Priority
from state.mirror.reading import PartStatus
from state.mirror.writing import MirrorWriter

log = logging.getLogger(__name__)

T = TypeVar("T")
ASKED_SECONDS: Final = 20.0
IN_FLIGHT: Final = 3
"""So many batches may still come when the share of the budget is used up."""
_SCOPE_CODES: Final = frozenset({"INSUFFICIENT_SCOPE", "ERROR_METHOD_NOT_FOUND", "METHOD_NOT_FOUND"})
_ABSENT_CODES: Final = frozenset({"NOT_FOUND", "ENTITY_TYPE_NOT_SUPPORTED"})
_RIGHT_CODES: Final = frozenset({"ACCESS_DENIED", "FORBIDDEN", "INVALID_CREDENTIALS", "PERMISSION_DENIED", "ERROR_CORE"})


class MirrorSession:
    """One process's hands on the mirror. May raise BitrixError and MirrorError."""

    def __init__(self, client: PortalCaller, writer: MirrorWriter, *, lock: asyncio.Lock | None = None, asked: bool = False) -> None:
        """`asked`: a person waits. Then no limit is waited for, and the portal gets 20 seconds."""
        self._client, self.writer = client, writer
        self._lock = lock or asyncio.Lock()
        deadline = asyncio.get_running_loop().time() + ASKED_SECONDS if asked else None
        self.sender = Sender(
            client=client, priority=Priority.INTERACTIVE if asked else Priority.BULK, in_flight=IN_FLIGHT, deadline=deadline
        )

    def build_asked(self) -> "MirrorSession":
        """The same hands, for somebody who waits."""
        return MirrorSession(self._client, self.writer, lock=self._lock, asked=True)

    async def ask(self, commands: Sequence[Command]) -> list[CommandOutcome]:
        """All answers, in order, as `send` gives them."""
        outcomes: list[CommandOutcome] = []
        for start in range(0, len(commands), MAX_COMMANDS):
            part = commands[start : start + MAX_COMMANDS]
            outcomes += await self.send(build_cmd(part))
        return outcomes

    async def send(self, cmd: Mapping[str, str]) -> list[CommandOutcome]:
        """One batch. Every answer is a success or an error of its own; NotSent is raised if a limit stopped one of them."""
        answer = await self.sender.read("batch", {"halt": 0, "cmd": dict(cmd)})
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


def classify_refusal(error: Refused | Unreadable) -> PartStatus:
    """Why a list cannot be read for the time being. Raises the error if that may pass by itself."""
    code = error.code.upper()
    if isinstance(error, Unreadable) or code in _ABSENT_CODES:
        return "absent"
    if code in _SCOPE_CODES:
        return "no_scope"
    if code in _RIGHT_CODES or "access" in error.detail.lower():
        return "no_right"
    raise error


def mark_closed(part: str, status: PartStatus) -> dict[str, str | int | None]:
    """Without telephony calls are those of activities."""
    log.warning("the portal does not give %s: %s", part, status, extra={"action": "mirror.part_closed"})
    return {f"part.{part}": status, f"mark.{part}": None, **({"calls": "activities"} if part == "calls" else {})}

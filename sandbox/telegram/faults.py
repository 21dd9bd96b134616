"""Faults that tests can order: the bot's next calls of a method are refused, delayed, or lose their answers."""

from dataclasses import dataclass, replace
from typing import Literal

from sandbox.telegram.wire import ApiError, JsonObject

FaultKind = Literal[
    "429", "500", "refuse", "403_blocked", "html", "html_after", "timeout", "slow", "lost_answer", "bad_update",
]  # fmt: skip
ANY_METHOD = "*"


@dataclass(frozen=True)
class Fault:
    """A fault for the next calls of one method: `skip` of them are handled normally first, then `times` of them get the fault."""

    method: str
    kind: FaultKind
    times: int
    skip: int = 0
    retry_after: int | None = 3
    hold: bool = False
    seconds: float = 90.0
    code: int = 400
    description: str = "Bad Request"
    chat_id: int | None = None


class Faults:
    """The faults that are ordered and not used up, oldest first."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    def arm(self, fault: Fault) -> None:
        """Add a fault to the end of the queue."""
        self._armed.append(fault)

    def clear(self) -> None:
        """Remove all faults."""
        self._armed.clear()

    def armed(self) -> list[Fault]:
        """Return the faults that are not used up, oldest first."""
        return list(self._armed)

    def take(self, method: str, chat: str) -> Fault | None:
        """Return the fault that this call gets, and use it up once; None if the call is to be handled normally."""
        for index, fault in enumerate(self._armed):
            meant = fault.method.lower() in {ANY_METHOD, method.lower()}
            if not meant or (fault.chat_id is not None and str(fault.chat_id) != chat):
                continue
            if fault.skip:
                self._armed[index] = replace(fault, skip=fault.skip - 1)
                continue
            if fault.times <= 1:
                del self._armed[index]
            else:
                self._armed[index] = replace(fault, times=fault.times - 1)
            return fault
        return None


def refusal(fault: Fault) -> ApiError | None:
    """Return the error answer that the fault causes; None if it causes something else, such as a delay."""
    match fault.kind:
        case "429":
            return too_many_requests(fault.retry_after)
        case "500":
            return ApiError(500, "Internal Server Error")
        case "403_blocked":
            return ApiError(403, "Forbidden: bot was blocked by the user")
        case "refuse":
            return ApiError(fault.code, fault.description)
        case _:
            return None


def too_many_requests(seconds: int | None) -> ApiError:
    """Return the error that Telegram sends for too many calls; None leaves out the number of seconds, as some proxies do."""
    if seconds is None:
        return ApiError(429, "Too Many Requests")
    return ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def undecodable_update() -> JsonObject:
    """Return an update that no client library can parse: a message whose fields have the wrong types."""
    return {"message": {"message_id": "not a number", "date": [], "chat": "nowhere"}}

"""Faults that a test orders: how the next answers of the model go wrong, and how many of them."""

from collections import deque
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.model.script import Provider

FaultKind = Literal[
    "400",
    "401",
    "403",
    "404",
    "413",
    "422",
    "429",
    "500",
    "502",
    "503",
    "504",
    "drop",
    "stall",
    "garbage",
    "redirect",
    "huge",
    "drop_mid_stream",
    "no_format",
    "truncated",
    "empty",
]

Target = Literal["chat", "embeddings", "audio", "models", "token"]

WORDLESS: Final = "Конечно! Я уже всё сделал, можете не проверять."
"""An answer without the required blocks, as from a model that forgot its format."""
SPOILING: Final = ("drop_mid_stream", "truncated", "no_format", "empty")
"""Kinds of faults that spoil an answer; all others prevent any answer."""


class Fault(BaseModel):
    """The body of `POST /sandbox/faults`: the next `times` answers of the kind `target` go wrong in the way `kind` says."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: FaultKind
    times: int = Field(default=1, ge=1, le=10_000)
    retry_after: float | None = Field(default=None, ge=0)
    """Seconds for the Retry-After header of a 429."""
    seconds: float = Field(default=60.0, gt=0, le=600)
    """How long a stall lasts."""
    target: Target = "chat"
    provider: Provider | None = None
    """Only for requests in this API; without it for both."""
    location: str = "http://127.0.0.1:1/"
    """Where a redirect leads."""
    megabytes: int = Field(default=2_000, ge=1, le=4_000)
    """How long a huge answer is."""


class Faults:
    """The ordered faults of one server."""

    def __init__(self) -> None:
        """Start without faults."""
        self._queue: deque[tuple[Fault, int]] = deque()

    def add(self, fault: Fault) -> int:
        """Order a fault; return how many answers will go wrong because of all faults ordered so far."""
        self._queue.append((fault, fault.times))
        return self.waiting

    def next(self, target: Target, provider: Provider = "openai") -> Fault | None:
        """Return the fault for the next answer of this kind in this API, and use it up once; None if there is none."""
        for index, (fault, left) in enumerate(self._queue):
            if fault.target != target or fault.provider not in (None, provider):
                continue
            if left > 1:
                self._queue[index] = (fault, left - 1)
            else:
                del self._queue[index]
            return fault
        return None

    def clear(self) -> None:
        """Remove all faults."""
        self._queue.clear()

    @property
    def waiting(self) -> int:
        """The number of answers that will still go wrong."""
        return sum(left for _, left in self._queue)


def spoiled(fault: Fault | None, text: str) -> tuple[str, str]:
    """Return the answer text as the fault changes it, and the finish reason of the completion (`stop` or `length`)."""
    match fault.kind if fault else None:
        case "no_format":
            return WORDLESS, "stop"
        case "empty":
            return "", "stop"
        case "truncated":
            return _cut(text), "length"
        case _:
            return text, "stop"


def _cut(text: str) -> str:
    """Return the text up to the middle of its ACTION part; a text without one is cut in half."""
    start, end = text.find("ACTION:"), text.find("ASSISTANT:")
    middle = (start + end) // 2 if 0 <= start < end else len(text) // 2
    return text[:middle]

"""Rate limits like Telegram's, for sent and edited messages: per private chat, per group and in total. They are off by default."""

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime

from sandbox.telegram.faults import too_many_requests

_SENDS = frozenset({"sendmessage", "senddocument", "sendphoto", "sendvoice"})
_EDITS = frozenset({
    "editmessagetext", "editmessagereplymarkup", "editmessagecaption", "editmessagemedia", "editephemeralmessagetext",
    "editephemeralmessagereplymarkup",
})  # fmt: skip
# What rounding leaves of a wait that is over.
_NOTHING = 0.001
_DRAFTS = frozenset({"sendmessagedraft"})


@dataclass(frozen=True)
class RateLimits:
    """How many calls are accepted; None turns a limit off. `chat_burst` is how many calls a chat accepts at once after a pause."""

    chat_per_second: float | None = None
    chat_burst: int = 1
    group_per_minute: int | None = None
    total_per_second: int | None = None
    drafts_per_second: float | None = None


# What Telegram's bot FAQ states; the burst is unspecified there ("short bursts pass").
DOCUMENTED = RateLimits(chat_per_second=1, chat_burst=5, group_per_minute=20, total_per_second=30)


def kind_of(method: str) -> str | None:
    """Return the kind under which calls of a method are counted: "sends", "edits" or "drafts"; None if they are not limited."""
    name = method.lower()
    for kind, names in (("sends", _SENDS), ("edits", _EDITS), ("drafts", _DRAFTS)):
        if name in names:
            return kind
    return None


class RateWatch:
    """Remembers when calls were accepted, and calculates how long a call beyond the limits must wait."""

    def __init__(self, limits: RateLimits) -> None:
        self.limits = limits
        self._levels: dict[str, tuple[float, float]] = {}
        self._passed: dict[str, deque[float]] = {}
        self._closed: dict[str, float] = {}

    def close(self, chat_id: str, until: float) -> None:
        """Accept no calls to the chat before the time `until` (seconds since 1970), as during a flood wait."""
        self._closed[chat_id] = max(until, self._closed.get(chat_id, 0))

    def admit(self, method: str, chat_id: str, now: datetime) -> None:
        """Count the call as accepted. If a limit is used up, raise `ApiError` 429 with the seconds to wait instead."""
        kind, moment = kind_of(method), now.timestamp()
        wait = self.wait_of(kind, chat_id, moment) if kind else 0
        if wait > _NOTHING:
            raise too_many_requests(max(1, math.ceil(wait)))
        if kind:
            self.count(kind, chat_id, moment)

    def wait_of(self, kind: str, chat_id: str, moment: float) -> float:
        """Return the seconds that a call of this kind to the chat must wait at the time `moment`; 0 or less if it may pass."""
        waits = [self._closed.get(chat_id, 0) - moment]
        if kind == "drafts":
            return max(*waits, self._bucket(f"{chat_id} drafts", self.limits.drafts_per_second, 1, moment))
        waits.append(self._window("all", self.limits.total_per_second, 1.0, moment))
        if chat_id.startswith("-"):
            waits.append(self._window(chat_id, self.limits.group_per_minute, 60.0, moment))
        else:
            waits.append(self._bucket(chat_id, self.limits.chat_per_second, self.limits.chat_burst, moment))
        return max(waits)

    def count(self, kind: str, chat_id: str, moment: float) -> None:
        """Count one accepted call of this kind to the chat."""
        if kind == "drafts":
            return self._draw(f"{chat_id} drafts", self.limits.drafts_per_second, 1, moment)
        if self.limits.total_per_second is not None:
            self._passed.setdefault("all", deque()).append(moment)
        if chat_id.startswith("-"):
            if self.limits.group_per_minute is not None:
                self._passed.setdefault(chat_id, deque()).append(moment)
            return None
        return self._draw(chat_id, self.limits.chat_per_second, self.limits.chat_burst, moment)

    def _level(self, name: str, rate: float, size: int, moment: float) -> float:
        level, at = self._levels.get(name, (float(size), moment))
        return min(float(size), level + (moment - at) * rate)

    def _bucket(self, name: str, rate: float | None, size: int, moment: float) -> float:
        return 0 if rate is None else (1 - self._level(name, rate, size, moment)) / rate

    def _draw(self, name: str, rate: float | None, size: int, moment: float) -> None:
        if rate is not None:
            self._levels[name] = (self._level(name, rate, size, moment) - 1, moment)

    def _window(self, name: str, limit: int | None, window: float, moment: float) -> float:
        passed = self._passed.get(name)
        if passed is None:
            return 0
        while passed and passed[0] <= moment - window:
            passed.popleft()
        return passed[-limit] + window - moment if limit is not None and len(passed) >= limit else 0

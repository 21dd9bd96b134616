"""Telegram's flood limits, off unless asked for: messages and edits alike, per chat, per group and in all."""

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime

from sandbox.telegram.faults import too_many_requests

COUNTED = frozenset({"sendmessage", "editmessagetext", "editmessagereplymarkup", "senddocument", "sendphoto"})


@dataclass(frozen=True)
class RateLimits:
    """How many calls pass within a window; None leaves that limit out. Figures of Telegram's bot FAQ."""

    chat_per_second: int | None = None
    group_per_minute: int | None = None
    total_per_second: int | None = None


class RateWatch:
    """Remembers when calls passed and refuses the one too many."""

    def __init__(self, limits: RateLimits) -> None:
        self.limits = limits
        self._passed: dict[str, deque[float]] = {}

    def admit(self, method: str, chat_id: str, now: datetime) -> None:
        """Count the call; raise `ApiError` 429 with the seconds to wait when a limit is used up."""
        if method not in COUNTED:
            return
        windows = [("all", self.limits.total_per_second, 1.0)]
        if chat_id.startswith("-"):
            windows.append((chat_id, self.limits.group_per_minute, 60.0))
        else:
            windows.append((chat_id, self.limits.chat_per_second, 1.0))
        moment = now.timestamp()
        for name, limit, window in windows:
            self._check(name, limit, window, moment)
        for name, limit, _ in windows:
            if limit is not None:
                self._passed.setdefault(name, deque()).append(moment)

    def _check(self, name: str, limit: int | None, window: float, moment: float) -> None:
        passed = self._passed.get(name)
        if limit is None or passed is None:
            return
        while passed and passed[0] <= moment - window:
            passed.popleft()
        if len(passed) >= limit:
            raise too_many_requests(max(1, math.ceil(passed[0] + window - moment)))

"""Counts the bot's calls: refused calls by reason, and how fast the bot writes to each chat. It refuses nothing itself."""

from collections import Counter, deque
from dataclasses import dataclass, field

from sandbox.telegram.limits import DOCUMENTED, RateLimits, RateWatch, kind_of
from sandbox.telegram.wire import JsonObject

_CONFLICT = 409
_REFUSED_BY_ORDER = {"429", "500", "403_blocked", "refuse"}


@dataclass
class Pace:
    """Counts the calls to one chat, or to all: the total per kind, and the most calls within any second and any minute."""

    kinds: Counter[str] = field(default_factory=Counter)
    peak_second: int = 0
    peak_minute: int = 0
    recent: deque[float] = field(default_factory=deque)

    def note(self, kind: str, moment: float) -> None:
        """Count one call of this kind, made at the time `moment` in seconds.

        Drafts add to the total of their kind, but not to the peaks (the most calls within a second and within a minute).
        """
        self.kinds[kind] += 1
        if kind == "drafts":
            return
        self.recent.append(moment)
        while self.recent[0] <= moment - 60.0:
            self.recent.popleft()
        within = 0
        for at in reversed(self.recent):
            if at <= moment - 1.0:
                break
            within += 1
        self.peak_second = max(self.peak_second, within)
        self.peak_minute = max(self.peak_minute, len(self.recent))

    def view(self) -> JsonObject:
        """Return the totals per kind and the peaks per second and per minute, as JSON data."""
        kinds = {name: self.kinds[name] for name in ("sends", "edits", "drafts")}
        return {**kinds, "peak_second": self.peak_second, "peak_minute": self.peak_minute}


class Counters:
    """Counts the bot's calls since the start of the sandbox, or since the last `DELETE /sandbox/counters`."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._refusals: dict[tuple[str, int, str], list[int]] = {}
        self._ordered: Counter[str] = Counter()
        self._conflicts = 0
        self._early = 0
        self._waits: dict[str, float] = {}
        self._chats: dict[str, Pace] = {}
        self._all = Pace()
        self._over: Counter[str] = Counter()
        self._documented = {
            "chat": RateWatch(RateLimits(chat_per_second=DOCUMENTED.chat_per_second, chat_burst=DOCUMENTED.chat_burst)),
            "group": RateWatch(RateLimits(group_per_minute=DOCUMENTED.group_per_minute)),
            "all": RateWatch(RateLimits(total_per_second=DOCUMENTED.total_per_second)),
        }

    def came(self, method: str, chat: str, moment: float) -> None:
        """Count a call that arrives.

        A send or edit that comes before the end of a flood wait (a wait that a 429 answer asked for) is also counted as early.
        """
        self._calls[method] += 1
        if kind_of(method) and moment < self._waits.get(chat, 0):
            self._early += 1

    def passed(self, method: str, chat: str, moment: float) -> None:
        """Count a successful send, edit or draft. If the documented limits of Telegram would have refused it, also count that."""
        kind = kind_of(method)
        if kind is None:
            return
        self._chats.setdefault(chat, Pace()).note(kind, moment)
        self._all.note(kind, moment)
        for name, watch in self._documented.items() if kind != "drafts" else ():
            if watch.wait_of(kind, chat, moment) > 0.001:
                self._over[name] += 1
            else:
                watch.count(kind, chat, moment)

    def refused(self, entry: JsonObject, chat: str, retry_after: int | None, moment: float) -> None:
        """Count a call that was answered with an error, by method, status and reason.

        `entry` is the call in the log of requests. Errors that a test ordered are not counted here. Polling conflicts are counted
        separately. `retry_after` is the flood wait that the answer announced, in seconds.
        """
        if retry_after is not None:
            self._waits[chat] = moment + retry_after
        if entry.get("fault") in _REFUSED_BY_ORDER:
            return
        if entry["status"] == _CONFLICT and entry["method"].lower() == "getupdates":
            self._conflicts += 1
            return
        found = self._refusals.setdefault((entry["method"], entry["status"], entry["description"]), [0, 0])
        found[0] += 1
        found[1] = entry["seq"]

    def ordered(self, kind: str) -> None:
        """Count one call that got a fault of this kind, because a test had ordered it."""
        self._ordered[kind] += 1

    def view(self) -> JsonObject:
        """Return all counts as JSON data, as `GET /sandbox/counters` returns them."""
        refusals = [
            {"method": method, "code": code, "reason": reason, "count": count, "last_seq": last}
            for (method, code, reason), (count, last) in self._refusals.items()
        ]
        return {
            "calls": self._calls.total(),
            "by_method": dict(self._calls),
            "refused": sum(item["count"] for item in refusals),
            "refusals": refusals,
            "ordered": dict(self._ordered),
            "conflicts": self._conflicts,
            "early": self._early,
            "rates": {"all": self._all.view(), "chats": {chat: pace.view() for chat, pace in self._chats.items()}},
            "over_limits": {name: self._over[name] for name in self._documented},
        }

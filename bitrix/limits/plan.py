"""What the portal allows: operating time for each method, and the request rate of the portal's plan."""

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bitrix.answers import Answer, parse_number, parse_reset_time
from bitrix.errors import TIME_LIMIT

MARGIN = 5.0
_STEP = 60.0
"""Seconds to wait after a refusal without a reset time: the portal frees the budget minute by minute."""
_LONGEST = 660.0
_PROBE = 10.0
_CUT = 1.0
"""Seconds added to a reset time, which the portal cuts to whole seconds."""
OUTER = ""


def extract_methods(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    methods_by_key = {OUTER: method.lower()}
    if method.lower() == "batch":
        methods_by_key |= {
            key: text.partition("?")[0].strip().lower() for key, text in _to_mapping(params.get("cmd")).items() if isinstance(text, str)
        }
    return methods_by_key


@dataclass(frozen=True, slots=True)
class _Budget:
    spent: float
    free_at: float


class OperatingTime:
    """The budgets of all methods for one webhook. `limit` in seconds; 0: a method may run until the portal refuses it."""

    def __init__(self, limit: float, *, clock: Callable[[], float] = time.monotonic, now: Callable[[], datetime]) -> None:
        self._limit = limit - MARGIN if limit > 0 else math.inf
        self._clock = clock
        self._now = now
        self._budgets: dict[str, _Budget] = {}

    def record_answer(self, methods: Mapping[str, str], answer: Answer) -> None:
        self._record_budget(methods[OUTER], answer.time)
        if len(methods) > 1 and isinstance(answer.result, Mapping):
            times, errors = (_to_mapping(answer.result.get(name)) for name in ("result_time", "result_error"))
            for key, method in methods.items():
                self._record_budget(method, times.get(key))
                error = errors.get(key)
                if isinstance(error, Mapping) and error.get("error") == TIME_LIMIT:
                    self.suspend(method, parse_reset_time(error))

    def suspend(self, method: str, until: datetime | None) -> None:
        now = self._clock()
        known = self._budgets.get(method.lower())
        if until is not None:
            wait = (until - self._now()).total_seconds() + _CUT
        elif known is not None and known.free_at > now:
            wait = known.free_at - now
        else:
            wait = _STEP
        self._budgets[method.lower()] = _Budget(math.inf, now + min(max(wait, _CUT), _LONGEST))

    def wait(self, methods: Iterable[str], *, share: float = 1.0) -> float:
        """Seconds until all these methods may run; 0 means now. `share`: the part of the limit for this caller."""
        now, limit = self._clock(), self._limit * share
        budgets = (self._budgets.get(method.lower()) for method in methods)
        return max((budget.free_at - now for budget in budgets if budget and budget.spent >= limit and budget.free_at > now), default=0.0)

    def list_spent(self) -> dict[str, float]:
        now = self._clock()
        return {method: budget.spent for method, budget in self._budgets.items() if budget.free_at > now}

    def begin_probe(self, methods: Iterable[str], *, share: float) -> None:
        """Keep others of this share back until the answer to a first call says how much was freed, or for ten seconds.

        The reset time says when some of the budget is freed, not how much: all who waited would take what is not there.
        """
        for method in map(str.lower, methods):
            budget = self._budgets.get(method)
            if budget is not None and self._limit * share <= budget.spent < self._limit:
                self._budgets[method] = _Budget(budget.spent, self._clock() + _PROBE)

    def find_free_time(self, methods: Iterable[str], *, share: float = 1.0) -> datetime | None:
        """None means now."""
        wait = self.wait(methods, share=share)
        return self._now() + timedelta(seconds=wait) if wait else None

    def _record_budget(self, method: str, times: object) -> None:
        if not isinstance(times, Mapping):
            return
        spent, reset = parse_number(times.get("operating")), parse_number(times.get("operating_reset_at"))
        if spent is None or reset is None:
            return
        # Both times are the portal's, so an error of the local clock does no harm.
        finish = parse_number(times.get("finish"))
        wait = reset - (self._now().timestamp() if finish is None else finish) + _CUT
        self._budgets[method] = _Budget(spent, self._clock() + min(max(wait, 0.0), _LONGEST))


def _to_mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, list | tuple) else {}


SPARE = 1.0
"""Requests kept free: two may arrive closer together than they were sent. One is half a second on the standard plan."""

_OWN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)/(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Plan:
    """Each request raises the counter by one, and it falls by `rate` per second; above `burst` is refused. Raises ValueError."""

    rate: float = 2.0
    burst: float = 50.0

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.burst >= 1):
            msg = "a plan needs a rate above 0 and a burst of at least 1"
            raise ValueError(msg)

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.burst)

    @property
    def ceiling(self) -> float:
        """A little below the portal's threshold."""
        return max(1.0, self.burst - SPARE)

    @property
    def kept_for_people(self) -> float:
        """A fifth of the counter: a lookup and a change at once."""
        return self.burst / 5

    @property
    def seconds_to_drain(self) -> float:
        """A counter read longer ago says nothing about the present one."""
        return self.burst / self.rate

    def drain(self, level: float, seconds: float) -> float:
        return max(0.0, level - max(0.0, seconds) * self.rate)

    def apply_traffic(self, level: float, sent: int, refused: int) -> float:
        """A refusal shows that the counter was full, and refused requests may count, too."""
        level += sent
        return max(level, self.ceiling) + refused if refused and self.is_limited else level

    def wait(self, level: float, *, beside_people: bool = False) -> float:
        """Seconds until there is room for one more. `beside_people` leaves people their part, unless the plan is too small."""
        if not self.is_limited:
            return 0.0
        over = level + 1 - (max(1.0, self.ceiling - self.kept_for_people) if beside_people else self.ceiling)
        return over / self.rate if over > 1e-9 else 0.0  # noqa: PLR2004 - the noise of adding fractions


PLANS = {"standard": Plan(), "enterprise": Plan(5.0, 250.0), "off": Plan(burst=math.inf)}


def parse_plan(text: str) -> Plan:
    if text in PLANS:
        return PLANS[text]
    own = _OWN.fullmatch(text)
    if own is None:
        msg = f"{', '.join(PLANS)}, or requests a second / at once such as 10/300"
        raise ValueError(msg)
    return Plan(float(own[1]), float(own[2]))

"""Tracks how much of its time budget each method has used, according to the portal's answers. It sends nothing and refuses nothing.

The time budget is the running time that the portal allows a method within ten minutes.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bitrix.answers import Answer, parse_number, parse_reset_time
from bitrix.errors import TIME_LIMIT

MARGIN = 5.0
"""How many seconds below the limit calls are stopped: calls under way still add to the time."""
_STEP = 60.0
"""Seconds to wait after a refusal without a reset time: the portal frees the budget minute by minute."""
_LONGEST = 660.0
_CUT = 1.0
"""Seconds added to a reset time, because the portal cuts it to whole seconds."""
OUTER = ""
"""The key of the call itself in the result of `extract_methods`, beside the keys of a batch's commands."""


def extract_methods(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return the methods that one call runs: the method of the call itself, and for a batch that of each command.

    The key of the call's own method is `OUTER`, that of a command's method the key of the command.
    """
    found = {OUTER: method.lower()}
    if method.lower() == "batch":
        found |= {
            key: text.partition("?")[0].strip().lower() for key, text in _to_mapping(params.get("cmd")).items() if isinstance(text, str)
        }
    return found


@dataclass(frozen=True, slots=True)
class _Budget:
    """What the portal last said about the time budget of one method: the seconds used, and when the portal frees them again.

    `free_at` is a time on the monotonic clock of this process.
    """

    spent: float
    free_at: float


class OperatingTime:
    """The time budgets (allowed running times) of all methods for one webhook; each pair of method and webhook has its own.

    `limit` is the budget in seconds. With 0 the seconds used are ignored: a method may run until the portal refuses it. A method of which
    the portal has said nothing may run.
    """

    def __init__(self, limit: float, *, clock: Callable[[], float] = time.monotonic, now: Callable[[], datetime]) -> None:
        """Start without knowing any method's used time. `clock` is the monotonic clock that measures waits, `now` the wall clock."""
        self._limit = limit - MARGIN if limit > 0 else math.inf
        self._clock = clock
        self._now = now
        self._budgets: dict[str, _Budget] = {}

    def record_answer(self, methods: Mapping[str, str], answer: Answer) -> None:
        """Record the time that methods have used, as the answer to a call says; `methods` are those of the call, from `extract_methods`.

        The answer to a batch says for each command how much time its method has used.
        """
        self._record_budget(methods[OUTER], answer.time)
        if len(methods) > 1 and isinstance(answer.result, Mapping):
            times, errors = (_to_mapping(answer.result.get(name)) for name in ("result_time", "result_error"))
            for key, method in methods.items():
                self._record_budget(method, times.get(key))
                error = errors.get(key)
                if isinstance(error, Mapping) and error.get("error") == TIME_LIMIT:
                    self.suspend(method, parse_reset_time(error))

    def suspend(self, method: str, until: datetime | None) -> None:
        """Record that the portal refused the method because its time budget (allowed running time) is used up.

        `until` is the time at which the method may run again, None if the portal gave no time.
        """
        now = self._clock()
        known = self._budgets.get(method.lower())
        if until is not None:
            wait = (until - self._now()).total_seconds() + _CUT
        elif known is not None and known.free_at > now:
            wait = known.free_at - now
        else:
            wait = _STEP
        self._budgets[method.lower()] = _Budget(math.inf, now + min(max(wait, _CUT), _LONGEST))

    def wait(self, methods: Iterable[str]) -> float:
        """Return the seconds until all these methods may run; 0 means now."""
        now = self._clock()
        budgets = (self._budgets.get(method.lower()) for method in methods)
        return max((found.free_at - now for found in budgets if found and found.spent >= self._limit and found.free_at > now), default=0.0)

    def list_spent(self) -> dict[str, float]:
        """Return the seconds that each method has used of its time budget, as the portal last said; infinite for one that it refused."""
        now = self._clock()
        return {method: budget.spent for method, budget in self._budgets.items() if budget.free_at > now}

    def find_free_time(self, methods: Iterable[str]) -> datetime | None:
        """Return when all these methods may run again; None means now."""
        wait = self.wait(methods)
        return self._now() + timedelta(seconds=wait) if wait else None

    def _record_budget(self, method: str, said: object) -> None:
        if not isinstance(said, Mapping):
            return
        spent, reset = parse_number(said.get("operating")), parse_number(said.get("operating_reset_at"))
        if spent is None or reset is None:
            return
        # Both times are the portal's, so an error of the local clock does no harm.
        finish = parse_number(said.get("finish"))
        wait = reset - (self._now().timestamp() if finish is None else finish) + _CUT
        self._budgets[method] = _Budget(spent, self._clock() + min(max(wait, 0.0), _LONGEST))


def _to_mapping(value: object) -> Mapping[str, Any]:
    """Return a map from the portal's answer as a dict. PHP writes a map as a list if it is empty or has the keys 0, 1, 2 and so on."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, list | tuple) else {}

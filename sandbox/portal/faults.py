"""Sandbox portal, faults: failures that a test orders, how often each one happens, and after how many calls."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal[
    "commit_then_drop",
    "500_before",
    "500_after",
    "504_html",
    "html_200",
    "302",
    "delay",
    "delay_answer",
    "403_scope",
    "query_limit",
    "no_operating",
]
# Executed, then the answer is spoilt: 500_after, 504_html, commit_then_drop, delay_answer. Not executed at all: 500_before, html_200, 302,
# 403_scope, query_limit. `delay` waits first, so the write arrives late.


class Fault(BaseModel):
    """One ordered fault: it hits the next `times` calls of `method` after skipping `after_calls` of them.

    Without a method it hits calls of any method. `seconds` is the length of a delay, `location` the target of a redirect.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    method: str | None = None
    times: int = Field(default=1, ge=1)
    seconds: float = Field(default=1.0, ge=0)
    after_calls: int = Field(default=0, ge=0)
    location: str = "https://renamed.example/rest/"


class FaultBox:
    """The faults that are still to happen, oldest first."""

    def __init__(self) -> None:
        self.armed: list[Fault] = []
        self._disarmed = asyncio.Event()

    def disarm(self) -> None:
        """Remove all faults, and end the delays that are under way."""
        self.armed.clear()
        self._disarmed.set()
        self._disarmed = asyncio.Event()

    async def delay(self, seconds: float) -> None:
        """Wait for `seconds`, or until the faults are removed."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._disarmed.wait(), seconds)

    def take(self, method: str, kinds: frozenset[str] | None = None) -> Fault | None:
        """Return the first fault that hits a call of this method and lower its `times` by one; None if none does.

        `kinds` limits the search to these kinds of faults. A matching fault that must still skip calls counts this call as skipped.
        """
        for fault in list(self.armed):
            named = (fault.method or "").lower()
            if (named and named != method.lower()) or (kinds is not None and fault.kind not in kinds):
                continue
            if fault.after_calls > 0:
                fault.after_calls -= 1
                continue
            fault.times -= 1
            if fault.times == 0:
                self.armed.remove(fault)
            return fault
        return None

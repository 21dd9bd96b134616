"""Sandbox portal, faults: what goes wrong on request, how often and after how many calls."""

from __future__ import annotations

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
    """One armed fault; without a method it hits any call."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    method: str | None = None
    times: int = Field(default=1, ge=1)
    seconds: float = Field(default=1.0, ge=0)
    after_calls: int = Field(default=0, ge=0)
    location: str = "https://renamed.example/rest/"


class FaultBox:
    """The armed faults, oldest first."""

    def __init__(self) -> None:
        self.armed: list[Fault] = []

    def take(self, method: str, kinds: frozenset[str] | None = None) -> Fault | None:
        """Take the fault for this call; a fault that still waits counts the call down."""
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

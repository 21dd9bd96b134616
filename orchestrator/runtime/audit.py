"""The audit record of each iteration and decision for ops (S004-43 … S004-47, X9). Fails open: it never disturbs a turn."""

import asyncio
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import orjson

from bitrix.masking import is_free_of_secrets, mask_value
from orchestrator.domain.actor import Actor, Mode
from orchestrator.runtime.turn_context import Iteration
from state.audit_log.interaction_log import InteractionLogger
from state.clock import Clock, format_iso
from state.trace import get_trace_id

SCHEMA = 2
"""Of docs/audit-record.schema.json."""
BACKLOG = 200
"""Records that may wait for a slow disk; then turns wait too."""
KEPT_ENTRIES = 5
"""Of what only grows, a record carries the last few; the journal has all."""
CONFIRMATION_KEYS = ("confirmation_id", "effect_id", "method", "params", "status", "requested_by", "requested_by_name", "fingerprint")
"""What a record of a decision keeps of its card."""


class Audit:
    """Writes masked records to the interaction log of each user."""

    def __init__(self, log: InteractionLogger, clock: Clock) -> None:
        """Keep the log."""
        self._log = log
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "audit")
        """One, so that the records of a person keep their order."""
        self._unwritten: deque[Future[None]] = deque()

    async def record_iteration(
        self, entry: Iteration, *, actor: Actor, session: str, turn_id: str, text: str, mode: Mode, state: Mapping[str, Any]
    ) -> None:
        """One iteration: input, blocks, requests, answers, state, who, tokens, timings."""
        await self._write(
            actor.key,
            {
                "type": "iteration",
                "session": session,
                "turn_id": turn_id,
                "iteration": entry.number,
                "mode": mode,
                "requested_by": {"key": actor.key, "name": actor.name},
                "user_message": text,
                "model_response": entry.blocks or {"raw": entry.raw},
                "executed_actions": entry.calls,
                "targets": sorted({str(call.get("method")) for call in entry.calls}),
                "tokens": entry.tokens,
                "model": entry.model,
                "seconds": entry.model_seconds,
                "state": trim_state(state),
            },
        )

    async def record_decision(self, *, actor: Actor, session: str, entry: Mapping[str, Any], via: str, outcome: Mapping[str, Any]) -> None:
        """A person's decision and what it led to."""
        await self._write(
            actor.key,
            {
                "type": "decision",
                "session": session,
                "decided_by": {"key": actor.key, "name": actor.name},
                "via": via,
                "user_message": outcome.get("notice") or outcome.get("status") or "",
                "executed_actions": [{"method": entry.get("method", ""), "status": outcome.get("status") or entry.get("status", "")}],
                "confirmation": {key: entry[key] for key in CONFIRMATION_KEYS if key in entry},
                "outcome": outcome,
            },
        )

    async def record_failure(self, *, actor: Actor, session: str, turn_id: str, what: str) -> None:
        """Something failed that ops should know of."""
        await self._write(actor.key, {"type": "trouble", "session": session, "turn_id": turn_id, "errors": [what]})

    def wait(self, seconds: float = 5.0) -> None:
        """Block until all that was handed in is in the log, as the end of the program does; TimeoutError where that takes longer."""
        self._thread.submit(lambda: None).result(seconds)

    async def _write(self, user: str, record: Mapping[str, Any]) -> None:
        """Frozen at once, since the state goes on changing; masked and written behind the person's back, who waits for the answer only."""
        trace = {"trace_id": get_trace_id()} if get_trace_id() else {}
        frozen = orjson.dumps({"timestamp": format_iso(self._clock.now()), "user": user, "v": SCHEMA, **trace, **record}, default=str)
        while self._unwritten and self._unwritten[0].done():
            self._unwritten.popleft()
        if len(self._unwritten) >= BACKLOG:
            await asyncio.wait([asyncio.wrap_future(self._unwritten.popleft())])
        self._unwritten.append(self._thread.submit(copy_context().run, self._write_masked, user, frozen))

    def _write_masked(self, user: str, frozen: bytes) -> None:
        """Without secrets; most records hold none, and a look at the whole text tells: those are taken as they are."""
        if is_free_of_secrets(frozen.decode()):
            self._log.write(user, frozen)
        else:
            self._log.record(user, {**mask_value(orjson.loads(frozen)), "user": user})


def trim_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """agent_state as ops read it: confirmations by what and who, without what cards show and buttons carry."""
    left_out = ("preview", "before", "provenance", "reasons", "nonce")
    confirmations = [
        {key: value for key, value in entry.items() if key not in left_out}
        for entry in list(state["confirmations"].values())[-KEPT_ENTRIES:]
    ]
    return {**state, "confirmations": confirmations, "done": state["done"][-KEPT_ENTRIES:]}

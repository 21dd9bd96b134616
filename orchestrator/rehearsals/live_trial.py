"""What a trial asks for real: a model at the cost of who tries, and reads of the portal as this person."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Outcome, Pending
from orchestrator.domain.models import ModelRequest, OnDelta
from orchestrator.rehearsals.rehearsal import CALLS
from orchestrator.sessions.paid_models import PaidModels
from orchestrator.sessions.session import Session, open_session
from orchestrator.turns.feature import Tools
from state.clock import Clock
from state.stored import JsonObject

Asks = Literal["model", "read"]
_ENGINE: Final = "trial"


class LiveTrial:
    """Nothing that it asks for changes the portal: the gate refuses everything but reads."""

    def __init__(self, tools: Tools, clock: Clock, actor: Actor) -> None:
        self._tools, self._clock, self._actor = tools, clock, actor

    async def ask_model(self, request: ModelRequest, on_delta: OnDelta) -> Any:
        """A text, or {text, calls}. Raises OverBudget before asking, ModelClientError, StoreError."""
        async with self._open_session() as session:
            models = PaidModels(
                models=self._tools.model,
                budget=self._tools.model_budget,
                session=session,
                actor=self._actor,
                owner=self._actor.key,
                node=f"{_ENGINE}/model",
                kind="model",
                tell=lambda _done: None,
            )
            answer = await models.chat(request, on_delta)
        calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in answer.calls]
        return {"text": answer.text, CALLS: calls} if calls else answer.text

    async def read(self, method: str, params: JsonObject) -> Outcome:
        """`result` is there if it succeeded. Raises StoreError."""
        effect = Effect(method=method, params=params, proposed_by=_ENGINE, must_read=True, slot=f"{_ENGINE}/{uuid.uuid4().hex}")
        async with self._open_session() as session:
            outcome = await self._tools.gate.submit(effect, actor=self._actor, mode=self._tools.mode, turn_id=_ENGINE, ledger=session)
        assert not isinstance(outcome, Pending)  # noqa: S101 - what must read is never asked about
        return outcome

    @asynccontextmanager
    async def _open_session(self) -> AsyncIterator[Session]:
        """One of its own each time, so that no chat, no run and no other trial waits for it."""
        key = f"{_ENGINE}:{uuid.uuid4().hex}"
        session = await open_session(self._tools.store, self._clock, key, _ENGINE)
        try:
            yield session
        finally:
            await asyncio.shield(session.close())

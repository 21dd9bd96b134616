"""Services of this process ask models at the cost of the person whose turn or run asks them.

A request over a network has none attached.
"""

import contextlib
import time
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import to_month
from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.models import EmbedAnswer, EmbedRequest, ModelAnswer, ModelRequest, Models, OnDelta, OnRestart
from orchestrator.domain.outputs import Notice
from orchestrator.sessions.model_calls import ModelBudget, build_asked_event, describe_cost, hold
from orchestrator.sessions.session import Session
from state.events.runs import NodeDone, NodeFailed

Told = Callable[[NodeDone], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidModels:
    """Calls are noted in the stream of the turn or run."""

    models: Models
    budget: ModelBudget
    session: Session
    actor: Actor
    owner: str
    node: str
    """Nothing of the turn or run has this name."""
    kind: Literal["memo", "model"]
    """A turn tells the call in its iteration's record."""
    tell: Told

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        """Raises OverBudget before asking, ModelClientError, StoreError."""
        model_asked = build_asked_event(request, self.find_model_name(request), self.actor, self.session.now, node=self.node)
        reserved = await self.budget.reserve(self.actor, self.session.now, model_asked)
        if isinstance(reserved, Notice):
            raise OverBudget
        async with hold(reserved):
            await self.session.buffer(model_asked, actor=self.owner)
            started = time.monotonic()
            try:
                answer = await self.models.chat(request, on_delta, on_restart=on_restart)
            except ModelClientError as error:
                await self._note_failure(error, reserved.id)
                raise
            seconds = round(time.monotonic() - started, 3)
            done = self._build_done(answer, seconds, reserved.id)
            await self.session.buffer(done, actor=self.owner)
            reserved.settle(answer)
        self.tell(done)
        return answer

    async def _note_failure(self, error: ModelClientError, reservation: str) -> None:
        cost = describe_cost(error, self.actor, self.session.now)
        failed = NodeFailed(node=self.node, code="degraded", detail=error.reason, reservation=reservation, **cost)
        await self.session.buffer(failed, actor=self.owner)
        await self.session.flush()  # else the estimate would still count when the budget lets the next call go on

    def _build_done(self, answer: ModelAnswer, seconds: float, reservation: str) -> NodeDone:
        return NodeDone(
            node=self.node,
            kind=self.kind,
            model=answer.model,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            seconds=seconds,
            user=self.actor.bitrix_user_id,
            month=to_month(self.session.now, self.actor.time_zone),
            provider=answer.provider,
            failed_before=list(answer.failed_before),
            reservation=reservation,
        )

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        """Raises ModelClientError: services make their own vectors."""
        del request
        raise ModelClientError("Vectors are not made at a person's cost.")

    def find_model_name(self, request: ModelRequest) -> str:
        return self.models.find_model_name(request)


_ATTACHED: ContextVar[Models | None] = ContextVar("attached_models", default=None)
# A context variable, because a service is reached through HTTP, also inside of this process: what a request says of who asks is not
# believed, and no argument could carry the models. The task of the request inherits it.


@contextlib.contextmanager
def attach_models(models: Models) -> Generator[None, None, None]:
    """Also for tasks started inside the block."""
    token = _ATTACHED.set(models)
    try:
        yield
    finally:
        _ATTACHED.reset(token)


class AttachedModels:
    """Raises ModelClientError where none are attached."""

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        return await _find_attached().chat(request, on_delta, on_restart=on_restart)

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        return await _find_attached().embed(request)

    def find_model_name(self, request: ModelRequest) -> str:
        return _find_attached().find_model_name(request)


def _find_attached() -> Models:
    models = _ATTACHED.get()
    if models is None:
        raise ModelClientError("Nobody is there for whom the model's answer could be counted.")
    return models


ATTACHED_MODELS: Final = AttachedModels()

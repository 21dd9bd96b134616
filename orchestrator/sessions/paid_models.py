"""Lets services inside of this process ask models at the cost of the person whose turn or run asks the service.

The documents and the haiku service get `ATTACHED_MODELS`. What it asks is that which the turn or run has attached to the task of its
request, so a request that came over a network has none, whatever it says of who asks.
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
"""Takes the event of an answer, for the audit log, which is written anew from such events where it is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidModels:
    """Asks models for a service at the cost of one person. Each call is noted in the stream of the turn or run, as its own calls are.

    The text of an answer is not noted here: it is part of what the service gives, which the turn or run stores.
    """

    models: Models
    budget: ModelBudget
    session: Session
    actor: Actor
    owner: str
    """Whose events these are: the person of a turn, the owner of a run."""
    node: str
    """The name under which the calls are noted; nothing of the turn or run has it."""
    kind: Literal["memo", "model"]
    """What the audit log has of it: a run has a record of each node of a model, a turn tells it in the record of its iteration."""
    tell: Told

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        """Return the answer. Raises OverBudget, without asking, if the person's budget is used up, ModelClientError, and StoreError."""
        asked = build_asked_event(request, self.find_model_name(request), self.actor, self.session.now, node=self.node)
        reserved = await self.budget.reserve(self.actor, self.session.now, asked)
        if isinstance(reserved, Notice):
            raise OverBudget
        async with hold(reserved):
            await self.session.buffer(asked, actor=self.owner)
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
        """Raise ModelClientError: vectors are made by models of the service's own."""
        del request
        raise ModelClientError("Vectors are not made at a person's cost.")

    def find_model_name(self, request: ModelRequest) -> str:
        """Return the name of the model that is asked first."""
        return self.models.find_model_name(request)


_ATTACHED: ContextVar[Models | None] = ContextVar("attached_models", default=None)
# A context variable, because a service is reached through HTTP, also inside of this process: what a request says of who asks is not
# believed, and no argument could carry the models. The task of the request inherits it.


@contextlib.contextmanager
def attach_models(models: Models) -> Generator[None, None, None]:
    """Let `ATTACHED_MODELS` ask these models, inside the `with` block and in tasks started there."""
    token = _ATTACHED.set(models)
    try:
        yield
    finally:
        _ATTACHED.reset(token)


class AttachedModels:
    """Asks the models that `attach_models` has set. Raises ModelClientError where nobody has: no answer is made that nobody pays for."""

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        """Return the answer of the attached models."""
        return await _find_attached().chat(request, on_delta, on_restart=on_restart)

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        """Return the vectors of the attached models."""
        return await _find_attached().embed(request)

    def find_model_name(self, request: ModelRequest) -> str:
        """Return the name of the model that is asked first."""
        return _find_attached().find_model_name(request)


def _find_attached() -> Models:
    models = _ATTACHED.get()
    if models is None:
        raise ModelClientError("Nobody is there for whom the model's answer could be counted.")
    return models


ATTACHED_MODELS: Final = AttachedModels()

"""What turns and runs share when they ask the model."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Protocol

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import to_month
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer, ModelRequest, ToolCall, UnusableAnswer
from orchestrator.domain.outputs import Notice
from state.events.base import Event
from state.events.conversation import ModelAnswered, ModelAsked


class Reservation:
    """Tokens for one call; ends in one of its methods."""

    def __init__(self, reservation_id: str) -> None:
        self.id = reservation_id

    def settle(self, answer: ModelAnswer) -> None: ...

    def release(self) -> None:
        """The call failed without any answer."""

    def abandon(self) -> None:
        """For a cancelled call, whose cost is not known."""


class ModelBudget(Protocol):
    """For each person and month."""

    async def reserve(self, actor: Actor, now: datetime, model_asked: ModelAsked, /) -> Reservation | Notice:
        """Waits for calls that leave too little; a notice if the budget is used up. Raises StoreError."""

    async def issue_warning(self, actor: Actor, now: datetime, /) -> tuple[Notice, Event] | None:
        """Once a month; None if none is due. Raises StoreError."""

    async def describe_usage(self, actor: Actor, now: datetime, /) -> Notice | None:
        """None without a limit. Raises StoreError."""


class UnlimitedBudget:
    async def reserve(self, _actor: Actor, _now: datetime, model_asked: ModelAsked, /) -> Reservation:
        return Reservation(model_asked.reservation)

    async def issue_warning(self, _actor: Actor, _now: datetime, /) -> tuple[Notice, Event] | None:
        return None

    async def describe_usage(self, _actor: Actor, _now: datetime, /) -> Notice | None:
        return None


UNLIMITED = UnlimitedBudget()


def build_asked_event(request: ModelRequest, model: str, actor: Actor, now: datetime, **place: Any) -> ModelAsked:
    """`place` is turn and iteration, or node and attempt."""
    read, output = request.estimate_tokens()
    return ModelAsked(
        reservation=uuid.uuid4().hex,
        model=model,
        prompt_tokens=read,
        completion_tokens=output,
        user=actor.bitrix_user_id,
        month=to_month(now, actor.time_zone),
        **place,
    )


def build_answered_event(request: ModelRequest, answer: ModelAnswer, actor: Actor, now: datetime, **beside: Any) -> ModelAnswered:
    """`beside` is the place in the turn, the time it took and the reservation."""
    return ModelAnswered(
        text=answer.text,
        model=answer.model,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        prose=request.prose,
        user=actor.bitrix_user_id,
        month=to_month(now, actor.time_zone),
        provider=answer.provider,
        failed_before=list(answer.failed_before),
        calls=to_stored_calls(answer.calls),
        **beside,
    )


@asynccontextmanager
async def hold(reservation: Reservation) -> AsyncIterator[None]:
    """Ends after an error; otherwise the caller settles it."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        failure = error if isinstance(error, ModelClientError) else error.__cause__
        if isinstance(failure, UnusableAnswer) and failure.answer is not None:
            reservation.settle(failure.answer)
        elif isinstance(failure, ModelClientError):
            reservation.release()
        else:
            reservation.abandon()
        raise


def describe_cost(error: ModelClientError, actor: Actor, now: datetime) -> dict[str, Any]:
    """{} if there was no answer."""
    answer = error.answer if isinstance(error, UnusableAnswer) else None
    if answer is None:
        return {}
    return {
        "model": answer.model,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "user": actor.bitrix_user_id,
        "month": to_month(now, actor.time_zone),
    }


def to_stored_calls(calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "name": call.name, "arguments": dict(call.arguments), "problem": call.problem}
        | ({"state": call.state} if call.state else {})
        for call in calls
    ]


def from_stored_calls(stored: list[Mapping[str, Any]] | list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=one["id"], name=one["name"], arguments=one["arguments"], problem=one["problem"], state=one.get("state", ""))
        for one in stored
    )

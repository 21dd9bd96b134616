"""What turns and runs share when they ask the model: the budget that they reserve from, and the event that is noted before the call."""

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
from state.events.conversation import ModelAsked


class Reservation:
    """Tokens that are set aside for one call of the model. It must end in one of its methods."""

    def __init__(self, reservation_id: str) -> None:
        """Create a reservation with the id that `ModelAsked` and the answer to it name."""
        self.id = reservation_id

    def settle(self, answer: ModelAnswer) -> None:
        """Replace the estimate by what the answer cost; called when the answer is stored, or about to be."""

    def release(self) -> None:
        """Give the tokens back: the call has failed without any answer, so it costs nothing."""

    def abandon(self) -> None:
        """Leave the estimate as it is noted in the journal: the call was cancelled, and what it cost is not known."""


class ModelBudget(Protocol):
    """Limits how much of the model each person may use in a month."""

    async def reserve(self, actor: Actor, now: datetime, asked: ModelAsked, /) -> Reservation | Notice:
        """Set aside the tokens of `asked` for one call, or return the message why this person may not use the model any more.

        While calls of this person are under way whose reservations leave too little, it waits for them. Raises StoreError.
        """

    async def issue_warning(self, actor: Actor, now: datetime, /) -> tuple[Notice, Event] | None:
        """Return (warning that little of the budget is left, event that records the warning); None if no warning is due. Raises StoreError.

        A person gets the warning only once in a month.
        """

    async def describe_usage(self, actor: Actor, now: datetime, /) -> Notice | None:
        """Return the message that says how much of the budget is used; None for a person without a limit. Raises StoreError."""


class UnlimitedBudget:
    """The default `ModelBudget`, which has no limits."""

    async def reserve(self, _actor: Actor, _now: datetime, asked: ModelAsked, /) -> Reservation:
        """Return a reservation that holds nothing: the model is always asked."""
        return Reservation(asked.reservation)

    async def issue_warning(self, _actor: Actor, _now: datetime, /) -> tuple[Notice, Event] | None:
        """Return None: there is nothing to warn of."""
        return None

    async def describe_usage(self, _actor: Actor, _now: datetime, /) -> Notice | None:
        """Return None: there is no limit."""
        return None


UNLIMITED = UnlimitedBudget()


def build_asked_event(request: ModelRequest, model: str, actor: Actor, now: datetime, **place: Any) -> ModelAsked:
    """Return the event that the model is asked, with a new reservation; `place` is its turn and iteration, or its node and attempt."""
    read, written = request.estimate_tokens()
    return ModelAsked(
        reservation=uuid.uuid4().hex,
        model=model,
        prompt_tokens=read,
        completion_tokens=written,
        user=actor.bitrix_user_id,
        month=to_month(now, actor.time_zone),
        **place,
    )


@asynccontextmanager
async def hold(reservation: Reservation) -> AsyncIterator[None]:
    """Keep the reservation during a call. The caller settles it; after an error it ends here."""
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
    """Return the fields of `ModelFailed` or `NodeFailed` that say what the failed call cost; {} if there was no answer."""
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
    """Return tool calls as JSON data."""
    return [
        {"id": call.id, "name": call.name, "arguments": dict(call.arguments), "problem": call.problem}
        | ({"state": call.state} if call.state else {})
        for call in calls
    ]


def from_stored_calls(stored: list[Mapping[str, Any]] | list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    """Return the tool calls that `to_stored_calls` wrote."""
    return tuple(
        ToolCall(id=one["id"], name=one["name"], arguments=one["arguments"], problem=one["problem"], state=one.get("state", ""))
        for one in stored
    )

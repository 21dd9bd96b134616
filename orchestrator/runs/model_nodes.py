"""Asks the model for a node: noted before, stored after, so that no answer is paid twice."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from orchestrator.domain.budget import to_month
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import RunFailed, RunModelRequest
from orchestrator.runs.nodes import check_value
from orchestrator.runs.run_pass import RunPass
from orchestrator.sessions.audit import describe_model_node
from orchestrator.sessions.model_calls import build_asked_event, describe_cost, hold, to_stored_calls
from state.events.runs import NodeDone, NodeFailed

OnDelta = Callable[[str], Awaitable[None]]
_MODEL: Final[Origins] = frozenset({"model"})


async def ask_model_once(ctx: RunPass, node: str, request: RunModelRequest, on_delta: OnDelta | None) -> Value:
    attempt = ctx.known.count_attempt(node)
    asked_event = build_asked_event(request, ctx.tools.model.find_model_name(request), ctx.actor, ctx.now, node=node, attempt=attempt)
    reserved = await ctx.model_budget.reserve(ctx.actor, ctx.now, asked_event)
    if isinstance(reserved, Notice):
        raise RunFailed(reserved.code, f"no further question to a model fits into the limits: {reserved.code}", **reserved.args)
    async with hold(reserved):
        ctx.check_going_on(node)  # it may have waited for the budget
        # The call does not wait until this is stored: that is done while the model thinks (ADR 30). It does not count as progress
        # of the run: a node whose call ends the process each time must be given up.
        await ctx.session.buffer(asked_event, actor=ctx.run.owner)
        answer, seconds = await _ask(ctx, node, request, reserved.id, on_delta)
        output = _build_output(request, answer)
        check_value(node, output)
        origins = ctx.foreign.find_origins([message.get("content") for message in request.messages], request.origins | _MODEL)
        done = NodeDone(
            node=node,
            kind="model",
            attempt=attempt,
            output=output,
            origins=sorted(origins),
            model=answer.model,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            seconds=seconds,
            user=ctx.actor.bitrix_user_id,
            month=to_month(ctx.now, ctx.actor.time_zone),
            provider=answer.provider,
            failed_before=list(answer.failed_before),
            reservation=reserved.id,
        )
        await ctx.store(done)
        reserved.settle(answer)
    ctx.records.append(describe_model_node(done, answer.text))
    return Value(output, origins)


async def _ask(ctx: RunPass, node: str, request: RunModelRequest, reservation: str, on_delta: OnDelta | None) -> tuple[ModelAnswer, float]:
    """(answer, seconds). Raises RunFailed, after the failure is stored."""
    started = time.monotonic()
    try:
        if on_delta is None and not request.is_shown:
            answer = await ctx.tools.model.chat(request)
        elif on_delta is None:
            streamer = ctx.drafts.build_streamer(node)
            answer = await ctx.tools.model.chat(request, streamer.show_delta, on_restart=streamer.begin_anew)
        else:  # what the engine has taken it may have used: it cannot be taken back
            answer = await ctx.tools.model.chat(request, on_delta)
    except ModelClientError as error:
        attempt = ctx.known.count_attempt(node)
        cost = describe_cost(error, ctx.actor, ctx.now)
        await ctx.store(NodeFailed(node=node, attempt=attempt, code="degraded", detail=error.reason, reservation=reservation, **cost))
        raise RunFailed("degraded", error.reason) from error
    finally:
        await ctx.drafts.end_stream(node)
    return answer, round(time.monotonic() - started, 3)


def _build_output(request: RunModelRequest, answer: ModelAnswer) -> Any:
    """With tools offered, the text with the calls."""
    if not request.tools:
        return answer.text
    return {"text": answer.text, "calls": to_stored_calls(answer.calls), "finish_reason": answer.finish_reason}

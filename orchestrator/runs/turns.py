"""Plays a turn of an engine that holds conversations inside of a run: its events are in the run's stream, its cards in the run's chat.

The turn ends as it would in a chat. The node of the run waits until every card of the turn is decided.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.base import Engine, TurnInput
from orchestrator.engines.runs import RunFailed, RunResult, RunSuspended
from orchestrator.runs.memo import load_output
from orchestrator.runtime import outbox
from orchestrator.runtime.turn_context import Context as TurnContext
from orchestrator.runtime.turn_context import RecordedTurn, TurnServices, is_node_of
from state.events.conversation import ModelAnswered, PlanRecorded, StepRefused
from state.events.runs import NodeDone
from state.journal.store import StoredEvent

if TYPE_CHECKING:
    from orchestrator.runs.context import Context

ORIGINS: Origins = frozenset({"model", "prose"})
"""Where the text of a turn comes from: the model may have read anything of the CRM."""
PAGE = 1000


async def play_turn(ctx: "Context", node: str, engine: Engine, args: Mapping[str, Value]) -> RunResult:
    """Play a turn with the text `args["text"]` and return its reply; waits (RunSuspended) until its cards are decided.

    The text of anybody but the person and the definition's author is given to the engine as text of others.
    """
    ended = f"{node}/turn"
    if ended not in ctx.known.done:
        ctx.check_going_on(node)
        await _play(ctx, node, ended, engine, args.get("text", Value("")))
    told = (await load_output(ctx.known.done[ended], ctx.tools.store)).data
    fates = {card: await _find_fate(ctx, node, card, effect_id) for card, effect_id in told["cards"].items()}
    if any(fate is None for fate in fates.values()):
        raise RunSuspended(node)
    value = Value({"text": told["text"], "reason": told["reason"], "cards": fates}, ORIGINS)
    return RunResult(value=value, status="done" if told["reason"] in {"answered", "waiting", "planned"} else "failed", code=told["reason"])


async def _play(ctx: "Context", node: str, ended: str, engine: Engine, said: Value) -> None:
    """Play the turn to its end, and store its reply together with its cards."""
    turn_id = f"{ctx.session.key}/{node}"
    text = str(said.data)
    turn = TurnInput(turn_id=turn_id, text="" if said.is_foreign else text, quoted=text if said.is_foreign else "")
    tools = ctx.tools
    services = TurnServices(
        gate=tools.gate,
        model=tools.model,
        queries=tools.queries,
        show_partial=lambda draft: tools.show_partial(ctx.run.home, draft),
        model_budget=tools.model_budget,
    )
    context = TurnContext(ctx.session, turn, actor=ctx.actor, mode=ctx.mode, reach=services, recorded=await _read_recorded(ctx, turn_id))
    end = await engine.run(context)
    for entry in context.iterations:
        state = ctx.session.state.agent
        told = {"session": ctx.session.key, "turn_id": turn_id, "text": turn.text}
        await tools.audit.record_iteration(entry, actor=ctx.actor, mode=ctx.mode, state=state, **told)
    if end.reason == "asked":
        raise RunFailed("run-turn-asked", "the turn asked which record was meant", text=text)
    cards = {one: ctx.session.state.cards[one].effect_id for one in end.reply.confirmations if one in ctx.session.state.cards}
    reply = tools.guard.clean_reply(end.reply, turn.text, locale=ctx.actor.locale)
    rows = [outbox.build_reply_row(ctx.session.key, reply, ctx.now, key=f"turn:{turn_id}")]
    rows += [outbox.build_card_row(ctx.session.key, ctx.session.state.cards[one], ctx.now) for one in cards]
    output: dict[str, Any] = {"asked": turn.text, "text": reply.text, "reason": end.reason, "cards": cards}
    await ctx.store(NodeDone(node=ended, kind="turn", output=output, origins=sorted(ORIGINS)), outbox=rows)


async def _find_fate(ctx: "Context", node: str, card: str, effect_id: str) -> str | None:
    """Return the status in which the effect (proposed call) of a card has ended; None while it has not, and then the run waits for it."""
    row = await ctx.session.find_effect(effect_id)
    if row is None or row.status not in {"requested", "approved", "started", "unknown"}:
        return row.status if row is not None else "refused"
    place = f"{node}/{card}"
    run = ctx.session.state.run
    if run is not None and place not in run.waits:
        await ctx.wait_for_effect(place, effect_id)
    return None


async def _read_recorded(ctx: "Context", turn_id: str) -> RecordedTurn:
    """Return what an earlier process recorded of the turn."""
    await ctx.session.flush()
    found: list[StoredEvent] = []
    after = 0
    while page := await ctx.tools.store.read_events(ctx.session.stream, after=after, limit=PAGE):
        found += [one for one in page if one.data.get("turn_id") == turn_id or is_node_of(one.data.get("node", ""), turn_id)]
        after = page[-1].seq
    answers = (ModelAnswered.from_data(one.data) for one in found if one.type == "ModelAnswered")
    return RecordedTurn(
        is_fresh=not found,
        answers={answer.iteration: answer for answer in answers},
        plans={PlanRecorded.from_data(one.data).iteration: one.data for one in found if one.type == "PlanRecorded"},
        refused_steps={StepRefused.from_data(one.data).slot: one.data for one in found if one.type == "StepRefused"},
        values={one.data["node"]: NodeDone.from_data(one.data) for one in found if one.type == "NodeDone"},
    )

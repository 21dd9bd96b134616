"""Starts another run or a turn as a child."""

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.outputs import Notice
from orchestrator.domain.run_inputs import RunOrder, RunStart
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.engines.base import REST_AFTER_CARD, REST_NOT_BEGUN, ChosenOption, Engine, TurnInput
from orchestrator.engines.runs import Ask, Option, Reasons, RunFailed, RunResult, RunSuspended
from orchestrator.runs.memo import Memo, format_args, load_output
from orchestrator.runs.run_pass import RunPass
from orchestrator.sessions import outbox
from orchestrator.sessions.paused_turns import is_event_of
from orchestrator.sessions.recorded_turn import RecordedTurn
from orchestrator.sessions.turn_context import Context as TurnContext
from orchestrator.sessions.turn_context import TurnServices
from state.canonical import hash_text
from state.events.runs import NodeDone, RunWaits, RunWoken
from state.journal.pages import iterate_later
from state.journal.run_index import PREFIX, RunFilter
from state.journal.store import StoredEvent
from state.model.session_state import Question

ORIGINS: Origins = frozenset({"model", "prose"})
"""The model may have read anything of the CRM."""
MAX_QUESTIONS = 5
"""How often a turn may ask which record was meant."""


async def play_turn(ctx: RunPass, node: str, engine: Engine, args: Mapping[str, Value]) -> RunResult:
    """`args["text"]` is its text, quoted if strangers may have written it. Raises RunSuspended until its cards are decided."""
    turn, turn_output = _build_turn(ctx, node, args.get("text", Value(""))), {}
    for number in range(1, MAX_QUESTIONS + 2):
        ended = f"{node}/turn" if number == 1 else f"{node}/{number}/turn"
        if ended not in ctx.known.done:
            ctx.check_going_on(node)
            await _play(ctx, turn, ended, engine)
        turn_output = (await load_output(ctx.known.done[ended], ctx.tools.store)).data
        if turn_output["reason"] != "asked":
            break
        turn = await _ask(ctx, f"{ended}/question", f"{ctx.session.key}/{node}/{number + 1}", Question.from_stored(turn_output["question"]))
    else:
        raise RunFailed("run-turn-asked", "the turn asked again and again which record was meant", text=turn.text)
    fates = {card: await _find_fate(ctx, node, card, effect_id) for card, effect_id in turn_output["cards"].items()}
    if any(fate is None for fate in fates.values()):
        raise RunSuspended(node)
    value = Value({"text": turn_output["text"], "reason": turn_output["reason"], "cards": fates}, ORIGINS)
    return RunResult(
        value=value, status="done" if turn_output["reason"] in {"answered", "waiting", "planned"} else "failed", code=turn_output["reason"]
    )


def _build_turn(ctx: RunPass, node: str, words: Value) -> TurnInput:
    text = str(words.data)
    return TurnInput(turn_id=f"{ctx.session.key}/{node}", text="" if words.is_foreign else text, quoted=text if words.is_foreign else "")


async def _ask(ctx: RunPass, node: str, turn_id: str, question: Question) -> TurnInput:
    """Raises RunSuspended until it is answered."""
    options = tuple(Option(label=option["label"], value=number) for number, option in enumerate(question.options))
    heard = await ctx.wait_input(node, Ask(notice=Notice.model_validate(question.ask), options=options))
    chosen = question.options[int(heard.value.data)]
    targets = [chosen["target"]] if chosen["target"] else []
    choice = ChosenOption(question=question, value=chosen["value"], label=chosen["label"], targets=targets)
    return TurnInput(turn_id=turn_id, text=question.text, answers=question.question_id, choice=choice)


async def _play(ctx: RunPass, turn: TurnInput, ended: str, engine: Engine) -> None:
    turn_id = turn.turn_id
    tools = ctx.tools
    services = TurnServices(
        gate=tools.gate,
        model=tools.model,
        queries=tools.queries,
        show_partial=ctx.drafts.show_text,
        model_budget=ctx.model_budget,
        came_back=ctx.known.came_back,
    )
    context = TurnContext(ctx.session, turn, actor=ctx.actor, mode=ctx.mode, reach=services, recorded=await _read_recorded(ctx, turn_id))
    end = await engine.run(context)
    for entry in context.iterations:
        state = ctx.session.state.agent
        turn_args = {"session": ctx.session.key, "turn_id": turn_id, "text": turn.text, "home": ctx.run.home}
        await tools.audit.record_iteration(entry, actor=ctx.actor, mode=ctx.mode, state=state, **turn_args)
    if end.reason == "asked":
        question = (await _find_question(ctx, turn_id)).to_stored()
        await ctx.store(NodeDone(node=ended, kind="turn", output={"reason": end.reason, "question": question}, origins=sorted(ORIGINS)))
        return
    cards = {one: ctx.session.state.cards[one].effect_id for one in end.reply.confirmations if one in ctx.session.state.cards}
    notices = tuple(one.model_copy(update={"code": REST_NOT_BEGUN}) if one.code == REST_AFTER_CARD else one for one in end.reply.notices)
    reply = tools.guard.clean_reply(end.reply.model_copy(update={"notices": notices}), turn.text, locale=ctx.actor.locale)
    rows = [outbox.build_reply_row(ctx.session.key, reply, ctx.now, key=f"turn:{turn_id}")]
    rows += [outbox.build_card_row(ctx.session.key, ctx.session.state.cards[card], ctx.now) for card in cards]
    output: dict[str, Any] = {"asked": turn.text, "text": reply.text, "reason": end.reason, "cards": cards}
    await ctx.store(NodeDone(node=ended, kind="turn", output=output, origins=sorted(ORIGINS)), outbox=rows)


async def _find_fate(ctx: RunPass, node: str, card: str, effect_id: str) -> str | None:
    """None while the run waits for the card's effect."""
    row = await ctx.session.find_effect(effect_id)
    if row is None or row.status not in {"requested", "approved", "started", "unknown"}:
        return row.status if row is not None else "refused"
    place = f"{node}/{card}"
    run = ctx.session.state.run
    if run is not None and place not in run.waits:
        await ctx.wait_for_effect(place, effect_id)
    return None


async def _find_question(ctx: RunPass, turn_id: str) -> Question:
    """Another turn of the run may have asked one meanwhile."""
    asked_event = [event for event in await _list_events(ctx, turn_id) if event.type == "NameAsked"][-1]
    return Question.from_stored({**asked_event.data, "ts": asked_event.ts})


async def _read_recorded(ctx: RunPass, turn_id: str) -> RecordedTurn:
    return RecordedTurn.from_events(await _list_events(ctx, turn_id))


async def _list_events(ctx: RunPass, turn_id: str) -> list[StoredEvent]:
    await ctx.session.flush()
    return [event async for event in iterate_later(ctx.tools.store, ctx.session.stream) if is_event_of(event, turn_id)]


MAX_DEPTH = 12
"""Deeper than this a definition probably starts itself."""


class Children:
    def __init__(self, context: RunPass) -> None:
        self._context = context

    async def run_child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        """Raises RunSuspended until the child has ended."""
        ctx = self._context
        if (woken := ctx.known.woken.get(node)) is not None:
            return read_child_result(woken)
        if engine in ctx.tools.engines:
            if ctx.actor.for_customers:  # a turn reads whatever the words ask for
                raise RunFailed("run-not-for-customers", f"a turn of {engine} is not for customers")
            return await play_turn(ctx, node, ctx.tools.engines[engine], args)
        ctx.check_going_on(node)
        if not ctx.is_waiting(node):
            depth = int(ctx.run.depth) + 1
            if depth > MAX_DEPTH:
                raise RunFailed("run-too-deep", f"more than {MAX_DEPTH} runs wait for each other", most=MAX_DEPTH)
            child = build_child_key(ctx.session.key, node, ctx.known.count_attempt(node))
            order = RunStart(
                engine=engine,
                definition=definition,
                home=ctx.run.home,
                args=format_args(args),
                parent=ctx.session.key,
                parent_node=node,
                depth=depth,
                pinned=tuple(dict(pin) for pin in ctx.run.pins),
                since=ctx.known.since,
            )
            if node in ctx.known.retried and (status := await self._find_status(child)):
                return await self._go_on(node, child, status)
            row = order.to_row(
                child,
                source=f"start:{child}" if node not in ctx.known.retried else f"start:{child}:{ctx.session.seq}",
                actor=ctx.actor.model_dump(mode="json") if ctx.actor else SYSTEM,
                now=ctx.now,
                lane="turn",
            )
            await ctx.store(RunWaits(node=node, on="run", waits_for=child), inbox_new=[row])
        raise RunSuspended(node)

    async def _find_status(self, child: str) -> str:
        runs = await self._context.tools.store.list_runs(RunFilter(run_id=child.removeprefix(PREFIX)))
        return runs[0].status if runs else ""

    async def _go_on(self, node: str, child: str, status: str) -> RunResult:
        """Nothing is done twice. What somebody else retried is waited for; if over, its result counts."""
        ctx = self._context
        is_orphan = node in ctx.known.orphaned
        if status == "done" or (status == "cancelled" and not is_orphan):
            memo = Memo()
            await memo.read(ctx.tools.store, child)
            if (end := memo.finished) is not None:
                value = Value(end.result, frozenset(end.origins))  # type: ignore[arg-type]  # stored as text
                return RunResult(value=value, status=end.status, code=end.code, title=memo.started.title if memo.started else "")
        retry = RunOrder(order="retry", parent=ctx.session.key).to_row(
            child, source=f"retry:{child}:{ctx.session.seq}", actor=ctx.actor.model_dump(mode="json"), now=ctx.now
        )
        await ctx.store(RunWaits(node=node, on="run", waits_for=child), inbox_new=[retry] if status == "failed" or is_orphan else [])
        raise RunSuspended(node)


def build_child_key(parent: str, node: str, attempt: int) -> str:
    """The same each time it is computed."""
    digits = hash_text(f"{parent}/{node}/{attempt}")
    return f"run:{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def read_child_result(woken: RunWoken) -> RunResult:
    stored = woken.value if isinstance(woken.value, Mapping) else {}
    value = Value.from_stored(stored["value"]) if isinstance(stored.get("value"), Mapping) else Value(None, NOWHERE)
    return RunResult(
        value=value,
        status=stored.get("status", "failed"),
        code=str(stored.get("code", "")),
        title=str(stored.get("title", "")),
        reasons=Reasons.from_stored(stored.get("reasons") or {}),
    )

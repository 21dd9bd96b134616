"""Typed commands, answered by fixed code in every mode; the model is not asked. Only /new and /stop change anything."""

from collections.abc import Awaitable, Callable

from bitrix.masking import mask_value
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.inputs import Command
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.features.cards.open_cards import build_pending_rows
from orchestrator.features.leads import lead_inbox
from orchestrator.features.talking import stop_queue
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.decide.freeze_check import build_freeze_args
from orchestrator.replies.code_notes import list_examples
from orchestrator.runtime import outbox, recovery
from orchestrator.runtime.input_filter import wake
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor
from state.canonical import dumps
from state.events.conversation import ConversationCleared
from state.events.fold import list_open_confirmations
from state.journal.store import InboxRow, OutboxRow

BuildReply = Callable[[Actor, Session, Tools], Awaitable[Reply]]

COMMANDS = ("start", "help", "new", "stop", "pending", "today", "history", "reminders", "mode", "status", "language", "settings")
"""The commands offered to everybody; some of them are handled by features."""
ADMIN_COMMANDS = ("freeze", "unfreeze")
"""The commands offered to administrators in addition."""
_IN_PRIVATE = frozenset({"language", "settings"})


def list_commands(actor: Actor, session: str) -> tuple[str, ...]:
    """Return the commands that work for `actor` in this session; settings are offered only in the person's own Telegram chat."""
    names = tuple(name for name in COMMANDS if session == actor.key or name not in _IN_PRIVATE)
    return (*names, *ADMIN_COMMANDS) if actor.role == "admin" else names


async def run_command(row: InboxRow, session: Session, tools: Tools) -> None:
    """Answer one typed command; an unknown one is answered with the list of those that exist."""
    said = Command.model_validate(row.body)
    feature = tools.handlers.commands.get(said.name)
    if feature is not None:
        await feature(row, session, tools)
        return
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match said.name:
        case "check" | "details":
            await _answer_card_button(row, said, actor, session, tools)
        case "stop":
            await _run_stop(row, actor, session, tools)
        case "pending":
            await _run_pending(row, actor, session, tools)
        case name:
            reply = await _REPLIES.get(name, _build_unknown_reply)(actor, session, tools)
            events = [ConversationCleared(by=actor.key)] if name == "new" else []
            told = [outbox.build_reply_row(session.key, reply, session.now)]
            await session.commit(*events, actor=actor.key, outbox=told, inbox_done=[row.id])


async def _run_pending(row: InboxRow, actor: Actor, session: Session, tools: Tools) -> None:
    """Show the cards that are open in this session; for a lead, also request those that wait for their decision in other sessions.

    The other sessions send their cards themselves.
    """
    count, wanted = await lead_inbox.find_pending_elsewhere(row, actor, session, tools)
    rows = await build_pending_rows(session, tools.store, of_others=count)
    await session.commit(actor=actor.key, outbox=rows, inbox_new=wanted, inbox_done=[row.id])
    if wanted:
        wake(tools.store)


async def _answer_card_button(row: InboxRow, said: Command, actor: Actor, session: Session, tools: Tools) -> None:
    """Handle the two card buttons that decide nothing: "check" looks at an unknown outcome again, "details" shows the exact call."""
    entry = session.state.cards.get(said.confirmation_id)
    rows: list[OutboxRow] = []
    if entry is None and said.name == "check":
        effect = await session.find_effect(said.confirmation_id)  # a call without a card: the id in the button is the effect id
        if effect is None or effect.stream != session.stream:
            rows.append(outbox.build_reply_row(session.key, build_reply(Notice(code="details-none")), session.now))
        else:
            await recovery.reconcile_now(effect.effect_id, session, tools)
    elif entry is None:
        rows.append(outbox.build_reply_row(session.key, build_reply(Notice(code="details-none")), session.now))
    elif said.name == "check":
        await recovery.reconcile_now(entry.effect_id, session, tools)
    else:
        rows.append(outbox.build_details_row(session.key, entry, session.now))
        if actor.role == "admin":
            rows.append(outbox.build_code_row(session.key, f"{entry.method}\n{dumps(mask_value(entry.params))}", session.now))
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


async def _start(actor: Actor, _session: Session, tools: Tools) -> Reply:
    mode = resolve_mode(tools.mode, actor)
    return Reply(
        notices=(Notice(code="welcome", args={"name": actor.name, "role": actor.role, "mode": mode}),), examples=_build_examples(mode)
    )


async def _help(actor: Actor, session: Session, tools: Tools) -> Reply:
    notice = Notice(code="help", args={"role": actor.role, "private": session.key == actor.key})
    return Reply(notices=(notice,), examples=_build_examples(resolve_mode(tools.mode, actor)))


async def _new(_actor: Actor, session: Session, _tools: Tools) -> Reply:
    waiting = len(list_open_confirmations(session.state))
    return build_reply(Notice(code="cleared", args={"waiting": waiting}))


async def _run_stop(row: InboxRow, actor: Actor, session: Session, tools: Tools) -> None:
    """Stop the running turn and drop the requests queued behind it; the reply counts them and has a button that queues them again.

    A call that was already sent is awaited to its end. A request of somebody else goes on, unless a lead stops it. The time of the stop is
    stored before anything ends, so that whoever takes the next request knows of it.
    """
    person = await stop_queue.find_requester(session, tools)
    theirs = not stop_queue.may_stop(actor, person)
    running = not theirs and (session.key in tools.running or session.state.turn is not None)
    code = "stop-not-yours" if theirs else "stopping" if running else "nothing-to-stop"
    told = [Notice(code=code, args={"who": person.name} if theirs and person else {})]
    try:
        behind = await stop_queue.count_waiting(actor, session, tools)
        again = Action(words=(stop_queue.PRESS, str(stop_queue.to_milliseconds(row))), label=Notice(code="button-requeue"))
        if behind:
            told = [*told[: int(running or theirs)], Notice(code="stop-queue", args={"count": behind})]
        reply = Reply(notices=tuple(told), actions=(again,) if behind else ())
        shown = outbox.build_reply_row(session.key, reply, session.now)
        turn = session.state.turn if running else None
        events = [stop_queue.build_stop_event(row, actor.key)] if behind else []
        if turn is not None:  # should the process die before its end, whoever goes on with it learns of it
            events.append(stop_queue.build_stop_event(row, (person or actor).key, turn_id=turn.turn_id))
        await session.commit(*events, actor=actor.key, outbox=[shown], inbox_done=[row.id])
    finally:
        at_work = tools.running.get(session.key)
        if at_work is not None and stop_queue.may_stop(actor, at_work.actor):  # another turn may have begun meanwhile
            at_work.stop()


async def _mode(actor: Actor, _session: Session, tools: Tools) -> Reply:
    mode = Notice(code="mode", args={"mode": resolve_mode(tools.mode, actor), "installed": tools.mode})
    return build_reply(mode, *await _build_freeze_notices(tools))


async def _status(actor: Actor, session: Session, tools: Tools) -> Reply:
    agent = session.state.agent
    args = {
        "mode": resolve_mode(tools.mode, actor),
        "waiting": len(list_open_confirmations(session.state)),
        "unknown": len(session.state.unknown),
        "running": "yes" if session.state.turn else "no",
        "done": len(agent.done),
    }
    used = await tools.model_budget.describe_usage(actor, session.now)
    return build_reply(Notice(code="status", args=args), *([used] if used is not None else []), *await _build_freeze_notices(tools))


async def _build_freeze_notices(tools: Tools) -> list[Notice]:
    """Return the notice that writes are frozen, or nothing when they are not."""
    standing = await tools.gate.deps.switch.find_freeze()
    return [] if standing is None else [Notice(code="frozen-now", args=build_freeze_args(standing))]


async def _build_unknown_reply(actor: Actor, session: Session, _tools: Tools) -> Reply:
    return build_reply(
        Notice(code="unknown-command", args={"commands": " ".join(f"/{name}" for name in list_commands(actor, session.key))})
    )


def _build_examples(mode: Mode) -> tuple[Notice, ...]:
    return tuple(Notice(code=code) for code in list_examples(mode))


_REPLIES: dict[str, BuildReply] = {
    "start": _start,
    "help": _help,
    "new": _new,
    "mode": _mode,
    "status": _status,
}

"""Typed commands: fixed code, read only but for /new and /stop, the same in every mode; the model is not asked (DESIGN §3). Ring 2."""

from collections.abc import Awaitable, Callable

from bitrix.masking import mask_value
from orchestrator import outgoing, recovering
from orchestrator.asked import wake
from orchestrator.cards import deciding
from orchestrator.cards.showing import pending_rows
from orchestrator.gate.frozen import told_of
from orchestrator.gate.modes import effective
from orchestrator.messages import Action, Actor, Mode, Notice, Reply, say
from orchestrator.offering import examples
from orchestrator.session import Session
from orchestrator.talking import queueing
from orchestrator.turns import Tools, admitted
from state.agent_state import open_confirmations
from state.canonical import dumps
from state.events import ConversationCleared
from state.store import InboxRow, OutboxRow

Command = Callable[[Actor, Session, Tools], Awaitable[Reply]]

NAMES = ("start", "help", "new", "stop", "pending", "today", "history", "reminders", "mode", "status", "language", "settings")
"""What is offered; some of them are worked by features."""
FOR_ADMINS = ("freeze", "unfreeze")
"""What is offered to administrators besides."""
_IN_PRIVATE = frozenset({"language", "settings"})


def offered(actor: Actor, session: str) -> tuple[str, ...]:
    """What works for this person in this conversation: settings in their own Telegram chat only."""
    names = tuple(name for name in NAMES if session == actor.key or name not in _IN_PRIVATE)
    return (*names, *FOR_ADMINS) if actor.role == "admin" else names


async def run_command(row: InboxRow, session: Session, tools: Tools) -> None:
    """Answer one typed command; an unknown one is answered with the list of those that exist."""
    feature = tools.handlers.commands.get(row.body["name"])
    if feature is not None:
        await feature(row, session, tools)
        return
    actor = await admitted(row, session, tools)
    if actor is None:
        return
    if row.body["name"] in {"check", "details"}:
        await _about_card(row, actor, session, tools)
        return
    if row.body["name"] == "stop":
        await _stop(row, actor, session, tools)
        return
    command = _COMMANDS.get(row.body["name"], _unknown)
    events = [ConversationCleared(by=actor.key)] if row.body["name"] == "new" else []
    if row.body["name"] == "pending":
        await _pending(row, actor, session, tools)
        return
    rows = [outgoing.reply_row(session.key, await command(actor, session, tools), session.now)]
    await session.commit(*events, actor=actor.key, outbox=rows, inbox_done=[row.id])


async def _pending(row: InboxRow, actor: Actor, session: Session, tools: Tools) -> None:
    """What waits here, and for a lead what waits for their decision in other conversations, which bring it themselves."""
    count, wanted = await deciding.elsewhere(row, actor, session, tools)
    rows = await pending_rows(session, tools.store, of_others=count)
    await session.commit(actor=actor.key, outbox=rows, inbox_new=wanted, inbox_done=[row.id])
    if wanted:
        wake(tools.store)


async def _about_card(row: InboxRow, actor: Actor, session: Session, tools: Tools) -> None:
    """The two buttons of a card that decide nothing: look again at an unknown outcome, show the exact call."""
    named = row.body.get("confirmation_id", "")
    entry = session.state["agent"]["confirmations"].get(named)
    rows: list[OutboxRow] = []
    if entry is None and row.body["name"] == "check":
        effect = await session.effect(named)  # a call without a card is named by itself
        if effect is None or effect.stream != session.stream:
            rows.append(outgoing.reply_row(session.key, say(Notice(code="details-none")), session.now))
        else:
            await recovering.recheck(effect.effect_id, session, tools)
    elif entry is None:
        rows.append(outgoing.reply_row(session.key, say(Notice(code="details-none")), session.now))
    elif row.body["name"] == "check":
        await recovering.recheck(entry["effect_id"], session, tools)
    else:
        rows.append(outgoing.details_row(session.key, entry, session.now))
        if actor.role == "admin":
            rows.append(outgoing.code_row(session.key, f"{entry['method']}\n{dumps(mask_value(entry['params']))}", session.now))
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


async def _start(actor: Actor, session: Session, tools: Tools) -> Reply:
    del session
    mode = effective(tools.mode, actor)
    return Reply(notices=(Notice(code="welcome", args={"name": actor.name, "role": actor.role, "mode": mode}),), examples=_examples(mode))


async def _help(actor: Actor, session: Session, tools: Tools) -> Reply:
    notice = Notice(code="help", args={"role": actor.role, "private": session.key == actor.key})
    return Reply(notices=(notice,), examples=_examples(effective(tools.mode, actor)))


async def _new(actor: Actor, session: Session, tools: Tools) -> Reply:
    del actor, tools
    waiting = len(open_confirmations(dict(session.state)))
    return say(Notice(code="cleared", args={"waiting": waiting}))


async def _stop(row: InboxRow, actor: Actor, session: Session, tools: Tools) -> None:
    """What runs ends, a call on its way heard to its end; what waits behind it is left out, named, and one press brings it back.

    What somebody else asked for goes on, unless a lead stops it. The moment of the stop is stored before anything ends: whoever comes to
    the next request knows of it.
    """
    person = await queueing.asked_by(session, tools)
    theirs = not queueing.may_stop(actor, person)
    running = not theirs and (session.key in tools.running or session.state["turn"] is not None)
    code = "stop-not-yours" if theirs else "stopping" if running else "nothing-to-stop"
    told = [Notice(code=code, args={"who": person.name} if theirs and person else {})]
    try:
        behind = await queueing.waiting(actor, session, tools)
        again = Action(words=(queueing.PRESS, str(queueing.moment(row))), label=Notice(code="button-requeue"))
        if behind:
            told = [*told[: int(running or theirs)], Notice(code="stop-queue", args={"count": behind})]
        reply = Reply(notices=tuple(told), actions=(again,) if behind else ())
        shown = outgoing.reply_row(session.key, reply, session.now)
        turn = session.state["turn"] if running else None
        events = [queueing.stop_of(row, actor.key)] if behind else []
        if turn is not None:  # should the process die before its end, whoever goes on with it learns of it
            events.append(queueing.stop_of(row, (person or actor).key, turn_id=turn["turn_id"]))
        await session.commit(*events, actor=actor.key, outbox=[shown], inbox_done=[row.id])
    finally:
        at_work = tools.running.get(session.key)
        if at_work is not None and queueing.may_stop(actor, at_work.actor):  # another turn may have begun meanwhile
            at_work.stop()


async def _mode(actor: Actor, session: Session, tools: Tools) -> Reply:
    del session
    mode = Notice(code="mode", args={"mode": effective(tools.mode, actor), "installed": tools.mode})
    return say(mode, *await _frozen(tools))


async def _status(actor: Actor, session: Session, tools: Tools) -> Reply:
    agent = session.state["agent"]
    args = {
        "mode": effective(tools.mode, actor),
        "waiting": len(open_confirmations(dict(session.state))),
        "unknown": len(session.state["unknown"]),
        "running": "yes" if session.state["turn"] else "no",
        "done": len(agent["done"]),
    }
    used = await tools.purse.used(actor, session.now)
    return say(Notice(code="status", args=args), *([used] if used is not None else []), *await _frozen(tools))


async def _frozen(tools: Tools) -> list[Notice]:
    """That writing is stopped, where it is."""
    standing = await tools.gate.means.switch.standing()
    return [] if standing is None else [Notice(code="frozen-now", args=told_of(standing))]


async def _unknown(actor: Actor, session: Session, tools: Tools) -> Reply:
    del tools
    return say(Notice(code="unknown-command", args={"commands": " ".join(f"/{name}" for name in offered(actor, session.key))}))


def _examples(mode: Mode) -> tuple[Notice, ...]:
    return tuple(Notice(code=code) for code in examples(mode))


_COMMANDS: dict[str, Command] = {
    "start": _start,
    "help": _help,
    "new": _new,
    "mode": _mode,
    "status": _status,
}

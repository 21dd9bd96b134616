"""Typed commands such as /status, without the model. Other commands are features' (`CommandSpec`)."""

from collections.abc import Awaitable, Callable

from bitrix.masking import mask_value
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.address import is_run
from orchestrator.domain.card_view import must_be_opened
from orchestrator.domain.inputs import Command, TextMessage
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.gate.approve.card_groups import find_shown_card, is_merged
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.decide.refusals import build_freeze_args
from orchestrator.replies.code_notes import list_examples
from orchestrator.runtime import recovery
from orchestrator.sessions import outbox
from orchestrator.sessions.grouped_cards import build_plan_details_rows
from orchestrator.sessions.input_filter import build_cross_session_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import SHORT_ARGS, CommandSpec, Feature, Tools
from orchestrator.turns.turn import admit_actor, build_runs_notices
from state.canonical import dumps, to_storable_text
from state.events.confirmations import CardOpened
from state.events.conversation import ConversationCleared
from state.events.fold import list_open_confirmations
from state.journal.run_index import PREFIX, RunFilter
from state.journal.store import InboxRow, Lane, OutboxRow

BuildReply = Callable[[Actor, Session, Tools], Awaitable[Reply]]

COMMANDS = ("start", "help", "new", "stop", "pending", "today", "history", "reminders", "mode", "status", "language", "settings")
"""In menu order. New commands get their line from their feature."""
CARD_BUTTONS = ("check", "details")
"""Buttons of cards that arrive as commands."""
_IN_PRIVATE = frozenset({"language", "settings"})


def list_commands(actor: Actor, session: str, features: Feature) -> tuple[str, ...]:
    """Without those of a private chat elsewhere."""
    names = (*(name for name in COMMANDS if session == actor.key or name not in _IN_PRIVATE), *list_offered_commands(features))
    return (*names, *list_offered_commands(features, for_admins=True)) if actor.role == "admin" else names


def list_offered_commands(features: Feature, *, for_admins: bool = False) -> dict[str, Notice]:
    """By name: the line of the menu."""
    return {name: one.menu for name, one in features.command_specs.items() if one.menu is not None and one.for_admins is for_admins}


def parse_command(name: str, args: str, features: Feature) -> tuple[Command | TextMessage, Lane]:
    """Every front end asks this. What follows a command of an engine waits for its turn."""
    if name == "new":
        return Command(name=name, args=args.strip()[:SHORT_ARGS]), "turn"
    spec = features.command_specs.get(name, CommandSpec())
    if spec.engine:
        return TextMessage(text=to_storable_text(args).strip()[: spec.longest], origin="typed", pieces=1, engine=spec.engine), "turn"
    return Command(name=name, args=args.strip()[: spec.longest]), spec.lane


async def run_command(row: InboxRow, session: Session, tools: Tools) -> None:
    """Or a click on a card button. An unknown command gets the list."""
    command = Command.model_validate(row.body)
    feature = tools.features.commands.get(command.name)
    if feature is not None:
        await feature(row, session, tools)
        return
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match command.name:
        case "check" | "details":
            await _answer_card_button(row, command, actor, session, tools)
        case name:
            reply = await _REPLIES.get(name, _build_unknown_reply)(actor, session, tools)
            events = [ConversationCleared(by=actor.key)] if name == "new" else []
            outbox_rows = [outbox.build_reply_row(session.key, reply, session.now)]
            await session.commit(*events, actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])


async def _answer_card_button(row: InboxRow, command: Command, actor: Actor, session: Session, tools: Tools) -> None:
    """ "check" looks up an unknown outcome, "details" shows the exact call."""
    entry = session.state.cards.get(command.confirmation_id)
    shown_card = find_shown_card(command.confirmation_id, session.state, session.key)
    rows: list[OutboxRow] = []
    passed: list[InboxRow] = []
    opened: list[CardOpened] = []
    if entry is None and command.name == "check":
        effect = await session.find_effect(command.confirmation_id)  # a call without a card: the id in the button is the effect id
        if effect is not None and await _is_run_shown_in(effect.stream, session, tools):
            passed.append(build_cross_session_row(Command.KIND, row, effect.stream, command.to_json(), session))
        elif effect is None or effect.stream != session.stream:
            rows.append(outbox.build_reply_row(session.key, build_reply(Notice(code="details-none")), session.now))
        else:
            await recovery.reconcile_now(effect.effect_id, session, tools)
    elif entry is None:
        rows.append(outbox.build_reply_row(session.key, build_reply(Notice(code="details-none")), session.now))
    elif command.name == "check":
        await recovery.reconcile_now(entry.effect_id, session, tools)
    elif shown_card is not None and is_merged(shown_card):
        rows.extend(build_plan_details_rows(session.key, entry, session.state.cards, session.now, with_calls=actor.role == "admin"))
    else:
        rows.append(await outbox.build_opened_row(session.key, entry, session.now, tools.gate.deps.bulk))
        if actor.role == "admin":
            rows.append(outbox.build_code_row(session.key, f"{entry.method}\n{dumps(mask_value(entry.params))}", session.now))
        if entry.is_waiting and must_be_opened(entry, actor.key):
            opened.append(CardOpened(confirmation_id=entry.confirmation_id, by=actor.key))
            card = entry.with_values(opened=[*entry.opened, actor.key])
            rows.append(outbox.build_card_row(session.key, card, session.now, anew=True))
    await session.commit(*opened, actor=actor.key, outbox=rows, inbox_done=[row.id], inbox_new=passed)


async def _is_run_shown_in(stream: str, session: Session, tools: Tools) -> bool:
    if not is_run(stream):
        return False
    runs = await tools.store.list_runs(RunFilter(run_id=stream.removeprefix(PREFIX)))
    return bool(runs) and runs[0].home == session.key


async def _start(actor: Actor, _session: Session, tools: Tools) -> Reply:
    mode = resolve_mode(tools.mode, actor)
    return Reply(
        notices=(Notice(code="welcome", args={"name": actor.name, "role": actor.role, "mode": mode}),), examples=_build_examples(mode)
    )


async def _help(actor: Actor, session: Session, tools: Tools) -> Reply:
    notice = Notice(code="help", args={"role": actor.role, "private": session.key == actor.key})
    return Reply(notices=(notice,), examples=_build_examples(resolve_mode(tools.mode, actor)))


async def _new(actor: Actor, session: Session, tools: Tools) -> Reply:
    waiting = len(list_open_confirmations(session.state))
    return build_reply(Notice(code="cleared", args={"waiting": waiting}), *await build_runs_notices(actor, session, tools))


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
    standing = await tools.gate.deps.switch.find_freeze()
    return [] if standing is None else [Notice(code="frozen-now", args=build_freeze_args(standing))]


async def _build_unknown_reply(actor: Actor, session: Session, tools: Tools) -> Reply:
    known = list_commands(actor, session.key, tools.features)
    return build_reply(Notice(code="unknown-command", args={"commands": " ".join(f"/{name}" for name in known)}))


def _build_examples(mode: Mode) -> tuple[Notice, ...]:
    return tuple(Notice(code=code) for code in list_examples(mode))


_REPLIES: dict[str, BuildReply] = {
    "start": _start,
    "help": _help,
    "new": _new,
    "mode": _mode,
    "status": _status,
}

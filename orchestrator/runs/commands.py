from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import Command
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.run_inputs import RunOrder
from orchestrator.domain.taint import Value
from orchestrator.language.text import split_foreign_text
from orchestrator.runs.inputs import MAY_CONTROL
from orchestrator.runs.listening import build_input, build_receipt, build_start
from orchestrator.runs.offers import list_offers
from orchestrator.runs.questions import BUTTON
from orchestrator.runs.registry import Engines, RunCommand
from orchestrator.runs.titles import NONE, RunName, look_up_title, name_runs
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import CommandSpec, Handler, Tools
from orchestrator.turns.turn import admit_actor
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunFilter, RunRow
from state.journal.store import InboxRow
from state.model.run_state import RunWait

COMMANDS: Final = ("runs", "cancel")
LISTED: Final = 10
MAX_TEXT: Final = 20_000
"""Characters kept after an engine's command: as many as a message may have."""
OPEN: Final = ("running", "waiting", "paused")
WAITS: Final = ("effect", "input", "timer", "run")
"""The first that applies is named in lists."""
LONGEST_NAME: Final = 60


async def list_runs(row: InboxRow, session: Session, tools: Tools, *, engines: Engines) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    runs = await tools.store.list_runs(RunFilter(home=session.key, statuses=(*OPEN, "failed"), limit=LISTED))
    heading = Notice(code="runs-listed", args={"count": len(runs)})
    reply = await _list_named(heading, runs, await name_runs(runs, engines, tools.store), actor, tools)
    outbox_rows = [outbox.build_reply_row(session.key, reply, session.now)]
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])


async def _list_named(heading: Notice, run_rows: Sequence[RunRow], names: Mapping[str, RunName], actor: Actor, tools: Tools) -> Reply:
    lines = [await _describe_run(run_row, names[run_row.run_id], tools) for run_row in run_rows]
    actions = [_build_button(one, names[one.run_id]) for one in run_rows if one.owner == actor.key or actor.role in MAY_CONTROL]
    return Reply(notices=(heading, *lines), actions=tuple(actions))


async def _describe_run(row: RunRow, name: RunName, tools: Tools) -> Notice:
    what = await _describe_status(row, tools)
    return Notice(code="run-line", args={"definition": name.title, "id": name.mark, "what": what.model_dump(), "at": row.started_at})


async def _describe_status(row: RunRow, tools: Tools) -> Notice:
    if row.status != "waiting":
        return Notice(code={"paused": "run-does-pause", "failed": "run-does-fail"}.get(row.status, "run-does-work"))
    state, _ = await tools.store.read(load_state, f"{PREFIX}{row.run_id}")
    waits = sorted(state.run.waits.values(), key=lambda wait: WAITS.index(wait.on)) if state.run is not None else []
    match waits:
        case [RunWait(on="effect"), *_]:
            return Notice(code="run-waits-effect")
        case [RunWait(on="input", until=""), *_]:
            return Notice(code="run-waits-input")
        case [RunWait(on="input", until=until), *_]:
            return Notice(code="run-waits-input-until", args={"at": until})
        case [RunWait(on="timer", until=until), *_]:
            return Notice(code="run-waits-timer", args={"at": until})
        case [RunWait(), *_]:
            return Notice(code="run-waits-run")
        case _:
            return Notice(code="run-does-work")


def _build_button(row: RunRow, name: RunName) -> Action:
    order = "retry" if row.status == "failed" else "cancel"
    args = {"definition": name.title, "id": name.mark}
    label = Notice(code="run-retry-one", args=args) if order == "retry" else Notice(code="run-cancel-one", args=args)
    return Action(words=(BUTTON, row.run_id, order), label=label)


async def cancel_run(row: InboxRow, session: Session, tools: Tools, *, engines: Engines) -> None:
    """Named by key or title of its definition or an end of its id; without a name, the only run of the chat."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    query = Command.model_validate(row.body).args.strip()
    runs = await tools.store.list_runs(RunFilter(home=session.key, statuses=OPEN, limit=100))
    mine = [one for one in runs if one.owner == actor.key or actor.role in MAY_CONTROL]
    names = await name_runs(mine, engines, tools.store)
    fits = [one for one in mine if _is_named(one, names[one.run_id], query)]
    if not fits:
        none = Notice(code="run-cancel-none", args={"wanted": query[:LONGEST_NAME] or NONE})
        outbox_rows = [outbox.build_reply_row(session.key, build_reply(none), session.now)]
        await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])
        return
    if len(fits) > 1:
        reply = await _list_named(Notice(code="run-cancel-which"), fits[:LISTED], names, actor, tools)
        outbox_rows = [outbox.build_reply_row(session.key, reply, session.now)]
        await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])
        return
    order = build_input(RunOrder(order="cancel"), f"{PREFIX}{fits[0].run_id}", actor, session, source=f"run-cancel:{row.id}")
    receipt = build_receipt("run-passed", order.session, session)
    await session.commit(actor=actor.key, outbox=receipt, inbox_done=[row.id], inbox_new=[order])


def _is_named(row: RunRow, name: RunName, query: str) -> bool:
    words = query.casefold()
    return (
        not words
        or words in (row.definition.casefold(), name.title.casefold())
        or row.run_id.startswith(words)
        or row.run_id.endswith(words)
    )


def build_commands(engines: Engines) -> dict[str, Handler]:
    """By the name after the slash."""
    started: dict[str, Handler] = {
        name: partial(_start_run, engine=engine, command=command, name=name, engines=engines)
        for engine, registered in engines.runs.items()
        for name, command in registered.commands.items()
    }
    return {**started, "runs": partial(list_runs, engines=engines), "cancel": partial(cancel_run, engines=engines)}


def build_command_specs(engines: Engines) -> dict[str, CommandSpec]:
    started = {
        name: CommandSpec(lane=command.lane, longest=MAX_TEXT, menu=command.menu)
        for registered in engines.runs.values()
        for name, command in registered.commands.items()
    }
    menu = {name: Notice(code=f"menu-{name}") if engines.runs else None for name in COMMANDS}
    return {**{name: CommandSpec(menu=line, in_groups=True) for name, line in menu.items()}, **started}


async def _start_run(
    row: InboxRow, session: Session, tools: Tools, *, engine: str, command: RunCommand, name: str, engines: Engines
) -> None:
    actor: Actor | None = await admit_actor(row, session, tools)
    if actor is None:
        return
    text = Command.model_validate(row.body).args.strip()
    definition = command.definition
    if not definition:
        definition, text, *_ = (*text.split(maxsplit=1), "", "")  # a line break divides as a space does
    if not definition:
        offers = await list_offers(engine, name, actor, engines)
        reply_row = outbox.build_reply_row(session.key, offers, session.now)
        await session.commit(actor=actor.key, outbox=[reply_row], inbox_done=[row.id])
        return
    start = build_start(engine, definition, {"text": _read_typed(text.strip())}, actor=actor, home=session.key, session=session)
    title = definition if actor.for_customers else await look_up_title(engine, definition, engines)  # it may not exist for customers
    receipt = build_receipt("run-started", start.session, session, definition=title)
    await session.commit(actor=actor.key, outbox=receipt, inbox_done=[row.id], inbox_new=[start])


def _read_typed(text: str) -> Value:
    """Somebody else's text in it makes the whole of it such."""
    return Value(text, frozenset({"person", "prose"}) if split_foreign_text(text).foreign else frozenset({"person"}))

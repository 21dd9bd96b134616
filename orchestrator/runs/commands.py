"""The typed commands of runs: /runs lists them, /cancel ends one, and the commands of the engines start one."""

from functools import partial
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import Command
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.run_inputs import RunOrder
from orchestrator.domain.taint import Value
from orchestrator.runs.inputs import MAY_CONTROL
from orchestrator.runs.listening import build_input, build_start
from orchestrator.runs.questions import BUTTON
from orchestrator.runs.registry import Engines, RunCommand
from orchestrator.runtime import outbox
from orchestrator.runtime.feature import Handler, Tools
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import admit_actor
from state.journal.run_index import RunFilter, RunRow
from state.journal.store import InboxRow

LISTED: Final = 10
OPEN: Final = ("running", "waiting", "paused")


async def list_runs(row: InboxRow, session: Session, tools: Tools) -> None:
    """Show the runs of the chat that are not over, each with a button that cancels it, and those that failed last."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    found = await tools.store.list_runs(RunFilter(home=session.key, statuses=(*OPEN, "failed"), limit=LISTED))
    lines = [_describe_run(one) for one in found]
    actions = [_build_button(one) for one in found if one.owner == actor.key or actor.role in MAY_CONTROL]
    reply = Reply(notices=(Notice(code="runs-listed", args={"count": len(found)}), *lines), actions=tuple(actions))
    told = [outbox.build_reply_row(session.key, reply, session.now)]
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])


def _describe_run(row: RunRow) -> Notice:
    args = {"definition": row.definition, "status": row.status, "id": row.run_id[-6:]}
    return Notice(code="run-line", args=args)


def _build_button(row: RunRow) -> Action:
    is_failed = row.status == "failed"
    label = Notice(code="run-retry-one" if is_failed else "run-cancel-one", args={"definition": row.definition, "id": row.run_id[-6:]})
    return Action(words=(BUTTON, row.run_id, "retry" if is_failed else "cancel"), label=label)


async def cancel_run(row: InboxRow, session: Session, tools: Tools) -> None:
    """Cancel the run whose id begins or ends with what was typed after the command; without it, the only run of the chat."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    wanted = Command.model_validate(row.body).args.strip()
    found = await tools.store.list_runs(RunFilter(home=session.key, statuses=OPEN, limit=100))
    mine = [one for one in found if one.owner == actor.key or actor.role in MAY_CONTROL]
    fits = [one for one in mine if not wanted or one.run_id.startswith(wanted) or one.run_id.endswith(wanted)]
    if len(fits) != 1:
        asked = Notice(code="run-cancel-which" if fits else "run-cancel-none")
        reply = Reply(notices=(asked, *map(_describe_run, fits[:LISTED])), actions=tuple(map(_build_button, fits[:LISTED])))
        told = [outbox.build_reply_row(session.key, reply, session.now)]
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    order = build_input(RunOrder(order="cancel"), f"run:{fits[0].run_id}", actor, session, source=f"run-cancel:{row.id}")
    await session.commit(actor=actor.key, inbox_done=[row.id], inbox_new=[order])


def build_commands(engines: Engines) -> dict[str, Handler]:
    """Return the handlers of the commands of runs and of all engines, by the name after the slash."""
    started: dict[str, Handler] = {
        name: partial(_start_run, engine=engine, command=command)
        for engine, registered in engines.runs.items()
        for name, command in registered.commands.items()
    }
    return {"runs": list_runs, "cancel": cancel_run, **started}


async def _start_run(row: InboxRow, session: Session, tools: Tools, *, engine: str, command: RunCommand) -> None:
    """Start the run that the command names; what was typed after it becomes its argument `text`."""
    actor: Actor | None = await admit_actor(row, session, tools)
    if actor is None:
        return
    text = Command.model_validate(row.body).args.strip()
    definition = command.definition
    if not definition:
        definition, _, text = text.partition(" ")
    if not definition:
        told = outbox.build_reply_row(session.key, build_reply(Notice(code="run-which")), session.now)
        await session.commit(actor=actor.key, outbox=[told], inbox_done=[row.id])
        return
    start = build_start(
        engine, definition, {"text": Value(text.strip(), frozenset({"person"}))}, actor=actor, home=session.key, session=session
    )
    await session.commit(actor=actor.key, inbox_done=[row.id], inbox_new=[start])

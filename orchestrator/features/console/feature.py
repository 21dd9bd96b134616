"""The command /console, and the inputs that record a login and who saved the policy."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import Command, ConsoleLogin, PolicyFileSaved, PreferenceChange
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import CommandSpec, Feature, Tools
from orchestrator.turns.turn import admit_actor
from state.clock import format_iso
from state.events.console import ConsoleEntered, PolicySaved
from state.journal.store import InboxRow
from state.model.registry import CONSOLE_SINCE
from state.model.registry import SESSION as PEOPLE

SignLink = Callable[[Actor, datetime], str]
_CLOSE: Final = frozenset({"close", "off", "stop"})


async def run_command(row: InboxRow, session: Session, tools: Tools, *, sign_link: SignLink | None) -> None:
    """The link works once, and only in the private chat: whoever opens it acts as that person."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    closes = Command.model_validate(row.body).args.strip().casefold() in _CLOSE
    notice, inputs = Notice(code="console-off"), []
    if sign_link is not None and session.key != actor.key:
        notice = Notice(code="console-private-only")
    elif sign_link is not None and closes:
        notice, inputs = Notice(code="console-closed"), [build_closing_row(f"{row.id}:close", actor, session.now)]
    elif sign_link is not None:
        notice = Notice(code="console-link", args={"url": sign_link(actor, session.now)})
    reply_row = outbox.build_reply_row(session.key, build_reply(notice), session.now)
    await session.commit(actor=actor.key, inbox_new=inputs, outbox=[reply_row], inbox_done=[row.id])


def build_closing_row(source: str, actor: Actor, now: datetime) -> InboxRow:
    change = PreferenceChange(preference=CONSOLE_SINCE, value=format_iso(now))
    return change.to_row(PEOPLE, source=source, actor=actor.model_dump(mode="json"), now=now)


async def record_login(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    console_login = ConsoleLogin.model_validate(row.body)
    reply_row = outbox.build_reply_row(session.key, build_reply(Notice(code="console-entered")), session.now)
    entered = ConsoleEntered(person=actor.key, login_id=console_login.login_id)
    await session.commit(entered, actor=actor.key, outbox=[reply_row], inbox_done=[row.id])


async def record_policy(row: InboxRow, session: Session, _tools: Tools) -> None:
    """Whatever rights they have by now: it is saved."""
    actor = Actor.model_validate(row.actor)
    saved = PolicySaved(person=actor.key, name=actor.name, digest=PolicyFileSaved.model_validate(row.body).digest)
    await session.commit(saved, actor=actor.key, inbox_done=[row.id])


def build_feature(sign_link: SignLink | None) -> Feature:
    """`sign_link` is None without a console."""
    menu = Notice(code="menu-console") if sign_link is not None else None
    return Feature(
        inbox={ConsoleLogin.KIND: record_login, PolicyFileSaved.KIND: record_policy},
        commands={"console": partial(run_command, sign_link=sign_link)},
        command_specs={"console": CommandSpec(menu=menu)},
    )

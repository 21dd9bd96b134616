"""Who loses access and who gets it back: dismissed in the portal, removed by ops. Ring 2; a portal that fails dismisses nobody.

An administrator takes back in Telegram what was given there: a button on the message that somebody is in, asked twice. Ring 2.
"""

import contextlib
import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.features.people import screens
from orchestrator.features.people.people_context import SYSTEM, PeopleContext
from orchestrator.features.people.registry import SESSION
from orchestrator.gate.approve import confirmations
from orchestrator.runtime import outbox
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools
from state.clock import generate_id
from state.events.fold import list_open_confirmations
from state.events.people import PersonDismissed, PersonReturned, build_invitation_key
from state.journal.store import EffectConflict, InboxRow, Store, Timer

log = logging.getLogger(__name__)

START: Final = "people_start"
TIMER: Final = "people_check"
LOST: Final = "access_lost"
FILE: Final = "access_file"
_LONGEST_FAULT: Final = 400
EVERY: Final = timedelta(hours=1)
AGAIN: Final = timedelta(minutes=10)
"""After the portal could not be read."""


def build_start_row(now: datetime) -> InboxRow:
    """The input that a start of the program is: everybody is looked at."""
    return _build_input(START, SESSION, {}, now)


def build_file_row(content: str, left: Sequence[str], *, count: int, faults: str, now: datetime) -> InboxRow:
    """The input that a changed access file is: who left it, how many it names, or why it was not taken; each writing once."""
    body = {"left": list(left), "count": count, "faults": faults[:_LONGEST_FAULT]}
    return InboxRow(
        id=generate_id(), source=f"{FILE}:{content}", session=SESSION, lane="express", kind=FILE, actor=SYSTEM, body=body, received_at=now
    )


async def apply_file_change(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """Tell the administrators that another list holds, or why it does not; close the cards of those who left it. Raises StoreError."""
    code = "people-file-faulty" if row.body["faults"] else "people-file-taken"
    about = {"count": row.body["count"], "faults": row.body["faults"]}
    told = [screens.build_row(admin.key, screens.build_message(code, **about), session.now) for admin in desk.staff.list_admins()]
    gone = [str(person) for person in row.body["left"] if desk.staff.find_actor_by_key(str(person)) is None]
    closing = [one for person in gone for one in await _build_closing_rows(person, "admin", session, tools)]
    await desk.commit(session, actor="system", outbox=told, new=closing, done=[row.id])
    try:  # people who came with the file may have been dismissed long ago
        await _compare_with_portal(session, tools, desk)
    except BitrixError as error:
        log.warning("nobody knows who was dismissed: %s", error, extra={"action": "people_check_failed"})


def _build_input(kind: str, session: str, body: dict[str, str], now: datetime) -> InboxRow:
    row_id = generate_id()
    return InboxRow(
        id=row_id, source=f"{kind}:{row_id}", session=session, lane="express", kind=kind, actor=SYSTEM, body=body, received_at=now
    )


async def check(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """Ask the portal who still works there, all in one go; look again in an hour. Raises StoreError."""
    try:
        await _compare_with_portal(session, tools, desk)
        wait = EVERY
    except BitrixError as error:
        log.warning("nobody knows who was dismissed: %s", error, extra={"action": "people_check_failed"})
        wait = AGAIN
    timer = Timer(id=f"{TIMER}:{SESSION}", due_at=session.now + wait, session=SESSION, kind=TIMER)
    await desk.commit(session, actor="system", timers=[timer], done=[row.id])


async def _compare_with_portal(session: Session, tools: Tools, desk: PeopleContext) -> None:
    employed = desk.staff.map_employees()
    works = await desk.employees.check_at_work(set(employed.values())) if employed else {}
    out = set(desk.get_registry(session)["out"])
    for person in [key for key, number in employed.items() if works.get(number) is False and key not in out]:
        await revoke_access(person, "portal", session, tools, desk=desk, by="system")
    back = [key for key, number in employed.items() if works.get(number) and key in out]
    unbound = [key for key in out if key not in employed and desk.staff.is_fixed(key)]  # the file names no employee any more
    for person in [*back, *unbound]:
        name = desk.staff.find_name(person)
        told = desk.tell_admins("people-returned-admins", session, about=(person, name))
        told.append(screens.build_row(person, screens.build_message("people-returned"), session.now))
        await desk.commit(session, PersonReturned(person=person), actor="system", outbox=told)


async def remove_person(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """Ops remove a person or take an invitation back ({person}); those of the access file only the file removes. Raises StoreError."""
    person, registry = str(row.body["person"]), desk.get_registry(session)
    by = str(row.actor["key"])
    if person in registry["people"] and not desk.staff.is_fixed(person):
        await revoke_access(person, "admin", session, tools, desk=desk, by=by)
    elif person in map(build_invitation_key, registry["invited"]):
        await desk.commit(session, PersonDismissed(person=person, why="admin", by=by), actor=by)
    await desk.commit(session, actor=by, done=[row.id])


async def revoke_access(
    person: str, why: Literal["portal", "admin"], session: Session, tools: Tools, *, desk: PeopleContext, by: str
) -> None:
    """One commit: access is gone, the administrators but `by` know, conversations with open cards are told to close them. StoreError."""
    closing = await _build_closing_rows(person, why, session, tools)
    name = desk.staff.find_name(person)
    told = [row for row in desk.tell_admins(f"people-gone-{why}", session, about=(person, name)) if row.session != by]
    event = PersonDismissed(person=person, why=why, by=by)
    await desk.commit(session, event, actor="system", outbox=told, new=closing)


async def _build_closing_rows(person: str, why: str, session: Session, tools: Tools) -> list[InboxRow]:
    """What closes the cards of somebody who has no access any more, wherever they wait."""
    homes = {person, *await tools.store.read(_find_origin_sessions, person)}
    return [_build_input(LOST, home, {"person": person, "why": why}, session.now) for home in sorted(homes)]


def _find_origin_sessions(store: Store, person: str) -> Collection[str]:
    """The conversations in which a card of this person waits."""
    found = set()
    for stream in store.list_streams():
        if stream.startswith("session:tg:") and any(
            row.call.get("requested_by") == person for row in store.list_effects(stream, "requested")
        ):
            found.add(stream.removeprefix("session:"))
    return found


async def close_cards(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """In a conversation of somebody who lost access: their open cards close; in their own chat they read why. Raises StoreError."""
    del tools, desk
    person, why = str(row.body["person"]), str(row.body["why"])
    told, closed = [], 0
    for entry in list_open_confirmations(dict(session.state)):
        if entry["requested_by"] != person:
            continue
        end = confirmations.build_superseded_closing(entry, why="no-access")
        with contextlib.suppress(EffectConflict):  # decided in this very moment: what runs is heard to its end
            await session.commit(end.event, actor="system", effects=[end.change], timers=[confirmations.drop_timer(entry, session)])
            closed += 1
        told.append(outbox.build_card_row(session.key, session.state["agent"]["confirmations"][entry["confirmation_id"]], session.now))
    if session.key == person:
        told.append(screens.build_row(person, screens.build_message(f"people-lost-{why}", cards=closed), session.now))
    await session.commit(actor="system", outbox=told, inbox_done=[row.id])


async def revoke_by_click(
    row: InboxRow, words: tuple[str, str, str], session: Session, tools: Tools, *, desk: PeopleContext, admin: Actor
) -> None:
    """Ask, do, or leave it, as was pressed ("revoke", "remove" or "keep"; the person; the screen). Raises StoreError.

    Those of the access file only the file removes.
    """
    word, person, screen = words
    entry = desk.get_registry(session)["people"].get(person)
    about, admins = (person, desk.staff.find_name(person)), [admin]
    if desk.staff.is_fixed(person):
        body = screens.build_message("people-only-file", about=about)
    elif entry is None:
        body = screens.build_message("people-is-out", id=screens.to_telegram_number(person))
    elif word == "revoke":
        body = screens.build_revoke_question(about, screen)
    elif word == "keep":
        body = screens.build_joined_message(about, entry, desk.list_accounts(entry["bitrix_user_id"], but=person), screen)
    else:
        await revoke_access(person, "admin", session, tools, desk=desk, by=admin.key)
        body = screens.build_message("people-taken-back", about=about, id=screens.to_telegram_number(person), who=admin.name)
        admins = list(desk.staff.list_admins())
    rows = screens.build_request_cards(admins, body, session.now, stranger=person, screen=screen)
    await desk.commit(session, actor=admin.key, outbox=rows, done=[row.id])

"""Ends access, and gives it back. If the portal cannot be read, nobody counts as dismissed."""

import contextlib
import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, Literal

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.inputs import AccessEnd, AccessFileChange
from orchestrator.features.people import screens
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.gate.approve import confirmations
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import generate_id
from state.events.fold import list_open_confirmations
from state.events.people import PersonDismissed, PersonReturned, build_invitation_key
from state.journal.journal import to_lease_key
from state.journal.run_index import PREFIX as RUN
from state.journal.store import EffectConflict, InboxRow, Store, Timer
from state.model.registry import SESSION

log = logging.getLogger(__name__)

START: Final = "people_start"
TIMER: Final = "people_check"
LOST: Final = AccessEnd.KIND
FILE: Final = AccessFileChange.KIND
EVERY: Final = timedelta(hours=1)
AGAIN: Final = timedelta(minutes=10)


def build_start_row(now: datetime) -> InboxRow:
    return build_system_row(START, SESSION, f"{START}:{generate_id()}", now)


async def apply_file_change(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    change = AccessFileChange.model_validate(row.body)
    body = screens.build_message("people-file-faulty" if change.faults else "people-file-taken", count=change.count, faults=change.faults)
    outbox_rows = [screens.build_row(admin.key, body, session.now) for admin in desk.staff.list_admins()]
    gone = [person for person in change.left if desk.staff.find_actor_by_key(person) is None]
    closing = [closing_row for person in gone for closing_row in await _build_closing_rows(person, "admin", session, tools)]
    await desk.commit(session, actor="system", outbox=outbox_rows, new=closing, done=[row.id])
    try:  # the people added by the file may have been dismissed long ago
        await _compare_with_portal(session, tools, desk)
    except BitrixError as error:
        log.warning("nobody knows who was dismissed: %s", error, extra={"action": "people_check_failed"})


async def check_employment(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
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
    out = set(desk.get_registry(session).out)
    for person in [key for key, number in employed.items() if works.get(number) is False and key not in out]:
        await revoke_access(person, "portal", session, tools, desk=desk, by="system")
    back = [key for key, number in employed.items() if works.get(number) and key in out]
    unbound = [key for key in out if key not in employed and desk.staff.is_fixed(key)]  # the file no longer names an employee for them
    for person in [*back, *unbound]:
        name = desk.staff.find_name(person)
        outbox_rows = desk.tell_admins("people-returned-admins", session, about=(person, name))
        outbox_rows.append(screens.build_row(person, screens.build_message("people-returned"), session.now))
        await desk.commit(session, PersonReturned(person=person), actor="system", outbox=outbox_rows)


async def remove_person(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """Not people of the access file."""
    person, registry = AccessEnd.model_validate(row.body).person, desk.get_registry(session)
    by = row.actor_key
    if not desk.may_manage(by):
        log.warning("somebody who is no administrator ordered to end access", extra={"action": "removal_refused"})
    elif person in registry.people and not desk.staff.is_fixed(person):
        await revoke_access(person, "admin", session, tools, desk=desk, by=by)
    elif person in map(build_invitation_key, registry.invited):
        await desk.commit(session, PersonDismissed(person=person, why="admin", by=by), actor=by)
    await desk.commit(session, actor=by, done=[row.id])


async def revoke_access(
    person: str, why: Literal["portal", "admin"], session: Session, tools: Tools, *, desk: PeopleContext, by: str
) -> None:
    """In one commit with messages and inputs that close cards. `why` is "portal" or "admin". Raises StoreError."""
    closing = await _build_closing_rows(person, why, session, tools)
    name = desk.staff.find_name(person)
    outbox_rows = [row for row in desk.tell_admins(f"people-gone-{why}", session, about=(person, name)) if row.session != by]
    event = PersonDismissed(person=person, why=why, by=by)
    await desk.commit(session, event, actor="system", outbox=outbox_rows, new=closing)


async def _build_closing_rows(person: str, why: str, session: Session, tools: Tools) -> list[InboxRow]:
    """For each session with a card or a turn of theirs."""
    turns = [key for key, one in tools.running.items() if one.actor.key == person and not key.startswith(RUN)]
    homes = {person, *turns, *await tools.store.read(_find_origin_sessions, person)}
    body = AccessEnd(person=person, why=why).to_json()
    return [build_system_row(LOST, home, f"{LOST}:{generate_id()}", session.now, body=body) for home in sorted(homes)]


def _find_origin_sessions(store: Store, person: str) -> Collection[str]:
    sessions = set()
    for stream in store.list_streams():
        key = to_lease_key(stream)
        has_cards = key.startswith(RUN) or Address.parse(key).is_messenger
        if has_cards and any(row.call.get("requested_by") == person for row in store.list_effects(stream, "requested")):
            sessions.add(key)
    return sessions


async def close_cards(row: InboxRow, session: Session, tools: Tools) -> None:
    """A run ends by itself before its next step."""
    end = AccessEnd.model_validate(row.body)
    turn = tools.running.get(session.key)
    if turn is not None and turn.actor.key == end.person and not session.key.startswith(RUN):
        turn.stop()
    messages, closed = [], 0
    for entry in list_open_confirmations(session.state):
        if entry.requested_by != end.person:
            continue
        closing = confirmations.build_superseded_closing(entry, why="no-access")
        with contextlib.suppress(EffectConflict):  # decided at this very moment: a call that runs is awaited
            await session.commit(closing.event, actor="system", effects=[closing.change], timers=[confirmations.drop_timer(entry, session)])
            closed += 1
        messages.append(outbox.build_card_row(session.key, session.state.cards[entry.confirmation_id], session.now))
    if session.key == end.person:
        messages.append(screens.build_row(end.person, screens.build_message(f"people-lost-{end.why}", cards=closed), session.now))
    await session.commit(actor="system", outbox=messages, inbox_done=[row.id])


async def revoke_by_click(
    row: InboxRow, words: tuple[str, str, str], session: Session, tools: Tools, *, desk: PeopleContext, admin: Actor
) -> None:
    """ "revoke" asks, "remove" ends, "keep" changes nothing."""
    word, person, screen = words
    entry = desk.get_registry(session).people.get(person)
    about, admins = (person, desk.staff.find_name(person)), [admin]
    if desk.staff.is_fixed(person):
        body = screens.build_message("people-only-file", about=about)
    elif entry is None:
        body = screens.build_message("people-is-out", id=screens.to_telegram_number(person))
    elif word == "revoke":
        body = screens.build_revoke_question(about, screen)
    elif word == "keep":
        body = screens.build_joined_message(about, entry.to_stored(), desk.list_accounts(entry.bitrix_user_id, but=person), screen)
    else:
        await revoke_access(person, "admin", session, tools, desk=desk, by=admin.key)
        body = screens.build_message("people-taken-back", about=about, id=screens.to_telegram_number(person), who=admin.name)
        admins = list(desk.staff.list_admins())
    rows = screens.build_request_cards(admins, body, session.now, stranger=person, screen=screen)
    await desk.commit(session, actor=admin.key, outbox=rows, done=[row.id])

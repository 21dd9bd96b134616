"""Invitations, each for one person: the session `access` handles one input after the other."""

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import JoinRequest
from orchestrator.features.people import screens
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.people.registry import Proof, check_link, has_too_many_tries, open_name
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.language.text import to_visible_line
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import generate_id
from state.events.people import InvitationRefused, PersonInvited, PersonJoined
from state.journal.store import InboxRow
from state.model.registry import Invitation

_REFUSAL_CODES = {"wrong": "people-link-wrong", "used": "people-link-used", "expired": "people-link-expired"}
LONGEST_NAME = 80


async def record_invitation(row: InboxRow, session: Session, _tools: Tools, *, desk: PeopleContext) -> None:
    """Not for a sender who is no administrator any more."""
    registry, event = desk.get_registry(session), PersonInvited.model_validate({**row.body, "by": row.actor_key}, extra="ignore")
    known = event.fingerprint in registry.invited or event.fingerprint in registry.used
    await desk.commit(session, *([event] if not known and desk.may_manage(event.by) else []), actor=event.by, done=[row.id])


async def join(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """The answer reveals nothing of other links."""
    person, registry, now = row.actor_key, desk.get_registry(session), session.now
    actor = desk.staff.find_actor_by_key(person)
    if actor is not None:  # a second click on the same link, or on another one
        welcome = screens.build_welcome(actor, resolve_mode(tools.mode, actor), desk.staff.resolve_preferences(person), now)
        await desk.commit(session, actor=person, outbox=[welcome], done=[row.id])
        return
    if has_too_many_tries(registry, person, now):
        outbox_row = screens.build_row(person, screens.build_message("people-link-often"), now, key="people-link-often")
        await desk.commit(session, actor=person, outbox=[outbox_row], done=[row.id])
        return
    brought = JoinRequest.model_validate(row.body)
    proof = Proof(brought.token_id, brought.unlock)
    # A person in the access file without access was dismissed: any link would give them the rights of the file back.
    stands = "wrong" if desk.staff.is_fixed(person) else check_link(registry, proof.fingerprint, now)
    open_link = registry.invited[proof.fingerprint] if stands == "open" else None
    joined = await _build_joined_event(row, brought, open_link, desk) if open_link is not None else None
    if joined is None:
        why = "wrong" if stands == "open" else stands
        outbox_row = screens.build_row(person, screens.build_message(_REFUSAL_CODES[why]), now)
        await desk.commit(session, InvitationRefused(person=person, why=why), actor=person, outbox=[outbox_row], done=[row.id])
        return
    await admit_person(joined, row, session, tools, desk=desk)


async def _build_joined_event(row: InboxRow, brought: JoinRequest, invitation: Invitation, desk: PeopleContext) -> PersonJoined | None:
    """None for a dismissed employee. Without an answer of the portal the person is admitted."""
    employee = await desk.employees.read_employee(invitation.bitrix_user_id)
    if employee.known and not employee.works:
        return None
    person, proof = row.actor_key, Proof(brought.token_id, brought.unlock)
    name = open_name(invitation.sealed_name, proof) or employee.name or Actor.model_validate(row.actor).name or person
    return PersonJoined(
        person=person,
        name=to_visible_line(name, limit=LONGEST_NAME) or person,
        role=invitation.role,
        bitrix_user_id=invitation.bitrix_user_id,
        time_zone=employee.time_zone,
        locale=brought.locale,
        fingerprint=proof.fingerprint,
        by=invitation.by,
    )


async def admit_person(event: PersonJoined, row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """In one commit with all messages. Raises StoreError."""
    person, now = event.person, session.now
    actor = Actor(key=person, name=event.name, role=event.role, locale=event.locale)
    request = desk.get_registry(session).asked.get(person)
    others = desk.list_accounts(event.bitrix_user_id, but=person)
    screen = generate_id()[-8:] if request is None else screens.REQUEST  # a person who asked before already has a card, which is updated
    body = screens.build_joined_message((person, event.name), event.model_dump(), others, screen)
    request_cards = screens.build_request_cards(desk.staff.list_admins(), body, now, stranger=person, screen=screen)
    name = Actor.model_validate(row.actor).name if request is None else request.name
    warning = screens.build_message("people-second-account", about=(person, name), id=screens.to_telegram_number(person))
    request_cards += [screens.build_row(key, warning, now) for key in others if desk.staff.find_actor_by_key(key) is not None]
    welcome = screens.build_welcome(actor, resolve_mode(tools.mode, actor), {}, now)
    await desk.commit(session, event, actor=person, outbox=[welcome, *request_cards], done=[row.id])

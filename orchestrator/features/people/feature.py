"""Invitations, access requests, dismissals, and preferences."""

import logging
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import partial

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import build_sibling_key
from orchestrator.domain.inputs import AccessRequest, JoinRequest, PeopleClick
from orchestrator.domain.message_views import PeopleBody
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.people import access_removal, preferences, screens
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.people.preferences import set_preference_by_click
from orchestrator.features.people.registry import Proof, check_link, has_too_many_tries, may_ask, open_name, was_asked
from orchestrator.features.people.staff import Employee
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.language.text import replace_yo, to_visible_line
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from state.clock import generate_id
from state.events.people import AccessAsked, InvitationRefused, PersonInvited, PersonJoined
from state.journal.store import InboxRow, OutboxRow
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


log = logging.getLogger(__name__)


async def request_access(row: InboxRow, session: Session, _tools: Tools, *, desk: PeopleContext) -> None:
    """Once a day about a stranger."""
    person, access_request = row.actor_key, AccessRequest.model_validate(row.body)
    is_stranger = desk.staff.find_actor_by_key(person) is None
    registry, admins = desk.get_registry(session), desk.staff.list_admins()
    asks = access_request.asks and is_stranger and not desk.staff.is_fixed(person) and may_ask(registry, person, session.now)
    is_seen = bool(admins) and (asks or was_asked(registry, person, session.now))
    answer = _build_stranger_answer(person, session, is_seen=is_seen) if access_request.answered and is_stranger else []
    if not asks:
        await desk.commit(session, actor=person, outbox=answer, done=[row.id])
        return
    if not admins:
        log.warning("a stranger asks for access, and nobody is an administrator", extra={"action": "access_asked"})
    name = to_visible_line(Actor.model_validate(row.actor).name, limit=LONGEST_NAME)
    cards = screens.build_request_cards(admins, screens.build_access_question(person, name), session.now, stranger=person)
    await desk.commit(session, AccessAsked(person=person, name=name), actor=person, outbox=[*answer, *cards], done=[row.id])


def _build_stranger_answer(person: str, session: Session, *, is_seen: bool) -> list[OutboxRow]:
    notice = Notice(code="stranger-seen" if is_seen else "stranger", args={"id": screens.to_telegram_number(person)})
    return [outbox.build_reply_row(person, build_reply(notice), session.now)]


async def dispatch_click(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    actor = desk.staff.find_actor_by_key(row.actor_key)
    click = PeopleClick.model_validate(row.body)
    if actor is None or click.chat != actor.key:  # buttons of a private chat are valid only there
        await desk.commit(session, actor=row.actor_key, done=[row.id])
        return
    match click.press:
        case ("pref", name, value, screen):
            await set_preference_by_click(row, (name, value, screen), actor, session, tools, desk=desk)
        case (("revoke" | "remove" | "keep") as word, number, screen) if actor.role == "admin" and number.isdecimal():
            person = build_sibling_key(actor.key, number)
            await access_removal.revoke_by_click(row, (word, person, screen), session, tools, desk=desk, admin=actor)
        case (("who" | "admit" | "second" | "deny" | "back") as word, number, *rest) if actor.role == "admin" and number.isdecimal():
            await _decide(row, (word, build_sibling_key(actor.key, number), *rest), session, tools, desk=desk, admin=actor)
        case _:
            await desk.commit(session, actor=actor.key, done=[row.id])


async def _decide(row: InboxRow, words: tuple[str, ...], session: Session, tools: Tools, *, desk: PeopleContext, admin: Actor) -> None:
    """`words` are action and stranger's key, then role letter ("m", "l") and a number: page or employee."""
    stranger = words[1]
    name = desk.get_requested_name(stranger, session)
    if desk.staff.find_actor_by_key(stranger) is not None:
        known = screens.build_message("people-is-in", about=(stranger, desk.staff.find_name(stranger)))
        await _show(row, known, stranger, session, desk=desk, admins=[admin])
        return
    match words:
        case ("who", _, ("m" | "l") as letter, page) if page.isdecimal():
            await _ask_employee(row, (stranger, name, letter, int(page)), session, desk=desk, admin=admin)
        case ("admit", _, ("m" | "l") as letter, employee) if employee.isdecimal() and desk.list_accounts(int(employee), but=stranger):
            await _ask_second_account(row, (stranger, name, letter, int(employee)), session, desk=desk, admin=admin)
        case (("admit" | "second"), _, ("m" | "l") as letter, employee) if employee.isdecimal():
            await _admit(row, (stranger, letter, int(employee)), session, tools, desk=desk, admin=admin)
        case ("deny", _):
            declined = screens.build_message(
                "people-declined", about=(stranger, name), id=screens.to_telegram_number(stranger), who=admin.name
            )
            await _show(row, declined, stranger, session, desk=desk, admins=desk.staff.list_admins())
        case ("back", _):
            await _show(row, screens.build_access_question(stranger, name), stranger, session, desk=desk, admins=[admin])
        case _:
            await desk.commit(session, actor=admin.key, done=[row.id])


async def _ask_employee(row: InboxRow, question: tuple[str, str, str, int], session: Session, *, desk: PeopleContext, admin: Actor) -> None:
    """Similar names first, employees with access last.

    `question` is (stranger's key, name, role letter, page).
    """
    stranger, name, letter, page = question
    try:
        employees = await desk.employees.list_working()
    except BitrixError as error:
        log.warning("the employees cannot be read: %s", error, extra={"action": "access_employees_failed"})
        await _show_unreachable(row, (stranger, name), session, desk=desk, admin=admin)
        return
    telegram_numbers = {item.user_id: screens.format_telegram_numbers(desk.list_accounts(item.user_id, but=stranger)) for item in employees}
    employees.sort(key=lambda item: (bool(telegram_numbers[item.user_id]), -_calculate_likeness(item, name), item.name))
    body = screens.build_employee_choice((stranger, name), letter, employees, page, telegram_numbers)
    await _show(row, body, stranger, session, desk=desk, admins=[admin])


async def _ask_second_account(
    row: InboxRow, question: tuple[str, str, str, int], session: Session, *, desk: PeopleContext, admin: Actor
) -> None:
    """`question` is (stranger's key, name, role letter, employee)."""
    stranger, name, letter, number = question
    others = desk.list_accounts(number, but=stranger)
    body = screens.build_second_account_question((stranger, name), letter, (number, desk.staff.find_name(others[0])), others)
    await _show(row, body, stranger, session, desk=desk, admins=[admin])


async def _admit(row: InboxRow, chosen: tuple[str, str, int], session: Session, tools: Tools, *, desk: PeopleContext, admin: Actor) -> None:
    stranger, letter, number = chosen
    name = desk.get_requested_name(stranger, session)
    employee = await desk.employees.read_employee(number)
    # Somebody listed in the access file can be admitted only there; others must be known to the portal and work there.
    if desk.staff.is_fixed(stranger) or not employee.known or not employee.works:
        await _show_unreachable(row, (stranger, name), session, desk=desk, admin=admin)
        return
    event = PersonJoined(
        person=stranger,
        name=(employee.name or name or stranger)[:LONGEST_NAME],
        role=screens.ROLE_OF[letter],
        bitrix_user_id=number,
        time_zone=employee.time_zone,
        by=admin.key,
    )
    await admit_person(event, row, session, tools, desk=desk)


async def _show_unreachable(row: InboxRow, stranger: tuple[str, str], session: Session, *, desk: PeopleContext, admin: Actor) -> None:
    body = screens.build_access_question(*stranger)
    await _show(row, body.model_copy(update={"code": "people-asks-again"}), stranger[0], session, desk=desk, admins=[admin])


async def _show(row: InboxRow, body: PeopleBody, stranger: str, session: Session, *, desk: PeopleContext, admins: Sequence[Actor]) -> None:
    rows = screens.build_request_cards(admins, body, session.now, stranger=stranger)
    await desk.commit(session, actor=row.actor_key, outbox=rows, done=[row.id])


def _calculate_likeness(employee: Employee, name: str) -> float:
    """From 0 to 1, in any order of words."""
    ours, theirs = (" ".join(sorted(replace_yo(text.casefold()).split())) for text in (employee.name, name.partition("@")[0].strip("( ")))
    return SequenceMatcher(a=ours, b=theirs).ratio()


def build_feature(desk: PeopleContext) -> Feature:
    """`access_lost` goes to each session with the person's cards, other inputs to `access`."""
    return Feature(
        inbox={
            "invite": partial(record_invitation, desk=desk),
            "join": partial(join, desk=desk),
            "knock": partial(request_access, desk=desk),
            "people_press": partial(dispatch_click, desk=desk),
            "preference": partial(preferences.set_preference, desk=desk),
            "person_removed": partial(access_removal.remove_person, desk=desk),
            access_removal.START: partial(access_removal.check_employment, desk=desk),
            access_removal.FILE: partial(access_removal.apply_file_change, desk=desk),
            access_removal.LOST: access_removal.close_cards,
        },
        timers={access_removal.TIMER: partial(access_removal.check_employment, desk=desk)},
        commands={name: partial(preferences.run_command, desk=desk) for name in preferences.COMMANDS},
    )

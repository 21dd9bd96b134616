"""Invitations: made by ops, brought by a stranger, used once. Ring 2; the decisions of session `access` about links."""

from collections.abc import Mapping
from typing import Any

from orchestrator.directory.text import clean
from orchestrator.gate.modes import effective
from orchestrator.people import screens
from orchestrator.people.desk import Desk, newcomer
from orchestrator.people.registry import standing, tries_too_often
from orchestrator.people.tokens import Proof, open_name
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.clock import new_id
from state.events_people import InvitationRefused, PersonInvited, PersonJoined
from state.store import InboxRow

_REFUSED = {"wrong": "people-link-wrong", "used": "people-link-used", "expired": "people-link-expired"}
LONGEST_NAME = 80


async def invite(row: InboxRow, session: Session, tools: Tools, *, desk: Desk) -> None:
    """Note an invitation that `sdelka invite` made; the same one twice counts once. Raises StoreError."""
    del tools
    registry, body = desk.registry(session), row.body
    known = body["fingerprint"] in registry["invited"] or body["fingerprint"] in registry["used"]
    event = PersonInvited(
        fingerprint=body["fingerprint"],
        bitrix_user_id=body["bitrix_user_id"],
        role=body["role"],
        sealed_name=body["sealed_name"],
        expires_at=body["expires_at"],
        by=str(row.actor["key"]),
    )
    await desk.commit(session, *([] if known else [event]), actor=event.by, done=[row.id])


async def join(row: InboxRow, session: Session, tools: Tools, *, desk: Desk) -> None:
    """Somebody brings a link: they join, or read why not. Nothing tells what other links there are. Raises StoreError."""
    person, registry, now = str(row.actor["key"]), desk.registry(session), session.now
    actor = desk.staff.actor_of(person)
    if actor is not None:  # a second press of the same link, or of another
        shown = screens.welcome(actor, effective(tools.mode, actor), desk.staff.preferences(person), now)
        await desk.commit(session, actor=person, outbox=[shown], done=[row.id])
        return
    if tries_too_often(registry, person, now):
        told = screens.row(person, screens.sentence("people-link-often"), now, key="people-link-often")
        await desk.commit(session, actor=person, outbox=[told], done=[row.id])
        return
    proof = Proof(row.body["token_id"], row.body["unlock"])
    # Who stands in the file and has no access was dismissed: a link would give them the file's rights back, whatever it was made for.
    stands = "wrong" if desk.staff.fixed(person) else standing(registry, proof.fingerprint, now)
    joined = await _joined(row, proof, registry["invited"][proof.fingerprint], desk) if stands == "open" else None
    if joined is None:
        why = "wrong" if stands == "open" else stands
        told = screens.row(person, screens.sentence(_REFUSED[why]), now)
        await desk.commit(session, InvitationRefused(person=person, why=why), actor=person, outbox=[told], done=[row.id])
        return
    await admitted(joined, row, session, tools, desk=desk)


async def _joined(row: InboxRow, proof: Proof, invitation: Mapping[str, Any], desk: Desk) -> PersonJoined | None:
    """The event that lets them in; None where the employee was dismissed meanwhile. A portal that fails keeps nobody out."""
    employee = await desk.employees.one(invitation["bitrix_user_id"])
    if employee.known and not employee.works:
        return None
    person = str(row.actor["key"])
    name = open_name(invitation["sealed_name"], proof) or employee.name or str(row.actor["name"]) or person
    return PersonJoined(
        person=person,
        name=clean(name, limit=LONGEST_NAME) or person,
        role=invitation["role"],
        bitrix_user_id=invitation["bitrix_user_id"],
        time_zone=employee.time_zone,
        locale=row.body["locale"],
        fingerprint=proof.fingerprint,
        by=invitation["by"],
    )


async def admitted(event: PersonJoined, row: InboxRow, session: Session, tools: Tools, *, desk: Desk) -> None:
    """One commit: the person is in, reads the welcome, and the administrators know; so does who is that employee already. StoreError."""
    person, now = event.person, session.now
    actor = newcomer(person, event.name, event.role, event.locale)
    asked = desk.registry(session)["asked"].get(person)
    others = desk.accounts(event.bitrix_user_id, but=person)
    screen = new_id()[-8:] if asked is None else screens.REQUEST  # who asked has a card that says it
    body = screens.joined((person, event.name), event.model_dump(), others, screen)
    told = screens.request_card(desk.staff.admins(), body, now, stranger=person, screen=screen)
    called = str(row.actor["name"] if asked is None else asked["name"])
    warning = screens.sentence("people-second-account", about=(person, called), id=screens.number_of(person))
    told += [screens.row(key, warning, now) for key in others if desk.staff.actor_of(key) is not None]
    shown = screens.welcome(actor, effective(tools.mode, actor), {}, now)
    await desk.commit(session, event, actor=person, outbox=[shown, *told], done=[row.id])

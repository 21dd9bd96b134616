"""A card's life: `requested → approved | denied | expired | superseded`.

An approval is bound to call, before-image and nonce, and counts once.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor, is_same_person
from orchestrator.domain.card_view import Preview, must_be_opened
from orchestrator.domain.effect import Effect
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Ask, BeforeImage
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.ports import DECLINED, Ledger
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.execute.executor import Closing, Order, build_stored_call
from state.clock import format_iso, generate_id, parse_iso
from state.events.base import Event
from state.events.confirmations import (
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
)
from state.journal.store import EffectChange, EffectStatus, OutboxRow, Timer
from state.model.card import Card
from state.stored import JsonObject

TIMER = "confirmation_expires"
REMIND = "lead_reminder"
ARRIVED = "lead_arrived"
_OF_ROW = frozenset({"stage", "at", "anew", "home", "is_cut", "opened_here", "opened"})
LOOK_AFTER = timedelta(seconds=90)
"""When to check whether the card has reached any lead who must decide it."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Made by button, text or HTTP; `nonce` proves which version of the card the person saw."""

    confirmation_id: str
    nonce: str
    approve: bool
    actor: Actor
    via: str
    reason: str = ""
    saw_all: bool = False
    """However long the card is, as over the API and in the terminal."""
    slot: str = ""
    """Of the step with which the model withdraws the call; "" for a person's decision."""


@dataclass(frozen=True, kw_only=True)
class CardRequest:
    order: Order
    effect: Effect
    ask: Ask
    preview: Preview
    actor: Actor
    notified_leads: Sequence[Actor] = ()
    """Heads of sales who see the card in their own chats."""
    replaces: str = ""
    following: Sequence[JsonObject] = ()
    """Previews of what follows when the call has created its record."""
    covers: Sequence[JsonObject] = ()
    """Those that the card's approval covers; see `covered_steps`."""


def generate_nonce() -> str:
    """8 hex digits that a decision must quote, as proof that the person saw this card; counts for one decision."""
    return secrets.token_hex(4)


def calculate_second_nonce(nonce: str) -> str:
    """For the second click: derived, so that it survives a restart without being stored."""
    return hashlib.sha256(f"{nonce}/2".encode()).hexdigest()[:8]


async def request(
    new_card: CardRequest,
    ledger: Ledger,
    ttl: timedelta,
    *,
    remind_after: timedelta = timedelta(hours=2),
    supersede: Sequence[Closing] = (),
) -> ConfirmationRequested:
    """Buffers a new card with its call, its timers, and `supersede`, which closes the cards that it replaces.

    The caller commits all this before the card is sent. Leads who must decide are reminded after `remind_after`.
    """
    now = ledger.now
    order = new_card.order
    event = ConfirmationRequested(
        confirmation_id=secrets.token_hex(5),
        effect_id=order.effect_id,
        turn_id=order.turn_id,
        slot=order.slot,
        nonce=generate_nonce(),
        fingerprint=order.call.fingerprint,
        essence=get_essence(order.call),
        method=order.call.method,
        call_class=order.call_class,
        params=dict(order.call.params),
        before=dict(order.before),
        preview=new_card.preview.to_json(),
        reasons=[reason.model_dump(mode="json") for reason in new_card.ask.reasons],
        comment=new_card.effect.comment,
        proposed_by=order.proposed_by,
        requested_by=new_card.actor.key,
        requested_by_name=new_card.actor.name,
        requested_at=format_iso(now),
        expires_at=format_iso(now + ttl),
        taps=new_card.ask.taps,
        four_eyes=new_card.ask.four_eyes,
        lead=new_card.ask.lead,
        told=[lead.key for lead in new_card.notified_leads],
        told_names=[lead.name for lead in new_card.notified_leads],
        requested_by_user=new_card.actor.bitrix_user_id,
        policy=order.policy,
        replaces=new_card.replaces,
        provenance=new_card.effect.provenance.model_dump(mode="json", exclude={"runs"}),  # a card asks, whatever was read
        next_steps=[dict(one) for one in new_card.following],
        covers=[dict(cover) for cover in new_card.covers],
    )
    stored = build_stored_call(order) | {"confirmation_id": event.confirmation_id, "actor": new_card.actor.model_dump(mode="json")}
    change = EffectChange(
        effect_id=order.effect_id, expect=("absent",), status="requested", fingerprint=order.call.fingerprint, call=stored
    )
    waits = {TIMER: ttl, **({ARRIVED: LOOK_AFTER, REMIND: remind_after} if new_card.notified_leads else {})}
    timers = [_build_timer(kind, event.confirmation_id, ledger, due=now + wait) for kind, wait in waits.items() if wait <= ttl]
    changes = [change, *(extra.change for extra in supersede)]
    events = [*(extra.event for extra in supersede), event]
    timers += [timer for extra in supersede for timer in extra.timers]
    await ledger.buffer(*events, actor=new_card.actor.key, effects=changes, timers=timers)
    return event


def build_closing(entry: Card, event: Event, status: EffectStatus, *expect: str) -> Closing:
    """The change can be stored only while the effect has one of the statuses `expect`, by default "requested"."""
    change = EffectChange(effect_id=entry.effect_id, expect=expect or ("requested",), status=status)
    return Closing(event=event, change=change)


def build_expiry_timer(entry: Card, ledger: Ledger) -> Timer:
    return _build_timer(TIMER, entry.confirmation_id, ledger, due=parse_iso(entry.expires_at))


def drop_timer(entry: Card, ledger: Ledger) -> Timer:
    """Committing it deletes the stored timer."""
    return replace(_build_timer(TIMER, entry.confirmation_id, ledger, due=ledger.now), delete=True)


def build_arrival_timer(entry: Card, ledger: Ledger) -> Timer:
    return _build_timer(ARRIVED, entry.confirmation_id, ledger, due=ledger.now + LOOK_AFTER)


def drop_timers(entry: Card, ledger: Ledger) -> list[Timer]:
    """Committing them deletes the stored timers."""
    kinds = (REMIND, ARRIVED) if entry.told else ()
    others = [replace(_build_timer(kind, entry.confirmation_id, ledger, due=ledger.now), delete=True) for kind in kinds]
    return [drop_timer(entry, ledger), *others]


def _build_timer(kind: str, confirmation_id: str, ledger: Ledger, *, due: datetime) -> Timer:
    name = "confirmation" if kind == TIMER else kind
    body = {"confirmation_id": confirmation_id}
    return Timer(id=f"{name}:{confirmation_id}", due_at=due, session=ledger.key, kind=kind, body=body)


async def approve(entry: Card, decision: Decision, ledger: Ledger, outbox: Sequence[OutboxRow]) -> None:
    """Buffers the approval; raises EffectConflict when the card was already decided.

    The caller commits it with the intent to run, or with why not; until then the click can be handled again.
    """
    event = ConfirmationApproved(
        confirmation_id=entry.confirmation_id,
        effect_id=entry.effect_id,
        approved_by=decision.actor.key,
        approved_by_name=decision.actor.name,
        approved_at=format_iso(ledger.now),
        via=decision.via,
    )
    close = build_closing(entry, event, "approved")
    await ledger.buffer(
        event,
        actor=decision.actor.key,
        effects=[close.change],
        outbox=outbox,
        timers=drop_timers(entry, ledger),
    )


async def deny(entry: Card, decision: Decision, ledger: Ledger, outbox: Sequence[OutboxRow]) -> None:
    """Buffers the denial, which the caller commits; raises EffectConflict when the card was already decided."""
    close = build_denied_closing(entry, decision, ledger)
    await ledger.buffer(close.event, actor=decision.actor.key, effects=[close.change], outbox=outbox, timers=close.timers)


def build_denied_closing(entry: Card, decision: Decision, ledger: Ledger) -> Closing:
    return replace(build_closing(entry, build_denial(entry, decision, ledger), "denied"), timers=drop_timers(entry, ledger))


def build_denial(entry: Card, decision: Decision, ledger: Ledger) -> ConfirmationDenied:
    """A person denies in the turn of the request; the model withdraws in the turn that is under way."""
    actor = decision.actor
    return ConfirmationDenied(
        confirmation_id=entry.confirmation_id,
        effect_id=entry.effect_id,
        essence=entry.essence,
        denied_by=actor.key,
        denied_by_name=actor.name,
        denied_at=format_iso(ledger.now),
        via=decision.via,
        reason=decision.reason,
        slot=decision.slot,
        turn_id=ledger.state.turn_id if decision.via == "model" else entry.turn_id,
        method=entry.method,
        # Encrypted under the key of the person who denies: another person's params stay with that person's own card.
        params=dict(entry.params) if entry.requested_by == actor.key else {},
    )


async def expire(entry: Card, ledger: Ledger, outbox: Sequence[OutboxRow]) -> None:
    """Buffers the expiry, which the caller commits. The call never runs."""
    event = ConfirmationExpired(confirmation_id=entry.confirmation_id, effect_id=entry.effect_id, expired_at=format_iso(ledger.now))
    close = build_closing(entry, event, "expired")
    await ledger.buffer(event, actor="system", effects=[close.change], outbox=outbox, timers=drop_timers(entry, ledger))


def build_superseded_closing(entry: Card, *, why: str, by: str = "", expect: tuple[str, ...] = ("requested",)) -> Closing:
    """`why` is the reason code, `by` who or what replaced the card; see `build_closing` for `expect`."""
    event = ConfirmationSuperseded(confirmation_id=entry.confirmation_id, effect_id=entry.effect_id, why=why, by=by)
    return build_closing(entry, event, "superseded", *expect)


def find_objection(entry: Card | None, decision: Decision, ledger: Ledger) -> Notice | None:
    """Why the decision does not count: card closed, expired, another one shown, or not opened to its end.

    `check_entitlement` checks whether the person may decide.
    """
    if entry is None:
        return Notice(code="card-outdated")
    if entry.status != "requested":
        who = entry.approved_by_name or entry.denied_by_name or ""
        when = entry.find_time(entry.status)
        return Notice(code=f"card-already-{entry.status}", args={"who": who, "at": when, **describe_refuser(entry)})
    if parse_iso(entry.expires_at) <= ledger.now:
        return Notice(code="card-expired", args={"at": entry.expires_at})
    expected = calculate_second_nonce(entry.nonce) if decision.approve and entry.taps > 1 else entry.nonce
    if not _is_same_nonce(decision.nonce, expected):
        if decision.approve and entry.taps > 1 and _is_same_nonce(decision.nonce, entry.nonce):
            return Notice(code="card-second-tap")
        return Notice(code="card-outdated")
    if decision.approve and not decision.saw_all and must_be_opened(entry, decision.actor.key):
        return Notice(code="card-open-first")
    return None


def describe_refuser(entry: Card) -> dict[str, str]:
    """{"by": "portal"} or {"by": "bot"}; {} if the call was not refused.

    Codes of this program are in lower case and contain a dash.
    """
    if entry.status != "refused":
        return {}
    code = str(entry.code or "-")
    return {"by": "bot" if "-" in code and code == code.lower() and code != DECLINED else "portal"}


def check_entitlement(entry: Card, decision: Decision, catalogue: Catalogue) -> Notice | None:
    """None if the person may decide: the requester, or a lead or administrator who may see all its records.

    For some cards the requester alone is not enough.
    """
    actor = decision.actor
    if not actor.may_approve:
        return Notice(code="may-not-approve")
    own = actor.key == entry.requested_by
    leads = actor.role in {"lead", "admin"}
    if decision.approve and entry.four_eyes and (not leads or is_same_person(actor, entry.requested_by, entry.requested_by_user)):
        return Notice(code="four-eyes", args={"who": entry.requested_by_name})
    if decision.approve and entry.lead and not leads:
        names = ", ".join(entry.told_names or ())
        return Notice(code="lead-only", args={"who": names}) if names else Notice(code="lead-nobody")
    if own or (leads and can_see_all(actor, entry.before or {}, catalogue, asked_by=entry.requested_by_user)):
        return None
    return Notice(code="not-your-card", args={"who": entry.requested_by_name})


def can_see_all(actor: Actor, before: BeforeImage, catalogue: Catalogue, *, asked_by: int | None) -> bool:
    """For a record yet to be created, the actor must see the records of the employee `asked_by`."""
    visible = find_visible_users(actor)
    if not before and visible is not None and asked_by not in visible:
        return False
    return all(may_touch(actor, catalogue.entities.get(name.split(":")[0]), record) for name, record in before.items())


def _is_same_nonce(nonce: str, expected: str) -> bool:
    """As bytes: compare_digest takes only ASCII strings, and a forged nonce may hold any character."""
    return secrets.compare_digest(nonce.encode("utf-8", "surrogatepass"), expected.encode())


def add_card_copies(outbox: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
    """Adds a copy for every lead who must decide, right after the card.

    Clicks on a copy go to its `home`. A second click is asked for only in the chat of the first (`at`).
    """
    return [row for outbox_row in outbox for row in _copy_card(outbox_row)] if any(_has_notified_leads(row) for row in outbox) else outbox


def build_copy_body(body: JsonObject, chat: str) -> dict[str, Any]:
    """The copy of a lead leaves out steps of a plan that the lead may not see."""
    own = {name: value for name, value in body.items() if name != "copies"}
    narrowed: Mapping[str, Any] = (body.get("copies") or {}).get(chat) or {}
    row_fields = {name: value for name, value in own.items() if name in _OF_ROW} if narrowed else own
    return {**row_fields, **narrowed}


def _has_notified_leads(row: OutboxRow) -> bool:
    return row.kind == "card" and bool(row.body.get("told")) and "home" not in row.body


def _copy_card(row: OutboxRow) -> Iterator[OutboxRow]:
    if not _has_notified_leads(row):
        yield row
        return
    at = row.body.get("at", row.session)
    for chat in (row.session, *row.body["told"]):
        stage = row.body.get("stage", 1) if chat == at else 1
        body = {**build_copy_body(row.body, chat), "stage": stage}
        if chat == row.session:
            yield replace(row, body=body)
        else:
            body = {key: value for key, value in body.items() if key != "opened_here"}
            if chat in body.get("opened", ()):
                body["opened_here"] = True
            copy = replace(row, id=generate_id(), session=chat, channel=chat.partition(":")[0], body={**body, "home": row.session})
            yield copy


def find_notified_leads(order: Order, verdict: Ask, actor: Actor, deps: GateDeps) -> Sequence[Actor]:
    """Empty if the requester may decide alone."""
    if not _needs_other_approver(verdict, actor):
        return ()
    return deps.approvers.find_leads(actor, lambda lead: can_see_all(lead, order.before, deps.catalogue, asked_by=actor.bitrix_user_id))


def build_no_lead_notice(leads: Sequence[Actor], verdict: Ask, actor: Actor) -> Notice | None:
    """Nobody can approve this: somebody else must decide, and there are no leads."""
    return Notice(code="lead-nobody") if _needs_other_approver(verdict, actor) and not leads else None


def _needs_other_approver(verdict: Ask, actor: Actor) -> bool:
    return verdict.four_eyes or (verdict.lead and actor.role == "manager")

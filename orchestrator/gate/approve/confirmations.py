"""The confirmation queue: asking, deciding, expiring. `requested → approved | denied | expired | superseded` (DESIGN §3).

Consent is bound to the exact call, to the before-image shown, and to a nonce; it is used once. Only a human event approves.

A card that leads were asked about is shown in their chats too, by the very commit that shows it in its own. Ring 2, pure.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Ask
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users, is_same_person, may_touch
from orchestrator.gate.call.ports import DECLINED, Ledger
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.execute.executor import Order, build_stored_call
from state.clock import format_iso, generate_id, parse_iso
from state.events.core import ConfirmationApproved, ConfirmationDenied, ConfirmationExpired, ConfirmationRequested, ConfirmationSuperseded
from state.journal.store import EffectChange, EffectStatus, OutboxRow, Timer

TIMER = "confirmation_expires"
REMIND = "lead_reminder"
ARRIVED = "lead_arrived"
LOOK_AFTER = timedelta(seconds=90)
"""When it is looked whether a card got through to a lead at all."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a person pressed, typed or sent: `nonce` proves which card they saw."""

    confirmation_id: str
    nonce: str
    approve: bool
    actor: Actor
    via: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class CardRequest:
    """A card to be: the order that waits, why, and what the person will see."""

    order: Order
    effect: Effect
    ask: Ask
    preview: Mapping[str, Any]
    actor: Actor
    notified_leads: Sequence[Actor] = ()
    """The leads to whom it is shown in their own chats."""
    replaces: str = ""


def generate_nonce() -> str:
    """What proves that somebody saw this card, for one decision."""
    return secrets.token_hex(4)


def calculate_second_nonce(nonce: str) -> str:
    """The nonce of the second tap; derived, so that it survives a restart without being stored."""
    return hashlib.sha256(f"{nonce}/2".encode()).hexdigest()[:8]


async def request(
    asked: CardRequest, ledger: Ledger, ttl: timedelta, *, remind_after: timedelta = timedelta(hours=2), supersede: Sequence[Any] = ()
) -> ConfirmationRequested:
    """Note the card and its effect as `requested`, together with what it supersedes; stored before the card goes out."""
    now = ledger.now
    order = asked.order
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
        preview=dict(asked.preview),
        reasons=[reason.model_dump(mode="json") for reason in asked.ask.reasons],
        comment=asked.effect.comment,
        proposed_by=order.proposed_by,
        requested_by=asked.actor.key,
        requested_by_name=asked.actor.name,
        requested_at=format_iso(now),
        expires_at=format_iso(now + ttl),
        taps=asked.ask.taps,
        four_eyes=asked.ask.four_eyes,
        lead=asked.ask.lead,
        told=[lead.key for lead in asked.notified_leads],
        told_names=[lead.name for lead in asked.notified_leads],
        requested_by_user=asked.actor.bitrix_user_id,
        policy=order.policy,
        replaces=asked.replaces,
        provenance=asked.effect.provenance.model_dump(mode="json"),
    )
    stored = build_stored_call(order) | {"confirmation_id": event.confirmation_id, "actor": asked.actor.model_dump(mode="json")}
    change = EffectChange(
        effect_id=order.effect_id, expect=("absent",), status="requested", fingerprint=order.call.fingerprint, call=stored
    )
    waits = {TIMER: ttl, **({ARRIVED: LOOK_AFTER, REMIND: remind_after} if asked.notified_leads else {})}
    timers = [_build_timer(kind, event.confirmation_id, ledger, due=now + wait) for kind, wait in waits.items() if wait <= ttl]
    changes = [change, *(extra.change for extra in supersede)]
    events = [*(extra.event for extra in supersede), event]
    await ledger.buffer(*events, actor=asked.actor.key, effects=changes, timers=timers)
    return event


@dataclass(frozen=True, kw_only=True)
class Closing:
    """An event that closes a card, with the effect change that belongs to it."""

    event: Any
    change: EffectChange


def build_closing(entry: Mapping[str, Any], event: Any, status: EffectStatus, *expect: str) -> Closing:
    """Close the card of `entry` by `event`."""
    change = EffectChange(effect_id=entry["effect_id"], expect=expect or ("requested",), status=status)
    return Closing(event=event, change=change)


def build_expiry_timer(entry: Mapping[str, Any], ledger: Ledger) -> Timer:
    """The timer that closes this card when its time is over."""
    return _build_timer(TIMER, entry["confirmation_id"], ledger, due=parse_iso(entry["expires_at"]))


def drop_timer(entry: Mapping[str, Any], ledger: Ledger) -> Timer:
    """The timer row that ends the waiting of this card."""
    return replace(_build_timer(TIMER, entry["confirmation_id"], ledger, due=ledger.now), delete=True)


def build_arrival_timer(entry: Mapping[str, Any], ledger: Ledger) -> Timer:
    """The timer that looks whether the card got through to those who are asked now."""
    return _build_timer(ARRIVED, entry["confirmation_id"], ledger, due=ledger.now + LOOK_AFTER)


def drop_timers(entry: Mapping[str, Any], ledger: Ledger) -> list[Timer]:
    """That one, and those of the leads to whom it was shown."""
    kinds = (REMIND, ARRIVED) if entry.get("told") else ()
    others = [replace(_build_timer(kind, entry["confirmation_id"], ledger, due=ledger.now), delete=True) for kind in kinds]
    return [drop_timer(entry, ledger), *others]


def _build_timer(kind: str, confirmation_id: str, ledger: Ledger, *, due: datetime) -> Timer:
    name = "confirmation" if kind == TIMER else kind
    body = {"confirmation_id": confirmation_id}
    return Timer(id=f"{name}:{confirmation_id}", due_at=due, session=ledger.key, kind=kind, body=body)


async def approve(entry: Mapping[str, Any], decision: Decision, ledger: Ledger, outbox: Sequence[OutboxRow]) -> None:
    """Note the approval; raises EffectConflict when the card was decided by somebody else meanwhile.

    It is stored with the intent of its call or with what stands in the way of it; till then the press itself lies in the inbox.
    """
    event = ConfirmationApproved(
        confirmation_id=entry["confirmation_id"],
        effect_id=entry["effect_id"],
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


async def deny(entry: Mapping[str, Any], decision: Decision, ledger: Ledger, outbox: Sequence[OutboxRow]) -> None:
    """Note the denial; the effect can never run."""
    event = build_denial(entry, decision.actor, ledger, via=decision.via, reason=decision.reason)
    close = build_closing(entry, event, "denied")
    await ledger.buffer(
        event,
        actor=decision.actor.key,
        effects=[close.change],
        outbox=outbox,
        timers=drop_timers(entry, ledger),
    )


def build_denial(entry: Mapping[str, Any], actor: Actor, ledger: Ledger, *, via: str, reason: str) -> ConfirmationDenied:
    """The denial of `entry` by `actor`."""
    return ConfirmationDenied(
        confirmation_id=entry["confirmation_id"],
        effect_id=entry["effect_id"],
        essence=entry["essence"],
        denied_by=actor.key,
        denied_by_name=actor.name,
        denied_at=format_iso(ledger.now),
        via=via,
        reason=reason,
        turn_id=(ledger.state.get("turn") or {}).get("turn_id", ""),
        method=entry["method"],
        # Sealed under the key of who denies: what somebody else had asked for stays with their own card.
        params=dict(entry["params"]) if entry.get("requested_by", actor.key) == actor.key else {},
    )


async def expire(entry: Mapping[str, Any], ledger: Ledger, outbox: Sequence[OutboxRow]) -> None:
    """Note that the time of a card is over."""
    event = ConfirmationExpired(confirmation_id=entry["confirmation_id"], effect_id=entry["effect_id"], expired_at=format_iso(ledger.now))
    close = build_closing(entry, event, "expired")
    await ledger.buffer(event, actor="system", effects=[close.change], outbox=outbox, timers=drop_timers(entry, ledger))


def build_superseded_closing(entry: Mapping[str, Any], *, why: str, by: str = "", expect: tuple[str, ...] = ("requested",)) -> Closing:
    """The closing of a card that no longer fits."""
    event = ConfirmationSuperseded(confirmation_id=entry["confirmation_id"], effect_id=entry["effect_id"], why=why, by=by)
    return build_closing(entry, event, "superseded", *expect)


def find_objection(entry: Mapping[str, Any] | None, decision: Decision, ledger: Ledger) -> Notice | None:
    """Why this decision does not count, or None. Who may decide is `check_entitlement`."""
    if entry is None:
        return Notice(code="card-outdated")
    if entry["status"] != "requested":
        who = entry.get("approved_by_name") or entry.get("denied_by_name") or ""
        when = entry.get(f"{entry['status']}_at") or ""
        return Notice(code=f"card-already-{entry['status']}", args={"who": who, "at": when, **describe_refuser(entry)})
    if parse_iso(entry["expires_at"]) <= ledger.now:
        return Notice(code="card-expired", args={"at": entry["expires_at"]})
    wanted = calculate_second_nonce(entry["nonce"]) if decision.approve and entry["taps"] > 1 else entry["nonce"]
    if not _is_same_nonce(decision.nonce, wanted):
        if decision.approve and entry["taps"] > 1 and _is_same_nonce(decision.nonce, entry["nonce"]):
            return Notice(code="card-second-tap")
        return Notice(code="card-outdated")
    return None


def describe_refuser(entry: Mapping[str, Any]) -> dict[str, str]:
    """Who turned it down: the portal, whose codes are in capitals or without a dash, or ourselves before anything was sent."""
    if entry["status"] != "refused":
        return {}
    code = str(entry.get("code") or "-")
    return {"by": "bot" if "-" in code and code == code.lower() and code != DECLINED else "portal"}


def check_entitlement(entry: Mapping[str, Any], decision: Decision, catalogue: Catalogue) -> Notice | None:
    """Why this person may not decide: only the requester may, or a lead or admin who may see the records (DESIGN §3)."""
    actor = decision.actor
    if not actor.may_approve:
        return Notice(code="may-not-approve")
    own = actor.key == entry["requested_by"]
    leads = actor.role in {"lead", "admin"}
    if (
        decision.approve
        and entry.get("four_eyes")
        and (not leads or is_same_person(actor, entry["requested_by"], entry.get("requested_by_user")))
    ):
        return Notice(code="four-eyes", args={"who": entry["requested_by_name"]})
    if decision.approve and entry.get("lead") and not leads:
        names = ", ".join(entry.get("told_names") or ())
        return Notice(code="lead-only", args={"who": names}) if names else Notice(code="lead-nobody")
    if own or (leads and can_see_all(actor, entry.get("before") or {}, catalogue, asked_by=entry.get("requested_by_user"))):
        return None
    return Notice(code="not-your-card", args={"who": entry["requested_by_name"]})


def can_see_all(actor: Actor, before: Mapping[str, Any], catalogue: Catalogue, *, asked_by: int | None) -> bool:
    """Whether the actor may see every record of this before-image; of a record that is to be made, those of the employee who asks."""
    visible = find_visible_users(actor)
    if not before and visible is not None and asked_by not in visible:
        return False
    return all(may_touch(actor, catalogue.entities.get(name.split(":")[0]), record) for name, record in before.items())


def _is_same_nonce(given: str, wanted: str) -> bool:
    """As bytes: compare_digest takes no other letters than ASCII, and a forged nonce may hold any."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def add_card_copies(outbox: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
    """The same rows, each card followed by its copies for the leads it names. Their bodies name its `home`, to which presses go.

    A second tap is asked for only in the chat where the first one was (`at`); everywhere else the buttons stay as they were.
    """
    return [row for one in outbox for row in _copy_card(one)] if any(_has_notified_leads(row) for row in outbox) else outbox


def _has_notified_leads(row: OutboxRow) -> bool:
    return row.kind == "card" and bool(row.body.get("told")) and "home" not in row.body


def _copy_card(row: OutboxRow) -> Iterator[OutboxRow]:
    if not _has_notified_leads(row):
        yield row
        return
    at = row.body.get("at", row.session)
    for chat in (row.session, *row.body["told"]):
        stage = row.body.get("stage", 1) if chat == at else 1
        body = {**row.body, "stage": stage}
        if chat == row.session:
            yield replace(row, body=body)
        else:
            copy = replace(row, id=generate_id(), session=chat, channel=chat.partition(":")[0], body={**body, "home": row.session})
            yield copy


def find_notified_leads(order: Order, verdict: Ask, actor: Actor, deps: GateDeps) -> Sequence[Actor]:
    """The leads to whom a request is shown; empty where the one who asks may decide it alone."""
    if not _needs_other_approver(verdict, actor):
        return ()
    return deps.approvers.find_leads(actor, lambda lead: can_see_all(lead, order.before, deps.catalogue, asked_by=actor.bitrix_user_id))


def build_no_lead_notice(leads: Sequence[Actor], verdict: Ask, actor: Actor) -> Notice | None:
    """What the person is told where another person has to decide and no lead is known; None otherwise."""
    return Notice(code="lead-nobody") if _needs_other_approver(verdict, actor) and not leads else None


def _needs_other_approver(verdict: Ask, actor: Actor) -> bool:
    return verdict.four_eyes or (verdict.lead and actor.role == "manager")

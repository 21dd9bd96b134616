"""Finds which leads must approve a waiting card now, and moves it to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.actor import Actor, Staff, is_same_person
from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.card_groups import find_shown_card
from orchestrator.gate.approve.confirmations import Decision, build_copy_body, can_see_all, check_entitlement
from orchestrator.sessions import outbox
from orchestrator.sessions.grouped_cards import group_card_rows
from orchestrator.sessions.input_filter import build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns.decisions import find_title
from orchestrator.turns.feature import Receive, Tools
from state.canonical import dumps, hash_text
from state.clock import generate_id, parse_iso
from state.events.fold import list_open_confirmations
from state.events.leads import LeadsAsked
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, OutboxRow, Timer
from state.model.card import Card


@dataclass(frozen=True, kw_only=True)
class LeadAssignment:
    deciders: Sequence[Actor]
    notified: Sequence[Actor]
    onlookers: Sequence[Actor] = ()
    """They found the card with /pending."""

    @property
    def named_leads(self) -> Sequence[Actor]:
        """All who have the card if none of them decides now."""
        keys = {lead.key for lead in (*self.deciders, *self.onlookers)}
        return [lead for lead in self.notified if lead.key in keys] or self.notified

    def build_event(self, entry: Card) -> LeadsAsked | None:
        """None if there is nothing new to record."""
        keys, names = [lead.key for lead in self.notified], [lead.name for lead in self.named_leads]
        waits_still = not self.notified or {lead.name for lead in self.deciders} & set(entry.told_names or ())
        if keys == list(entry.told or ()) and waits_still:
            return None
        return LeadsAsked(confirmation_id=entry.confirmation_id, told=keys, told_names=names)


def is_for_lead(entry: Card) -> bool:
    return entry.status == "requested" and bool(entry.told or entry.four_eyes or entry.lead)


def compute_assignment(entry: Card, tools: Tools) -> LeadAssignment:
    """Leads keep a card while they may decide."""
    deps = tools.gate.deps
    own = Actor(key=entry.requested_by, name=entry.requested_by_name, bitrix_user_id=entry.requested_by_user)
    requester = tools.refresh_actor(own) or own
    asked_by = requester.bitrix_user_id
    deciding = deps.approvers.find_leads(requester, lambda lead: can_see_all(lead, entry.before or {}, deps.catalogue, asked_by=asked_by))
    actors = [lead for key in entry.told or () if (lead := _find_person(key, tools)) is not None and may_decide(entry, lead, tools)]
    known = {lead.key for lead in actors}
    more = [] if known & {lead.key for lead in deciding} else [lead for lead in deciding if lead.key not in known]
    return LeadAssignment(deciders=[*deciding] or actors, notified=[*actors, *more])


def may_decide(entry: Card, actor: Actor, tools: Tools) -> bool:
    deps = tools.gate.deps
    if is_same_person(actor, entry.requested_by, entry.requested_by_user):
        return False
    decision = Decision(confirmation_id=entry.confirmation_id, nonce="", approve=True, actor=deps.approvers.apply_delegation(actor), via="")
    return check_entitlement(entry, decision, deps.catalogue) is None


def is_asked(entry: Card, actor: Actor, tools: Tools) -> bool:
    if not is_for_lead(entry) or not may_decide(entry, actor, tools):
        return False
    return actor.key in (entry.told or ()) or actor.key in {lead.key for lead in compute_assignment(entry, tools).deciders}


def add_lead(entry: Card, lead: Actor, tools: Tools) -> LeadAssignment:
    assignment = compute_assignment(entry, tools)
    return LeadAssignment(
        deciders=assignment.deciders, notified=[*(actor for actor in assignment.notified if actor.key != lead.key), lead], onlookers=[lead]
    )


async def record_assignment(lead_assignment: LeadAssignment, entry: Card, session: Session) -> bool:
    """False if nothing changed."""
    event = lead_assignment.build_event(entry)
    if event is not None:
        await session.buffer(event, actor=entry.requested_by)
    return event is not None


def _find_person(key: str, tools: Tools) -> Actor | None:
    return tools.refresh_actor(Actor(key=key, name=""))


KIND: Final = "leads_changed"
"""Input that makes a session find anew who decides."""
_KNOWN: Final = "leads:standing"
_LONGEST: Final = timedelta(days=3660)
_MOST: Final = 10_000


class LeadsWatcher:
    """Notices when other leads decide, also after a restart."""

    def __init__(self, store: AsyncStore, staff: Staff) -> None:
        self._store = store
        self._staff = staff
        self._known: str | None = None

    async def run(self, receive: Receive, now: datetime) -> None:
        """One input per session with open cards, every 20 seconds. May raise StoreError."""
        present = hash_text(dumps(LeadApprovers(self._staff, lambda: now).map_deciders()))
        if present == self._known:
            return
        known = await self._store.get_value(_KNOWN)
        if known is not None and known != present:
            timers = await self._store.list_due_timers(now + _LONGEST, _MOST)
            sessions = {timer.session for timer in timers if timer.kind == confirmations.TIMER and timer.due_at > now}
            if sessions:
                await receive(
                    [
                        build_system_row(KIND, session, f"leads:{session}:{present}:{int(now.timestamp())}", now)
                        for session in sorted(sessions)
                    ]
                )
        if known != present:
            await self._store.set_value(_KNOWN, present)
        self._known = present


async def transfer_waiting_cards(row: InboxRow, session: Session, tools: Tools) -> None:
    out: list[OutboxRow] = []
    looks: list[Timer] = []
    for entries in list_lead_cards(session):
        if brought := await transfer_cards(entries, session, tools):
            out.extend(brought)
            looks.append(confirmations.build_arrival_timer(entries[0], session))
    await session.commit(actor="system", outbox=out, timers=looks, inbox_done=[row.id])


def list_lead_cards(session: Session) -> list[list[Card]]:
    """Steps of one plan stand together."""
    by_message: dict[str, list[Card]] = {}
    for entry in list_open_confirmations(session.state):
        if session.now < parse_iso(entry.expires_at) and is_for_lead(entry):
            card = find_shown_card(entry.confirmation_id, session.state, session.key) or entry
            by_message.setdefault(card.confirmation_id, []).append(entry)
    return list(by_message.values())


async def transfer_cards(entries: Sequence[Card], session: Session, tools: Tools) -> list[OutboxRow]:
    """`entries` are of one message. Empty if nothing moves."""
    number = entries[0].confirmation_id
    before = _find_shown_card(number, session).told
    changed = [entry for entry in entries if await record_assignment(compute_assignment(entry, tools), entry, session)]
    if not changed:
        return []
    card = _find_shown_card(number, session)
    former = {lead for entry in entries for lead in session.state.cards[entry.confirmation_id].told}
    left = [lead for lead in before if lead not in former and tools.refresh_actor(Actor(key=lead, name=""))]  # others read nothing more
    gone = [lead for lead in left if await tools.store.find_sent_ref(lead, f"card:{card.confirmation_id}")]
    outbox_row = draw_card(outbox.build_card_row(session.key, card, session.now), session)
    news = build_news_rows(session.state.cards[changed[0].confirmation_id], session)
    return [outbox_row, *(_build_closed_copy(outbox_row, lead, card) for lead in gone), *news]


def draw_card(row: OutboxRow, session: Session) -> OutboxRow:
    """With all steps of its plan."""
    return group_card_rows([row], session.key, session.state.cards, session.describe_card)[0]


def _find_shown_card(confirmation_id: str, session: Session) -> Card:
    return find_shown_card(confirmation_id, session.state, session.key) or session.state.cards[confirmation_id]


def build_news_rows(entry: Card, session: Session) -> list[OutboxRow]:
    who, what = ", ".join(entry.told_names or ()), find_title(_find_shown_card(entry.confirmation_id, session))
    notice = Notice(code="lead-moved", args={"who": who, "what": what})
    return [outbox.build_reply_row(session.key, build_reply(notice if who else Notice(code="lead-gone", args={"what": what})), session.now)]


def _build_closed_copy(outbox_row: OutboxRow, lead: str, entry: Card) -> OutboxRow:
    body = {**build_copy_body(outbox_row.body, lead), "home": outbox_row.session, "status": "elsewhere", "told": list(entry.told)}
    return replace(outbox_row, id=generate_id(), session=lead, channel=Address.parse(lead).channel, body=body)

"""Finds which leads (heads of sales) must approve a waiting card now, and moves the card to them.

Leads can be away, lose their role or be dismissed while a card waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.actor import Actor, is_same_person
from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.staff import Staff
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
    """Which leads may decide now about one card that waits for a lead, and in whose chats the card is shown."""

    deciders: Sequence[Actor]
    notified: Sequence[Actor]
    onlookers: Sequence[Actor] = ()
    """Leads who found the card with /pending; they are named to the requester beside the deciders."""

    @property
    def named_leads(self) -> Sequence[Actor]:
        """The leads whose names the requester is told, as those who will decide.

        These are the leads in whose chats the card is shown, except those who do not decide now, for example because they are absent. If
        none would be left, all of them are named.
        """
        keys = {lead.key for lead in (*self.deciders, *self.onlookers)}
        return [lead for lead in self.notified if lead.key in keys] or self.notified

    def build_event(self, entry: Card) -> LeadsAsked | None:
        """Return the event that records this assignment; None if there is nothing new to record.

        There is nothing new if the journal already says that the card is shown to these leads, and one of the leads whose names the
        requester was told can still decide. If the card is shown to nobody, the second condition does not matter.
        """
        keys, names = [lead.key for lead in self.notified], [lead.name for lead in self.named_leads]
        waits_still = not self.notified or {lead.name for lead in self.deciders} & set(entry.told_names or ())
        if keys == list(entry.told or ()) and waits_still:
            return None
        return LeadsAsked(confirmation_id=entry.confirmation_id, told=keys, told_names=names)


def is_for_lead(entry: Card) -> bool:
    """Whether the card is open and waits for the decision of somebody other than its requester."""
    return entry.status == "requested" and bool(entry.told or entry.four_eyes or entry.lead)


def compute_assignment(entry: Card, tools: Tools) -> LeadAssignment:
    """Return which leads decide about the card at this moment, and to whom it is shown.

    The card stays with leads to whom it was shown before, if they may still decide.
    """
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
    """Whether `actor` may approve the card now."""
    deps = tools.gate.deps
    if is_same_person(actor, entry.requested_by, entry.requested_by_user):
        return False
    decision = Decision(confirmation_id=entry.confirmation_id, nonce="", approve=True, actor=deps.approvers.apply_delegation(actor), via="")
    return check_entitlement(entry, decision, deps.catalogue) is None


def is_asked(entry: Card, actor: Actor, tools: Tools) -> bool:
    """Whether `actor` is one of those whose decision the card waits for."""
    if not is_for_lead(entry) or not may_decide(entry, actor, tools):
        return False
    return actor.key in (entry.told or ()) or actor.key in {lead.key for lead in compute_assignment(entry, tools).deciders}


def add_lead(entry: Card, lead: Actor, tools: Tools) -> LeadAssignment:
    """Return the card's present assignment, extended by `lead`, to whom the card is shown from now on."""
    assignment = compute_assignment(entry, tools)
    return LeadAssignment(
        deciders=assignment.deciders, notified=[*(actor for actor in assignment.notified if actor.key != lead.key), lead], onlookers=[lead]
    )


async def record_assignment(lead_assignment: LeadAssignment, entry: Card, session: Session) -> bool:
    """Record the assignment `lead_assignment` in the journal; return False if the journal already has it, so that nothing changed."""
    event = lead_assignment.build_event(entry)
    if event is not None:
        await session.buffer(event, actor=entry.requested_by)
    return event is not None


def _find_person(key: str, tools: Tools) -> Actor | None:
    return tools.refresh_actor(Actor(key=key, name=""))


KIND: Final = "leads_changed"
"""The kind of the input that makes a session find again who decides about its open cards."""
_KNOWN: Final = "leads:standing"
_LONGEST: Final = timedelta(days=3660)
_MOST: Final = 10_000


class LeadsWatcher:
    """A periodic task that notices when other leads decide than at its last run, for example because a lead is absent now.

    A hash of who decided in place of each lead at the last run is stored in the database, so changes during a restart are noticed too.
    """

    def __init__(self, store: AsyncStore, staff: Staff) -> None:
        """Keep the store and the access list.

        The first run reads from the store who decided at the last run of the previous process.
        """
        self._store = store
        self._staff = staff
        self._known: str | None = None

    async def run(self, receive: Receive, now: datetime) -> None:
        """If other people now decide in place of the leads, submit one input for each session with open cards, which moves the cards.

        The worker calls this method every 20 seconds. May raise StoreError; the next run then tries again.
        """
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
    """Move the cards of this session that wait for a lead to the chats of the leads who decide now, and tell the requester.

    A card that is in the right chats already stays there. Raises StoreError.
    """
    out: list[OutboxRow] = []
    looks: list[Timer] = []
    for entries in list_lead_cards(session):
        if brought := await transfer_cards(entries, session, tools):
            out.extend(brought)
            looks.append(confirmations.build_arrival_timer(entries[0], session))
    await session.commit(actor="system", outbox=out, timers=looks, inbox_done=[row.id])


def list_lead_cards(session: Session) -> list[list[Card]]:
    """Return the cards of the session that can be decided and wait for somebody else than their requester.

    Those that one message shows, because they are steps of one plan, stand together in the order of the requests.
    """
    found: dict[str, list[Card]] = {}
    for entry in list_open_confirmations(session.state):
        if session.now < parse_iso(entry.expires_at) and is_for_lead(entry):
            card = find_shown_card(entry.confirmation_id, session.state, session.key) or entry
            found.setdefault(card.confirmation_id, []).append(entry)
    return list(found.values())


async def transfer_cards(entries: Sequence[Card], session: Session, tools: Tools) -> list[OutboxRow]:
    """Return the messages that move cards to the chats of the leads who decide now; empty if they are there already.

    `entries` are cards that one message shows. The journal records the new assignments. In the chats of leads who no longer decide any of
    them, the message loses its buttons.
    """
    number = entries[0].confirmation_id
    before = _find_shown_card(number, session).told
    changed = [entry for entry in entries if await record_assignment(compute_assignment(entry, tools), entry, session)]
    if not changed:
        return []
    card = _find_shown_card(number, session)
    asked = {lead for entry in entries for lead in session.state.cards[entry.confirmation_id].told}
    left = [lead for lead in before if lead not in asked and tools.refresh_actor(Actor(key=lead, name=""))]  # others read nothing more
    gone = [lead for lead in left if await tools.store.find_sent_ref(lead, f"card:{card.confirmation_id}")]
    outbox_row = draw_card(outbox.build_card_row(session.key, card, session.now), session)
    news = build_news_rows(session.state.cards[changed[0].confirmation_id], session)
    return [outbox_row, *(_build_closed_copy(outbox_row, lead, card) for lead in gone), *news]


def draw_card(row: OutboxRow, session: Session) -> OutboxRow:
    """Return the row of a card, or of a merged card of a group, as it is stored: with all steps of its plan."""
    return group_card_rows([row], session.key, session.state.cards, session.describe_card)[0]


def _find_shown_card(confirmation_id: str, session: Session) -> Card:
    return find_shown_card(confirmation_id, session.state, session.key) or session.state.cards[confirmation_id]


def build_news_rows(entry: Card, session: Session) -> list[OutboxRow]:
    """Return a list with the message that tells the requester which leads decide about the card now, or that there is none left."""
    who, what = ", ".join(entry.told_names or ()), find_title(_find_shown_card(entry.confirmation_id, session))
    notice = Notice(code="lead-moved", args={"who": who, "what": what})
    return [outbox.build_reply_row(session.key, build_reply(notice if who else Notice(code="lead-gone", args={"what": what})), session.now)]


def _build_closed_copy(outbox_row: OutboxRow, lead: str, entry: Card) -> OutboxRow:
    """Return the card without buttons, for the chat of `lead`, who no longer decides about it."""
    body = {**build_copy_body(outbox_row.body, lead), "home": outbox_row.session, "status": "elsewhere", "told": list(entry.told)}
    return replace(outbox_row, id=generate_id(), session=lead, channel=Address.parse(lead).channel, body=body)

"""Who decides about a card now, whoever was asked when it was made: leads go away, lose their role, are dismissed. Ring 2, no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.gate.approvers import is_same_person
from orchestrator.gate.confirmations import Decision, can_see_all, check_entitlement
from orchestrator.messages import Actor
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.events_leads import LeadsAsked

Entry = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class LeadAssignment:
    """Of a card that waits for a lead: who decides now, and all to whose chats it is shown."""

    deciders: Sequence[Actor]
    notified: Sequence[Actor]
    onlookers: Sequence[Actor] = ()
    """Who looked for what waits, and is named beside those whose turn it is."""

    @property
    def named_leads(self) -> Sequence[Actor]:
        """For whom the one who asked waits: a lead who is away keeps the card and is not named."""
        keys = {lead.key for lead in (*self.deciders, *self.onlookers)}
        return [lead for lead in self.notified if lead.key in keys] or self.notified

    def build_event(self, entry: Entry) -> LeadsAsked | None:
        """What is to be remembered of it, None where nothing has changed."""
        keys, names = [lead.key for lead in self.notified], [lead.name for lead in self.named_leads]
        waits_still = not self.notified or {lead.name for lead in self.deciders} & set(entry.get("told_names") or ())
        if keys == list(entry.get("told") or ()) and waits_still:
            return None
        return LeadsAsked(confirmation_id=entry["confirmation_id"], told=keys, told_names=names)


def is_for_lead(entry: Entry) -> bool:
    """Whether it waits, and not for the one who asked."""
    return entry["status"] == "requested" and bool(entry.get("told") or entry.get("four_eyes") or entry.get("lead"))


def compute_assignment(entry: Entry, tools: Tools) -> LeadAssignment:
    """The leads as they would be asked at this moment; of those who were asked before everybody who still may decide keeps the card."""
    means = tools.gate.means
    own = Actor(key=entry["requested_by"], name=entry["requested_by_name"], bitrix_user_id=entry.get("requested_by_user"))
    requester = tools.refresh_actor(own) or own
    asked_by = requester.bitrix_user_id
    deciding = means.approvers.find_leads(
        requester, lambda lead: can_see_all(lead, entry.get("before") or {}, means.catalogue, asked_by=asked_by)
    )
    kept = [lead for key in entry.get("told") or () if (lead := _find_person(key, tools)) is not None and may_decide(entry, lead, tools)]
    known = {lead.key for lead in kept}
    more = [] if known & {lead.key for lead in deciding} else [lead for lead in deciding if lead.key not in known]
    return LeadAssignment(deciders=[*deciding] or kept, notified=[*kept, *more])


def may_decide(entry: Entry, actor: Actor, tools: Tools) -> bool:
    """Whether that person's yes would count."""
    means = tools.gate.means
    if is_same_person(actor, entry["requested_by"], entry.get("requested_by_user")):
        return False
    decision = Decision(
        confirmation_id=entry["confirmation_id"], nonce="", approve=True, actor=means.approvers.apply_delegation(actor), via=""
    )
    return check_entitlement(entry, decision, means.catalogue) is None


def is_asked(entry: Entry, actor: Actor, tools: Tools) -> bool:
    """Whether the card waits for the decision of that person, among others."""
    if not is_for_lead(entry) or not may_decide(entry, actor, tools):
        return False
    return actor.key in (entry.get("told") or ()) or actor.key in {lead.key for lead in compute_assignment(entry, tools).deciders}


def add_lead(entry: Entry, lead: Actor, tools: Tools) -> LeadAssignment:
    """As it is, and shown to this person too."""
    asked = compute_assignment(entry, tools)
    return LeadAssignment(
        deciders=asked.deciders, notified=[*(one for one in asked.notified if one.key != lead.key), lead], onlookers=[lead]
    )


async def remember(asked: LeadAssignment, entry: Entry, session: Session) -> bool:
    """Note who is asked from now on; whether anything has changed."""
    event = asked.build_event(entry)
    if event is not None:
        await session.buffer(event, actor=entry["requested_by"])
    return event is not None


def _find_person(key: str, tools: Tools) -> Actor | None:
    return tools.refresh_actor(Actor(key=key, name=""))

"""Who decides about a card now, whoever was asked when it was made: leads go away, lose their role, are dismissed. Ring 2, no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.gate.approvers import same_person
from orchestrator.gate.confirmations import Decision, not_entitled, sees_all
from orchestrator.messages import Actor
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.events_leads import LeadsAsked

Entry = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Of a card that waits for a lead: who decides now, and all to whose chats it is shown."""

    deciding: Sequence[Actor]
    told: Sequence[Actor]
    more: Sequence[Actor] = ()
    """Who looked for what waits, and is named beside those whose turn it is."""

    @property
    def named(self) -> Sequence[Actor]:
        """For whom the one who asked waits: a lead who is away keeps the card and is not named."""
        keys = {lead.key for lead in (*self.deciding, *self.more)}
        return [lead for lead in self.told if lead.key in keys] or self.told

    def event(self, entry: Entry) -> LeadsAsked | None:
        """What is to be remembered of it, None where nothing has changed."""
        keys, names = [lead.key for lead in self.told], [lead.name for lead in self.named]
        waits_still = not self.told or {lead.name for lead in self.deciding} & set(entry.get("told_names") or ())
        if keys == list(entry.get("told") or ()) and waits_still:
            return None
        return LeadsAsked(confirmation_id=entry["confirmation_id"], told=keys, told_names=names)


def wants_lead(entry: Entry) -> bool:
    """Whether it waits, and not for the one who asked."""
    return entry["status"] == "requested" and bool(entry.get("told") or entry.get("four_eyes") or entry.get("lead"))


def asked_now(entry: Entry, tools: Tools) -> Asked:
    """The leads as they would be asked at this moment; of those who were asked before everybody who still may decide keeps the card."""
    means = tools.gate.means
    own = Actor(key=entry["requested_by"], name=entry["requested_by_name"], bitrix_user_id=entry.get("requested_by_user"))
    requester = tools.present(own) or own
    asked_by = requester.bitrix_user_id
    deciding = means.approvers.of(requester, lambda lead: sees_all(lead, entry.get("before") or {}, means.catalogue, asked_by=asked_by))
    kept = [lead for key in entry.get("told") or () if (lead := _person(key, tools)) is not None and may_decide(entry, lead, tools)]
    known = {lead.key for lead in kept}
    more = [] if known & {lead.key for lead in deciding} else [lead for lead in deciding if lead.key not in known]
    return Asked(deciding=[*deciding] or kept, told=[*kept, *more])


def may_decide(entry: Entry, actor: Actor, tools: Tools) -> bool:
    """Whether that person's yes would count."""
    means = tools.gate.means
    if same_person(actor, entry["requested_by"], entry.get("requested_by_user")):
        return False
    decision = Decision(confirmation_id=entry["confirmation_id"], nonce="", approve=True, actor=means.approvers.acting(actor), via="")
    return not_entitled(entry, decision, means.catalogue) is None


def is_asked(entry: Entry, actor: Actor, tools: Tools) -> bool:
    """Whether the card waits for the decision of that person, among others."""
    if not wants_lead(entry) or not may_decide(entry, actor, tools):
        return False
    return actor.key in (entry.get("told") or ()) or actor.key in {lead.key for lead in asked_now(entry, tools).deciding}


def with_one_more(entry: Entry, lead: Actor, tools: Tools) -> Asked:
    """As it is, and shown to this person too."""
    asked = asked_now(entry, tools)
    return Asked(deciding=asked.deciding, told=[*(one for one in asked.told if one.key != lead.key), lead], more=[lead])


async def remember(asked: Asked, entry: Entry, session: Session) -> bool:
    """Note who is asked from now on; whether anything has changed."""
    event = asked.event(entry)
    if event is not None:
        await session.note(event, actor=entry["requested_by"])
    return event is not None


def _person(key: str, tools: Tools) -> Actor | None:
    return tools.present(Actor(key=key, name=""))

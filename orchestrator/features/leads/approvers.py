"""Leads (heads of sales) who may approve a request, and deputies of absent ones; valid for the moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Absence, Actor, Staff, is_same_person
from orchestrator.gate.call.permissions import Sees, find_visible_users

_DECIDE = frozenset({"lead", "admin"})


class LeadApprovers:
    """Implements `Approvers` for the gate."""

    def __init__(self, staff: Staff, now: Callable[[], datetime]) -> None:
        """The last day of absence ends at midnight in the lead's time zone."""
        self._staff = staff
        self._now = now

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """The person's own lead or deputy, else all leads, else administrators; empty if nobody may."""
        people = self._map_people()
        person = people.get(self._staff.find_lead(actor.key))
        groups = (
            [person] if person is not None and person.role in _DECIDE else [],
            [person for person in people.values() if person.role == "lead"],
            [person for person in people.values() if person.role == "admin"],
        )
        for group in groups:
            here = dict.fromkeys(key for lead in group if (key := self._find_decider(lead, people)) in people)
            actors = [people[key] for key in here if self._may_approve(people[key], actor, sees)]
            if actors:
                return actors
        return ()

    def apply_delegation(self, actor: Actor) -> Actor:
        """With role and sight of the leads whom the actor replaces today, beside their own."""
        for lead in self._list_replaced_leads(actor):
            actor = actor.model_copy(update={"role": actor.role if actor.role in _DECIDE else "lead", "sees": _merge_sight(actor, lead)})
        return actor

    def map_deciders(self) -> Mapping[str, str]:
        """Lead's key → key of who decides. When it changes, open cards must move."""
        people = self._map_people()
        return {lead.key: self._find_decider(lead, people) for lead in people.values() if lead.role in _DECIDE}

    def _map_people(self) -> Mapping[str, Actor]:
        return {person.key: person for person in self._staff.list_people()}

    def _may_approve(self, lead: Actor, asking: Actor, sees: Sees) -> bool:
        acting = self.apply_delegation(lead)
        return lead.may_approve and not is_same_person(lead, asking.key, asking.bitrix_user_id) and acting.role in _DECIDE and sees(acting)

    def _find_decider(self, lead: Actor, people: Mapping[str, Actor]) -> str:
        """ "" for nobody. An absent deputy is replaced too."""
        seen: set[str] = set()
        while (away := self._find_absence(lead)) is not None:
            seen.add(lead.key)
            if away.deputy in seen or away.deputy not in people:
                return ""
            lead = people[away.deputy]
        return lead.key

    def _find_absence(self, lead: Actor) -> Absence | None:
        away = self._staff.find_absence(lead.key)
        return away if away is not None and self._now().astimezone(ZoneInfo(lead.time_zone)).date() <= away.until else None

    def _list_replaced_leads(self, actor: Actor) -> Iterator[Actor]:
        people = self._map_people()
        for lead in people.values():
            if lead.role in _DECIDE and lead.key != actor.key and self._find_decider(lead, people) == actor.key:
                yield lead


def _merge_sight(actor: Actor, other: Actor) -> str | tuple[int, ...]:
    mine, theirs = find_visible_users(actor), find_visible_users(other)
    return "all" if mine is None or theirs is None else tuple(sorted(mine | theirs))

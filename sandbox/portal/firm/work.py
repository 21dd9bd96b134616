"""Sandbox portal, work in the invented firm: activities about deals and leads, calls of its telephony, tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from sandbox.portal.firm.deals import Client, Fate
from sandbox.portal.firm.leads import LeadFate
from sandbox.portal.firm.moments import DAY, move_to_office, move_to_past_office, write_moment
from sandbox.portal.firm.staff import Staff
from sandbox.portal.firm.words import ACTIVITY_SUBJECTS, TASK_TITLES
from sandbox.portal.schema import Row
from sandbox.portal.seed_more_data import ANY_CALL

_PROVIDERS: Final = {1: "CRM_MEETING", 2: "VOXIMPLANT_CALL", 4: "CRM_EMAIL", 6: "CRM_TODO"}
Call = tuple[float, int, str | None, int | None, int]
"""A call to be: when, by whom, the kind and the id of the record, 1 outgoing or 2 incoming."""
_FIRST_CALL: Final = 9 * 3600
"""Average seconds from a lead to its first call."""


class Work:
    """Makes activities, calls and tasks from the fates of deals and leads."""

    def __init__(self, staff: Staff, clients: Sequence[Client], deals: Sequence[Fate], leads: Sequence[LeadFate], seed: str) -> None:
        self._staff, self._clients, self._deals, self._leads, self._seed = staff, clients, deals, leads, seed
        self._open = [deal for deal in deals if deal.is_open]

    def build_activities(self, count: int) -> Iterator[Row]:
        """Yield activities by creation: of deals 70 %, leads 20 %, companies 10 %; a fifth belongs to others than the record's person."""
        chance, now = Random(f"{self._seed}:activities"), self._staff.now
        drafts = sorted((self._pick_owner(chance) for _ in range(count)), key=lambda draft: draft[0])
        for made, kind, owner, seller, is_open in drafts:
            type_id = chance.choices((1, 2, 4, 6), (10, 50, 20, 20))[0]
            person = seller if chance.random() < 0.8 else self._staff.pick_seller(chance, made)
            deadline = made + chance.randrange(1, 20) * DAY
            is_done = chance.random() < (0.6 if is_open else 0.98)
            touched = min(now - 1, deadline if is_done else made)
            yield {
                "OWNER_ID": owner,
                "OWNER_TYPE_ID": kind,
                "TYPE_ID": type_id,
                "PROVIDER_ID": _PROVIDERS[type_id],
                "SUBJECT": f"{ACTIVITY_SUBJECTS[type_id]} № {owner}",
                "CREATED": write_moment(made),
                "LAST_UPDATED": write_moment(touched),
                "START_TIME": write_moment(made),
                "END_TIME": write_moment(made + 300),
                "DEADLINE": write_moment(deadline) if chance.random() < 0.9 else None,
                "COMPLETED": "Y" if is_done else "N",
                "STATUS": 2 if is_done else 1,
                "RESPONSIBLE_ID": person,
                "AUTHOR_ID": person,
                "EDITOR_ID": person,
                "PRIORITY": 2,
                "DIRECTION": chance.choice((1, 2)),
                "SETTINGS": [],
            }

    def build_calls(self, count: int) -> Iterator[Row]:
        """Yield calls in the order of their start: first the answers to leads (three of four leads get one), then calls of clients."""
        chance, now = Random(f"{self._seed}:calls"), self._staff.now
        drafts: list[Call] = [
            draft for lead in self._leads if chance.random() < 0.75 and (draft := self._call_lead(lead, chance)) is not None
        ]
        drafts = drafts[-count:]
        while len(drafts) < count:
            second = move_to_past_office(now - chance.random() * 180 * DAY, now, chance)
            person, way = self._staff.pick_seller(chance, second), chance.choices((1, 2), (55, 45))[0]
            drafts.append((second, person, *self._pick_caller(chance), way))
        for place, (second, person, kind, owner, way) in enumerate(sorted(drafts, key=lambda draft: draft[:2])):
            code = chance.choices(("200", "304", "486", "603-S"), (72, 18, 6, 4) if way == 2 else (76, 0, 16, 8))[0]
            yield ANY_CALL | {
                "PORTAL_USER_ID": person,
                "PHONE_NUMBER": f"+7495{chance.randrange(10**7):07}",
                "CALL_TYPE": way,
                "CALL_DURATION": chance.randrange(5, 900) if code == "200" else 0,
                "CALL_ID": f"externalCall.{place:08x}",
                "CALL_FAILED_CODE": code,
                "CALL_FAILED_REASON": "" if code == "200" else "Missed call" if code == "304" else "Decline",
                "CRM_ENTITY_TYPE": kind,
                "CRM_ENTITY_ID": owner,
                "CALL_START_DATE": write_moment(second),
            }

    def build_tasks(self, count: int) -> Iterator[Row]:
        """Yield tasks in the order of their creation, half of them about deals."""
        chance, now = Random(f"{self._seed}:tasks"), self._staff.now
        moments = sorted(move_to_past_office(now - chance.random() * 300 * DAY, now, chance) for _ in range(count))
        for made in moments:
            person, head = self._staff.pick_seller(chance, made), chance.choice(self._staff.heads)
            deadline = made + chance.randrange(1, 21) * DAY
            done = min(now - 2, made + chance.expovariate(1 / (6 * DAY))) if chance.random() < 0.85 else None
            state = 5 if done else chance.choice((2, 3))
            about = chance.choice(self._deals) if self._deals and chance.random() < 0.5 else None
            touched = write_moment(done or made)
            yield {
                "TITLE": f"{chance.choice(TASK_TITLES)}: {about.client.title}" if about else chance.choice(TASK_TITLES),
                "DESCRIPTION": "",
                "STATUS": state,
                "REAL_STATUS": state,
                "PRIORITY": 1,
                "RESPONSIBLE_ID": person,
                "CREATED_BY": head,
                "CHANGED_BY": head,
                "CLOSED_BY": person if done else None,
                "GROUP_ID": 0,
                "PARENT_ID": 0,
                "COMMENTS_COUNT": 0,
                "CREATED_DATE": write_moment(made),
                "CHANGED_DATE": touched,
                "CLOSED_DATE": touched if done else None,
                "DEADLINE": write_moment(deadline) if chance.random() < 0.8 else None,
                "UF_CRM_TASK": [f"D_{about.id}"] if about else None,
            }

    def _pick_owner(self, chance: Random) -> tuple[float, int, int, int, bool]:
        """Return (moment, owner's type, owner, the owner's person, whether the owner is open) of a new activity."""
        draw, now = chance.random(), self._staff.now
        if draw < 0.7 and self._deals:
            newest = self._deals[int(len(self._deals) * chance.random() ** 0.6)]  # newer deals more often
            deal = chance.choice(self._open) if self._open and draw < 0.15 else newest
            end = now if deal.is_open else deal.moved
            return deal.made + chance.random() * (end - deal.made - 1), 2, deal.id, deal.seller, deal.is_open
        if draw < 0.9 and self._leads:
            lead = chance.choice(self._leads)
            return min(now - 1.0, lead.made + chance.expovariate(1 / DAY)), 1, lead.id, lead.seller, False
        made = now - 1 - chance.random() * 200 * DAY
        return made, 4, chance.choice(self._clients).id, self._staff.pick_seller(chance, made), False

    def _call_lead(self, lead: LeadFate, chance: Random) -> Call | None:
        second = move_to_office(lead.made + 120 + chance.expovariate(1 / _FIRST_CALL), chance)
        if second >= self._staff.now:
            return None
        return second, lead.seller, "LEAD", lead.id, 1 if chance.random() < 0.85 else 2

    def _pick_caller(self, chance: Random) -> tuple[str | None, int | None]:
        client, draw = chance.choice(self._clients), chance.random()
        if draw < 0.15 and self._leads:
            return "LEAD", chance.choice(self._leads).id
        if draw < 0.5 and client.contact:
            return "CONTACT", client.contact
        return ("COMPANY", client.id) if draw < 0.9 else (None, None)

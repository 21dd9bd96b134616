"""Sandbox portal, leads of the invented firm with their stage history; those that convert become deals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from sandbox.portal.firm.deals import Client, Lead, pick_client
from sandbox.portal.firm.moments import DAY, move_to_office, move_to_past_office, write_moment
from sandbox.portal.firm.staff import SOURCES, Staff
from sandbox.portal.firm.words import FIRST_NAMES, LAST_NAMES, LEAD_TOPICS
from sandbox.portal.schema import Row

_SINCE: Final = 540 * DAY
_FINAL: Final = {"CONVERTED": "S", "JUNK": "F"}


@dataclass(frozen=True, slots=True)
class LeadFate:
    """What the calls need to know of a lead."""

    id: int
    made: float
    seller: int


class Leads:
    """Makes leads in the order of their creation, and collects their history and who of them becomes a deal."""

    def __init__(self, staff: Staff, clients: Sequence[Client], first: int, seed: str) -> None:
        self._staff, self._clients, self._first = staff, clients, first
        self._chance = Random(f"{seed}:leads")
        self.moves: list[tuple[float, Row]] = []
        self.fates: list[LeadFate] = []
        self.converted: list[Lead] = []

    def build(self, count: int) -> Iterator[Row]:
        """Yield the rows of `count` leads; `moves`, `fates` and `converted` are complete when all are taken."""
        chance, now = self._chance, self._staff.now
        moments = sorted(move_to_past_office(now - chance.random() * _SINCE, now, chance) for _ in range(count))
        for place, made in enumerate(moments):
            yield self._build_lead(self._first + place, made)

    def _build_lead(self, number: int, made: float) -> Row:
        chance, staff = self._chance, self._staff
        seller = staff.pick_seller(chance, made)
        moves = self._walk(made)
        moved, status = moves[-1]
        source = chance.choices(SOURCES, (20, 50, 15, 10, 5))[0]
        client = pick_client(self._clients, chance) if chance.random() < 0.3 else None
        for place, (second, code) in enumerate(moves):
            row: Row = {"TYPE_ID": (3 if code in _FINAL else 2) if place else 1, "ENTITY_TYPE_ID": 1, "OWNER_ID": number}
            row |= {"CREATED_TIME": write_moment(second), "STATUS_ID": code, "STATUS_SEMANTIC_ID": _FINAL.get(code, "P")}
            self.moves.append((second, row))
        self.fates.append(LeadFate(number, made, seller))
        if status == "CONVERTED":
            self.converted.append(Lead(number, moved, seller, source, client))
        stamp = write_moment(moved)
        return {
            "TITLE": f"{chance.choice(LEAD_TOPICS)} № {number}",
            "NAME": chance.choice(FIRST_NAMES),
            "LAST_NAME": chance.choice(LAST_NAMES),
            "STATUS_ID": status,
            "STATUS_SEMANTIC_ID": _FINAL.get(status, "P"),
            "CURRENCY_ID": "RUB",
            "OPPORTUNITY": float(chance.randrange(200_000)),
            "IS_MANUAL_OPPORTUNITY": "Y",
            "DATE_CREATE": write_moment(made),
            "DATE_MODIFY": stamp,
            "DATE_CLOSED": stamp if status in _FINAL else None,
            "MOVED_TIME": stamp,
            "MOVED_BY_ID": seller,
            "ASSIGNED_BY_ID": seller,
            "CREATED_BY_ID": seller,
            "MODIFY_BY_ID": seller,
            "LAST_ACTIVITY_TIME": stamp,
            "SOURCE_ID": source,
            "COMPANY_ID": client.id if client else None,
            "OPENED": "Y",
        }

    def _walk(self, made: float) -> list[tuple[float, str]]:
        """Return the moves of one lead as (moment, status); most of them end within two weeks."""
        chance, now = self._chance, self._staff.now
        moves, second = [(made, "NEW")], made
        end = "CONVERTED" if chance.random() < 0.47 else "JUNK"
        for code in ("IN_PROCESS", "PROCESSED", end):
            if code in {"PROCESSED", "IN_PROCESS"} and chance.random() < 0.3:
                continue
            second = move_to_office(second + 300 + chance.expovariate(1 / (2 * DAY)), chance)
            if second >= now or chance.random() < 0.04:
                break
            moves.append((second, code))
        return moves

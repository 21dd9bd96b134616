"""Sandbox portal, deals of the invented firm: each walks through the stages of its funnel, and the walk is its stage history."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from sandbox.portal.firm.moments import DAY, move_to_office, move_to_past_office, write_date, write_moment
from sandbox.portal.firm.size import Firm
from sandbox.portal.firm.staff import SOURCES, Staff, find_luck
from sandbox.portal.firm.words import DEAL_TOPICS, PRIVATE_PERSON
from sandbox.portal.schema import DEAL, Row

OPEN: Final = ("NEW", "PREPARATION", "PREPAYMENT_INVOICE", "EXECUTING", "FINAL_INVOICE")
RETIRED_STAGE: Final = "UC_APPROVAL"
_PAST: Final = 760 * DAY
_PAST_ASIDE: Final = 420 * DAY
_RETIRED_BEFORE: Final = 300 * DAY
_IMPORTED_BEFORE: Final = 90 * DAY
_RATES: Final = {"RUB": 1, "USD": 92, "EUR": 100, "KZT": 0.193}
_FINAL: Final = {"WON": "S", "LOSE": "F", "APOLOGY": "F"}
_LIST: Final = "UF_CRM_1747310101"
_CONTRACT: Final = "UF_CRM_1747309879"


@dataclass(frozen=True, slots=True)
class Client:
    """A company, its title and its contact (0: none)."""

    id: int
    title: str
    contact: int


NOBODY: Final = Client(0, PRIVATE_PERSON, 0)


@dataclass(frozen=True, slots=True)
class Lead:
    """A converted lead that becomes a deal: when, whose, from where and of which client (None: a new one)."""

    id: int
    second: float
    seller: int
    source: str | None
    client: Client | None


@dataclass(slots=True)
class Walk:
    """The moves of one deal: (kind of the history row, moment, funnel, stage without the funnel's prefix)."""

    moves: list[tuple[int, float, int, str]] = field(default_factory=list)

    def add(self, kind: int, second: float, funnel: int, stage: str) -> None:
        """Note a move."""
        self.moves.append((kind, second, funnel, stage))


@dataclass(frozen=True, slots=True)
class Fate:
    """What the other records need to know of a deal."""

    id: int
    made: float
    moved: float
    stage: str
    seller: int
    client: Client
    amount: float | None
    currency: str

    @property
    def is_open(self) -> bool:
        """Whether the deal is in work."""
        return self.stage not in _FINAL


def pick_client(clients: Sequence[Client], chance: Random) -> Client:
    """Draw a client: every second time one of a few large ones."""
    if chance.random() < 0.5:
        return chance.choice(clients)
    return clients[(int(chance.paretovariate(1.1) * 7) - 7) % len(clients)]


class Deals:
    """Makes deals in the order of their creation, so that ids rise with time, and collects their history and their fates."""

    def __init__(self, firm: Firm, staff: Staff, clients: Sequence[Client], leads: Sequence[Lead], first: int, seed: str) -> None:
        self._firm, self._staff, self._clients, self._first = firm, staff, clients, first
        self._leads = deque(sorted(leads, key=lambda lead: lead.second))
        self._chance = Random(f"{seed}:deals")
        self._choices = [number for number, _ in DEAL.fields[_LIST].choices]
        self.moves: list[tuple[float, Row]] = []
        self.fates: list[Fate] = []

    def build(self) -> Iterator[Row]:
        """Yield the rows of the deals; `moves` and `fates` are complete when all are taken."""
        chance, now = self._chance, self._staff.now
        past = _PAST_ASIDE if self._firm.aside else _PAST
        ages = (chance.betavariate(1, 1.25) * past for _ in range(self._firm.deals))
        moments = sorted(move_to_past_office(now - age, now, chance) for age in ages)
        for place, made in enumerate(moments):
            yield self._build_deal(self._first + place, made)

    def _build_deal(self, number: int, made: float) -> Row:
        chance, staff = self._chance, self._staff
        lead = self._take_lead(made)
        seller = lead.seller if lead else staff.pick_seller(chance, made)
        client = self._pick_client(lead)
        walk = self._walk(made, seller)
        _, moved, funnel, stage = walk.moves[-1]
        amount, currency = self._pick_sum()
        is_imported = self._firm.imported and made < staff.now - _IMPORTED_BEFORE
        if not is_imported:
            self._record_history(number, walk)
        fate = Fate(number, made, moved, stage, seller, client, amount, currency)
        self.fates.append(fate)
        prefix = "C1:" if funnel else ""
        touched = min(staff.now - 1.0, moved + chance.expovariate(1 / (2 * DAY)))
        row: Row = {
            "TITLE": f"{chance.choice(DEAL_TOPICS).capitalize()} для {client.title}, партия {number}",
            "CATEGORY_ID": funnel,
            "STAGE_ID": prefix + stage,
            "STAGE_SEMANTIC_ID": _FINAL.get(stage, "P"),
            "CURRENCY_ID": currency,
            "OPPORTUNITY": amount,
            "IS_MANUAL_OPPORTUNITY": "Y",
            "DATE_CREATE": write_moment(made),
            "DATE_MODIFY": write_moment(touched),
            "CREATED_BY_ID": seller,
            "MODIFY_BY_ID": seller,
            "OPENED": "Y",
            "CLOSED": "Y" if stage in _FINAL else "N",
            "IS_NEW": "Y" if stage == OPEN[0] else "N",
            "BEGINDATE": write_date(made),
            "CLOSEDATE": write_date(self._pick_close(made, moved, stage)),
            "CONTACT_ID": client.contact or None,
            "CONTACT_IDS": [client.contact] if client.contact else [],
            "COMPANY_ID": client.id,
            "LEAD_ID": lead.id if lead else None,
            "ASSIGNED_BY_ID": seller,
            "SOURCE_ID": lead.source if lead else chance.choices(SOURCES, (30, 35, 15, 14, 6))[0],
            "TYPE_ID": chance.choices(("SALE", "SERVICES", "GOODS"), (5, 2, 3))[0],
            "PROBABILITY": chance.choice((10, 30, 50, 70, 90)) if chance.random() < 0.3 else None,
            "LAST_ACTIVITY_TIME": write_moment(touched),
        }
        if not (is_imported and number % 2):
            row |= {"MOVED_BY_ID": seller, "MOVED_TIME": write_moment(moved)}
        if chance.random() < 0.6:
            row[_LIST] = chance.choice(self._choices)
        if chance.random() < 0.5:
            row[_CONTRACT] = f"К-{number}"
        return row

    def _take_lead(self, made: float) -> Lead | None:
        if self._leads and self._leads[0].second <= made:
            return self._leads.popleft()
        return None

    def _pick_client(self, lead: Lead | None) -> Client:
        if lead and lead.client:
            return lead.client
        if self._chance.random() < 0.07:
            return NOBODY
        return pick_client(self._clients, self._chance)

    def _walk(self, made: float, seller: int) -> Walk:
        chance, now = self._chance, self._staff.now
        funnel = 1 if chance.random() < 0.18 else 0
        wins = chance.random() < 0.3 + find_luck(seller)
        walk, step, second = Walk(), 0, made
        walk.add(1, made, funnel, OPEN[0])
        while True:
            second = move_to_office(second + 60 + chance.expovariate(1 / ((4 + 3 * step) * DAY)), chance)
            if second >= now:
                return walk
            draw = chance.random()
            if draw < 0.05 and step:
                step -= 1
                walk.add(2, second, funnel, OPEN[step])
            elif draw > 0.995 and not funnel:
                funnel, step = 1, 0
                walk.add(5, second, funnel, OPEN[0])
            elif (wins and step == 4) or (not wins and chance.random() < 0.22):
                walk.add(3, second, funnel, "WON" if wins else "LOSE" if chance.random() < 0.8 else "APOLOGY")
                if chance.random() > 0.015 or second + 3 * DAY >= now:
                    return walk
                second, step = second + 2 * DAY, 3  # reopened
                walk.add(2, second, funnel, OPEN[step])
            elif step < 4:
                step += 2 if step < 3 and chance.random() < 0.08 else 1
                walk.add(2, second, funnel, OPEN[step])

    def _record_history(self, number: int, walk: Walk) -> None:
        retired_before = self._staff.now - _RETIRED_BEFORE if self._firm.retired else 0.0
        for kind, second, funnel, stage in walk.moves:
            code = RETIRED_STAGE if stage == OPEN[1] and second < retired_before else stage
            row = {
                "TYPE_ID": kind,
                "ENTITY_TYPE_ID": 2,
                "OWNER_ID": number,
                "CREATED_TIME": write_moment(second),
                "CATEGORY_ID": funnel,
                "STAGE_ID": f"C1:{code}" if funnel else code,
                "STAGE_SEMANTIC_ID": _FINAL.get(stage, "P"),
            }
            self.moves.append((second, row))

    def _pick_sum(self) -> tuple[float | None, str]:
        chance = self._chance
        currency = chance.choices(tuple(_RATES), (940, 30, 20, 10))[0]
        draw = chance.random()
        if draw < 0.06:
            return (0.0 if draw < 0.04 else None), currency
        amount = chance.lognormvariate(11.6, 1.0) / _RATES[currency]
        return round(amount, 2 if chance.random() < 0.2 else 0), currency

    def _pick_close(self, made: float, moved: float, stage: str) -> float:
        chance = self._chance
        if stage in _FINAL and chance.random() < 0.95:
            return moved
        return made + chance.randrange(7, 90) * DAY

"""Sandbox portal, money in the invented firm: smart invoices of deals on their way to payment, and the goods that deals sell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from sandbox.portal.firm.deals import Fate
from sandbox.portal.firm.moments import DAY, move_to_office, write_date, write_moment
from sandbox.portal.firm.words import GOODS, INVOICE_FUNNEL
from sandbox.portal.schema import Row
from sandbox.portal.schema_smart import INVOICE_TYPE_ID

_FUNNEL: Final = INVOICE_FUNNEL[0]
_SEMANTICS: Final = {"P": "S", "D": "F"}
_BILLED: Final = frozenset({"FINAL_INVOICE", "WON"})


class Invoices:
    """Makes an invoice for seven of ten deals that are won or wait for payment, and collects the history of the invoices."""

    def __init__(self, now: int, deals: Sequence[Fate], first: int, seed: str) -> None:
        self._now, self._deals, self._first = now, deals, first
        self._chance = Random(f"{seed}:invoices")
        self.moves: list[tuple[float, Row]] = []

    def build(self) -> Iterator[Row]:
        """Yield the rows of the invoices in the order of their creation; `moves` is complete when all are taken."""
        chance = self._chance
        billed = [deal for deal in self._deals if deal.stage in _BILLED and deal.amount and chance.random() < 0.7]
        for place, deal in enumerate(sorted(billed, key=lambda deal: deal.moved)):
            yield self._build_invoice(self._first + place, deal)

    def _build_invoice(self, number: int, deal: Fate) -> Row:
        moves = self._walk(deal)
        made, (moved, code) = moves[0][0], moves[-1]
        for place, (second, stage) in enumerate(moves):
            row: Row = {"TYPE_ID": (3 if stage in _SEMANTICS else 2) if place else 1, "ENTITY_TYPE_ID": INVOICE_TYPE_ID, "OWNER_ID": number}
            row |= {"CREATED_TIME": write_moment(second), "CATEGORY_ID": _FUNNEL, "STAGE_ID": f"DT{INVOICE_TYPE_ID}_{_FUNNEL}:{stage}"}
            self.moves.append((second, row | {"STAGE_SEMANTIC_ID": _SEMANTICS.get(stage, "P")}))
        stamp = write_moment(moved)
        return {
            "TITLE": f"Счёт № {number}",
            "ACCOUNT_NUMBER": str(number),
            "CATEGORY_ID": _FUNNEL,
            "STAGE_ID": f"DT{INVOICE_TYPE_ID}_{_FUNNEL}:{code}",
            "PREVIOUS_STAGE_ID": f"DT{INVOICE_TYPE_ID}_{_FUNNEL}:{moves[-2][1]}" if len(moves) > 1 else None,
            "CURRENCY_ID": deal.currency,
            "OPPORTUNITY": deal.amount,
            "IS_MANUAL_OPPORTUNITY": "Y",
            "COMPANY_ID": deal.client.id,
            "CONTACT_ID": deal.client.contact or None,
            "CONTACT_IDS": [deal.client.contact] if deal.client.contact else [],
            "PARENT_ID_2": deal.id,
            "ASSIGNED_BY_ID": deal.seller,
            "CREATED_BY_ID": deal.seller,
            "MODIFY_BY_ID": deal.seller,
            "MOVED_BY_ID": deal.seller,
            "DATE_CREATE": write_moment(made),
            "DATE_MODIFY": stamp,
            "MOVED_TIME": stamp,
            "LAST_ACTIVITY_TIME": stamp,
            "BEGINDATE": write_date(made),
            "CLOSEDATE": write_date(made + 14 * DAY),
            "OPENED": "Y",
        }

    def _walk(self, deal: Fate) -> list[tuple[float, str]]:
        """Return the moves of one invoice as (moment, stage): most are sent and paid, one of twelve is given up."""
        chance, second = self._chance, deal.moved
        moves = [(second, "N")]
        for code, days in (("S", 1), ("D" if chance.random() < 0.08 else "P", 12)):
            second = move_to_office(second + 600 + chance.expovariate(1 / (days * DAY)), chance)
            if second >= self._now:
                break
            moves.append((second, code))
        return moves


def build_goods(deals: Sequence[Fate], seed: str) -> Iterator[Row]:
    """Yield the product rows of two fifths of the deals with a sum; their prices without discount make this sum."""
    chance = Random(f"{seed}:goods")
    for deal in deals:
        if not deal.amount or chance.random() > 0.4:
            continue
        count = chance.choices((1, 2, 3), (5, 3, 2))[0]
        left = deal.amount
        for place in range(count):
            part = left if place == count - 1 else round(left * chance.uniform(0.2, 0.6), 2)
            left = round(left - part, 2)
            product, name, _ = chance.choice(GOODS)
            rate = chance.choice((5.0, 10.0, 15.0)) if chance.random() < 0.3 else 0.0
            quantity = float(chance.choice((1, 1, 2, 5, 10)))
            price = round(part / quantity, 2)
            yield {
                "OWNER_ID": deal.id,
                "OWNER_TYPE": "D",
                "PRODUCT_ID": product,
                "PRODUCT_NAME": name,
                "PRICE": price,
                "QUANTITY": quantity,
                "DISCOUNT_TYPE_ID": 2,
                "DISCOUNT_RATE": rate,
                "DISCOUNT_SUM": round(price / (1 - rate / 100) - price, 2),
                "TAX_INCLUDED": "Y",
                "SORT": (place + 1) * 10,
            }

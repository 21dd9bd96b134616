"""The model and the portal of the benches on PostgreSQL: many deals, and a plan that is over when its card is decided.

A real model ends a plan when nothing is left of the request. One that proposes the next change at once would leave a card behind that
nobody looks at, and each turn would be two.
"""

from typing import Any

from bench.turn_world import Clients, InstantClient, InstantModel, Portal


class ManyDeals(Portal):
    """A portal on which every deal exists; what the least portal has is its pattern. Deal 100007 belongs to the person 100, and so on."""

    def __init__(self) -> None:
        super().__init__()
        self._deals: dict[str, dict[str, str]] = {}

    def result(self, method: str, body: dict[str, Any]) -> Any:
        """The `result` of one call; a call about a deal is answered from that deal."""
        if method not in {"crm.deal.get", "crm.deal.update"}:
            return super().result(method, body)
        number = str(body["id"])
        owner = str(int(number) // 1000 or 7)
        self.deal = self._deals.setdefault(number, {**self.deal, "ID": number, "OPPORTUNITY": "120000.00", "ASSIGNED_BY_ID": owner})
        return super().result(method, body)


def build_clients(portal: Portal) -> Clients:
    """No wires."""
    return Clients(bitrix=InstantClient(portal), model=InstantModel())

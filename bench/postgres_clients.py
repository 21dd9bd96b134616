"""The model and the portal of the benches on PostgreSQL: many deals, and a plan that is over when its card is decided.

A real model ends a plan when nothing is left of the request. One that proposes the next change at once would leave a card behind that
nobody looks at, and each turn would be two.
"""

import re
from typing import Any

from bench.turn import Clients, InstantClient, InstantModel, Portal
from orchestrator.domain.models import ModelAnswer

_DEAL = re.compile(r"сделки (\d+)")
_OVER = "THOUGHT:\nвсё\nACTION:\n[]\nASSISTANT:\n"


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


class OneChange(InstantModel):
    """Proposes one change of the deal that the person names, and nothing more once that is decided."""

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any) -> ModelAnswer:
        """One answer in one piece."""
        words = payload["messages"][-1]["content"]
        found = _DEAL.search(words)
        text = _OVER if words.startswith("OBSERVATION") or found is None else self.text().replace("481", found[1])
        if on_delta is not None:
            await on_delta(text)
        return ModelAnswer(text, 1, 1, "instant", "stop", 0.0)


def build_clients(portal: Portal) -> Clients:
    """No wires."""
    return Clients(bitrix=InstantClient(portal), model=OneChange())

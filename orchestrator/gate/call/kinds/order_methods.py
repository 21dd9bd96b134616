from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from orchestrator.gate.call import standing_orders
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method

KIND: Final = "order"
_ADD: Final = build_kind_method(standing_orders.ADD, "W", "add", standing_orders.OrderParams, entity="order", safe_create=True)
_CHANGE: Final = build_kind_method(standing_orders.CHANGE, "W", "update", standing_orders.ChangeParams, entity="order")
_REMOVE: Final = build_kind_method(standing_orders.REMOVE, "W", "update", standing_orders.RemoveParams, entity="order")
_AGAIN: Final = {"idempotent": True, "adds": True}
METHODS: Final[Mapping[str, KindMethod]] = {
    standing_orders.ADD: _ADD,
    standing_orders.CHANGE: replace(_CHANGE, spec=_CHANGE.spec.model_copy(update=_AGAIN)),
    standing_orders.REMOVE: replace(_REMOVE, spec=_REMOVE.spec.model_copy(update=_AGAIN)),
    standing_orders.LIST: build_kind_method(standing_orders.LIST, "R", "get", standing_orders.ListParams),
}

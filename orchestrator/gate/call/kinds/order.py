"""What is to happen by itself later: messages, reports and proposals, never a write. Each new order is shown on a card."""

from collections.abc import Iterator
from typing import Any, Final

from orchestrator.domain.cron_lines import CronLine
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import standing_orders as orders
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.order_methods import KIND, METHODS
from orchestrator.language.schedule_terms import describe_line
from state.stored import JsonObject

_ASKING: Final = frozenset({"at", "cron", "quiet", "to", "until"})
"""What a change may make louder or longer."""


def _normalize_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    method = request.method.spec.name
    orders.check_person(request.person, method)
    sees = "all" if request.sees is None else sorted(request.sees)
    whose = {orders.PERSON: request.person, orders.SEES: sees, orders.LOCALE: request.locale, orders.MARK: request.effect_id}
    plain = {name: value for name, value in proposed.items() if name not in {*whose, orders.ZONE}}
    if method == orders.ADD:
        orders.check_records(plain)
        return {**orders.normalize_order(validate_params(request, plain), zone=request.zone), **whose}
    if method == orders.LIST:
        return {**validate_params(request, plain), **whose, orders.MARK: ""}
    checked = validate_params(request, plain)
    if method == orders.CHANGE and len(checked) == 1:
        raise orders.refuse_order("order", "say what is to change: at, cron, quiet, text, to, until or status", method)
    if checked.get("at") or checked.get("cron"):
        orders.parse_order_time(checked.get("at"), checked.get("cron"), request.zone, method)
    end = {"until": orders.read_end(str(checked["until"]), request.zone, method)} if checked.get("until") else {}
    return {**checked, **end, **whose}


def _drop_marks(params: JsonObject) -> JsonObject:
    return {name: value for name, value in params.items() if name != orders.MARK}


def _ask_about_order(call: Call, _facts: Facts) -> Iterator[Notice]:
    if call.method == orders.ADD or (call.method == orders.CHANGE and _ASKING & call.params.keys()):
        cron, zone = call.params.get("cron"), str(call.params.get(orders.ZONE) or "UTC")
        line = describe_line(CronLine(str(cron)), zone, reader_zone=zone) if cron else None
        yield Notice(code="gate-order-stands", args={"when": line.model_dump() if line is not None else "none"})


ORDER: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="label",
    normalize=_normalize_params,
    drop_marks=_drop_marks,
    collect_reasons=_ask_about_order,
    always_open=frozenset(METHODS),
)

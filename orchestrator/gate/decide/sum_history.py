"""A record's sums before this program first changed them within a day: small changes can make one large one."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts, FirstSums, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import StoredOrder, UndecodableCall, decode_call
from orchestrator.gate.decide import evaluate_rules
from orchestrator.gate.normalize.sums import CURRENCY
from state.clock import parse_iso

DAY: Final = timedelta(days=1)
_COUNTED: Final = frozenset({"started", "succeeded", "unknown"})


async def find_first_sums(call: Call, facts: Facts, deps: GateDeps, ledger: Ledger) -> dict[Target, FirstSums]:
    """{} where no sums are compared."""
    if deps.policy.sum_jump is None and all(rule.times is None for rule in deps.policy.rules):
        return {}
    targets = dict.fromkeys(target for leaf in call.leaves if (target := evaluate_rules.find_sum_owner(leaf, facts)) is not None)
    return {target: await _find_first_sums(target, deps, ledger) for target in targets}


async def _find_first_sums(target: Target, deps: GateDeps, ledger: Ledger) -> FirstSums:
    rows = await ledger.find_calls_about(f"{target[0]}:{target[1]}", DAY)
    orders = [StoredOrder.from_data(row.call) for row in rows if row.status in _COUNTED and "call" in row.call]  # none of the erased
    begun = [order for order in orders if order.started_at and parse_iso(order.started_at) > ledger.now - DAY]
    first_sums: dict[str, tuple[object, str]] = {}
    for order in sorted(begun, key=lambda order: order.started_at):
        for key, was in _list_sums(order, target, deps.catalogue):
            first_sums.setdefault(key, was)
    return first_sums


def _list_sums(order: StoredOrder, target: Target, catalogue: Catalogue) -> Iterator[tuple[str, tuple[object, str]]]:
    """Pairs (field key, (value, currency)), as it was before that call."""
    before = order.before.get(f"{target[0]}:{target[1]}")
    try:
        leaves = decode_call(order.call, catalogue).leaves
    except UndecodableCall:
        return
    for leaf in leaves if before is not None else ():
        if target not in leaf.targets or leaf.reads_only:
            continue
        facts = Facts(records={target: before})
        for name in evaluate_rules.find_written_sums(leaf, facts):
            key = leaf.spec.stands_for.get(name, name)
            value = fields.find_value(before or {}, key, leaf.entity)
            if fields.parse_number(value):
                yield fields.to_field_key(key, leaf.entity), (value, str(fields.find_value(before or {}, CURRENCY, leaf.entity) or ""))

"""Where a sum stood before the first of the bot's own changes of it today: several small steps are one large one. Ring 2; reads only.

Known from the journal by the record, whoever asked and in whatever conversation. What was proven not to have happened counts for nothing.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from bitrix.catalogue import Catalogue
from orchestrator.gate import fields, ruling
from orchestrator.gate.amounts import CURRENCY
from orchestrator.gate.effects import Call, Facts, FirstSums, Target
from orchestrator.gate.means import GateDeps
from orchestrator.gate.policy import Policy
from orchestrator.gate.ports import Ledger
from orchestrator.gate.stored_call import UndecodableCall, decode_call
from state.clock import parse_iso
from state.store import EffectRow

DAY: Final = timedelta(days=1)
_COUNTED_STATUSES: Final = frozenset({"started", "succeeded", "unknown"})


async def find_first_sums(call: Call, facts: Facts, means: GateDeps, ledger: Ledger) -> dict[Target, FirstSums]:
    """By record and key of the field what stood there within the last 24 hours before we first changed it; may raise StoreError.

    Looked up only for calls that write a sum, and only where the policy compares sums.
    """
    if not _is_comparing_sums(means.policy):
        return {}
    wanted = dict.fromkeys(target for leaf in call.leaves if (target := ruling.find_sum_owner(leaf, facts)) is not None)
    return {target: await _find_first_sums(target, means.catalogue, ledger) for target in wanted}


def _is_comparing_sums(policy: Policy) -> bool:
    return policy.sum_jump is not None or any(rule.times is not None for rule in policy.rules)


async def _find_first_sums(target: Target, catalogue: Catalogue, ledger: Ledger) -> FirstSums:
    since = ledger.now - DAY
    found: dict[str, tuple[Any, str]] = {}
    rows = [row for row in await ledger.find_calls_about(f"{target[0]}:{target[1]}", DAY) if _has_begun_after(row, since)]
    for row in sorted(rows, key=lambda one: str(one.call["started_at"])):
        for key, was in _list_changed_sums(row, target, catalogue):
            found.setdefault(key, was)
    return found


def _has_begun_after(row: EffectRow, since: Any) -> bool:
    """An erased person's call says nothing any more."""
    started = row.call.get("started_at")
    return row.status in _COUNTED_STATUSES and "call" in row.call and bool(started) and parse_iso(str(started)) > since


def _list_changed_sums(row: EffectRow, target: Target, catalogue: Catalogue) -> Iterator[tuple[str, tuple[Any, str]]]:
    """The sums of the record that the call changed, as they stood before it; one that stood at nothing cannot be compared with."""
    before: Mapping[str, Any] | None = (row.call.get("before") or {}).get(f"{target[0]}:{target[1]}")
    try:
        leaves = decode_call(row.call["call"], catalogue).leaves
    except UndecodableCall:
        return
    for leaf in leaves if before is not None else ():
        if target not in leaf.targets or leaf.reads_only:
            continue
        facts = Facts(records={target: before})
        for name in ruling.find_written_sums(leaf, facts):
            key = leaf.spec.stands_for.get(name, name)
            value = fields.find_value(before or {}, key, leaf.entity)
            if fields.parse_number(value):
                yield fields.to_field_key(key, leaf.entity), (value, str(fields.find_value(before or {}, CURRENCY, leaf.entity) or ""))

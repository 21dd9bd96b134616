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
from orchestrator.gate.means import Means
from orchestrator.gate.policy import Policy
from orchestrator.gate.ports import Ledger
from orchestrator.gate.stored_call import Unthawable, thaw
from state.clock import parse_iso
from state.store import EffectRow

DAY: Final = timedelta(days=1)
_BEGUN: Final = frozenset({"started", "succeeded", "unknown"})


async def first_sums(call: Call, facts: Facts, means: Means, ledger: Ledger) -> dict[Target, FirstSums]:
    """By record and key of the field what stood there within the last 24 hours before we first changed it; may raise StoreError.

    Looked up only for calls that write a sum, and only where the policy compares sums.
    """
    if not _compares(means.policy):
        return {}
    wanted = dict.fromkeys(target for leaf in call.leaves if (target := ruling.whose_sum(leaf, facts)) is not None)
    return {target: await _of(target, means.catalogue, ledger) for target in wanted}


def _compares(policy: Policy) -> bool:
    return policy.sum_jump is not None or any(rule.times is not None for rule in policy.rules)


async def _of(target: Target, catalogue: Catalogue, ledger: Ledger) -> FirstSums:
    since = ledger.now - DAY
    found: dict[str, tuple[Any, str]] = {}
    rows = [row for row in await ledger.calls_about(f"{target[0]}:{target[1]}", DAY) if _began_after(row, since)]
    for row in sorted(rows, key=lambda one: str(one.call["started_at"])):
        for key, was in _changed(row, target, catalogue):
            found.setdefault(key, was)
    return found


def _began_after(row: EffectRow, since: Any) -> bool:
    """An erased person's call says nothing any more."""
    started = row.call.get("started_at")
    return row.status in _BEGUN and "call" in row.call and bool(started) and parse_iso(str(started)) > since


def _changed(row: EffectRow, target: Target, catalogue: Catalogue) -> Iterator[tuple[str, tuple[Any, str]]]:
    """The sums of the record that the call changed, as they stood before it; one that stood at nothing cannot be compared with."""
    before: Mapping[str, Any] | None = (row.call.get("before") or {}).get(f"{target[0]}:{target[1]}")
    try:
        leaves = thaw(row.call["call"], catalogue).leaves
    except Unthawable:
        return
    for leaf in leaves if before is not None else ():
        if target not in leaf.targets or leaf.reads_only:
            continue
        facts = Facts(records={target: before})
        for name in ruling.sums_written(leaf, facts):
            key = leaf.spec.stands_for.get(name, name)
            value = fields.value_of(before or {}, key, leaf.entity)
            if fields.number(value):
                yield fields.squeeze(key, leaf.entity), (value, str(fields.value_of(before or {}, CURRENCY, leaf.entity) or ""))

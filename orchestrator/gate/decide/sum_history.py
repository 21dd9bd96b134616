"""Finds the sums that a record had before this program first changed them within a day.

Several small changes of a sum can make one large one. So the journal is searched for the sum before the first change within a day, by any
person in any conversation. Calls that are known not to have happened do not count.

Which calls there are is read from the index at every look, since other conversations and processes add some, and an erasure takes some
away. What a call that has ended had changed is kept in memory: of a record that was changed 200 times within a day, each look read and
decoded 200 calls, and a turn looks twice (18 ms of CPU for the first turn about a deal, 85 ms for the 200th).
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts, FirstSums, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import StoredOrder, UndecodableCall, decode_call
from orchestrator.gate.call.sum_memory import PastChange
from orchestrator.gate.decide import evaluate_rules
from orchestrator.gate.normalize.sums import CURRENCY
from state.clock import parse_iso
from state.journal.store import EffectRow

DAY: Final = timedelta(days=1)
_COUNTED: Final = frozenset({"started", "succeeded", "unknown"})
_ENDED: Final = frozenset({"succeeded", "refused", "denied", "expired", "superseded"})
"""The statuses that never change any more. A call without an outcome may still turn out not to have happened, so it is read each time."""


async def find_first_sums(call: Call, facts: Facts, deps: GateDeps, ledger: Ledger) -> dict[Target, FirstSums]:
    """Return, for each record, its sums before this program first changed them within the last 24 hours (by field key).

    Return {} without reading if the call changes no sum or the policy does not compare sums. May raise StoreError.
    """
    if deps.policy.sum_jump is None and all(rule.times is None for rule in deps.policy.rules):
        return {}
    wanted = dict.fromkeys(target for leaf in call.leaves if (target := evaluate_rules.find_sum_owner(leaf, facts)) is not None)
    return {target: await _find_first_sums(target, deps, ledger) for target in wanted}


async def _find_first_sums(target: Target, deps: GateDeps, ledger: Ledger) -> FirstSums:
    since = ledger.now - DAY
    found: dict[str, tuple[str, tuple[object, str]]] = {}
    for change in await _list_changes(target, deps, ledger):  # a loop without a sort, since a popular record has 200 of them
        if change.at > since:
            for key, was in change.sums:
                if key not in found or change.started_at < found[key][0]:
                    found[key] = change.started_at, was
    return {key: was for key, (_, was) in found.items()}


async def _list_changes(target: Target, deps: GateDeps, ledger: Ledger) -> list[PastChange]:
    """Return what the calls that count had changed of the record's sums, in the order in which they were proposed."""
    known = deps.sum_memory.get_ended(target)
    effect_ids, rows = await ledger.find_calls_about(f"{target[0]}:{target[1]}", DAY, known)
    if not rows and len(known) == len(effect_ids) and all(map(known.__contains__, effect_ids)):
        deps.sum_memory.replace_ended(target, known)  # this record was looked at last
        return [change for change in map(known.__getitem__, effect_ids) if change is not None]
    read = {effect_id: _read_change(row, target, deps.catalogue) for effect_id, row in rows.items()}
    # A new mapping, since another look may run beside this one. Calls that are listed no more go, such as those of erased people.
    ended = {effect_id: known[effect_id] for effect_id in effect_ids if effect_id in known}
    ended |= {effect_id: change for effect_id, change in read.items() if rows[effect_id].status in _ENDED}
    deps.sum_memory.replace_ended(target, ended)
    changes = (read.get(effect_id) or known.get(effect_id) for effect_id in effect_ids)
    return [change for change in changes if change is not None]


def _read_change(row: EffectRow, target: Target, catalogue: Catalogue) -> PastChange | None:
    """Return what the call had changed; None if it does not count, or if it is of an erased person, so that no data is left of it."""
    if row.status not in _COUNTED or "call" not in row.call:
        return None
    order = StoredOrder.from_data(row.call)
    if not order.started_at:
        return None
    return PastChange(order.started_at, parse_iso(order.started_at), list(_list_sums(order, target, catalogue)))


def _list_sums(order: StoredOrder, target: Target, catalogue: Catalogue) -> Iterator[tuple[str, tuple[object, str]]]:
    """Yield (field key, (value, currency)) for each sum of the record `target` that an earlier call changed, as it was before that call.

    `order` is the earlier call as stored. Sums that were zero are left out, because nothing can be compared with zero.
    """
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

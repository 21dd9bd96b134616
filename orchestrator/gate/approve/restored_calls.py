"""Judges calls that may have run after the backup from which the database was restored."""

from dataclasses import replace
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Allow, Ask, BeforeImage, Call, Refuse, Verdict
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import FindsOwnRecords, Ledger
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.gate.call.serialization import StoredOrder, UndecodableCall, decode_call
from state.clock import parse_iso
from state.journal.store import RESTORED_CARD, EffectRow
from state.model.card import Card

_DONE: Final = Notice(code="came-back-done")
_UNCLEAR: Final = Notice(code="came-back-unclear")
_ASKS: Final = Notice(code="came-back-asks")
OTHERS: Final = "came-back-others"
DOUBTS: Final = frozenset({_ASKS.code, OTHERS})
"""Their call may have been made after the backup."""
_NAMED: Final = 3


async def check_restored_card(row: EffectRow, call: Call, deps: GateDeps) -> Refuse | None:
    """The card came back with a backup, and its call may have run since."""
    if RESTORED_CARD not in row.call or call.reads_only:
        return None
    if (missing := deps.find_missing_performer(call)) is not None:
        return missing
    return await _find_run(call, StoredOrder.from_data(row.call).before, deps)


async def find_forgotten_records(row: EffectRow, call: Call, deps: GateDeps, ledger: Ledger) -> Notice | Refuse | None:
    """A restored card creates a record, and the portal holds such ones that the journal does not know.

    One may be this very record. A refusal if the portal cannot be read.
    """
    performer = deps.performers[call.kind]
    if RESTORED_CARD not in row.call or not isinstance(performer, FindsOwnRecords):
        return None
    try:
        own = await performer.find_own_records(call, parse_iso(str(row.call[RESTORED_CARD])))
        forgotten = [one for one in own if await ledger.find_effect(one.effect_id) is None]
    except BitrixError as error:
        return build_read_refusal(error)
    if not forgotten:
        return None
    numbers = [f"№ {one.number}" for one in forgotten[:_NAMED]]  # no titles: the records may be others', whom this person may not see
    return Notice(code=OTHERS, args={"records": ", ".join(numbers), "more": len(forgotten) - len(numbers)})


async def check_repeated_request(row: EffectRow | None, deps: GateDeps) -> Refuse | None:
    """`row` is the effect of an old card that asked for the same."""
    if row is None or RESTORED_CARD not in row.call:
        return None
    try:
        call = decode_call(StoredOrder.from_data(row.call).call, deps.catalogue)
    except UndecodableCall:
        return Refuse(reason=_UNCLEAR, detail="what was asked for cannot be read any more")
    return await check_restored_card(row, call, deps)


def is_doubtful(entry: Card, row: EffectRow | None, catalogue: Catalogue) -> bool:
    """Whether a call asked for again may have been made after a backup; `row` is the old card's effect.

    Updates write the same values again and need no doubt, unless these were computed.
    """
    came_back = row is not None and RESTORED_CARD in row.call
    if not came_back and not any(reason["code"] in DOUBTS for reason in entry.reasons):
        return False
    method = catalogue.find(entry.method)
    return method is None or method.verb != "update" or (row is not None and StoredOrder.from_data(row.call).is_computed)


async def doubt_restored_call(verdict: Verdict, call: Call, deps: GateDeps, *, is_computed: bool = False) -> Verdict:
    """Refuses what is seen to be done; asks where nothing can be seen, whatever the rules allow.

    Computed values (`is_computed`) may be in the record already and would be added once more.
    """
    if call.reads_only or not isinstance(verdict, Allow | Ask):
        return verdict
    ran = await _find_run(call, {}, deps)
    if ran is not None and ran.reason != _UNCLEAR:
        return ran
    if isinstance(verdict, Allow):
        return Ask(reasons=(_ASKS,)) if ran is not None or is_computed else verdict
    return verdict if _is_update(call) and not is_computed else replace(verdict, reasons=(*verdict.reasons, _ASKS))


def _is_update(call: Call) -> bool:
    """Making it again does no harm."""
    return call.kind == "bitrix" and all(leaf.reads_only or leaf.spec.verb == "update" for leaf in call.leaves)


async def _find_run(call: Call, before: BeforeImage, deps: GateDeps) -> Refuse | None:
    """An update is refused only if the portal shows that it ran; of any other call it must be seen that it did not."""
    try:
        seen = await deps.performers[call.kind].reconcile(call, before)
    except BitrixError as error:
        return build_read_refusal(error)
    if seen.verdict == "done":
        return Refuse(reason=_DONE, detail=f"it ran after the backup was made: {seen.detail}")
    if seen.verdict == "not_done" or _is_update(call):
        return None
    return Refuse(reason=_UNCLEAR, detail=f"nobody can tell whether it ran after the backup was made: {seen.detail}")

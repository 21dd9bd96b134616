"""Judges calls that may have run after a backup was made, in a database that was restored from it; reads the portal, or wherever they act.

Such are the calls of cards that came back with the backup, and what runs submit that had begun before the restore.
"""

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
from state.journal.restored_rows import RESTORED_CARD
from state.journal.store import EffectRow
from state.model.card import Card

_DONE: Final = Notice(code="came-back-done")
_UNCLEAR: Final = Notice(code="came-back-unclear")
_ASKS: Final = Notice(code="came-back-asks")
OTHERS: Final = "came-back-others"
DOUBTS: Final = frozenset({_ASKS.code, OTHERS})
"""The reasons of a card whose call may have been made after a backup from which the database was restored."""
_NAMED: Final = 3


async def check_restored_card(row: EffectRow, call: Call, deps: GateDeps) -> Refuse | None:
    """Return a refusal if the card was restored from a backup and its call may have run after the backup was made; otherwise None."""
    if RESTORED_CARD not in row.call or call.reads_only:
        return None
    if (missing := deps.find_missing_performer(call)) is not None:
        return missing
    return await _find_run(call, StoredOrder.from_data(row.call).before, deps)


async def find_forgotten_records(row: EffectRow, call: Call, deps: GateDeps, ledger: Ledger) -> Notice | Refuse | None:
    """Return a doubt about a restored card that creates a record, if the portal holds such records which the journal does not know.

    This program made them after the backup. One of them may be this very record: a card that was given a new value, or was drawn anew,
    makes its record with another mark. Return None if there are none, and a refusal if the portal cannot be read.
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
    named = [f"№ {one.number}" for one in forgotten[:_NAMED]]  # no titles: the records may be others', whom this person may not see
    return Notice(code=OTHERS, args={"records": ", ".join(named), "more": len(forgotten) - len(named)})


async def check_repeated_request(row: EffectRow | None, deps: GateDeps) -> Refuse | None:
    """Return a refusal if what an old card asked (its effect is `row`) may have run after the backup that it came from, or None."""
    if row is None or RESTORED_CARD not in row.call:
        return None
    try:
        call = decode_call(StoredOrder.from_data(row.call).call, deps.catalogue)
    except UndecodableCall:
        return Refuse(reason=_UNCLEAR, detail="what was asked for cannot be read any more")
    return await check_restored_card(row, call, deps)


def is_doubtful(entry: Card, row: EffectRow | None, catalogue: Catalogue) -> bool:
    """Return whether a call asked for again on this card (its effect is `row`) may have been made after a backup.

    So it is of a card that came back with the backup, or that has the doubt from such a card. Updates write the same values again at most,
    and need no doubt unless their values were computed.
    """
    came_back = row is not None and RESTORED_CARD in row.call
    if not came_back and not any(reason["code"] in DOUBTS for reason in entry.reasons):
        return False
    method = catalogue.find(entry.method)
    return method is None or method.verb != "update" or (row is not None and StoredOrder.from_data(row.call).is_computed)


async def doubt_restored_call(verdict: Verdict, call: Call, deps: GateDeps, *, is_computed: bool = False) -> Verdict:
    """Return the verdict about a call of a run, or one asked for again on a card, which may have made it after the backup was made.

    It is refused as done if that can be seen. If nothing can be seen, a person is asked, whatever the rules allow. Where a person is asked
    anyway, the card says so of all but updates: an earlier card may have been approved with a new value, which makes a new mark.

    Values that were computed from a record (`is_computed`) may hold already what the run had added to it, and it would be added once more.
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
    """Return whether the call only writes values to records of the portal, so that making it again does no harm."""
    return call.kind == "bitrix" and all(leaf.reads_only or leaf.spec.verb == "update" for leaf in call.leaves)


async def _find_run(call: Call, before: BeforeImage, deps: GateDeps) -> Refuse | None:
    """Return why the call may not run: it ran, or nobody can tell; None if it did not.

    An update of the portal is refused only if the portal shows that it ran, since writing the same values again does no harm. Of any other
    call, also of other kinds, it must be seen that it did not run. `before` are the values from before it, as far as they are known.
    """
    try:
        seen = await deps.performers[call.kind].reconcile(call, before)
    except BitrixError as error:
        return build_read_refusal(error)
    if seen.verdict == "done":
        return Refuse(reason=_DONE, detail=f"it ran after the backup was made: {seen.detail}")
    if seen.verdict == "not_done" or _is_update(call):
        return None
    return Refuse(reason=_UNCLEAR, detail=f"nobody can tell whether it ran after the backup was made: {seen.detail}")

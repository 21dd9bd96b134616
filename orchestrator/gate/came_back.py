"""A card that came back with a backup may have run since: before its call is made, the portal is asked. Ring 2; reads only."""

from bitrix.errors import BitrixError
from orchestrator.gate.effects import Call, Refuse
from orchestrator.gate.means import GateDeps
from orchestrator.gate.stored_call import UndecodableCall, decode_call
from orchestrator.gate.unreadable import build_read_refusal
from orchestrator.messages import Notice
from state.store import RESTORED_CARD, EffectRow

_DONE = Notice(code="came-back-done")
_UNCLEAR = Notice(code="came-back-unclear")


async def check_restored_card(row: EffectRow, call: Call, means: GateDeps) -> Refuse | None:
    """Why an approved call must not be made; None for one of no backup, one that surely did not run, or one that may run twice.

    An update may: that its record is still as the card showed is checked as ever, and the same values twice are the same values.
    """
    if RESTORED_CARD not in row.call or call.kind != "bitrix" or call.reads_only:
        return None
    try:
        seen = await means.performers[call.kind].reconcile(call, row.call["before"])
    except BitrixError as error:
        return build_read_refusal(error)
    if seen.verdict == "done":
        return Refuse(reason=_DONE, detail=f"it ran after the backup was made: {seen.detail}")
    if seen.verdict == "not_done" or all(leaf.reads_only or leaf.spec.verb == "update" for leaf in call.leaves):
        return None
    return Refuse(reason=_UNCLEAR, detail=f"nobody can tell whether it ran after the backup was made: {seen.detail}")


async def check_repeated_request(row: EffectRow | None, means: GateDeps) -> Refuse | None:
    """Why the wish of that effect must not be asked for once more, with these values or others: it may have run, under its own mark."""
    if row is None or RESTORED_CARD not in row.call:
        return None
    try:
        call = decode_call(row.call["call"], means.catalogue)
    except UndecodableCall:
        return Refuse(reason=_UNCLEAR, detail="what was asked for cannot be read any more")
    return await check_restored_card(row, call, means)

"""Finds calls of unknown outcome by their status."""

from dataclasses import dataclass
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import EffectRecord
from orchestrator.reports.viewer import Viewer
from state.clock import format_iso
from state.journal.async_store import AsyncStore
from state.journal.journal import to_lease_key
from state.journal.store import EffectRow
from state.stored import JsonObject

_READ: Final = (200, 2_000, 20_000)
"""How many are read, of whomever: more while too few may be seen."""


@dataclass(frozen=True, kw_only=True)
class UnknownCall:
    effect_id: str
    session: str
    method: str
    named: JsonObject
    """The arguments that a message shows; {} if erased."""
    by: str
    by_name: str
    since: str


async def load_unknown_calls(store: AsyncStore, viewer: Viewer, limit: int) -> list[UnknownCall]:
    """The oldest first. Raises StoreError.

    Only the company's 20,000 oldest are looked through.
    """
    unknown_calls: list[UnknownCall] = []
    seen = 0
    for most in _READ:
        rows = await store.list_effects_in("unknown", most)
        for row in rows[seen:]:
            if (call := _read_call(row, viewer)) is not None:
                unknown_calls.append(call)
            if len(unknown_calls) == limit:
                return unknown_calls
        if len(rows) < most:
            break
        seen = most
    return unknown_calls


def _read_call(row: EffectRow, viewer: Viewer) -> UnknownCall | None:
    """None if the viewer may not see it, or it was erased."""
    effect, session = EffectRecord.model_validate(row.call), to_lease_key(row.stream)
    by = effect.requested_by
    if effect.call is None or not viewer.may_see_call(session, before=effect.before, by=by, user=None):
        return None
    person = viewer.deps.present(Actor(key=by, name=""))
    return UnknownCall(
        effect_id=row.effect_id,
        session=session,
        method=effect.call.method,
        named=effect.named,
        by=by,
        by_name=person.name if person is not None else "",
        since=format_iso(row.updated_at),
    )

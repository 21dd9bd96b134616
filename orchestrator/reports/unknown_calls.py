"""Finds calls of which nobody knows whether they were carried out, by their status and not from the whole journal."""

from dataclasses import dataclass
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect_record import EffectRecord
from orchestrator.reports.viewer import Viewer
from state.clock import format_iso
from state.journal.async_store import AsyncStore
from state.journal.streams import to_lease_key
from state.stored import JsonObject

_MOST_READ: Final = 200


@dataclass(frozen=True, kw_only=True)
class UnknownCall:
    """A call that was sent and of which nobody knows whether it was carried out."""

    effect_id: str
    session: str
    method: str
    named: JsonObject
    """The arguments with which a message names the call; {} if its data was erased."""
    by: str
    by_name: str
    since: str


async def load_unknown_calls(store: AsyncStore, viewer: Viewer, limit: int) -> list[UnknownCall]:
    """Return at most `limit` calls of unknown outcome that the viewer may see, the oldest first. Raises StoreError."""
    found: list[UnknownCall] = []
    for row in await store.list_effects_in("unknown", _MOST_READ):
        effect, session = EffectRecord.model_validate(row.call), to_lease_key(row.stream)
        by = effect.requested_by
        if effect.call is None or not viewer.may_see_call(session, before=effect.before, by=by, user=None):
            continue
        person = viewer.deps.present(Actor(key=by, name=""))
        found.append(
            UnknownCall(
                effect_id=row.effect_id,
                session=session,
                method=effect.call.method,
                named=effect.named,
                by=by,
                by_name=person.name if person is not None else "",
                since=format_iso(row.updated_at),
            )
        )
        if len(found) == limit:
            break
    return found

"""The bot's own writes of the last seconds, whose changes are their requesters'."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.effect import EffectRecord, StoredCall
from orchestrator.gate.call import fields
from state.clock import Clock
from state.journal.store import EffectChange
from state.stored import JsonObject

log = logging.getLogger(__name__)

FRESH: Final = timedelta(seconds=90)
_KEEP: Final = 2000
_BROUGHT_ALONG: Final = {
    "closed": ("stageid", "statusid"),
    "categoryid": ("stageid",),
    "stageid": ("categoryid",),
}
"""The portal changes a field together with these."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """`fields` has normalized keys; None if the call does not tell."""

    who: str
    at: datetime
    effect_id: str
    fields: JsonObject | None

    def may_change(self, name: str, entity: str) -> bool:
        key = fields.to_field_key(name, entity)
        return self.fields is None or any(one in self.fields for one in (key, *_BROUGHT_ALONG.get(key, ())))

    def has_written(self, name: str, value: str, *, entity: str, kind: str) -> bool:
        """`entity` is of the record, `kind` of the field."""
        key = fields.to_field_key(name, entity)
        return self.fields is not None and key in self.fields and fields.is_same_value(self.fields[key], value, kind=kind)


class RecentWrites:
    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._writes: dict[str, list[Write]] = {}

    def observe(self, changes: Sequence[EffectChange]) -> None:
        """Called after every commit. Never raises."""
        try:
            for change in changes:
                if change.status == "started" and change.call is not None:
                    self.record_call(change.effect_id, change.call, self._clock.now())
                created = str((change.outcome or {}).get("created") or "")
                if created:
                    self.record_created(change.effect_id, created)
        except Exception:  # the commit is already stored, and the worst that follows is one message too many
            log.exception("a write was not noted", extra={"action": "write_not_noted"})

    def find_writes(self, target: str) -> tuple[Write, ...]:
        """Newest first."""
        since = self._clock.now() - FRESH
        return tuple(write for write in reversed(self._writes.get(target, ())) if write.at >= since)

    def record_call(self, effect_id: str, stored: JsonObject, at: datetime) -> None:
        effect = EffectRecord.model_validate(stored)
        for leaf in effect.call.leaves if effect.call and effect.requested_by else ():
            spec = self._catalogue.find(leaf.method)
            write = Write(who=effect.requested_by, at=at, effect_id=effect_id, fields=_extract_fields(leaf, spec))
            if not leaf.targets:
                self._add_write(effect_id, write)
            elif spec is None or spec.verb != "add":  # an add, such as a comment, does not change the record it belongs to
                for entity, number in leaf.targets:
                    self._add_write(f"{entity}:{number}", write)

    def record_created(self, effect_id: str, target: str) -> None:
        for write in self._writes.pop(effect_id, ()):
            self._add_write(target, write)

    def _add_write(self, target: str, write: Write) -> None:
        writes = self._writes.pop(target, [])
        since = self._clock.now() - FRESH
        while writes and writes[0].at < since:
            del writes[0]
        writes.append(write)
        self._writes[target] = writes
        while len(self._writes) > _KEEP:
            del self._writes[next(iter(self._writes))]


def _extract_fields(leaf: StoredCall, spec: Method | None) -> JsonObject | None:
    """None if the call does not tell."""
    if spec is None or spec.verb != "update":
        return None
    values = leaf.params.get(spec.fields_at) if spec.fields_at else leaf.params
    if not isinstance(values, Mapping):
        return None
    return {fields.to_field_key(name, leaf.entity): value for name, value in values.items()}

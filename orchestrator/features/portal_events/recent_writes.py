"""Remembers the bot's own writes of the last seconds, so that a change they make is attributed to the person who requested it.

The writes are kept in memory, and restored from the journal at startup.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.effect_record import EffectRecord, StoredCall
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
"""By field: the fields whose change makes the portal change this field as well."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """One write that the bot started: who requested it, when, and which values it writes.

    `fields` maps keys of fields to values; a key is the same for all spellings of a field (STAGE_ID, stageId). It is None if the call does
    not tell which fields it changes.
    """

    who: str
    at: datetime
    effect_id: str
    fields: JsonObject | None

    def may_change(self, name: str, entity: str) -> bool:
        """Whether this write may change the field, directly or because the portal changes it together with another field."""
        key = fields.to_field_key(name, entity)
        return self.fields is None or any(one in self.fields for one in (key, *_BROUGHT_ALONG.get(key, ())))

    def has_written(self, name: str, value: str, *, entity: str, kind: str) -> bool:
        """Whether this write set the field `name` to exactly this value; `entity` is the kind of record, `kind` the type of the field."""
        key = fields.to_field_key(name, entity)
        return self.fields is not None and key in self.fields and fields.is_same_value(self.fields[key], value, kind=kind)


class RecentWrites:
    """The bot's recent writes to each record.

    A commit that starts a call adds its writes; a probe (a reading of changed records) looks them up.
    """

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        """Start without writes."""
        self._catalogue = catalogue
        self._clock = clock
        self._writes: dict[str, list[Write]] = {}

    def observe(self, changes: Sequence[EffectChange]) -> None:
        """Add the writes that a session has just committed, and note which records they created. Never raises.

        `changes` are the status changes of calls in that commit; those that start no write and create no record are ignored. Every session
        calls this method after every commit.
        """
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
        """Return the recent writes to that record, newest first."""
        since = self._clock.now() - FRESH
        return tuple(write for write in reversed(self._writes.get(target, ())) if write.at >= since)

    def record_call(self, effect_id: str, stored: JsonObject, at: datetime) -> None:
        """Add the writes of a call that was started at `at`; `stored` is the call's JSON in the table of effects."""
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
        """Note that the call `effect_id` created the record `target`, so that its write is found under this record from now on."""
        for write in self._writes.pop(effect_id, ()):
            self._add_write(target, write)

    def _add_write(self, target: str, write: Write) -> None:
        kept = self._writes.pop(target, [])
        since = self._clock.now() - FRESH
        while kept and kept[0].at < since:
            del kept[0]
        kept.append(write)
        self._writes[target] = kept
        while len(self._writes) > _KEEP:
            del self._writes[next(iter(self._writes))]


def _extract_fields(leaf: StoredCall, spec: Method | None) -> JsonObject | None:
    """Return the fields that an update writes: normalized key → value; None if the call does not tell which fields it changes.

    `leaf` is one call or one command of a batch, `spec` the description of its method, None for an unknown method.
    """
    if spec is None or spec.verb != "update":
        return None
    written = leaf.params.get(spec.fields_at) if spec.fields_at else leaf.params
    if not isinstance(written, Mapping):
        return None
    return {fields.to_field_key(name, leaf.entity): value for name, value in written.items()}

"""Finds who changed a record.

The portal names only the last editor, for the bot its webhook's owner. So the bot's recent writes count first, and after several events
the author is unknown.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bitrix.catalogue.catalogue import Entity
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import EffectRecord
from orchestrator.features.portal_events.catch_up import START_EVENT as START
from orchestrator.features.portal_events.recent_writes import RecentWrites, Write
from orchestrator.gate.call import fields
from orchestrator.gate.call.origin_marks import find_origin_effect
from orchestrator.reports.record_changes import Change, find_watched_fields, read_employee_id
from state.events.portal import PortalEventReceived, RecordsSeen
from state.journal.async_store import AsyncStore
from state.journal.store import EffectRow, StoredEvent

FindEffect = Callable[[str], Awaitable[EffectRow | None]]


@dataclass(frozen=True, kw_only=True)
class Author:
    """By the bot (`key`) or in the portal (`user`)."""

    key: str = ""
    user: int = 0

    def is_person(self, actor: Actor) -> bool:
        return self.key == actor.key if self.key else bool(self.user) and self.user == actor.bitrix_user_id


@dataclass(frozen=True, kw_only=True)
class AuthorFinder:
    """`own_user` is the bot's in the portal, 0 if unknown."""

    recent_writes: RecentWrites
    find_effect: FindEffect
    own_user: int

    async def find_creator(self, target: str, record: Mapping[str, object]) -> Author:
        """By the record's origin mark, else as the portal says, unless that may be the bot."""
        entity = target.rpartition(":")[0]
        if effect_id := find_origin_effect(record):
            row = await self.find_effect(effect_id)
            creator = EffectRecord.model_validate(row.call).requested_by if row is not None else ""
            if creator:
                return Author(key=creator)
        writes = self.recent_writes.find_writes(target)
        watched = find_watched_fields(target)
        user = read_employee_id(entity, record, watched.created_by) if watched else 0
        return Author(key=writes[-1].who) if writes and self._is_bot_user(user) else Author(user=user)

    def find_change_authors(
        self, target: str, record: Mapping[str, object], changes: Sequence[Change], entity: Entity, *, events: int | None
    ) -> tuple[Author, ...]:
        """In the order of `changes`. `events` is None if unknown.

        Fields that the bot wrote are their requester's; another is the last editor's if it is alone or came in one event.
        """
        watched = find_watched_fields(target)
        user = read_employee_id(target.rpartition(":")[0], record, watched.changed_by) if watched else 0
        writes = self.recent_writes.find_writes(target)
        mine = [next((one for one in writes if self._is_made_by(one, change, entity, user)), None) for change in changes]
        proven = (mine.count(None) == 1 and events is not None) or (events == 1 and not writes)
        last = Author() if not proven or (writes and self._is_bot_user(user)) else Author(user=user)
        return tuple(Author(key=write.who) if write else last for write in mine)

    def find_deleter(self, target: str) -> Author:
        """Known only if it was deleted through the bot."""
        writes = self.recent_writes.find_writes(target)
        return Author(key=writes[0].who) if writes and writes[0].fields is None else Author()

    def _is_made_by(self, write: Write, change: Change, entity: Entity, user: int) -> bool:
        """If `user`, the last editor, is not the bot, the value must be the same too."""
        if not write.may_change(change.field, entity.name):
            return False
        info = fields.find_field_info(entity, change.field)
        kind = info.kind if info else "text"
        return self._is_bot_user(user) or write.has_written(change.field, change.after, entity=entity.name, kind=kind)

    def _is_bot_user(self, user: int) -> bool:
        return not user or not self.own_user or user == self.own_user


_TAIL = 50
_PAGE = 1000
_SEVERAL = 2
"""Events that a difference at startup stands for."""


async def count_events(store: AsyncStore, stream: str, due: Mapping[str, str]) -> dict[str, int]:
    """As far as known. `due` has the time of each first event. May raise StoreError."""
    seq, _ = await store.read_head(stream)
    begin = max(0, seq - _TAIL - 2 * len(due))
    tail: list[StoredEvent] = []
    while page := await store.read_events(stream, begin + len(tail), _PAGE):
        tail += page
    since = tail[0].ts if begin and tail else ""
    counts = _count_by_target(tail)
    return {target: counts[target] for target, at in due.items() if at > since}


def _count_by_target(tail: Iterable[StoredEvent]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for event in tail:
        if event.type == RecordsSeen.__name__:
            seen = RecordsSeen.from_data(event.data)
            for target in (*seen.records, *seen.gone):
                counts.pop(target, None)
        elif event.type == PortalEventReceived.__name__:
            came = PortalEventReceived.from_data(event.data)
            counts[came.target] += _SEVERAL if came.event == START else 1
    return counts

"""Finds who changed a record: an employee who works in the portal, or a person through the bot. Reads only.

The portal names only the last editor of a record; for a change that the bot made, that is the owner of the bot's webhook. So the bot
compares the change with its own recent writes first. If the portal sent several events about the record since the bot last read it, several
people may have edited it, and the author is unknown.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bitrix.catalogue.catalogue import Entity
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect_record import EffectRecord
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
    """The author of a change: a person who used the bot (`key`) or an employee who worked in the portal (`user`).

    Both are empty if the author is unknown.
    """

    key: str = ""
    user: int = 0

    def is_person(self, actor: Actor) -> bool:
        """Return whether `actor` is this author, through the bot or as an employee in the portal."""
        return self.key == actor.key if self.key else bool(self.user) and self.user == actor.bitrix_user_id


@dataclass(frozen=True, kw_only=True)
class AuthorFinder:
    """Finds the authors of changes, using the bot's recent writes and its stored calls.

    `own_user` is the portal user as whom the bot calls the portal, 0 if unknown.
    """

    recent_writes: RecentWrites
    find_effect: FindEffect
    own_user: int

    async def find_creator(self, target: str, record: Mapping[str, object]) -> Author:
        """Return who created the record `target`, such as "deal:481"; `record` holds its field values as they were read from the portal.

        If the record has the bot's origin mark, that is the person who requested the call that created it. Otherwise it is the employee
        whom the portal names as its creator. If that employee may be the user as whom the bot calls the portal, and the bot has recently
        written to the record, it is the person who requested the first of these writes.
        """
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
        """Return the author of each of the changed fields, in the order of `changes`.

        `target` is the record's key, such as "deal:481", `record` its field values as they were just read, and `entity` describes its kind.
        `events` is the number of portal events about the record since it was read before; None if that number or the earlier values are
        unknown.

        The author of a field that the bot wrote is the person who requested that write. The author of the other changed fields is the
        record's last editor in the portal, but only in two cases: there is just one such field, and `events` is known; or there was just
        one event, and the bot has not written to the record lately. In any other case several people may have changed these fields, and
        their author is unknown. It is also unknown if the bot has written to the record lately and may itself be the last editor.
        """
        watched = find_watched_fields(target)
        user = read_employee_id(target.rpartition(":")[0], record, watched.changed_by) if watched else 0
        writes = self.recent_writes.find_writes(target)
        mine = [next((one for one in writes if self._is_made_by(one, change, entity, user)), None) for change in changes]
        proven = (mine.count(None) == 1 and events is not None) or (events == 1 and not writes)
        last = Author() if not proven or (writes and self._is_bot_user(user)) else Author(user=user)
        return tuple(Author(key=write.who) if write else last for write in mine)

    def find_deleter(self, target: str) -> Author:
        """Return who deleted the record `target` ("deal:481") if it was deleted through the bot; otherwise return an unknown author."""
        writes = self.recent_writes.find_writes(target)
        return Author(key=writes[0].who) if writes and writes[0].fields is None else Author()

    def _is_made_by(self, write: Write, change: Change, entity: Entity, user: int) -> bool:
        """Whether this write of the bot made the change.

        The write must be able to change the field. If `user`, the last editor of the record as the portal says, is certainly not the bot
        itself, the field must also have exactly the value that the bot wrote.
        """
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
"""As how many events a difference found at startup counts: how many events were missed is unknown."""


async def count_events(store: AsyncStore, stream: str, due: Mapping[str, str]) -> dict[str, int]:
    """Return how many portal events about each record came since the bot last read that record: record → number.

    `stream` is the part of the journal that holds the portal's events. `due` maps each record that must be read to the time of its first
    event. Records whose number is unknown are left out. May raise StoreError.
    """
    seq, _ = await store.read_head(stream)
    begin = max(0, seq - _TAIL - 2 * len(due))
    tail: list[StoredEvent] = []
    while page := await store.read_events(stream, begin + len(tail), _PAGE):
        tail += page
    since = tail[0].ts if begin and tail else ""
    found = _count_by_target(tail)
    return {target: found[target] for target, at in due.items() if at > since}


def _count_by_target(tail: Iterable[StoredEvent]) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in tail:
        if event.type == RecordsSeen.__name__:
            seen = RecordsSeen.from_data(event.data)
            for target in (*seen.records, *seen.gone):
                found.pop(target, None)
        elif event.type == PortalEventReceived.__name__:
            came = PortalEventReceived.from_data(event.data)
            found[came.target] += _SEVERAL if came.event == START else 1
    return found

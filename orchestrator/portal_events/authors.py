"""Who changed a record: an employee in the portal, or a person through the bot. Ring 2.

The portal names only the last hand on a record, and for the bot's calls the owner of its webhook; of its own writes the bot knows more.
Where several hands may have been at it, the last one proves nothing: the author is unknown, and nobody's own.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitrix.catalogue import Entity
from orchestrator.gate import fields
from orchestrator.messages import Actor
from orchestrator.portal_events.recent import RecentWrites, Write
from orchestrator.portal_events.watched import Change, find_watched_fields, read_employee_id
from state.store import EffectRow

MARK = ("ORIGINATOR_ID", "sdelka")
_ORIGIN = "ORIGIN_ID"
_EFFECT_ID = 32
FindEffect = Callable[[str], Awaitable[EffectRow | None]]


@dataclass(frozen=True, kw_only=True)
class Author:
    """An actor of the bot (`key`), or an employee (`user`); neither is known when nothing says it."""

    key: str = ""
    user: int = 0

    def is_person(self, actor: Actor) -> bool:
        """Whether `actor` did it."""
        return self.key == actor.key if self.key else bool(self.user) and self.user == actor.bitrix_user_id


@dataclass(frozen=True, kw_only=True)
class AuthorFinder:
    """What is known of who writes: the bot's fresh writes, the stored effects, and as whom the bot calls the portal (0: unknown)."""

    recent_writes: RecentWrites
    find_effect: FindEffect
    own_user: int

    async def find_creator(self, target: str, record: Mapping[str, Any]) -> Author:
        """Who made the record: the mark of the bot's adds leads to the one who asked for it."""
        entity = target.rpartition(":")[0]
        if fields.find_value(record, MARK[0], entity) == MARK[1]:
            row = await self.find_effect(str(fields.find_value(record, _ORIGIN, entity) or "")[:_EFFECT_ID])
            if row is not None and row.call.get("requested_by"):
                return Author(key=str(row.call["requested_by"]))
        writes = self.recent_writes.find_writes(target)
        watched = find_watched_fields(target)
        user = read_employee_id(entity, record, watched.created_by) if watched else 0
        return Author(key=writes[-1].who) if writes and self._is_bot_user(user) else Author(user=user)

    def find_change_authors(
        self, target: str, record: Mapping[str, Any], changes: Sequence[Change], entity: Entity, *, events: int | None
    ) -> tuple[Author, ...]:
        """Who changed each of these fields; `events` is how many came since they were seen, None where that or what was before is unknown.

        The last hand did what the bot did not, if that is one field or the one event was not the bot's; else nobody knows.
        """
        watched = find_watched_fields(target)
        user = read_employee_id(target.rpartition(":")[0], record, watched.changed_by) if watched else 0
        writes = self.recent_writes.find_writes(target)
        mine = [next((one for one in writes if self._is_made_by(one, change, entity, user)), None) for change in changes]
        proven = (mine.count(None) == 1 and events is not None) or (events == 1 and not writes)
        last = Author() if not proven or (writes and self._is_bot_user(user)) else Author(user=user)
        return tuple(Author(key=write.who) if write else last for write in mine)

    def find_deleter(self, target: str) -> Author:
        """Who deleted the record, if it was done through the bot."""
        writes = self.recent_writes.find_writes(target)
        return Author(key=writes[0].who) if writes and writes[0].fields is None else Author()

    def _is_made_by(self, write: Write, change: Change, entity: Entity, user: int) -> bool:
        """Whether the bot's write made the change: it names the field, and nobody else has written since, or its value stands there."""
        if not write.may_change(change.field, entity.name):
            return False
        info = fields.find_field_info(entity, change.field)
        kind = info.kind if info else "text"
        return self._is_bot_user(user) or write.has_written(change.field, change.after, entity=entity.name, kind=kind)

    def _is_bot_user(self, user: int) -> bool:
        return not user or not self.own_user or user == self.own_user

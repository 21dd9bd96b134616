"""What a person is told of changed records: who, what, was → is, in their language and within their rights. Ring 2; reads names only.

These words go to people alone; no prompt of a model ever holds them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bitrix.catalogue import Entity
from bitrix.errors import BitrixError
from bitrix.masking import mask
from orchestrator.directory.naming import Naming
from orchestrator.gate import fields
from orchestrator.gate.shown import Context, Reader, show
from orchestrator.gate.visible import visible
from orchestrator.links import known_links_only
from orchestrator.messages import Actor
from orchestrator.portal_events.authors import Author
from orchestrator.portal_events.watched import CURRENCY, SUM, Change, Values, rule, target_of

MAX_ITEMS: Final = 10
_TITLE: Final = 80
_VALUE: Final = 120
NOBODY: Final = Author()


@dataclass(frozen=True, kw_only=True)
class News:
    """One record that changed, before it is put into anybody's words."""

    target: str
    entity: Entity
    what: str
    """added, changed, first (nothing was known of it before) or deleted."""
    title: str
    before: Values | None
    now: Values
    changes: tuple[tuple[Change, Author], ...] = ()
    author: Author = NOBODY
    """Of what has no field: making and deleting."""
    record: Mapping[str, Any] | None = None


def meant_for(news: News, actor: Actor, naming: Naming) -> News | None:
    """What of it is news for this person: not their own deeds, and nothing they may not see; None when nothing is left."""
    if news.what in {"added", "deleted"}:
        return None if news.author.is_person(actor) else news
    watched = rule(news.target)
    kept = tuple((change, author) for change, author in news.changes if not author.is_person(actor))
    title = news.title
    if watched and news.record is not None and not naming.visible(target_of(news.target)[0], news.record, actor):
        title = str((news.before or {}).get("TITLE") or "")  # as they knew it: what it is called now is not for them
        kept = tuple((change, author) for change, author in kept if change.field == watched.owner)  # it went to somebody else
    if not kept and (news.changes or news.author.is_person(actor)):
        return None
    return replace(news, changes=kept, title=title)


@dataclass(frozen=True, kw_only=True)
class Teller:
    """Puts news into the words of one person."""

    actor: Actor
    naming: Naming
    portal: str
    names: Mapping[str, str]
    """Actors of the bot by key."""

    async def body(self, news: Sequence[News]) -> dict[str, Any]:
        """The message as data for the door: up to ten records, and how many more there are. May raise BitrixError."""
        return {"items": [await self._item(one) for one in news[:MAX_ITEMS]], "more": max(0, len(news) - MAX_ITEMS)}

    async def _item(self, news: News) -> dict[str, Any]:
        kind, number = target_of(news.target)
        authors = list(dict.fromkeys([author for _, author in news.changes] or [news.author]))
        if NOBODY in authors:  # the names stand above all the lines: some would be named for what they did not do
            authors = []
        return {
            "what": news.what,
            "entity": kind.partition(":")[0],
            "kind": await self.naming.kind(kind, self.actor.locale) if kind.startswith("item") else "",
            "title": self._safe(news.title or f"№{number}", _TITLE),
            "url": "" if news.what == "deleted" else self.naming.card_url(kind, number, user=self.actor.bitrix_user_id or 0),
            "who": [found for author in authors if (found := await self._who(author))],
            "lines": [await self._line(news, change) for change, _ in news.changes],
        }

    async def _who(self, author: Author) -> dict[str, Any] | None:
        if author.key:
            return {"name": self._safe(self.names.get(author.key, author.key), _TITLE), "via": True}
        return {"name": self._safe(await self._user(author.user), _TITLE), "via": False} if author.user else None

    async def _user(self, number: int) -> str:
        try:
            return await self.naming.user(number)
        except BitrixError:  # a message never fails for a name
            return f"№{number}"

    async def _line(self, news: News, change: Change) -> dict[str, str]:
        before = None if change.before is None else await self._shown(news, change, news.before or {}, change.before)
        return {
            "name": fields.label(news.entity, change.field, self.actor.locale),
            "before": before or "",
            "after": await self._shown(news, change, news.now, change.after),
        }

    async def _shown(self, news: News, change: Change, values: Values, value: str) -> str:
        info = fields.info(news.entity, change.field)
        currency = values.get(CURRENCY, "") if change.field == SUM else ""
        funnel = fields.number(values.get("CATEGORY_ID", ""))
        context = Context(entity=target_of(news.target)[0], currency=currency, category=int(funnel or 0))
        reader = Reader(names=self.naming, locale=self.actor.locale, zone=self.actor.time_zone)
        return self._safe(await show(value, info.kind if info else "text", context=context, reader=reader), _VALUE)

    def _safe(self, text: str, limit: int) -> str:
        """Foreign text on one line, without secrets and without addresses that lead elsewhere."""
        shown = visible(mask(text), locale=self.actor.locale, limit=limit)
        return known_links_only(shown, frozenset({self.portal}), locale=self.actor.locale)

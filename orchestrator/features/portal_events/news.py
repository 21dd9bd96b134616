"""What a person is told of changed records: who, what, was → is, in their language and within their rights. Ring 2; reads names only.

These words go to people alone; no prompt of a model ever holds them.

Who is told of changes in the portal: a port that the access list of the doors implements. Ring 2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from bitrix.catalogue.catalogue import Entity
from bitrix.errors import BitrixError
from bitrix.masking import mask
from orchestrator.directory.naming import Naming
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.features.portal_events.authors import Author
from orchestrator.gate.approve.format_values import Context, Reader, format_value
from orchestrator.gate.call import fields
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.language.links import strip_unknown_links
from orchestrator.reports.record_changes import CURRENCY, SUM, Change, Values, find_watched_fields

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


def filter_news(news: News, actor: Actor, naming: Naming) -> News | None:
    """What of it is news for this person: not their own deeds, and nothing they may not see; None when nothing is left."""
    if news.what in {"added", "deleted"}:
        return None if news.author.is_person(actor) else news
    watched = find_watched_fields(news.target)
    kept = tuple((change, author) for change, author in news.changes if not author.is_person(actor))
    title = news.title
    if watched and news.record is not None and not naming.is_visible(parse_target(news.target)[0], news.record, actor):
        title = str((news.before or {}).get("TITLE") or "")  # as they knew it: what it is called now is not for them
        kept = tuple((change, author) for change, author in kept if change.field == watched.owner)  # it went to somebody else
    if not kept and (news.changes or news.author.is_person(actor)):
        return None
    return replace(news, changes=kept, title=title)


@dataclass(frozen=True, kw_only=True)
class NewsBuilder:
    """Puts news into the words of one person."""

    actor: Actor
    naming: Naming
    portal: str
    names: Mapping[str, str]
    """Actors of the bot by key."""

    async def build_body(self, news: Sequence[News]) -> dict[str, Any]:
        """The message as data for the door: up to ten records, and how many more there are. May raise BitrixError."""
        return {"items": [await self._build_item(one) for one in news[:MAX_ITEMS]], "more": max(0, len(news) - MAX_ITEMS)}

    async def _build_item(self, news: News) -> dict[str, Any]:
        kind, number = parse_target(news.target)
        authors = list(dict.fromkeys([author for _, author in news.changes] or [news.author]))
        if NOBODY in authors:  # the names stand above all the lines: some would be named for what they did not do
            authors = []
        return {
            "what": news.what,
            "entity": kind.partition(":")[0],
            "kind": await self.naming.find_kind_name(kind, self.actor.locale) if kind.startswith("item") else "",
            "title": self._escape(news.title or f"№{number}", _TITLE),
            "url": "" if news.what == "deleted" else self.naming.build_card_url(kind, number, user=self.actor.bitrix_user_id or 0),
            "who": [found for author in authors if (found := await self._build_author(author))],
            "lines": [await self._build_line(news, change) for change, _ in news.changes],
        }

    async def _build_author(self, author: Author) -> dict[str, Any] | None:
        if author.key:
            return {"name": self._escape(self.names.get(author.key, author.key), _TITLE), "via": True}
        return {"name": self._escape(await self._find_user_name(author.user), _TITLE), "via": False} if author.user else None

    async def _find_user_name(self, number: int) -> str:
        try:
            return await self.naming.find_user_name(number)
        except BitrixError:  # a message never fails for a name
            return f"№{number}"

    async def _build_line(self, news: News, change: Change) -> dict[str, str]:
        before = None if change.before is None else await self._format_value(news, change, news.before or {}, change.before)
        return {
            "name": fields.find_label(news.entity, change.field, self.actor.locale),
            "before": before or "",
            "after": await self._format_value(news, change, news.now, change.after),
        }

    async def _format_value(self, news: News, change: Change, values: Values, value: str) -> str:
        info = fields.find_field_info(news.entity, change.field)
        currency = values.get(CURRENCY, "") if change.field == SUM else ""
        funnel = fields.parse_number(values.get("CATEGORY_ID", ""))
        context = Context(entity=parse_target(news.target)[0], currency=currency, category=int(funnel or 0))
        reader = Reader(names=self.naming, locale=self.actor.locale, zone=self.actor.time_zone)
        return self._escape(await format_value(value, info.kind if info else "text", context=context, reader=reader), _VALUE)

    def _escape(self, text: str, limit: int) -> str:
        """Foreign text on one line, without secrets and without addresses that lead elsewhere."""
        shown = escape_text(mask(text), locale=self.actor.locale, limit=limit)
        return strip_unknown_links(shown, frozenset({self.portal}), locale=self.actor.locale)


class Audience(Protocol):
    """Who wants to be told of changes of their own records."""

    def find_subscribers(self, user_id: int) -> Sequence[Actor]:
        """Those who are this employee."""
        ...

    def list_watched_users(self) -> Sequence[int]:
        """The employees that anybody is."""
        ...


class Nobody:
    """An audience without people."""

    def find_subscribers(self, user_id: int) -> Sequence[Actor]:
        """Nobody is this employee."""
        del user_id
        return ()

    def list_watched_users(self) -> Sequence[int]:
        """No employee."""
        return ()


RefreshActor = Callable[[Actor], Actor | None]
"""The rights that somebody has now, None for those who have none any more."""

"""Messages about changed records, within the reader's rights. Never in a model's prompt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from bitrix.catalogue.catalogue import Entity
from bitrix.errors import BitrixError
from bitrix.masking import mask
from orchestrator.directory.naming import Naming
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.message_views import NewsAuthor, NewsBody, NewsItem
from orchestrator.features.portal_events.authors import Author
from orchestrator.gate.call import fields
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Context, Reader, format_value
from orchestrator.language.links import strip_unknown_links
from orchestrator.language.text import format_number
from orchestrator.reports.record_changes import CURRENCY, SUM, Change, Values, find_watched_fields
from state.stored import JsonObject

MAX_ITEMS: Final = 10
_TITLE: Final = 80
_VALUE: Final = 120
NOBODY: Final = Author()


@dataclass(frozen=True, kw_only=True)
class News:
    target: str
    entity: Entity
    what: str
    """Or "first", a change of an unknown record."""
    title: str
    before: Values | None
    now: Values
    changes: tuple[tuple[Change, Author], ...] = ()
    author: Author = NOBODY
    """Changed fields have their own authors."""
    record: JsonObject | None = None


def filter_news(news: News, actor: Actor, naming: Naming) -> News | None:
    """Without the person's own changes; None if nothing is left.

    Of an invisible record only its new owner is told.
    """
    if news.what in {"added", "deleted"}:
        return None if news.author.is_person(actor) else news
    watched = find_watched_fields(news.target)
    changes = tuple((change, author) for change, author in news.changes if not author.is_person(actor))
    title = news.title
    if watched and news.record is not None and not naming.is_visible(parse_target(news.target)[0], news.record, actor):
        title = str((news.before or {}).get("TITLE") or "")  # the title they knew: they may not see the present one
        changes = tuple(
            (change, author) for change, author in changes if change.field == watched.owner
        )  # the new owner is all they may see
    if not changes and (news.changes or news.author.is_person(actor)):
        return None
    return replace(news, changes=changes, title=title)


@dataclass(frozen=True, kw_only=True)
class NewsBuilder:
    actor: Actor
    naming: Naming
    portal: str
    names: Mapping[str, str]

    async def build_body(self, news: Sequence[News], *, quiet: bool) -> NewsBody:
        """`quiet` without a sound. May raise BitrixError."""
        items = [await self._build_item(one) for one in news[:MAX_ITEMS]]
        return NewsBody(items=items, more=max(0, len(news) - MAX_ITEMS), **({"quiet": True} if quiet else {}))

    async def _build_item(self, news: News) -> NewsItem:
        kind, number = parse_target(news.target)
        authors = list(dict.fromkeys([author for _, author in news.changes] or [news.author]))
        if NOBODY in authors:  # authors are named above all lines, and would be credited with every one
            authors = []
        return NewsItem(
            what=news.what,
            entity=kind.partition(":")[0],
            kind=await self.naming.find_kind_name(kind, self.actor.locale) if kind.startswith("item") else "",
            title=self._escape(news.title or format_number(number, self.actor.locale), _TITLE),
            url="" if news.what == "deleted" else self.naming.build_card_url(kind, number, user=self.actor.bitrix_user_id or 0),
            who=[await self._build_author(author) for author in authors],
            lines=[await self._build_line(news, change) for change, _ in news.changes],
        )

    async def _build_author(self, author: Author) -> NewsAuthor:
        name = self.names.get(author.key, author.key) if author.key else await self._find_user_name(author.user)
        return NewsAuthor(name=self._escape(name, _TITLE), via=bool(author.key))

    async def _find_user_name(self, number: int) -> str:
        try:
            return await self.naming.find_user_name(number)
        except BitrixError:  # a message must not fail because of a name
            return format_number(number, self.actor.locale)

    async def _build_line(self, news: News, change: Change) -> PreviewLine:
        before = None if change.before is None else await self._format_value(news, change, news.before or {}, change.before)
        return PreviewLine(
            name=fields.find_label(news.entity, change.field, self.actor.locale),
            before=before or "",
            after=await self._format_value(news, change, news.now, change.after),
        )

    async def _format_value(self, news: News, change: Change, values: Values, value: str) -> str:
        info = fields.find_field_info(news.entity, change.field)
        currency = values.get(CURRENCY, "") if change.field == SUM else ""
        funnel = fields.parse_number(values.get("CATEGORY_ID", ""))
        context = Context(entity=parse_target(news.target)[0], currency=currency, category=int(funnel or 0))
        reader = Reader(names=self.naming, locale=self.actor.locale, zone=self.actor.time_zone)
        return self._escape(await format_value(value, info.kind if info else "text", context=context, reader=reader), _VALUE)

    def _escape(self, text: str, limit: int) -> str:
        """One line, without secrets and unknown links."""
        escaped = escape_text(mask(text), locale=self.actor.locale, limit=limit)
        return strip_unknown_links(escaped, frozenset({self.portal}), locale=self.actor.locale)


class Audience(Protocol):
    def find_subscribers(self, user_id: int) -> Sequence[Actor]: ...

    def list_watched_users(self) -> Sequence[int]: ...


class Nobody:
    def find_subscribers(self, user_id: int) -> Sequence[Actor]:
        del user_id
        return ()

    def list_watched_users(self) -> Sequence[int]:
        return ()


RefreshActor = Callable[[Actor], Actor | None]

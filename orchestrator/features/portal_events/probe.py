"""Reads changed records and compares them with the values last seen. Commits nothing."""

import logging
from collections.abc import Mapping, Sequence

from bitrix.errors import BitrixError, Refused
from bitrix.limits.limiter import Priority
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader, RecordOrError
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.features.portal_events.authors import Author, AuthorFinder
from orchestrator.features.portal_events.news import Audience, News, NewsBuilder, RefreshActor, filter_news
from orchestrator.features.portal_events.recent_writes import RecentWrites
from orchestrator.language.work_calendar import is_quiet
from orchestrator.reports.record_changes import Values, compare_values, extract_values, list_owners
from orchestrator.sessions.outbox import build_news_row
from orchestrator.sessions.session import Session
from state.journal.store import OutboxRow
from state.stored import JsonObject

log = logging.getLogger(__name__)

Records = Mapping[str, JsonObject | None]
"""None if deleted or not visible."""


class RecordProbe:
    def __init__(self, reads: PortalReader, naming: Naming, recent: RecentWrites, *, audience: Audience, present: RefreshActor) -> None:
        """Rights at the time of each message count."""
        self._reads = reads
        self._naming = naming
        self._recent = recent
        self._audience = audience
        self._present = present
        self._own_user = 0

    async def read(self, targets: Sequence[str]) -> dict[str, JsonObject | None]:
        """None if deleted or refused. Raises BitrixError if the portal cannot be used."""
        record = await self._reads.load_each_record([parse_target(target) for target in targets], Priority.BULK)
        return {target: _require_record(target, record[parse_target(target)]) for target in targets}

    async def collect_news(self, due: Mapping[str, str], records: Records, session: Session, *, events: Mapping[str, int]) -> list[News]:
        """`due` maps to "add", "update" or "delete". May raise BitrixError."""
        known: Mapping[str, Values] = session.state.portal.seen if session.state.portal else {}
        hands = AuthorFinder(recent_writes=self._recent, find_effect=session.find_effect, own_user=await self._find_own_user(records))
        collected = []
        for target, what in due.items():
            before = known.get(target)
            came = events.get(target, 0) if before is not None else None
            collected.append(await self._build_news(target, what, records[target], before, hands=hands, events=came))
        return [news for news in collected if news is not None]

    async def _build_news(
        self, target: str, action: str, record: JsonObject | None, before: Values | None, *, hands: AuthorFinder, events: int | None
    ) -> News | None:
        """None if nothing changed. `before` is None if the bot never read the record."""
        kind = parse_target(target)[0]
        entity = self._reads.catalogue.entities[kind.partition(":")[0]]
        if record is None:
            if action != "delete" or before is None:
                return None
            author = hands.find_deleter(target)
            return News(target=target, entity=entity, what="deleted", title=before.get("TITLE", ""), before=before, now={}, author=author)
        now = extract_values(kind, record)
        differences = compare_values(entity, before, now)
        what = "changed" if before is not None else "added" if action == "add" else "first"
        if what == "changed" and not differences:
            return None
        author = await hands.find_creator(target, record) if what == "added" else Author()
        changed = hands.find_change_authors(target, record, differences, entity, events=events)
        authors = [author] * len(differences) if what == "added" else changed
        return News(
            target=target,
            entity=entity,
            what=what,
            title=self._naming.extract_title(kind, record),
            before=before,
            now=now,
            changes=tuple(zip(differences, authors, strict=True)),
            author=author,
            record=record,
        )

    async def build_messages(self, news: Sequence[News], session: Session) -> list[OutboxRow]:
        concerned: dict[str, tuple[Actor, list[News]]] = {}
        for record_news in news:
            for owner in list_owners(record_news.target, record_news.now, record_news.before):
                for actor in self._audience.find_subscribers(owner):
                    own = filter_news(record_news, actor, self._naming)
                    if own is not None:
                        concerned.setdefault(actor.key, (actor, []))[1].append(own)
        return [await self._build_message(actor, _select_unique(own), session) for actor, own in concerned.values()]

    async def _build_message(self, actor: Actor, news: Sequence[News], session: Session) -> OutboxRow:
        keys = {author.key for one in news for author in (one.author, *(author for _, author in one.changes)) if author.key}
        names = {key: person.name if (person := self._present(Actor(key=key, name=key))) else key for key in keys}
        teller = NewsBuilder(actor=actor, naming=self._naming, portal=self._reads.client.portal, names=names)
        body = await teller.build_body(news, quiet=is_quiet(session.now, actor.time_zone))
        return build_news_row(actor.key, body.to_json(), session.now)

    async def _find_own_user(self, records: Mapping[str, object]) -> int:
        """0 if unknown. Read once, after the bot's first write."""
        if not self._own_user and any(self._recent.find_writes(target) for target in records):
            try:
                self._own_user = await self._reads.find_own_user()
            except BitrixError:
                return 0
        return self._own_user


def _select_unique(news: Sequence[News]) -> list[News]:
    """Former and present owner may be the same."""
    return list({one.target: one for one in news}.values())


def _require_record(target: str, record: RecordOrError) -> JsonObject | None:
    """None if refused; other errors are raised."""
    match record:
        case Refused():
            log.info("a changed record is not shown to us: %s", record, extra={"action": "portal_look_refused", "target": target})
            return None
        case BitrixError():
            raise record
        case _:
            return record

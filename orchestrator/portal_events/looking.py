"""One look: changed records are read, compared with what was seen of them, and put into messages. Ring 2; commits nothing."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bitrix.errors import BitrixError, Refused
from bitrix.limiter import Priority
from orchestrator.daily.hours import is_quiet
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import Found, PortalReads
from orchestrator.messages import Actor
from orchestrator.outgoing import news_row
from orchestrator.portal_events.audience import Audience, Present
from orchestrator.portal_events.authors import Author, Hands
from orchestrator.portal_events.news import News, Teller, meant_for
from orchestrator.portal_events.recent import RecentWrites
from orchestrator.portal_events.watched import Values, changes, owners, target_of, values_of
from orchestrator.session import Session
from state.store import OutboxRow

log = logging.getLogger(__name__)

Records = Mapping[str, Mapping[str, Any] | None]
"""Target → the record as it is, None where there is none to be seen."""


class Look:
    """See the module docstring. Remembers only as whom the bot calls the portal."""

    def __init__(self, reads: PortalReads, naming: Naming, recent: RecentWrites, *, audience: Audience, present: Present) -> None:
        """`audience` and `present` are asked anew for every message: rights of now."""
        self._reads = reads
        self._naming = naming
        self._recent = recent
        self._audience = audience
        self._present = present
        self._own_user = 0

    async def read(self, targets: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
        """The records by target; one that the portal refuses to show is as good as gone and does not hold up the others.

        Raises BitrixError when the portal as a whole is not to be used, a refused webhook included: what is due must stay due.
        """
        found = await self._reads.each_record([target_of(target) for target in targets], Priority.BULK)
        return {target: _shown(target, found[target_of(target)]) for target in targets}

    async def news(self, due: Mapping[str, str], records: Records, session: Session, *, events: Mapping[str, int]) -> list[News]:
        """What each record that is due has to tell, by what happened to it and how many events came of it; may raise BitrixError."""
        known: Mapping[str, Values] = session.state["portal"]["seen"]
        hands = Hands(recent=self._recent, effect=session.effect, own_user=await self._calls_as(records))
        found = []
        for target, what in due.items():
            before = known.get(target)
            came = events.get(target, 0) if before is not None else None
            found.append(await self._of(target, what, records[target], before, hands=hands, events=came))
        return [news for news in found if news is not None]

    async def _of(
        self, target: str, action: str, record: Mapping[str, Any] | None, before: Values | None, *, hands: Hands, events: int | None
    ) -> News | None:
        """What one record has to tell; None for nothing."""
        kind = target_of(target)[0]
        entity = self._reads.catalogue.entities[kind.partition(":")[0]]
        if record is None:
            if action != "delete" or before is None:
                return None
            author = hands.deleted(target)
            return News(target=target, entity=entity, what="deleted", title=before.get("TITLE", ""), before=before, now={}, author=author)
        now = values_of(kind, record)
        differences = changes(entity, before, now)
        what = "changed" if before is not None else "added" if action == "add" else "first"
        if what == "changed" and not differences:
            return None
        author = await hands.added(target, record) if what == "added" else Author()
        changed = hands.changed(target, record, differences, entity, events=events)
        authors = [author] * len(differences) if what == "added" else changed
        return News(
            target=target,
            entity=entity,
            what=what,
            title=self._naming.title_of(kind, record),
            before=before,
            now=now,
            changes=tuple(zip(differences, authors, strict=True)),
            author=author,
            record=record,
        )

    async def messages(self, news: Sequence[News], session: Session) -> list[OutboxRow]:
        """One message for each person whom any of it concerns."""
        concerned: dict[str, tuple[Actor, list[News]]] = {}
        for one in news:
            for owner in owners(one.target, one.now, one.before):
                for actor in self._audience.people_by_bitrix(owner):
                    own = meant_for(one, actor, self._naming)
                    if own is not None:
                        concerned.setdefault(actor.key, (actor, []))[1].append(own)
        return [await self._message(actor, _once(own), session) for actor, own in concerned.values()]

    async def _message(self, actor: Actor, news: Sequence[News], session: Session) -> OutboxRow:
        keys = {author.key for one in news for author in (one.author, *(author for _, author in one.changes)) if author.key}
        names = {key: person.name if (person := self._present(Actor(key=key, name=key))) else key for key in keys}
        teller = Teller(actor=actor, naming=self._naming, portal=self._reads.client.portal, names=names)
        quiet = {"quiet": True} if is_quiet(session.now, actor.time_zone) else {}
        return news_row(actor.key, {**await teller.body(news), **quiet}, session.now)

    async def _calls_as(self, records: Mapping[str, object]) -> int:
        """As which employee the bot calls the portal, asked once and only when it has written just now; 0 when it is not told."""
        if not self._own_user and any(self._recent.of(target) for target in records):
            try:
                self._own_user = await self._reads.own_user()
            except BitrixError:
                return 0
        return self._own_user


def _once(news: Sequence[News]) -> list[News]:
    """A record whose former and present owner are the same person is told once."""
    return list({one.target: one for one in news}.values())


def _shown(target: str, found: Found) -> Mapping[str, Any] | None:
    """The record, None for one that is refused; raises any other failure."""
    match found:
        case Refused():
            log.info("a changed record is not shown to us: %s", found, extra={"action": "portal_look_refused", "target": target})
            return None
        case BitrixError():
            raise found
        case _:
            return found

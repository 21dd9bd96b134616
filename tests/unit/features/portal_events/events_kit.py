"""The spine with somebody who listens: posted events, looks, and what each person was told, as they read it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.record_changes import render_news
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.features.portal_events.watcher import CALM, LOOK_AFTER, START
from state.clock import generate_id
from state.journal.store import InboxRow, StoredEvent
from tests.unit.spine_kit import ANNA, BORIS, VERA, World, watcher_of
from tests.unit.spine_portal import deal

KEY = "portal:portal.example"
PEOPLE = (ANNA, BORIS, VERA)


@dataclass
class Watch:
    """A world whose portal posts events."""

    world: World
    silent: set[str] = field(default_factory=set)
    """Who does not want to be told."""
    seconds: Iterator[int] = field(default_factory=lambda: count(1_790_000_000))

    def __post_init__(self) -> None:
        """Three people listen."""
        watch: Any = watcher_of(self.world.orchestrator)
        watch._audience = watch._look._audience = self
        watch._look._present = lambda actor: next((one for one in PEOPLE if one.key == actor.key), None)

    def find_subscribers(self, user_id: int) -> list[Actor]:
        """Who listens for this employee."""
        return [one for one in PEOPLE if one.bitrix_user_id == user_id and one.key not in self.silent]

    def list_watched_users(self) -> list[int]:
        """Whom anybody listens for."""
        return [one.bitrix_user_id for one in PEOPLE if one.bitrix_user_id and one.key not in self.silent]

    def event(self, target: str = "deal:481", action: str = "update", *, ts: int = 0, name: str = "") -> InboxRow:
        """One posted event as the receiver stores it."""
        ts = ts or next(self.seconds)
        kind = target.partition(":")[0].upper()
        name = name or f"ONCRM{kind}{action.upper()}"
        return InboxRow(
            id=generate_id(),
            source=f"bitrix:m:{name}:{target}:{ts}",
            session=KEY,
            lane="express",
            kind="portal_event",
            actor={"key": "portal", "name": "portal"},
            body={"event": name, "target": target, "action": action, "ts": ts, "member_id": "m"},
            received_at=self.world.clock.now(),
        )

    def deal(self, number: int = 481, *, by: int = 9, **fields: Any) -> None:
        """Somebody changes a deal in the portal, or makes it."""
        record = self.world.portal.records.setdefault(("deal", number), deal(number, f"Сделка {number}", "100.00", owner=7))
        record.update({name: str(value) for name, value in fields.items()}, MODIFY_BY_ID=str(by))

    async def look(self, *rows: InboxRow) -> dict[str, str]:
        """Take events in, let the time of the look come, work; what each person was told."""
        await self.world.work(*rows)
        self.world.clock.advance(LOOK_AFTER)
        await self.world.work()
        return self.told()

    async def known(self, *numbers: int) -> None:
        """Let these deals be seen once, and nobody remember it."""
        await self.look(*(self.event(f"deal:{number}") for number in numbers or (481,)))
        self.world.clock.advance(CALM)

    def told(self) -> dict[str, str]:
        """What waits for each person, in their words; taken off."""
        found: dict[str, str] = {}
        for row in self.world.outbox():
            assert row.kind == "news", row
            assert row.session not in found, "told twice"
            found[row.session] = to_plain_text(render_news(row.body, Translator("ru"))).replace("\xa0", " ")
        return found

    @property
    def state(self) -> Any:
        """The fold of the portal's session, from the journal alone."""
        from state.journal.journal import load_state  # noqa: PLC0415 - only here

        return load_state(self.world.sql, f"session:{KEY}")[0].portal

    def events(self, *types: str) -> list[StoredEvent]:
        return self.world.events(*types, key=KEY)


async def start(watch: Watch) -> dict[str, str]:
    """A process begins to listen, and the time of a look goes by; what was told."""
    await watch.world.orchestrator.start_feature(START)
    await watch.world.work()
    watch.world.clock.advance(LOOK_AFTER)
    await watch.world.work()
    return watch.told()

"""One conversation with everything in it, made by the real orchestrator and kept in a database file that the commands open."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from orchestrator.domain.actor import Actor
from orchestrator.features.portal_events.watcher import LOOK_AFTER
from state.clock import generate_id
from state.journal.store import InboxRow
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, message, press, raise_sum, reply, step, watcher_of
from tests.unit.spine_portal import CODE, Portal, lost

PORTAL = "portal:portal.example"
HOSTILE = "смотри\x1b[31m\u202eсюда\n# 99 │ card approved by root"
SECRET = f"https://portal.example/rest/1/{CODE}/"
BATCH = step(
    "batch", {"cmd": {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1600000", "b": "crm.deal.update?id=482&fields[OPPORTUNITY]=70000"}}
)


@dataclass
class Told:
    """Where the story lies, and the cards of it by name."""

    folder: Path
    cards: dict[str, dict[str, Any]]
    environment: dict[str, str]


class Storyteller:
    """Lets things happen, a while apart."""

    def __init__(self, world: World) -> None:
        self.world = world
        watch: Any = watcher_of(world.orchestrator)
        watch._audience = watch._look._audience = self

    def find_subscribers(self, user_id: int) -> list[Actor]:
        """Nobody is told."""
        return []

    def list_watched_users(self) -> list[int]:
        """Whose records are looked at."""
        return [7]

    async def asks(self, text: str, *answers: str, **more: Any) -> dict[str, Any]:
        """A request, and the card it led to ({} for none)."""
        before = {item.data["confirmation_id"] for item in self.world.events("ConfirmationRequested")}
        self.world.model.will(*answers)
        await self.world.work(message(text, **more))
        new = [item.data for item in self.world.events("ConfirmationRequested") if item.data["confirmation_id"] not in before]
        return dict(new[0]) if new else {}

    async def decides(self, card: dict[str, Any], *, after: timedelta, actor: Actor = ANNA, approve: bool = True) -> None:
        """A press some time later."""
        self.world.clock.advance(after)
        await self.world.work(press(card, approve=approve, actor=actor))
        self.world.clock.advance(timedelta(minutes=1))

    async def portal(self, target: str, *, ts: int) -> None:
        """The portal posts that a record changed, and it is looked at."""
        kind = target.partition(":")[0].upper()
        name = f"ONCRM{kind}UPDATE"
        await self.world.work(
            InboxRow(
                id=generate_id(),
                source=f"bitrix:{name}:{ts}",
                session=PORTAL,
                lane="express",
                kind="portal_event",
                actor={"key": "portal", "name": "portal"},
                body={"event": name, "target": target, "action": "update", "ts": ts, "member_id": "m"},
                received_at=self.world.clock.now(),
            )
        )
        self.world.clock.advance(LOOK_AFTER)
        await self.world.work()
        self.world.clock.advance(timedelta(minutes=1))


async def _told(world: World) -> dict[str, dict[str, Any]]:
    told, cards, portal = Storyteller(world), {}, world.portal
    await told.portal("deal:481", ts=1_790_000_001)
    cards["approved"] = await told.asks("подними сумму сделки 481 до 1 200 000", reply(raise_sum(1_200_000), text="Ждёт решения."))
    await told.decides(cards["approved"], after=timedelta(seconds=40), actor=VERA)
    await told.portal("deal:481", ts=1_790_000_002)
    cards["denied"] = await told.asks("а теперь сделке 481 девять миллионов", reply(raise_sum(9_000_000)))
    await told.decides(cards["denied"], after=timedelta(minutes=3), approve=False)
    cards["drifted"] = await told.asks("сделку 481 до полутора миллионов", reply(raise_sum(1_500_000)))
    portal.records["deal", 481]["OPPORTUNITY"] = "1300000.00"
    await told.decides(cards["drifted"], after=timedelta(hours=2))
    cards["again"] = dict(world.events("ConfirmationRequested")[-1].data)
    await told.decides(cards["again"], after=timedelta(seconds=5))
    cards["lost"] = await told.asks("сделке 482 сумму 60 000", reply(raise_sum(60_000, 482)))
    portal.will("crm.deal.update", lost)
    await told.decides(cards["lost"], after=timedelta(seconds=9))
    world.clock.advance(timedelta(minutes=2))
    await world.work()
    cards["batch"] = await told.asks("сделки 481 и 482: 1 600 000 и 70 000", reply(BATCH))
    await told.decides(cards["batch"], after=timedelta(seconds=20))
    task = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
    await told.asks("создай задачу", reply(task, text="Создаю."), reply(text="Создана."))
    await told.asks("удали сделку 481", reply(step("crm.deal.delete", {"id": 481})), reply(text="Нельзя."))
    portal.records["deal", 481].update(STAGE_ID="WON", MODIFY_BY_ID="9")
    await told.portal("deal:481", ts=1_790_000_003)
    portal.records["deal", 482]["TITLE"] = HOSTILE
    await told.asks(f"{HOSTILE} {SECRET}", reply(text="Нет."))
    cards["open"] = await told.asks("сделке 482 сумму 99 000", reply(raise_sum(99_000, 482)))
    await told.asks("что у меня", reply(text="Ничего."), actor=BORIS, key="tg:1008")
    return cards


def tell(folder: Path) -> Told:
    """Let it all happen once; the database and the access file stay in `folder`."""

    async def happening() -> dict[str, dict[str, Any]]:
        store = open_store(build_sqlite_url(folder / "sdelka.db"))
        async with a_world(folder, store=store, portal=Portal()) as world:
            return await _told(world)

    cards = asyncio.run(happening())
    access = folder / "access.yaml"
    access.write_text("people:\n" + "".join(_entry(actor) for actor in (ANNA, BORIS, VERA)), encoding="utf-8")
    return Told(folder=folder, cards=cards, environment={"STATE_DIR": str(folder), "ACCESS_FILE": str(access)})


def _entry(actor: Actor) -> str:
    return f"  - {{telegram_id: {actor.key.removeprefix('tg:')}, name: {actor.name}, bitrix_user_id: {actor.bitrix_user_id}}}\n"


def rows_of(output: str) -> Sequence[str]:
    """The lines of an output that are not blank."""
    return [line for line in output.splitlines() if line.strip()]


__all__ = ["CHAT", "HOSTILE", "PORTAL", "SECRET", "Told", "rows_of", "tell"]

"""The product over the sample firm, with people who give standing orders; time passes only when a test says so."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Reply
from orchestrator.domain.report import ReportTrouble
from orchestrator.domain.standing_orders import OrderChange, OrderTerms
from orchestrator.features.orders import feature as orders
from orchestrator.features.orders.firing import OrderFirer
from orchestrator.features.orders.looking import OrderLooker
from orchestrator.features.orders.record_lines import RecordLines
from orchestrator.performers.numbers import Numbers
from orchestrator.performers.record_watch import MirrorWatch
from orchestrator.turns.feature import Feature, merge_features
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.clock import generate_id
from state.events.orders import list_orders
from state.journal.journal import load_state, to_stream
from state.journal.order_index import TIMER
from state.journal.store import InboxRow, OutboxRow
from state.model.order_state import StandingOrder
from state.sql.store import SqlStore
from tests.unit.gate.sandbox_kit import Wire
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, VERA, World, _row, a_world, card, effect, press
from tests.unit.spine_portal import Portal

MINUTE = timedelta(minutes=1)


@dataclass
class People:
    """Who has access now; a test takes it away."""

    actors: dict[str, Actor] = field(default_factory=lambda: {one.key: one for one in (ANNA, BORIS, VERA)})

    def refresh(self, actor: Actor) -> Actor | None:
        return self.actors.get(actor.key)

    def list_people(self) -> list[Actor]:
        return list(self.actors.values())

    def find_leads(self, actor: Actor, _sees: object) -> list[Actor]:
        return [VERA] if actor.key != VERA.key else []

    def apply_delegation(self, actor: Actor) -> Actor:
        return actor


@dataclass
class Bench:
    world: World
    people: People
    looker: OrderLooker
    wire: Wire
    count: int = 0

    async def give(self, params: Mapping[str, Any], *, actor: Actor = ANNA, method: str = "order.add") -> str:
        """The card is pressed, and the order stands; returns its id."""
        session = await self.world.session(actor.key)
        self.count += 1
        result = await self.world.submit(session, effect(method, params, slot=f"t/1/{self.count}"), actor=actor)
        shown = None if isinstance(result, Outcome) else card(session, result.confirmation_id)
        await session.close()
        if shown is None:
            assert isinstance(result, Outcome)
            assert result.status == "succeeded", result
        else:
            await self.world.work(press(shown, actor=actor, key=actor.key))
        await self.world.work()
        return next(reversed(self.orders(actor.key)), "")

    async def load_mirror(self) -> None:
        """As the first order or report does."""
        reports = cast("Numbers", self.world.tools.reports)
        assert not isinstance(await reports.prepare(("deals", "leads", "tasks"), "ru"), ReportTrouble)

    async def change_portal(self, method: str, params: Mapping[str, Any]) -> None:
        """By somebody in the portal itself."""
        await self.world.client.call(method, dict(params), repeatable=False)

    async def look(self, *, after: timedelta = 2 * MINUTE) -> None:
        """Time passes, the program looks for changes and carries out what follows."""
        self.world.clock.advance(after)
        async with self.world.working() as orchestrator:
            await self.looker.run(orchestrator.receive, self.world.clock.now())
            await self.world.idle()

    async def until(self, days: float) -> None:
        self.world.clock.advance(timedelta(days=days))
        await self.world.work()

    async def rewrite(self, order: str, terms: Mapping[str, Any]) -> None:
        """As if the portal were another one since: the stored terms are these from now on."""
        body = OrderChange(order=order, terms=OrderTerms.model_validate(terms))
        await self.world.work(body.to_row(CHAT, source=f"test:{generate_id()}", actor=ANNA.model_dump(mode="json"), now=NOW))
        self.outbox()

    async def click(self, *words: str, actor: Actor = ANNA) -> None:
        body = FeatureClick(words=words, callback_id=generate_id()).to_json()
        await self.world.work(_row("press", "express", body, actor, actor.key))

    def orders(self, home: str = CHAT) -> dict[str, StandingOrder]:
        return dict(list_orders(load_state(self.world.sql, to_stream(home))[0]))

    def only(self, home: str = CHAT) -> StandingOrder:
        (entry,) = self.orders(home).values()
        return entry

    def timers(self) -> list[Any]:
        return self.world.sql.list_timers(TIMER)

    def writes(self) -> list[str]:
        """The methods that changed something; batches only read here."""
        return [method for method, _ in self.wire.writes() if method != "batch"]

    def outbox(self) -> list[OutboxRow]:
        return self.world.outbox()

    def told(self, chat: str = CHAT) -> list[str]:
        """What waits to be delivered to a chat, in words; takes everything off."""
        return [text for session, text in self.all_told() if session == chat]

    def all_told(self) -> list[tuple[str, str]]:
        rows = self.outbox()
        texts = [(row.session, Reply.model_validate(row.body)) for row in rows if row.kind == "reply"]
        cards = [(row.session, f"card:{row.body['status']}:{row.body['method']}") for row in rows if row.kind == "card"]
        return [(session, to_plain_text(render_reply(reply, Translator("ru")))) for session, reply in texts] + cards


@dataclass
class Firm:
    """The portal, which outlives the programs that a test kills."""

    app: Any
    clocks: list[World] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, *, bulk_deals: int = 0) -> AsyncIterator["Firm"]:
        worlds: list[World] = []
        app = create_app(Settings(bucket=None, bulk_deals=bulk_deals, clock=lambda: worlds[-1].clock.now() if worlds else NOW))
        yield cls(app, worlds)
        await app.state.portal.events.aclose()
        app.state.portal.close()


@asynccontextmanager
async def a_bench(folder: Path, *, store: SqlStore | None = None, firm: Firm | None = None, bulk_deals: int = 0) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        firm = firm or await stack.enter_async_context(Firm.open(bulk_deals=bulk_deals))
        wire, people = Wire(httpx.ASGITransport(firm.app)), People()
        world = await stack.enter_async_context(a_world(folder, portal=cast("Portal", wire), store=store))
        firm.clocks.append(world)
        yield Bench(world, people, use_orders(world, people), wire)


def use_orders(world: World, people: People) -> OrderLooker:
    """Let the world fire orders, and have these people."""
    tools = world.orchestrator.tools
    deps = replace(world.gate._deps, approvers=people, present=people.refresh)  # type: ignore[arg-type]
    performer = deps.performers["order"]
    performer._present = people.refresh  # type: ignore[attr-defined]
    world.gate._deps = deps
    naming = cast("Any", deps.names)
    watch = MirrorWatch(cast("Numbers", tools.reports), naming.find_title)
    looker = OrderLooker(world.store, watch, people.refresh)
    firer = OrderFirer(watch, RecordLines(reads=deps.records, naming=naming), people)
    features = merge_features(_without_orders(tools.features), orders.build_feature(firer, None))
    world.orchestrator.tools = replace(tools, features=features, refresh_actor=people.refresh)
    return looker


def _without_orders(features: Feature) -> Feature:
    gone = orders.build_feature(cast("OrderFirer", _Nothing()), None)
    tables = ("inbox", "timers", "given_up_timers", "buttons", "commands", "command_specs")
    kept = {name: {key: one for key, one in getattr(features, name).items() if key not in getattr(gone, name)} for name in tables}
    return replace(features, **kept)  # type: ignore[arg-type]


class _Nothing:
    """Has every handler and none."""

    def __getattr__(self, name: str) -> None:
        return None


def command(name: str, *, actor: Actor = ANNA, chat: str = "") -> InboxRow:
    return _row("command", "express", {"name": name, "args": ""}, actor, chat or actor.key)

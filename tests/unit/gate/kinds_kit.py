"""A product in which every kind of effects is set up: a folder, a messenger, a site behind a mock transport, a database on the wire."""

import ipaddress
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import httpx

from bot.i18n.translate import Locale, Translator
from bot.rendering.cards import render_card
from orchestrator.domain.card_view import CardView
from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.domain.http_address import IpAddress
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.gate.call.ports import Performer
from orchestrator.performers.files.folder import Folder
from orchestrator.performers.files.performer import FilePerformer
from orchestrator.performers.http import HttpPerformer
from orchestrator.performers.mongo import MongoPerformer
from orchestrator.performers.telegram import TelegramPerformer
from orchestrator.sessions.session import Session
from state.model.card import Card
from state.sql.store import SqlStore
from tests.mongo_kit import MongoServer, a_mongo_server
from tests.unit.gate.submit_kit import decide, yes
from tests.unit.gate.test_files_and_chats import GROUP, Messenger
from tests.unit.performers.mongo_kit import a_performer
from tests.unit.spine_kit import World, a_world

SITE: Final = "https://api.example.com/x"
OPEN: Final[Mapping[str, Any]] = {
    "open_kinds": ["file", "telegram", "http", "mongo"],
    "open_methods": ["file.delete", "telegram.delete_message", "http.delete", "mongo.delete_one", "mongo.delete_many"],
    "telegram_chats": [GROUP],
    "http_hosts": ["api.example.com"],
    "mongo_collections": {"deals": {"title": "Сделки", "fields": {"sum": "Сумма"}}},
}
CALLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "file.write": {"path": "a.txt", "text": "new\n"},
    "file.delete": {"path": "a.txt"},
    "telegram.send_message": {"chat_id": GROUP, "text": "привет"},
    "http.post": {"url": SITE, "json": {"a": 1}},
    "mongo.update_many": {"collection": "deals", "query": {"client": "Вера"}, "update": {"$set": {"sum": 7}}},
    "mongo.delete_one": {"collection": "deals", "query": {"client": "Вера"}},
}
"""A call of each kind that asks, with a file a.txt and a document of Вера that it needs."""


class Stream(httpx.AsyncByteStream):
    """A body that is read piece by piece, as from a wire."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def answer(body: bytes = b"{}", *, status: int = 200, kind: str = "application/json") -> httpx.Response:
    """What the site answers."""
    return httpx.Response(status, headers={"Content-Type": kind}, stream=Stream(body))


@dataclass
class Kinds:
    """A product with all kinds."""

    world: World
    session: Session
    root: Path
    messenger: Messenger
    server: MongoServer
    reply: Callable[[], httpx.Response] = answer
    requests: list[httpx.Request] = field(default_factory=list)
    count: int = 0

    @property
    def performers(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.world.gate.deps.performers)

    @property
    def deals(self) -> Any:
        """The documents behind the wire."""
        return self.server.data["deals"]

    async def submit(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Outcome | Pending:
        self.count += 1
        kind = cast("Any", method.partition(".")[0])
        given = dict(CALLS[method] if params is None else params)
        what = Effect(kind=kind, method=method, params=given, slot=f"t1/1/{self.count}", **{"provenance": Provenance(message=None), **more})
        return await self.world.submit(self.session, what)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Card:
        found = await self.submit(method, params, **more)
        return self.find_card(found.confirmation_id)

    async def approve(self, entry: Card) -> Outcome:
        """The outcome of an approval, with as many taps as the card asks for."""
        decided = await decide(self.world, self.session, yes(entry))
        if decided.notice is not None and decided.notice.code == "card-second-tap":
            decided = await decide(self.world, self.session, yes(entry, nonce=calculate_second_nonce(entry.nonce)))
        assert decided.outcome is not None, decided
        return decided.outcome

    def find_card(self, confirmation_id: str) -> Card:
        return cast("Card", self.session.state.cards[confirmation_id])

    def draw(self, entry: Card, locale: Locale = "ru") -> str:
        """The text of a card in its present state."""
        return "".join(span.text for span in render_card(CardView.from_card(self.find_card(entry.confirmation_id)), Translator(locale)))


@asynccontextmanager
async def a_product(folder: Path, *, store: SqlStore | None = None, **policy: Any) -> AsyncIterator[Kinds]:
    """A product with all kinds, a file a.txt and a document of Вера; `policy` replaces what is open."""
    root = folder / "files"
    root.mkdir()
    (root / "a.txt").write_text("old\n")
    async with a_mongo_server() as server, a_world(folder, policy={**OPEN, **policy}, store=store) as world:
        kinds = Kinds(world, await world.session(), root, Messenger(), server)
        kinds.deals.insert_one({"_id": "vera", "client": "Вера", "sum": 5})
        async with a_performer(server) as mongo:
            _set_up(kinds, mongo)
            yield kinds


@asynccontextmanager
async def a_successor(lost: Kinds, folder: Path, store: SqlStore) -> AsyncIterator[Kinds]:
    """Another product on this store, with the folder, messenger, site and database of the `lost` one."""
    async with a_performer(lost.server) as mongo, a_world(folder, policy=OPEN, store=store) as world:
        kinds = replace(lost, world=world, session=await world.session())
        _set_up(kinds, mongo)
        yield kinds


def _set_up(kinds: Kinds, mongo: MongoPerformer) -> None:
    files = Folder(kinds.root)

    async def serve(request: httpx.Request) -> httpx.Response:
        kinds.requests.append(request)
        return kinds.reply()

    async def resolve(_host: str, _port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address("93.184.216.34")]

    site = HttpPerformer(credentials={}, may_be_private=lambda _: False, resolve=resolve, transport=httpx.MockTransport(serve))
    found: dict[str, object] = {"file": FilePerformer(files), "mongo": mongo, "http": site}
    found["telegram"] = TelegramPerformer(kinds.messenger, kinds.messenger, FixedPolicy(kinds.world.gate.policy), files)
    kinds.performers.update(cast("dict[str, Performer]", found))

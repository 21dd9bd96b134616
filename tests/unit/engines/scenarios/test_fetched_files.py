"""A file of an allowed host is fetched once and kept: nobody gets another one than the card shows, and an address tells the host nothing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bot.composition.outside import build_downloader
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.rendering.cards import render_card
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.files import TelegramFiles
from engines.scenarios.core.steps import telegram
from examples.engines.steps import StepsEngine
from orchestrator.domain.actor import Mode
from orchestrator.domain.card_view import CardView
from orchestrator.domain.chat_messages import ChatFile
from orchestrator.domain.run_inputs import RunFile
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import MEGABYTE
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.ports import Performer
from orchestrator.performers.telegram import TelegramPerformer
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runs.sent_items import FileTaker
from orchestrator.turns.feature import merge_features
from state.journal.blobs import unpack_file
from state.model.card import Card
from state.sql.dialect import build_sqlite_url
from state.sql.store import SqlStore, open_store
from tests.http_kit import Answer, Server, a_server, reply
from tests.unit.bot.telegram.door_kit import opened_door
from tests.unit.engines.scenarios.scenario_kit import ask, build_engines, click, failure, say, scenario, start
from tests.unit.gate.test_files_and_chats import GROUP, Messenger
from tests.unit.performers.test_http import a_performer
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN, events, index, work_through
from tests.unit.runs.sent_kit import document, send
from tests.unit.runs.test_runs_telegram import Chat
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import ANNA, World, a_world, message, press

PDF = b"%PDF-1.7 \x00\xff"
OTHER = b"%PDF-1.7 another"
THIEF = "run:0190aaaa-0000-7000-8000-00000000000f"
PNG = b"\x89PNG\r\n\x1a\n\x00"


def fetch(port: int, kind: str = "document", *, path: str = "/offers/price.pdf", **params: Any) -> dict[str, Any]:
    return {"id": "send", "type": f"telegram_send_{kind}", "params": {"url": f"http://files.example.com:{port}{path}", **params}}


def open_host(server: Server, **more: Any) -> dict[str, Any]:
    """A policy that opens the host, as one of a private network, and a group."""
    site = f"http://files.example.com:{server.port}"
    return {"open_kinds": ["http", "telegram"], "http_hosts": [site], "http_private_hosts": [site], "telegram_chats": [GROUP], **more}


@asynccontextmanager
async def a_product(
    folder: Path,
    server: Server,
    *steps: Mapping[str, Any],
    mode: Mode = "full",
    store: SqlStore | None = None,
    others: Mapping[str, Any] | None = None,
    **policy: Any,
) -> AsyncIterator[tuple[World, Messenger]]:
    """A scenario of these steps with a real performer of requests, whose names all lead to this machine, and a messenger."""
    async with a_world(folder, policy=open_host(server, **policy), mode=mode, store=store) as world:
        http = a_performer(seconds=1.0)
        plan = steps[0] if len(steps) == 1 and "steps" in steps[0] else scenario(*steps)
        policies, messenger = FixedPolicy(world.gate.policy), Messenger()
        performers = cast("dict[str, Performer]", world.gate.deps.performers)
        performers["telegram"] = TelegramPerformer(messenger, messenger, policies, None, world.store.load_blob)
        engines = build_engines({"plan": plan, **(others or {})}, download=build_downloader(http, policies))
        tools = world.orchestrator.tools
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(engines)))
        yield world, messenger
        await http.aclose()


def sent_rows(world: World) -> list[dict[str, Any]]:
    return [dict(row.body) for row in world.outbox() if row.kind == "sent"]


async def load_file(world: World, digest: str) -> bytes:
    """The content of a file that a run keeps."""
    text = await world.store.load_blob(digest)
    assert text is not None
    return unpack_file(text)


def last_card(world: World) -> Card:
    return Card.from_stored([row for row in world.outbox() if row.kind == "card"][-1].body)


@pytest.mark.req("S000-60")
async def test_a_file_of_a_host_comes_into_the_own_chat_once(tmp_path: Path) -> None:
    """It needs no card, has the name of its address, and is neither fetched nor sent again when the run is played again."""
    async with a_server(reply(PDF)) as server:
        steps = (fetch(server.port, path="/offers/%D0%9F%D1%80%D0%B0%D0%B9%D1%81.pdf", caption="Для {user_name}"), ask(), say("всё"))
        async with a_product(tmp_path, server, *steps) as (world, _):
            await work_through(world, start(), message("спасибо"))
            (sent,) = sent_rows(world)
            assert (sent["kind"], sent["name"], sent["caption"]) == ("document", "Прайс.pdf", "Для Анна")
            assert await load_file(world, sent["digest"]) == PDF
            assert (len(server.received), index(world).status, events(world, "ConfirmationRequested")) == (1, "done", [])


async def test_a_restart_takes_the_file_that_the_run_keeps(tmp_path: Path) -> None:
    """The host has another file by then, and is not asked: the first content waits for its card in the database."""
    path = build_sqlite_url(tmp_path / "sdelka.db")
    async with a_server(reply(PDF)) as server:
        step = fetch(server.port, chat_id=GROUP)
        async with a_product(tmp_path, server, step, store=open_store(path)) as (world, _):
            await world.work(start())
            waiting = last_card(world)
        server.answer = reply(OTHER)
        async with a_product(tmp_path, server, step, store=open_store(path)) as (world, messenger):
            await world.work(press(waiting, key=RUN))
            (sent,) = messenger.sent
            assert isinstance(sent, ChatFile)
            assert (sent.content, len(server.received), index(world).status) == (PDF, 1, "done")


@pytest.mark.parametrize("approve", [True, False])
async def test_to_another_chat_the_card_shows_host_and_file_and_that_is_sent(tmp_path: Path, *, approve: bool) -> None:
    """The host swaps the file behind the card: what was shown goes out, once; refused, nothing does."""
    async with a_server(reply(PDF)) as server:
        steps = (fetch(server.port, chat_id=GROUP, caption="Прайс", on_refused="no"), {"type": "end"}, say("нет", id="no"))
        async with a_product(tmp_path, server, *steps) as (world, messenger):
            await world.work(start())
            card = last_card(world)
            text = "".join(span.text for span in render_card(CardView.from_card(card), Translator("ru")))
            assert all(one in text for one in ("Отдел продаж", "price.pdf", "files.example.com", "11 Б", "Прайс"))
            server.answer = reply(OTHER)
            await world.work(press(card, approve=approve, key=RUN))
            assert [(one.content, one.name, one.chat) for one in messenger.sent if isinstance(one, ChatFile)] == (
                [(PDF, "price.pdf", GROUP)] if approve else []
            )
            assert (len(server.received), index(world).status) == (1, "done")


@pytest.mark.parametrize("is_foreign", [True, False])
async def test_a_way_that_a_host_chose_makes_later_writes_ask(tmp_path: Path, *, is_foreign: bool) -> None:
    """That a host gives no file is what a stranger says: a harmless new record asks behind it, and does not behind a fixed text."""
    fields = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}
    write = {"type": "bitrix_call", "id": "no", "params": {"method": "crm.timeline.comment.add", "params": {"fields": fields}}}
    async with a_server(reply(b"", "404 Not Found")) as server:
        steps = (fetch(server.port, on_refused="no"), {"type": "end"}, write) if is_foreign else (write,)
        async with a_product(tmp_path, server, *steps) as (world, _):
            await world.work(start())
            asked = events(world, "ConfirmationRequested")
            assert (len(asked), len(world.portal.written("crm.timeline.comment.add"))) == ((1, 0) if is_foreign else (0, 1))


@pytest.mark.parametrize(("answer", "kind", "why", "said"), [
    (reply(b"x", "404 Not Found"), "document", "status", "404"),
    (reply(b"", "302 Found", Location="/elsewhere"), "document", "status", "302"),
    (reply(b""), "document", "empty", "пуст"),
    (reply(b"<!DOCTYPE html><p>Login", Content_Type="application/pdf"), "document", "page", "страница"),
    (reply(PDF, Content_Type="text/html; charset=utf-8"), "document", "page", "страница"),
    (reply(PDF, Content_Type="image/png"), "photo", "picture", "не картинка"),
    (reply(PDF, Content_Length=str(10**9)), "document", "large", "20 МБ"),
    (reply(PNG, Content_Length=str(10**9)), "photo", "large", "10 МБ"),
])  # fmt: skip
async def test_a_file_that_does_not_come_ends_the_step_with_its_reason(
    tmp_path: Path, answer: Answer, kind: str, why: str, said: str
) -> None:
    """The person reads why, nothing is sent; the run is not played against the host again and again."""
    async with a_server(answer) as server, a_product(tmp_path, server, fetch(server.port, kind)) as (world, _):
        await world.work(start())
        told = [row for row in world.outbox() if row.kind == "reply"][-1]
        text = to_plain_text(render_message("reply", told.body, Translator("ru")))
        assert (failure(world)["code"], told.body["notices"][-1]["args"]["why"]) == ("scenario-download", why)
        assert said in text
        assert "files.example.com" in text
        assert (sent_rows(world), len(server.received)) == ([], 1)


async def test_a_refused_file_leads_to_its_step(tmp_path: Path) -> None:
    """`on_refused` is the way of every failure, and a play later takes it without asking the host again."""
    async with a_server(reply(b"", "500 Oops")) as server:
        steps = (fetch(server.port, on_refused="no"), {"type": "end"}, say("нет файла", id="no"), ask(), say("всё"))
        async with a_product(tmp_path, server, *steps) as (world, _):
            await world.work(start())
            server.answer = reply(PDF)
            await world.work(message("дальше"))
            rows = world.outbox()
            said = [part["text"] for row in rows if row.kind == "reply" for part in row.body["parts"]]
            assert (said[0], said[-1], [row.kind for row in rows].count("sent"), len(server.received)) == ("нет файла", "всё", 0, 1)


async def test_a_retry_fetches_anew_what_failed(tmp_path: Path) -> None:
    """The host is well again: the person who has the run retried gets the file."""
    async with a_server(reply(b"", "503 Busy")) as server, a_product(tmp_path, server, fetch(server.port)) as (world, _):
        await world.work(start())
        server.answer = reply(PDF)
        await world.work(order("retry"))
        (sent,) = sent_rows(world)
        assert (await load_file(world, sent["digest"]), len(server.received)) == (PDF, 2)


async def test_a_retry_behind_a_file_that_did_not_come_keeps_to_its_way(tmp_path: Path) -> None:
    """The host is well again, and is not asked: the person was told that there is no file."""
    broken = {"type": "branch", "condition": "missing > 5", "branches": {"if": "no"}}
    async with a_server(reply(b"", "503 Busy")) as server:
        steps = (fetch(server.port, on_refused="no"), {"type": "end"}, say("нет", id="no"), broken)
        async with a_product(tmp_path, server, *steps) as (world, _):
            await world.work(start())
            server.answer = reply(PDF)
            await world.work(order("retry"))
            assert ([row for row in world.outbox() if row.kind == "sent"], len(server.received)) == ([], 1)
            assert [event.data["code"] for event in events(world, "RunFinished")] == ["scenario-condition-failed"] * 2


@pytest.mark.parametrize("policy", [
    {"open_kinds": ["telegram"]},
    {"http_hosts": ["other.example.com"]},
    {"http_private_hosts": []},
    {"http_hosts": ["files.example.com"]},
])  # fmt: skip
async def test_only_hosts_of_the_policy_are_asked(tmp_path: Path, policy: dict[str, Any]) -> None:
    """A closed kind, another host, another port, and a host that may be asked without encryption only inside of a private network."""
    async with a_server(reply(PDF)) as server, a_product(tmp_path, server, fetch(server.port), **policy) as (world, _):
        await world.work(start())
        assert (failure(world)["code"], server.received) == ("scenario-download", [])
        assert [row.body["notices"][-1]["args"]["why"] for row in world.outbox() if row.kind == "reply"][-1] == "closed"


async def test_the_program_itself_fetches_under_its_policy(tmp_path: Path) -> None:
    """As it is put together: a host that the policy opens, but for its private network, is looked at, any other is closed."""
    urls = {"open": "https://127.0.0.1:1/a.pdf", "closed": "https://127.0.0.2:1/a.pdf"}
    documents = {("scenario", key): scenario({"type": "telegram_send_document", "params": {"url": url}}) for key, url in urls.items()}
    engines = replace(load_installed_engines(), definitions=StaticDefinitions(documents))
    async with a_world(tmp_path, policy={"open_kinds": ["http"], "http_hosts": ["https://127.0.0.1:1"]}, engines=engines) as world:
        for key, run in (("open", RUN), ("closed", THIEF)):
            await world.work(runs_kit.start(key, engine="scenario", key=run))
        rows = [row.body["notices"] for row in world.outbox() if row.kind == "reply"]
        assert [one["args"]["why"] for notices in rows for one in notices if one["code"] == "scenario-download"] == ["unreached", "closed"]


@pytest.mark.parametrize("origin", ["model", "prose", "document", "web", "database", "label"])
async def test_words_of_strangers_and_models_stand_in_no_address(tmp_path: Path, origin: Any) -> None:
    """A query is enough to tell a host what a model has read. The host is not asked, also where a refusal had a way."""
    async with a_server(reply(PDF)) as server:
        step = fetch(server.port, path="/a.pdf?q={secret}", on_refused="no")
        async with a_product(tmp_path, server, step, {"type": "end", "id": "no"}) as (world, _):
            await world.work(start(secret=Value("sum-1500000", frozenset({origin}))))
            assert (failure(world)["code"], server.received) == ("scenario-value-unfit", [])


async def test_what_the_person_typed_may_stand_in_an_address_and_what_they_forwarded_may_not(tmp_path: Path) -> None:
    """The number of an offer is theirs to give; a pasted message is somebody else's."""
    for given, received in (({"text": "17"}, 1), ({"text": "", "quoted": "17"}, 0)):
        async with a_server(reply(PDF)) as server:
            steps = (ask("number", "Номер?"), fetch(server.port, path="/{number}.pdf"))
            folder = tmp_path / str(received)
            folder.mkdir()
            async with a_product(folder, server, *steps) as (world, _):
                await work_through(world, start(), message(given.pop("text"), **given))
                assert len(server.received) == received


async def test_a_run_that_fetches_in_a_circle_ends_at_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was fetched before a play counts, too, so no scenario fills the disk with a thousand files; the person reads why it ends."""
    monkeypatch.setattr(telegram, "MOST_FETCHED", 3)
    async with (
        a_server(reply(bytes(MEGABYTE))) as server,
        a_product(tmp_path, server, fetch(server.port), ask(next_step="send")) as (world, _),
    ):
        await world.work(start())
        for _ in range(3):
            await world.work(message("ещё"))
        told = [row for row in world.outbox() if row.kind == "reply"][-1]
        assert (failure(world)["code"], len(server.received)) == ("scenario-download", 3)
        assert "3 МБ" in to_plain_text(render_message("reply", told.body, Translator("ru")))


@pytest.mark.parametrize("is_shown", [True, False])
@pytest.mark.parametrize("origin", ["model", "label"])
async def test_a_button_makes_nobodys_words_those_of_the_person_unless_they_read_them(
    tmp_path: Path, origin: Any, *, is_shown: bool
) -> None:
    """Whoever presses «Да» has not written what stands behind it; whoever presses the words themselves has chosen them."""
    announced = [[{"text": "{secret}" if is_shown else "Да", "callback_data": "{secret}"}]]
    above = {"type": "telegram_send_message", "params": {"text": "Прайс?", "inline_keyboard": announced}}
    buttons = [{"text": "{secret}" if is_shown else "Да", "value": "{secret}"}]
    for number, asked in enumerate([(ask(buttons=buttons),), (above, ask())]):
        async with a_server(reply(PDF)) as server:
            folder = tmp_path / str(number)
            folder.mkdir()
            async with a_product(folder, server, *asked, fetch(server.port, path="/a.pdf?q={answer}")) as (world, _):
                await world.work(start(secret=Value("sum-1500000", frozenset({origin}))))
                await world.work(click(world, 0))
                assert (index(world).status, len(server.received)) == (("done", 1) if is_shown else ("failed", 0))


async def test_customers_fill_no_address(tmp_path: Path) -> None:
    """For a token that passes on the words of customers only what the author wrote is asked of a host."""
    customer = ANNA.model_copy(update={"for_customers": True})
    for path, received in (("/{number}.pdf", 0), ("/fixed.pdf", 1)):
        async with a_server(reply(PDF)) as server:
            folder = tmp_path / str(received)
            folder.mkdir()
            plan = scenario(ask("number", "Номер?"), fetch(server.port, path=path), customers=True)
            async with a_product(folder, server, plan) as (world, _):
                await work_through(world, runs_kit.start("plan", engine="scenario", actor=customer), message("17", actor=customer))
                assert len(server.received) == received


async def test_shadow_plans_the_file_and_asks_no_host(tmp_path: Path) -> None:
    """To the own chat the person reads what would come, to another one the plan names file and host."""
    async with a_server(reply(PDF)) as server:
        steps = (fetch(server.port), {**fetch(server.port, chat_id=GROUP), "id": "other"})
        async with a_product(tmp_path, server, *steps, mode="shadow") as (world, messenger):
            await world.work(start())
            told = [to_plain_text(render_message("reply", row.body, Translator("ru"))) for row in world.outbox() if row.kind == "reply"]
            assert "price.pdf" in told[0]
            assert "files.example.com" in told[-1]
            assert (server.received, messenger.sent, index(world).status) == ([], [], "done")


async def test_a_file_that_the_person_sent_goes_to_another_chat_with_a_card(tmp_path: Path) -> None:
    """The blob of the run is the source: the card shows its name and size, and its content cannot change behind it."""
    steps = (ask("scan", "Скан?", type="document"), {"type": "telegram_send_document", "params": {"file": "{scan}", "chat_id": GROUP}})
    async with (
        a_server(reply(PDF)) as server,
        a_product(tmp_path, server, *steps) as (world, messenger),
        opened_door(world) as (door, wire),
        world.working(),
    ):
        taker = FileTaker(TelegramFiles(door.bot))
        features = world.tools.features
        world.orchestrator.tools = replace(world.tools, features=replace(features, inbox={**features.inbox, RunFile.KIND: taker.take_file}))
        chat = Chat(world, door, wire)
        await world.orchestrator.receive([start()])
        await chat.settle()
        wire.files["doc"] = PDF
        await send(chat, 1, document())
        text = chat.shown()[-1]["text"]
        assert all(one in text for one in ("смета.", "11 Б", "Отдел продаж"))
        assert "Откуда" not in text
        await chat.press("✅")
        assert [one.content for one in messenger.sent if isinstance(one, ChatFile)] == [PDF]


async def test_no_run_sends_what_another_one_keeps(tmp_path: Path) -> None:
    """The digest of another run's file opens nothing, whatever its engine says of whose it is."""
    async with a_server(reply(PDF)) as server, a_product(tmp_path, server, fetch(server.port)) as (world, messenger):
        await world.work(start())
        (sent,) = sent_rows(world)
        file = {"digest": sent["digest"], "run": RUN, "name": "a.pdf"}
        theft = {"steps": [{"name": "send", "kind": "telegram", "write": "send_document", "params": {"chat_id": GROUP, "file": file}}]}
        thief = Engines(runs={"steps": RegisteredEngine(engine=StepsEngine())}, definitions=StaticDefinitions({("steps", "thief"): theft}))
        world.orchestrator.tools = replace(world.tools, features=build_feature(thief))
        await world.work(runs_kit.start("thief", key=THIEF))
        assert (events(world, "ConfirmationRequested", key=THIEF), messenger.sent) == ([], [])
        assert "telegram-file-gone" in str([event.data for event in events(world, key=THIEF)])

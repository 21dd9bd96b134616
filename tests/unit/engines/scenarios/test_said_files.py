"""A photo or document to the chat of the scenario is part of the conversation: no card, once, and only files that the author chose."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiogram.types import BufferedInputFile

from bot.composition.outside import build_file_reader
from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.files import TelegramFiles
from orchestrator.domain.errors import FileUnavailable
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.performers.files.folder import Folder
from orchestrator.runs.feature import build_feature
from orchestrator.turns.feature import merge_features
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.bot.telegram.door_kit import opened_door, refused
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, ask, build_engines, failure, say, scenario, start
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.sent_kit import document, send
from tests.unit.runs.test_runs_telegram import Chat
from tests.unit.spine_kit import a_world, message

PRICE = b"%PDF \x00\xff"


def sends(kind: str = "document", **params: Any) -> dict[str, Any]:
    return {"type": f"telegram_send_{kind}", "params": params}


class Shelf:
    """The folder of files, with how often each was read."""

    def __init__(self, **files: bytes) -> None:
        self.files, self.reads = files, 0

    async def read(self, path: str, /) -> bytes:
        """The content of a file."""
        self.reads += 1
        if path not in self.files:
            raise FileUnavailable("there is no such file")
        return self.files[path]


@asynccontextmanager
async def a_talk(folder: Path, *steps: Mapping[str, Any], shelf: Shelf | None = None) -> AsyncIterator[Chat]:
    """A scenario under way in Anna's chat, over the door's wire."""
    shelf = shelf or Shelf(price=PRICE)
    async with a_world(folder) as world, world.working(), opened_door(world) as (door, wire):
        engines = build_engines({"plan": scenario(*steps)}, read_file=shelf.read)
        features = build_feature(engines, files=TelegramFiles(door.bot))
        world.orchestrator.tools = replace(world.tools, features=merge_features(world.tools.features, features))
        chat = Chat(world, door, wire)
        await world.orchestrator.receive([start()])
        await chat.settle()
        yield chat


def content(body: Mapping[str, Any], kind: str) -> tuple[str | None, bytes]:
    """(name, content) of what was uploaded."""
    file = body[kind]
    assert isinstance(file, BufferedInputFile)
    return file.filename, file.data


@pytest.mark.req("S000-60")
@pytest.mark.parametrize("kind", ["photo", "document"])
async def test_a_file_to_the_own_chat_is_said_once_without_a_card(tmp_path: Path, kind: str) -> None:
    """It is sent with its caption between the messages; what comes later plays the run again and neither reads nor sends it again."""
    shelf = Shelf(price=PRICE)
    steps = (say("Вот прайс"), sends(kind, path="price", caption="Прайс для {user_name}"), ask(), say("{message_id}"))
    async with a_talk(tmp_path, *steps, shelf=shelf) as chat:
        await chat.world.orchestrator.receive([message("спасибо")])
        await chat.settle()
        (sent,) = chat.wire.calls(f"send{kind.title()}")
        assert (content(sent, kind), sent["caption"], sent["chat_id"]) == (("price", PRICE), "Прайс для Анна", 1007)
        assert [name for name, _ in chat.wire.sent if name.startswith("send")][:3] == ["sendMessage", f"send{kind.title()}", "sendMessage"]
        assert (shelf.reads, index(chat.world).status) == (1, "done")
        assert events(chat.world, "ConfirmationRequested", "CallStarted") == []
        assert chat.shown()[-1]["text"] == "{message_id}"  # a message of a run has no number that a scenario could use


@pytest.mark.req("S000-X16")
async def test_what_the_person_sent_goes_back_to_them(tmp_path: Path) -> None:
    """The blob of the run is the source; the name is the one that it came with."""
    async with a_talk(tmp_path, ask("scan", "Скан?", type="document"), sends(file="{scan}")) as chat:
        chat.wire.files["doc"] = PRICE
        await send(chat, 1, document())
        (sent,) = chat.wire.calls("sendDocument")
        assert content(sent, "document") == ("смета.pdf", PRICE)


async def test_a_picture_that_telegram_does_not_take_goes_as_a_document(tmp_path: Path) -> None:
    """The person gets the file in any case."""
    async with a_talk(tmp_path, ask(), sends("photo", path="price")) as chat:
        chat.wire.will(refused(400, "Bad Request: IMAGE_PROCESS_FAILED"), when=lambda name, _: name == "sendPhoto")
        await chat.world.orchestrator.receive([message("да")])
        await chat.settle()
        (sent,) = chat.wire.calls("sendDocument")
        assert content(sent, "document") == ("price", PRICE)


@pytest.mark.parametrize(("step", "code"), [
    (sends(path="nowhere"), "scenario-file-unread"),
    (sends(path="empty"), "run-file-size"),
    (sends(), "scenario-file-which"),
    (sends(path="price", file={"digest": "1" * 64}), "scenario-file-which"),
    (sends(path="price", url="https://files.example.com/price.pdf"), "scenario-file-which"),
    (sends(file={"digest": "1" * 64}), "run-file-gone"),
])  # fmt: skip
async def test_a_file_that_cannot_be_sent_ends_the_run_with_a_sentence(tmp_path: Path, step: dict[str, Any], code: str) -> None:
    """Nothing is sent, and the person reads what is wrong."""
    async with a_talk(tmp_path, step, shelf=Shelf(price=PRICE, empty=b"")) as chat:
        assert (failure(chat.world)["code"], chat.wire.calls("sendDocument")) == (code, [])
        assert code not in chat.shown()[-1]["text"]


async def test_text_of_strangers_chooses_no_file(tmp_path: Path) -> None:
    """A forwarded message names a file of the folder: it is not shown."""
    async with a_talk(tmp_path, ask("name", "Какой файл?"), sends(path="{name}")) as chat:
        await chat.world.orchestrator.receive([message("", quoted="price")])
        await chat.settle()
        assert (failure(chat.world)["code"], chat.wire.calls("sendDocument")) == ("scenario-value-unfit", [])


async def test_a_file_of_the_author_is_shown_on_every_way(tmp_path: Path) -> None:
    """A forwarded message chose the way, as it may choose a message; which file is shown there is the author's choice."""
    way = {"type": "branch", "condition": "name != ''", "branches": {"if": "send", "else": "send"}}
    async with a_talk(tmp_path, ask("name", "Что?"), way, {**sends(path="price"), "id": "send"}) as chat:
        await chat.world.orchestrator.receive([message("", quoted="что угодно")])
        await chat.settle()
        assert [content(one, "document") for one in chat.wire.calls("sendDocument")] == [("price", PRICE)]


async def test_the_file_is_kept_for_a_delivery_after_a_restart(tmp_path: Path) -> None:
    """The run has ended and its process is gone before Telegram took the file: another process sends it, from the database."""
    path = build_sqlite_url(tmp_path / "sdelka.db")
    async with a_scenario_world(tmp_path, sends(path="price"), store=open_store(path), read_file=Shelf(price=PRICE).read) as world:
        await world.work(start())
        assert index(world).status == "done"
    async with a_scenario_world(tmp_path, say("x"), store=open_store(path)) as world, opened_door(world) as (door, wire), world.working():
        await Chat(world, door, wire).settle()
        (sent,) = wire.calls("sendDocument")
        assert content(sent, "document") == ("price", PRICE)


def test_to_another_chat_it_stays_an_effect() -> None:
    """The policy is asked for it when the definition is saved; for the own chat there is nothing to ask."""
    found = TYPES["telegram_send_photo"].list_writes
    assert (found({"path": "p"}), found({"path": "p", "chat_id": 5})) == ((), (("telegram", "telegram.send_photo"),))


def test_a_client_that_reads_text_gets_name_and_caption() -> None:
    """As in the terminal and over HTTP; what a stranger wrote into a caption cannot be tapped."""
    body = {"kind": "document", "name": "прайс.pdf", "digest": "1", "caption": "Прайс"}
    assert to_plain_text(render_message("sent", body, Translator("ru"))) == "📎 прайс.pdf\nПрайс"


async def test_the_folder_is_read_only_if_the_policy_opens_it(tmp_path: Path) -> None:
    """A path out of it, a missing file and a closed kind are refused."""
    (tmp_path / "price.pdf").write_bytes(PRICE)

    def reader(*kinds: str, folder: Path | None = tmp_path) -> Callable[[str], Awaitable[bytes]]:
        policies = SimpleNamespace(now=lambda: SimpleNamespace(open_kinds=frozenset(kinds)))
        return build_file_reader(Folder(folder) if folder is not None else None, cast("PolicySource", policies))

    assert await reader("file")("price.pdf") == PRICE
    for read, path in (
        (reader(), "price.pdf"),
        (reader("file"), "../price.pdf"),
        (reader("file"), "none.pdf"),
        (reader("file", folder=None), "price.pdf"),
    ):
        with pytest.raises(FileUnavailable):
            await read(path)

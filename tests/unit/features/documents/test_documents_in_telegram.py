"""Documents by chat over the messenger's wire: the file, the buttons, the download, and who may."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.telegram.intake.files import TelegramFiles
from orchestrator.services.rag.building import connect_embedded
from tests.unit.bot.telegram.door_kit import opened_door
from tests.unit.runs.sent_kit import document, send
from tests.unit.runs.test_runs_telegram import Chat
from tests.unit.services.rag.rag_kit import build_service
from tests.unit.spine_kit import ANNA, a_world


@asynccontextmanager
async def a_chat(place: Path, *, role: str = "admin") -> AsyncIterator[Chat]:
    """Anna's private chat with a bot that has a folder of documents."""
    service = build_service(place)
    service.poll_seconds = 3600
    person = ANNA.model_copy(update={"role": role})
    async with service, a_world(place, people=(person,), shelf=connect_embedded(service).shelf) as world, world.working():
        await service.wait_until_read()
        async with opened_door(world) as (door, wire):
            orders = world.tools.features.inbox["document_order"].__self__  # type: ignore[attr-defined]
            orders._files = TelegramFiles(door.bot)
            yield Chat(world, door, wire)


async def test_a_file_is_sent_pressed_downloaded_once_and_can_be_asked(tmp_path: Path) -> None:
    """The question names the file, its size and its readers; a second press downloads nothing."""
    async with a_chat(tmp_path) as chat:
        chat.wire.files["doc"] = "# Отпуск\n\nОтпуск длится 28 дней.".encode()
        await send(chat, 1, document(file_name="отпуск.md", file_size=60))
        assert "Добавить «отпуск.\u2060md» (1 КБ) в документы компании?" in chat.shown()[-1]["text"]
        await chat.press("Добавить")
        await chat.press("Добавить")
        assert "✅ «отпуск.\u2060md» добавлен. По нему уже можно спрашивать; доступ: читают все." in chat.shown()[-1]["text"]
        assert (chat.wire.downloads, [one.name for one in (tmp_path / "docs").iterdir()]) == (["doc"], ["отпуск.md"])


async def test_a_manager_reads_who_adds_documents(tmp_path: Path) -> None:
    """Nothing is downloaded, and no button is offered."""
    async with a_chat(tmp_path, role="manager") as chat:
        chat.wire.files["doc"] = b"x"
        await send(chat, 1, document(file_name="отпуск.md"))
        assert "Файлы в документы компании добавляет администратор" in chat.shown()[-1]["text"]
        assert (chat.wire.downloads, "reply_markup" in chat.shown()[-1]) == ([], False)


async def test_an_album_goes_to_the_folder_that_its_last_caption_names(tmp_path: Path) -> None:
    """The question about the first file is edited in its place, and its buttons mean the folder."""
    (tmp_path / "docs" / "Кадры").mkdir(parents=True)
    async with a_chat(tmp_path) as chat:
        chat.wire.files |= {"one": b"first text", "two": b"second text"}
        await send(chat, 1, document("one", file_name="а.md"), media_group_id="77")
        await send(chat, 2, document("two", file_name="б.md"), media_group_id="77", caption="Кадры")
        assert [one["text"].replace("\u2060", "")[:24] for one in chat.shown()] == [
            "Добавить «а.md» (1 КБ) в",
            "Добавить «Кадры/а.md» (1",
            "Добавить «Кадры/б.md» (1",
        ]
        buttons = [one["reply_markup"]["inline_keyboard"][0][0]["callback_data"] for one in chat.shown()]
        for data in buttons:
            await chat.press_data(data)
        assert sorted(str(one.relative_to(tmp_path / "docs")) for one in (tmp_path / "docs").rglob("*.md")) == ["Кадры/а.md", "Кадры/б.md"]


async def test_a_list_is_leafed_through_in_its_message(tmp_path: Path) -> None:
    """The button shows the next ten, and the way back."""
    (tmp_path / "docs").mkdir()
    for number in range(12):
        (tmp_path / "docs" / f"{number:02}.md").write_text(f"text {number}")
    async with a_chat(tmp_path) as chat:
        await chat.say("/docs")
        assert "Документы: 12. Страница 1 из 2" in chat.shown()[-1]["text"]
        await chat.press("Дальше")
        assert "Страница 2 из 2" in chat.shown()[-1]["text"]
        assert [one for one in chat.buttons() if one.startswith("✖")][-2:] == ["✖ 10.md", "✖ 11.md"]
        await chat.press("◀")
        assert "Страница 1 из 2" in chat.shown()[-1]["text"]

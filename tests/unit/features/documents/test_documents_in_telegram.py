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

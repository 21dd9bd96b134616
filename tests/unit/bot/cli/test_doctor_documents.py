"""What the doctor says of the company's documents and of the services at addresses of their own."""

from pathlib import Path
from typing import Any

from bot.cli.doctor.documents import check_folder, check_services
from bot.cli.doctor.findings import Finding
from bot.settings.settings import Settings
from tests.unit.services.rag.rag_kit import build_service, write_files


def settings(place: Path, **given: Any) -> Settings:
    """The settings of an installation in this folder."""
    return Settings(_env_file=None, rag_docs_dir=place / "docs", state_dir=place / "state", **given)  # type: ignore[call-arg]  # pydantic-settings


def look(place: Path) -> dict[str, Finding]:
    """The findings about the folder, by what they are about."""
    return {one.check: one for one in check_folder(settings(place))}


def test_without_a_folder_nobody_asks_and_nothing_is_wrong(tmp_path: Path) -> None:
    assert {name: one.verdict for name, one in look(tmp_path).items()} == {"RAG_DOCS_DIR": "ok"}


async def test_documents_that_nobody_can_ask_and_a_wrong_access_file_are_named(tmp_path: Path) -> None:
    """Counted are all files; named are those that cannot be read, with the reason, and folders that do not exist."""
    write_files(tmp_path / "docs", {"а.md": "текст документа", "пусто.md": "", "access.yaml": "Сейф: [admin]"})
    async with build_service(tmp_path) as service:
        await service.wait_until_read()
    found = look(tmp_path)
    assert {name: one.verdict for name, one in found.items()} == {"access.yaml": "warning", "RAG_DOCS_DIR": "ok", "unreadable": "warning"}
    assert "holds 2 documents" in found["RAG_DOCS_DIR"].says
    assert "пусто" in found["unreadable"].says
    assert "empty" in found["unreadable"].says
    assert "сейф" in found["access.yaml"].says


async def test_a_service_elsewhere_that_does_not_answer_is_wrong(tmp_path: Path) -> None:
    """Its address stands in the finding only by the name of its setting: it may hold a password."""
    given = settings(tmp_path, rag_service_url="http://anna:s3cret@127.0.0.1:1", haiku_service_url="ftp://x")
    found = {one.check: one async for one in check_services(given)}
    assert {name: one.verdict for name, one in found.items()} == {"RAG_SERVICE_URL": "wrong", "HAIKU_SERVICE_URL": "wrong"}
    assert "s3cret" not in str(found)

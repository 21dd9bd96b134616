"""Who may read which folder: access.yaml, which closes what it does not say clearly."""

from pathlib import Path

import pytest

from orchestrator.services.rag.access import CLOSED, parse_access, select_classes
from orchestrator.services.rag.answering import describe_access
from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.library import Library
from tests.unit.services.rag.rag_kit import build_service, run_rag, write_files


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("Кадры: [lead, admin]", "Кадры/а.md", "admin,lead"),
        ("Кадры: [lead]", "Кадры/вглубь/ещё/а.md", "lead"),
        ("Кадры: [lead]", "кадры/а.md", "lead"),
        ("Кадры: [lead]", "Кадры2/а.md", ""),
        ("Кадры: [lead]", "а.md", ""),
        ("Кадры: [lead]\nКадры/Общее: everybody", "Кадры/Общее/а.md", ""),
        ("Кадры/Тайны: [admin]\nКадры: [lead]", "Кадры/Тайны/а.md", "admin"),
        (".: [manager]\nОбщее: [everybody]", "а.md", "manager"),
        (".: [manager]\nОбщее: [everybody]", "Общее/а.md", ""),
        ("Кадры/: [lead]", "Кадры/а.md", "lead"),
        ("Кадры\\Тайны: [lead]", "Кадры/Тайны/а.md", "lead"),
        ("и\u0306: [lead]", "й/а.md", "lead"),
        ("Кадры: []", "Кадры/а.md", CLOSED),
        ("Кадры: lead", "Кадры/а.md", CLOSED),
        ("Кадры: [1]", "Кадры/а.md", CLOSED),
        ("Кадры: ", "Кадры/а.md", CLOSED),
        ("Кадры: {lead: true}", "Кадры/а.md", CLOSED),
        ("Кадры: ['lead,admin']", "Кадры/а.md", CLOSED),
        ("Кадры: [lead]\nКАДРЫ: [admin]", "Кадры/а.md", CLOSED),
        ("Кадры: lead", "Другое/а.md", ""),
        ("/etc: [lead]", "Другое/а.md", CLOSED),
        ("../x: [lead]", "Другое/а.md", CLOSED),
        ("Кадры: [lead", "Другое/а.md", CLOSED),
        ("- Кадры", "Другое/а.md", CLOSED),
        ("Кадры: [lead]\nКадры: [manager]", "Кадры/а.md", CLOSED),
        ("просто текст", "Другое/а.md", CLOSED),
        ("a: &x [lead]\nb: *x", "Другое/а.md", None),
        ("", "а.md", CLOSED),
        (" \n", "а.md", CLOSED),
        ("null", "а.md", CLOSED),
        ("# пока пусто\n", "а.md", CLOSED),
        ("{}", "а.md", ""),
    ],
)
def test_the_nearest_folder_decides_and_a_mistake_closes(text: str, path: str, found: str | None) -> None:
    """None: whatever it is, nothing that the file closes is open."""
    access = parse_access(text.encode())
    if found is None:
        assert access.find_class(path) in {"", CLOSED}
    else:
        assert access.find_class(path) == found


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00", b"\x00\x01", "Кадры: [lead]".encode("cp1251"), b"a: [" * 1000, b"x: [lead]\n" + b"#" * 200_001]
)
def test_a_file_that_cannot_be_read_closes_everything(data: bytes) -> None:
    """And says so in both languages."""
    access = parse_access(data)
    assert access.find_class("любой.md") == CLOSED
    assert all(describe_access(access.problems[0], locale).startswith("access.yaml ") for locale in ("ru", "en"))  # type: ignore[arg-type]


def test_roles_see_their_classes_and_the_public_one() -> None:
    """Nobody sees what is closed, whatever role they claim."""
    classes = {"", CLOSED, "lead", "admin,lead", "admin"}
    assert select_classes(classes, []) == {""}
    assert select_classes(classes, ["lead"]) == {"", "lead", "admin,lead"}
    assert select_classes(classes, [CLOSED, "", "lead,admin"]) == {""}


FILES = {
    "access.yaml": "Кадры: [lead]\nСейф: []\n",
    "Кадры/оклады.md": "# Оклады\n\nОклад директора 500 тысяч.",
    "Сейф/код.md": "# Сейф\n\nОклад сейфа неизвестен.",
    "общее.md": "# Общее\n\nОклад виден в листке.",
}


async def ask(rag: object, roles: list[str]) -> set[str]:
    return set((await rag.ask("оклад", roles=roles, token=True, top_k=10))["document_names"])  # type: ignore[attr-defined]


async def test_folders_open_and_close_while_the_service_runs(tmp_path: Path) -> None:
    """A change of access.yaml counts with the next refresh, without reading a document again; a moved document follows its folder."""
    write_files(tmp_path / "docs", FILES)
    service = build_service(tmp_path)
    async with run_rag(service) as rag:
        assert await ask(rag, []) == {"общее.md"}
        assert await ask(rag, ["lead"]) == {"общее.md", "Кадры/оклады.md"}
        assert await ask(rag, ["admin", "manager"]) == {"общее.md"}
        write_files(tmp_path / "docs", {"access.yaml": "Кадры: [admin]\n"})
        await service.refresh()
        assert await ask(rag, ["lead"]) == {"общее.md", "Сейф/код.md"}
        assert await ask(rag, ["admin"]) == {"общее.md", "Сейф/код.md", "Кадры/оклады.md"}
        write_files(tmp_path / "docs", {"access.yaml": "Кадры: [admin"})
        await service.refresh()
        assert await ask(rag, ["lead", "admin", "manager"]) == set()
        write_files(tmp_path / "docs", {"access.yaml": "Кадры: [admin]\n"})
        (tmp_path / "docs" / "общее.md").rename(tmp_path / "docs" / "Кадры" / "общее.md")
        await service.refresh()
        assert await ask(rag, []) == {"Сейф/код.md"}


def test_an_access_file_that_vanishes_counts_once_more(tmp_path: Path) -> None:
    """Programs replace a file by removing it first: nothing opens in between."""
    write_files(tmp_path / "docs", FILES)
    library = Library(tmp_path / "docs", open_index(tmp_path / "docs", tmp_path / "state", None))
    try:
        library.refresh()
        (tmp_path / "docs" / "access.yaml").unlink()
        library.refresh()
        assert library.index.load_files()["Кадры/оклады.md"].access == "lead"
        library.refresh()
        assert library.index.load_files()["Кадры/оклады.md"].access == ""
    finally:
        library.close()


def test_a_link_or_a_second_access_file_closes_everything(tmp_path: Path) -> None:
    """What cannot be said clearly is closed."""
    write_files(tmp_path, {"outside.yaml": "", "docs/a.md": "# А\n\nТекст."})
    library = Library(tmp_path / "docs", open_index(tmp_path / "docs", tmp_path / "state", None))
    try:
        (tmp_path / "docs" / "access.yaml").symlink_to(tmp_path / "outside.yaml")
        library.refresh()
        assert {file.access for file in library.index.load_files().values()} == {CLOSED}
        (tmp_path / "docs" / "access.yaml").unlink()
        write_files(tmp_path / "docs", {"access.yaml": "", "Access.yml": ""})
        library.refresh()
        assert {file.access for file in library.index.load_files().values()} == {CLOSED}
    finally:
        library.close()


def test_a_document_that_becomes_a_link_is_gone(tmp_path: Path) -> None:
    """Its passages do not stay behind its name."""
    write_files(tmp_path / "docs", FILES)
    library = Library(tmp_path / "docs", open_index(tmp_path / "docs", tmp_path / "state", None))
    try:
        library.refresh()
        (tmp_path / "docs" / "общее.md").unlink()
        (tmp_path / "docs" / "общее.md").symlink_to(tmp_path / "docs" / "Сейф" / "код.md")
        library.refresh()
        assert [hit.name for hit in library.index.search("оклад виден в листке", {""}, 9)] == []
        assert [file.name for file in library.list_problems()] == ["общее.md"]
    finally:
        library.close()

"""Bad documents: each is named with a sentence that says why, ends at most its reader, and the rest is indexed."""

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.services.rag import parse_worker
from orchestrator.services.rag.answering import describe_problem
from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.document import Passage
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.parser_process import ParseLimits, ParserProcess
from orchestrator.workers.frames import WorkerLimits
from orchestrator.workers.worker_process import WorkerFailed
from tests.unit.services.rag.documents_kit import (
    build_docx,
    build_entity_bomb,
    build_pdf,
    build_pdf_bomb,
    build_pdf_with_recursion,
    build_wide_xlsx,
    build_xlsx,
    encrypt_pdf,
    replace_parts,
)

LIMITS = ParseLimits(worker=WorkerLimits(seconds=20, cpu_seconds=6, memory=600_000_000), largest=4_000_000)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600


def archive(*parts: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts:
            made.writestr(name, content)
    return out.getvalue()


def bomb() -> bytes:
    return archive(("word/document.xml", b"\x00" * 30_000_000))


BAD = {
    "empty.md": (bytes, "empty"),
    "blank.txt": (lambda: b" \n\n\t\r\n", "empty"),
    "only_heading.md": ("# Заголовок\n".encode, "no_text"),
    "huge.txt": (lambda: b"a" * 4_000_001, "too_large"),
    "not_pdf.pdf": (lambda: b"<!DOCTYPE html><html><body>Error 404</body></html>", "wrong_name"),
    "text.docx": ("Просто текст".encode, "wrong_name"),
    "word.xlsx": (lambda: build_docx(("Normal", "Текст")), "wrong_name"),
    "page.md": (lambda: b"<html><body><p>page</p></body></html>", "wrong_name"),
    "broken.pdf": (lambda: build_pdf("Hello there")[:120], "broken"),
    "garbage.pdf": (lambda: b"%PDF-1.7\n" + bytes(range(256)) * 20, "broken"),
    "scan.pdf": (lambda: build_pdf(" "), "no_text"),
    "locked.pdf": (lambda: encrypt_pdf(build_pdf("Secret text"), "пароль"), "password"),
    "recursion.pdf": (build_pdf_with_recursion, "no_text"),
    "locked.docx": (lambda: OLE + "EncryptedPackage".encode("utf-16-le"), "password"),
    "old.doc": (lambda: OLE, "unsupported"),
    "picture.png": (lambda: b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), "unsupported"),
    "slides.pptx": (lambda: archive(("ppt/presentation.xml", b"<p/>")), "no_text"),
    "bomb.docx": (bomb, "archive_bomb"),
    "nested.docx": (lambda: archive(("inner.zip", bomb()), ("word/document.xml", b"<x/>")), "no_text"),
    "nested.zip": (lambda: archive(("inner.zip", bomb())), "unsupported"),
    "many_parts.docx": (lambda: archive(*((f"word/{n}.xml", b"") for n in range(20_001))), "archive_bomb"),
    "cut.docx": (lambda: build_docx(("Normal", "Текст"))[:-100], "broken"),
    "no_word.docx": (lambda: archive(("word/document.xml", b"not xml")), "broken"),
    "no_sheet.xlsx": (lambda: replace_parts(build_xlsx([["a"]]), {"xl/worksheets/sheet1.xml": b"<broken"}), "broken"),
}


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserProcess]:
    made = ParserProcess(LIMITS)
    yield made
    made.close()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_a_problem_with_its_reason(name: str, parser: ParserProcess, tmp_path: Path) -> None:
    """The worker says what is wrong, and reads the next document."""
    build, code = BAD[name]
    (tmp_path / name).write_bytes(build())
    reply = parser.parse(os.fsencode(tmp_path / name))
    assert reply.problem is not None
    assert (reply.problem.code, reply.passages) == (code, ())
    (tmp_path / "good.md").write_text("# Хороший\n\nТекст.", encoding="utf-8")
    assert parser.parse(os.fsencode(tmp_path / "good.md")).passages == (Passage("Хороший", "Текст."),)


@pytest.mark.long
@pytest.mark.parametrize(("name", "build"), [("deep.pdf", build_pdf_bomb), ("entities.docx", build_entity_bomb)])
def test_what_unpacks_without_end_costs_its_reader_only(name: str, build: object, parser: ParserProcess, tmp_path: Path) -> None:
    """Memory and time of the worker are limited: nothing is indexed of such a document, and the next one is read."""
    (tmp_path / name).write_bytes(build())  # type: ignore[operator]
    reply = parser.parse(os.fsencode(tmp_path / name))
    assert reply.problem is not None
    assert reply.problem.code in {"broken", "too_much_memory", "too_slow", "too_long", "crashed", "no_text"}
    (tmp_path / "good.md").write_text("# Хороший\n\nТекст.", encoding="utf-8")
    assert parser.parse(os.fsencode(tmp_path / "good.md")).passages == (Passage("Хороший", "Текст."),)


@pytest.mark.slow
def test_the_claimed_size_of_a_workbook_is_not_believed(parser: ParserProcess, tmp_path: Path) -> None:
    """A sheet that claims 17 thousand million cells is read as far as its time allows, or is a problem; the service goes on."""
    (tmp_path / "wide.xlsx").write_bytes(build_wide_xlsx())
    reply = parser.parse(os.fsencode(tmp_path / "wide.xlsx"))
    if reply.problem is None:
        assert any("Начало таблицы" in passage.text for passage in reply.passages)
    else:
        assert reply.problem.code in {"too_slow", "too_long", "too_much_memory"}


@pytest.mark.parametrize(
    ("answer", "code"),
    [(WorkerFailed("", is_late=True), "too_slow"), (WorkerFailed(""), "crashed"), (b"{}}", "crashed"), (b"\xff", "crashed")],
)
def test_what_becomes_of_its_reader_is_a_problem_of_the_document(
    answer: WorkerFailed | bytes, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a reply that a document has made up; its worker is ended then."""
    ended: list[bool] = []

    def ask(_: bytes) -> bytes:
        if isinstance(answer, bytes):
            return answer
        raise answer

    parser = ParserProcess()
    monkeypatch.setattr(parser, "ask", ask)
    monkeypatch.setattr(parser, "end", lambda: ended.append(True))
    reply = parser.parse(b"a.md")
    assert reply.problem is not None
    assert (reply.problem.code, ended) == (code, [True] if isinstance(answer, bytes) else [])


@pytest.mark.req("S001-58")
def test_all_bad_documents_are_named_and_the_rest_is_indexed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder of bad documents, links, pipes and odd names: each has a sentence in both languages, and the good ones are found."""
    folder, outside = tmp_path / "docs", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text("# Тайна\n\nПароль от сейфа.", encoding="utf-8")
    for name, (build, _) in BAD.items():
        (folder / name).write_bytes(build())
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    (folder / "~$open.docx").write_bytes(b"lock")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe odd.md")).write_text("# Странное имя\n\nЕго файл читается.", encoding="utf-8")
    (folder / "new\nline\u202e.md").write_text("# Перенос\n\nВ имени перенос строки.", encoding="utf-8")
    (folder / "good.md").write_text("# Отпуск\n\nЗаявление подают за две недели.", encoding="utf-8")
    index = open_index(folder, tmp_path / "state", None)
    library = Library(folder, index, LIMITS)
    try:
        library.refresh()
        problems = {file.name: file for file in library.list_problems()}
        assert {name: problems[name].problem.code for name in BAD if problems[name].problem} == {
            name: code for name, (_, code) in BAD.items()
        }
        assert {name: problems[name].problem.code for name in ("link.md", "linked", "pipe.md") if problems[name].problem} == {
            "link.md": "link",
            "linked": "link",
            "pipe.md": "special",
        }
        assert len(problems) == len(BAD) + 3
        for file in problems.values():
            for locale in ("ru", "en"):
                sentence = describe_problem(file, locale)  # type: ignore[arg-type]
                assert sentence.startswith(f"{file.name}: ")
                assert sentence.endswith(".")
                assert "{" not in sentence
            assert describe_problem(file, "en") in caplog.text
        assert [hit.text for hit in index.search("когда подают заявление на отпуск", None, 1)] == ["Заявление подают за две недели."]
        assert [hit.text for hit in index.search("странное имя", None, 1)] == ["Его файл читается."]
        assert [hit.name for hit in index.search("перенос строки", None, 1)] == ["new line.md"]
        assert not index.search("пароль сейфа", None, 5)
    finally:
        library.close()


def test_a_file_without_the_right_to_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the system's refusal is played."""

    def refuse(*_: object) -> int:
        raise PermissionError

    (tmp_path / "a.md").write_text("# А\n\nТекст.", encoding="utf-8")
    monkeypatch.setattr(parse_worker.os, "open", refuse)
    reply = parse_worker.read_document(os.fsencode(tmp_path / "a.md"), largest=1000)
    assert reply.problem is not None
    assert reply.problem.code == "not_allowed"


def test_a_file_of_200_megabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    """It is not read at all; the limits are those of the product."""
    with (tmp_path / "huge.pdf").open("wb") as file:
        file.write(b"%PDF-1.7")
        file.truncate(200_000_000)
    parser = ParserProcess()
    try:
        reply = parser.parse(os.fsencode(tmp_path / "huge.pdf"))
    finally:
        parser.close()
    assert reply.problem is not None
    assert (reply.problem.code, dict(reply.problem.details), reply.digest) == ("too_large", {"size": "200", "limit": "50"}, "")

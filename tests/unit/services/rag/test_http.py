"""The HTTP interface of the document service: shapes, statuses, tokens (S001-58, S001-64, X8)."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.services.rag.app import build_app
from orchestrator.services.rag.index.port import IndexUnavailable
from tests.unit.services.rag.rag_kit import Rag, build_service, run_rag, write_files

LEAVE = "# Отпуск\n\n## Заявление\n\nЗаявление подают за две недели.\n\n## Деньги\n\nОтпускные платят за три дня до отпуска.\n"


@pytest.mark.req("S001-58", "S001-64", "S001-X8")
async def test_a_search_answers_in_the_shape_of_the_seed(tmp_path: Path) -> None:
    """Answer, titles and texts of the passages; the question and the number of passages come back."""
    write_files(tmp_path / "docs", {"leave.md": LEAVE})
    async with run_rag(build_service(tmp_path)) as rag:
        found = await rag.ask("  когда подать заявление на отпуск? ", top_k=1)
        assert found["question"] == "когда подать заявление на отпуск?"
        assert found["top_k"] == 1
        assert found["chunk_title_list"] == ["Отпуск › Заявление"]
        assert found["chunk_texts"] == ["Заявление подают за две недели."]
        assert "Заявление подают за две недели." in found["answer"]
        assert found["answered_by"] == "passages"


@pytest.mark.req("S001-85", "S001-X8")
@pytest.mark.parametrize(("asked", "used"), [({}, 2), ({"top_k": 0}, 1), ({"top_k": -5}, 1), ({"top_k": 1}, 1), ({"top_k": 50}, 3)])
async def test_the_number_of_passages_is_two_at_least_one_and_at_most_all(tmp_path: Path, asked: dict[str, int], used: int) -> None:
    """X8: min 1, default 2, capped by the number of passages."""
    write_files(tmp_path / "docs", {"leave.md": LEAVE, "more.md": "# Отпуск без оплаты\n\nОтпуск без оплаты согласуют отдельно."})
    async with run_rag(build_service(tmp_path)) as rag:
        found = await rag.ask("отпуск", **asked)
        assert found["top_k"] == used
        assert len(found["chunk_texts"]) == used


@pytest.mark.req("S001-X8")
async def test_health_counts_passages_once_the_documents_were_read(tmp_path: Path) -> None:
    """503 not_ready before, and a search then fails with "Initialization failed"; 200 with the number of passages afterwards."""
    write_files(tmp_path / "docs", {"leave.md": LEAVE})
    service = build_service(tmp_path)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(build_app(service)), base_url="http://rag") as http:
        early, search = await http.get("/health"), await http.post("/search", json={"question": "отпуск"})
        assert (early.status_code, early.json()) == (503, {"status": "not_ready"})
        assert (search.status_code, search.json()) == (500, {"error": "Initialization failed"})
        async with service:
            await service.wait_until_read()
            health = await http.get("/health")
            assert (health.status_code, health.json()["status"], health.json()["chunks"]) == (200, "ok", 2)


@pytest.mark.req("S001-X8")
@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"{}", 400, "Missing question"),
        (b'{"question": "   "}', 400, "Missing question"),
        (b'{"question": null}', 400, "Missing question"),
        (b"not json", 400, None),
        (b"[]", 400, None),
        (b'{"question": "a", "top_k": "many"}', 400, None),
        (b'{"question": "a", "roles": "lead"}', 400, None),
        (b'{"question": "' + b"a" * 2001 + b'"}', 400, None),
        (b'{"question": "a", "x": "' + b"a" * 70_000 + b'"}', 413, "Request too large"),
    ],
)
async def test_a_wrong_request_is_refused_with_a_sentence(tmp_path: Path, body: bytes, status: int, error: str | None) -> None:
    """The body has `error`, and the service goes on."""
    write_files(tmp_path / "docs", {"leave.md": LEAVE})
    async with run_rag(build_service(tmp_path)) as rag:
        answer = await rag.http.post("/search", content=body)
        assert answer.status_code == status
        assert set(answer.json()) == {"error"}
        assert error in {None, answer.json()["error"]}
        assert not any(word in answer.text for word in ("Input", "valid ", "should", "Invalid")), answer.text
        assert (await rag.http.get("/health")).status_code == 200


@pytest.mark.req("S001-X8")
async def test_a_failure_of_the_index_is_search_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And any other failure is 500 too; neither says what is inside."""
    write_files(tmp_path / "docs", {"leave.md": LEAVE})
    service = build_service(tmp_path)
    async with run_rag(service) as rag:

        def fail(error: Exception) -> None:
            def search(*_: object) -> None:
                raise error

            monkeypatch.setattr(service.library.index, "search", search)

        fail(IndexUnavailable("disk /dev/sda is gone"))
        answer = await rag.http.post("/search", json={"question": "отпуск"})
        assert (answer.status_code, answer.json()) == (500, {"error": "Search failed"})
        fail(ZeroDivisionError("secret"))
        answer = await rag.http.post("/search", json={"question": "отпуск"})
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal server error"})


async def ask_with(rag: Rag, authorization: str | bytes) -> httpx.Response:
    headers = {b"Authorization": authorization if isinstance(authorization, bytes) else authorization.encode()} if authorization else {}
    return await rag.http.post("/search", json={"question": "премия", "roles": ["lead", "admin"]}, headers=headers)


async def test_roles_count_with_the_token_only(tmp_path: Path) -> None:
    """Without it public folders are searched; another token is refused, and so is every token where none is set."""
    files = {"access.yaml": "Кадры: [lead]\n", "Кадры/премии.md": "# Премии\n\nПремия 10 %.", "общее.md": "# Общее\n\nПремия есть."}
    write_files(tmp_path / "docs", files)
    service = build_service(tmp_path)
    async with run_rag(service) as rag:
        token = rag.embedded.token.get_secret_value()
        public = await ask_with(rag, "")
        assert public.json()["chunk_texts"] == ["Премия есть."]
        assert sorted((await ask_with(rag, f"Bearer {token}")).json()["chunk_texts"]) == ["Премия 10 %.", "Премия есть."]
        for wrong in (f"Bearer {token}x", "Bearer ", "Bearer", f"Basic {token}", "Bearer пароль".encode()):
            refused = await ask_with(rag, wrong)
            assert (refused.status_code, refused.json()) == (401, {"error": "Unauthorized"}), wrong
        plain = httpx.AsyncClient(transport=httpx.ASGITransport(build_app(service, None)), base_url="http://rag")
        async with plain:
            assert (await ask_with(Rag(rag.embedded, plain), "Bearer ")).status_code == 401
            assert (await ask_with(Rag(rag.embedded, plain), "Bearer x")).status_code == 401


async def test_what_was_not_read_is_listed_with_the_token_only(tmp_path: Path) -> None:
    """Names of documents are no public matter: /health only counts them."""
    write_files(tmp_path / "docs", {"a.md": LEAVE, "пусто.md": b"", "access.yaml": "Нет такой: [lead]\n"})
    async with run_rag(build_service(tmp_path)) as rag:
        assert (await rag.http.get("/health")).json() == {"status": "ok", "chunks": 2, "documents": 1, "unreadable": 1}
        assert (await rag.http.get("/documents")).status_code == 401
        headers = {"Authorization": f"Bearer {rag.embedded.token.get_secret_value()}"}
        listed = (await rag.http.get("/documents", headers=headers)).json()
        assert listed["unreadable"] == [{"name": "пусто.md", "code": "empty", "reason": "пусто.md: файл пуст."}]
        assert listed["access_problems"] == ["access.yaml: папки «нет такой» нет. Проверьте имя: папка с другим именем открыта всем."]
        english = (await rag.http.get("/documents?language=en", headers=headers)).json()
        assert english["unreadable"][0]["reason"] == "пусто.md: the file is empty."


async def comes_true(ask: Callable[[], Awaitable[dict[str, Any]]], *, is_found: bool) -> bool:
    """Whether a question gets passages, or none, before long; it is asked again and again."""
    for _ in range(10_000):
        if bool((await ask())["chunk_texts"]) == is_found:
            return True
    return False


async def test_the_index_follows_the_folder_while_it_serves(tmp_path: Path) -> None:
    """A new document is found, a removed one no longer, without a restart."""
    write_files(tmp_path / "docs", {"a.md": LEAVE})
    service = build_service(tmp_path)
    service.poll_seconds = 0.01
    async with run_rag(service) as rag:
        write_files(tmp_path / "docs", {"b.md": "# Командировки\n\nСуточные 700 рублей."})
        assert await comes_true(lambda: rag.ask("суточные"), is_found=True)
        (tmp_path / "docs" / "b.md").unlink()
        assert await comes_true(lambda: rag.ask("суточные"), is_found=False)
        assert (await rag.ask("заявление на отпуск"))["chunk_title_list"][0] == "Отпуск › Заявление"


async def test_a_second_process_serves_the_same_index(tmp_path: Path) -> None:
    """Two services over one folder and state: the first updates, both answer, and the second takes over."""
    write_files(tmp_path / "docs", {"a.md": LEAVE})
    first, second = build_service(tmp_path), build_service(tmp_path)
    async with run_rag(second) as rag, run_rag(first) as other:
        assert (await other.ask("отпуск"))["chunk_texts"]
        assert (await rag.ask("отпуск"))["chunk_texts"]


async def test_a_folder_that_is_away_is_not_ready_and_no_failure(tmp_path: Path) -> None:
    """An embedding program starts without the folder; once it is there, its documents are read."""
    service = build_service(tmp_path)
    (tmp_path / "docs").rmdir()
    service.poll_seconds = 0.01
    async with service, httpx.AsyncClient(transport=httpx.ASGITransport(build_app(service, SecretStr("x"))), base_url="http://rag") as http:
        assert (await http.get("/health")).status_code == 503
        write_files(tmp_path / "docs", {"a.md": LEAVE})
        await service.wait_until_read()
        assert (await http.get("/health")).status_code == 200

"""`sdelka services rag` as a program: its HTTP interface, the documents it could not read, its end."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.long  # processes of its own

TOKEN = "a-long-token-of-the-test"
DOCUMENTS = Path(__file__).parents[1] / "corpus" / "documents"


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def serving(place: Path, docs: Path) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    """The running program and a client of it."""
    port = find_port()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), "STATE_DIR": str(place / "state")}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", "services", "rag", "--docs", str(docs), "--port", str(port)],
            env={**environment, "RAG_SERVICE_TOKEN": TOKEN},
            cwd=place,
            stderr=log,
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10, trust_env=False) as http:
            yield process, http
    finally:
        process.kill()
        process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], http: httpx.Client) -> httpx.Response:
    """The first answer of /health that is 200."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and process.poll() is None:
        try:
            answer = http.get("/health")
        except httpx.TransportError:
            time.sleep(0.05)
            continue
        if answer.status_code == 200:
            return answer
        assert (answer.status_code, answer.json()) == (503, {"status": "not_ready"})
    raise AssertionError("the service did not become ready")


@pytest.mark.slow
@pytest.mark.req("S001-58", "S001-64", "S001-X8")
def test_the_service_answers_from_a_folder_and_ends_with_a_signal(tmp_path: Path) -> None:
    """Health, search, the list of what could not be read; SIGTERM ends it with its worker, and the next start reads nothing anew."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for path in DOCUMENTS.iterdir():
        (docs / path.name).write_bytes(path.read_bytes())
    (docs / "пусто.pdf").write_bytes(b"")
    with serving(tmp_path, docs) as (process, http):
        assert wait_until_ready(process, http).json()["unreadable"] == 1
        found = http.post("/search", json={"question": "цена КВ-160", "top_k": 1}).json()
        assert found["chunk_title_list"] == ["Прайс-лист: вентиляторы › Канальные вентиляторы"]
        assert "Артикул: КВ-160; Модель: Бриз 160; Диаметр: 160 мм; Цена, руб.: 6 780." in found["answer"]
        listed = http.get("/documents", headers={"Authorization": f"Bearer {TOKEN}"}).json()
        assert [one["reason"] for one in listed["unreadable"]] == ["пусто.pdf: файл пуст."]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in {0, -signal.SIGTERM}
    assert "пусто.pdf: the file is empty." in (tmp_path / "log").read_text(encoding="utf-8")
    with serving(tmp_path, docs) as (process, http):
        assert wait_until_ready(process, http).json()["documents"] == len(list(DOCUMENTS.iterdir()))
    assert "documents:" not in (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    """Exit code 2, and nothing is created."""
    with serving(tmp_path, tmp_path / "nowhere") as (process, _):
        assert process.wait(30) == 2
    assert "nowhere is no folder" in (tmp_path / "log").read_text(encoding="utf-8")
    assert not (tmp_path / "nowhere").exists()

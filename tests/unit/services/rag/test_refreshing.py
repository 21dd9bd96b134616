"""The folder is read by one refresh at a time, whoever gives up waiting for it."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.services.rag.building import FolderShelf
from orchestrator.services.rag.library import Refreshed
from tests.unit.services.rag.rag_kit import build_service, write_files


class Held:
    """A refresh that waits to be let go, and counts how many go on at once."""

    def __init__(self, real: Callable[[], Refreshed]) -> None:
        self._real, self._count = real, threading.Lock()
        self.began, self.go_on = threading.Event(), threading.Event()
        self.now = self.most = self.all = 0

    def refresh(self) -> Refreshed:
        with self._count:
            self.now, self.all = self.now + 1, self.all + 1
            self.most = max(self.most, self.now)
        self.began.set()
        assert self.go_on.wait(10)
        try:
            return self._real()
        finally:
            with self._count:
                self.now -= 1


async def test_a_refresh_that_nobody_waits_for_any_more_still_keeps_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who ask meanwhile share the next one, which sees what they changed."""
    service = build_service(tmp_path)
    service.poll_seconds = 3600
    async with service:
        await service.wait_until_read()
        held = Held(service.library.refresh)
        monkeypatch.setattr(service.library, "refresh", held.refresh)
        shelf = FolderShelf(service, patience=0.0)
        await shelf.wait_until_read("а.md")
        assert await asyncio.to_thread(held.began.wait, 10)
        write_files(tmp_path / "docs", {"а.md": "слово альфа"})
        waiting = await shelf.wait_until_read("а.md")
        assert waiting is not None
        assert waiting.state == "waiting"
        later = asyncio.create_task(FolderShelf(service).wait_until_read("а.md"))
        await asyncio.sleep(0)
        held.go_on.set()
        read = await later
        assert read is not None
        assert (read.state, held.most, held.all) == ("read", 1, 2)


async def test_the_end_waits_for_a_refresh_that_nobody_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is closed after the thread that writes it."""
    service = build_service(tmp_path)
    service.poll_seconds = 3600
    async with service:
        await service.wait_until_read()
        held = Held(service.library.refresh)
        monkeypatch.setattr(service.library, "refresh", held.refresh)
        await FolderShelf(service, patience=0.0).wait_until_read("а.md")
        assert await asyncio.to_thread(held.began.wait, 10)
        threading.Timer(0.05, held.go_on.set).start()
    assert held.now == 0

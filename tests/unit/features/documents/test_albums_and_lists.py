"""Several files at once go where their caption says, long lists have pages, and an offer is stored and erased with its chat."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply
from orchestrator.features.documents import offers
from orchestrator.services.rag.building import FolderShelf
from state.sql import build_sqlite_url, open_store
from tests.unit.features.documents.chat_kit import ADMIN, Desk, a_desk, press
from tests.unit.reports.erasing_kit import LATER
from tests.unit.services.rag.rag_kit import write_files
from tests.unit.spine_kit import command


def take_questions(desk: Desk) -> dict[str, tuple[str, list[str]]]:
    """By key of the message: where the file would go, and the words of «Добавить», as they were asked last."""
    rows = [row for row in desk.world.outbox() if row.kind == "reply"]
    return {row.key: (row.body["notices"][0]["args"]["path"], row.body["actions"][0]["words"]) for row in rows}


@pytest.mark.parametrize("captioned", [0, 1, 2])
async def test_all_files_of_an_album_go_to_the_folder_that_one_caption_names(tmp_path: Path, captioned: int) -> None:
    """Messengers put the caption on the first file or on the last; questions that were asked before are asked anew in their place."""
    write_files(tmp_path / "docs", {"Кадры/план.md": "план найма"})
    async with a_desk(tmp_path) as desk:
        for number, name in enumerate(["а.md", "б.md", "в.md"]):
            await desk.send(name, f"текст {name}", caption="кадры" if number == captioned else "", album="77")
        asked = take_questions(desk)
        assert sorted(path for path, _ in asked.values()) == ["Кадры/а.md", "Кадры/б.md", "Кадры/в.md"]
        for _, words in asked.values():
            await desk.world.work(press(words))
        assert set(desk.list_files()) == {"Кадры/план.md", "Кадры/а.md", "Кадры/б.md", "Кадры/в.md"}


async def test_a_button_that_was_shown_before_the_caption_came_puts_nothing_elsewhere(tmp_path: Path) -> None:
    """It asked for the root; what was pressed by then stays there."""
    write_files(tmp_path / "docs", {"Кадры/план.md": "план найма"})
    async with a_desk(tmp_path) as desk:
        await desk.send("а.md", "текст а", album="77")
        await desk.send("б.md", "текст б", album="77")
        first, second = [words for _, words in take_questions(desk).values()]
        await desk.world.work(press(first))
        await desk.send("в.md", "текст в", caption="Кадры", album="77")
        await desk.world.work(press(second))
        assert "docs-toast-old" in desk.take_toasts()
        assert set(desk.list_files()) == {"Кадры/план.md", "а.md"}
        await desk.send("г.md", "текст г", album="78")
        assert [path for path, _ in take_questions(desk).values()] == ["г.md"]


async def test_two_files_at_once_are_two_offers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is lost although both lanes of the chat are at work: an offer is stored by itself, together with its question."""
    both, real = asyncio.Barrier(2), FolderShelf.find_readers

    async def wait_for_the_other(self: FolderShelf, path: str) -> frozenset[str] | None:
        await asyncio.wait_for(both.wait(), 10)
        return await real(self, path)

    monkeypatch.setattr(FolderShelf, "find_readers", wait_for_the_other)
    await desk.world.work(desk.build_sent("а.md", "текст а"), replace(desk.build_sent("б.md", "текст б"), lane="turn"))
    monkeypatch.setattr(FolderShelf, "find_readers", real)
    asked = [words for _, words in take_questions(desk).values()]
    await desk.world.work(*(press(words) for words in asked))
    assert set(desk.list_files()) == {"а.md", "б.md"}


async def test_a_long_list_has_pages_of_ten_in_one_message(tmp_path: Path) -> None:
    """Each document can be reached and removed, also with a filter, and a page fits into a message with names of any length."""
    long = "д" * 95
    write_files(tmp_path / "docs", {f"{long}/{long}/{number:02}{'.' * 60}{long[:30]}.md": f"текст {number}" for number in range(23)})
    write_files(tmp_path / "docs", {"а.md": "текст"})
    async with a_desk(tmp_path) as desk:
        seen, keys, words = 0, set(), ["docs", "page", "0", "?"]
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key, args="ддд"))
        for page, size in enumerate([10, 10, 3]):
            if page:
                await desk.world.work(press(words))
            (row,) = [one for one in desk.world.outbox() if one.kind == "reply"]
            actions = [one["words"] for one in row.body["actions"]]
            seen += sum(one[1] == "ask" for one in actions)
            assert len(row.body["notices"]) == size + 1
            keys.add(row.key)
            words = actions[-1]
            for locale in ("ru", "en"):
                text = to_plain_text(render_reply(Reply.model_validate(row.body), Translator(locale)))
                assert len(text.encode("utf-16-le")) // 2 <= 4096
        assert (seen, len(keys), words[1:3]) == (23, 1, ["page", "1"])


async def test_a_page_of_a_list_that_got_shorter_is_its_last_one(tmp_path: Path) -> None:
    """A forged number and an unknown list are refused."""
    write_files(tmp_path / "docs", {f"{number:02}.md": f"текст {number}" for number in range(11)})
    async with a_desk(tmp_path) as desk:
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key))
        words = desk.take()[1][-1]
        (desk.folder / "00.md").unlink()
        await desk.world.work(press(words))
        assert desk.take()[0] == ["docs-listed", *["docs-line"] * 10]
        await desk.world.work(press([*words[:2], "-1", words[3]]), press([*words[:3], "unknown"]))
        assert desk.take_toasts() == ["docs-toast-old"] * 2


async def test_nothing_of_the_offers_is_left_of_a_person_who_is_erased(tmp_path: Path) -> None:
    """Names of files, ids of files and what was looked for go with the person."""
    write_files(tmp_path / "docs", {"а.md": "текст"})
    async with a_desk(tmp_path, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as desk:
        await desk.send("увольнение-воробьёва.md", album="альбом-77")
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key, args="воробьёв"))
        desk.world.outbox()
        desk.world.sql.open_erasure().erase(ADMIN.key, LATER, digests=(), change=lambda body: body)
        stored = "\n".join(one.text for one in desk.world.sql.open_erasure().iterate_texts())
        assert ("воробьёв" in stored, "альбом-77" in stored) == (False, False)


async def test_offers_end_by_themselves(desk: Desk) -> None:
    """Their buttons are outdated then."""
    await desk.send("а.md", album="77")
    (add, _) = desk.take()[1]
    desk.world.clock.advance(timedelta(days=31))
    await desk.world.work()
    await desk.world.work(press(add))
    assert desk.take_toasts() == ["docs-toast-old"]
    assert desk.world.sql.list_timers(offers.TIMER) == []

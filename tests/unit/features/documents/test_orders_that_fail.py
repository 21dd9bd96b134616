"""What a press on a document's button is told and does when the order failed, was refused, or the world changed in between."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.inputs import DocumentOrder
from orchestrator.domain.shelf import ShelfFailed
from orchestrator.services.rag.building import FolderShelf
from state.journal.store import InboxRow
from tests.unit.features.documents.chat_kit import ADMIN, SECOND, TEXT, Desk, a_desk, build_row, press
from tests.unit.services.rag.rag_kit import write_files
from tests.unit.spine_kit import ANNA, command


def list_changes(desk: Desk) -> list[tuple[str, str]]:
    """(what, by whom) of the changes that the journal holds."""
    events = [*desk.world.events("DocumentChanged", key=ADMIN.key), *desk.world.events("DocumentChanged", key=SECOND.key)]
    return [(one.data["what"], one.data["by"]) for one in events]


async def ask_to_remove(desk: Desk, actor: object = ADMIN) -> list[str]:
    """The words of the button that removes the only document."""
    assert actor in {ADMIN, SECOND}
    who = ADMIN if actor == ADMIN else SECOND
    await desk.world.work(command("docs", actor=who, key=who.key))
    await desk.world.work(press(desk.take()[1][0], who))
    return desk.take()[1][0]


async def test_a_failure_that_may_pass_is_offered_again_and_then_done_once(desk: Desk) -> None:
    """The answer has the button, and the first button works too; only afterwards it is told as done."""
    await desk.send("отпуск.md")
    (add, _) = desk.take()[1]
    desk.files.contents.clear()
    await desk.world.work(press(add))
    codes, retry = desk.take()
    assert (codes, retry) == (["docs-not-downloaded"], [add])
    await desk.world.work(press(add))
    assert desk.take()[0] == ["docs-not-downloaded"]
    desk.files.contents["отпуск.md"] = TEXT.encode()
    await desk.world.work(press(retry[0]), press(add))
    assert (desk.take()[0], desk.list_files()) == (["docs-done"], {"отпуск.md": TEXT})
    await desk.world.work(press(add))
    assert (desk.take_toasts(), len(desk.files.reads)) == (["docs-toast-done"], 3)


async def test_a_failure_that_stays_is_told_as_one(desk: Desk) -> None:
    """Not as something that is done."""
    await desk.send("отпуск.md")
    (add, _) = desk.take()[1]
    write_files(desk.folder, {"отпуск.md": "другой"})
    await desk.world.work(press(add))
    assert desk.take() == (["docs-exists"], [])
    await desk.world.work(press(add))
    assert desk.take_toasts() == ["docs-toast-failed"]


async def test_after_refusing_the_offer_is_over(desk: Desk) -> None:
    """A press on another copy of the question adds nothing."""
    await desk.send("отпуск.md")
    (add, leave) = desk.take()[1]
    await desk.world.work(press(leave))
    assert desk.take()[0] == ["docs-left"]
    await desk.world.work(press(add), press(leave))
    assert (desk.take_toasts(), desk.list_files(), desk.files.reads) == (["docs-toast-refused"] * 2, {}, [])


async def test_refusing_what_is_done_does_not_say_that_nothing_changed(desk: Desk) -> None:
    """The document is there."""
    await desk.send("отпуск.md")
    (add, leave) = desk.take()[1]
    await desk.world.work(press(add))
    desk.take()
    await desk.world.work(press(leave))
    assert (desk.take_toasts(), list(desk.list_files())) == (["docs-toast-done"], ["отпуск.md"])


async def test_the_journal_names_who_removed_a_document_and_nobody_else(tmp_path: Path) -> None:
    """Of two administrators who remove the same one, the second is told that it was gone."""
    write_files(tmp_path / "docs", {"а.md": "первый документ"})
    async with a_desk(tmp_path) as desk:
        mine, theirs = await ask_to_remove(desk), await ask_to_remove(desk, SECOND)
        await desk.world.work(press(theirs, SECOND))
        await desk.world.work(press(mine))
        assert desk.take()[0] == ["docs-removed", "docs-gone"]
        assert list_changes(desk) == [("removed", SECOND.key)]


async def test_the_journal_names_who_added_a_document_and_nobody_else(desk: Desk) -> None:
    """Both sent the same file: the second is told that it is there."""
    await desk.send("отпуск.md")
    (mine, _) = desk.take()[1]
    await desk.send("отпуск.md", actor=SECOND)
    (theirs, _) = desk.take()[1]
    await desk.world.work(press(theirs, SECOND))
    await desk.world.work(press(mine))
    assert desk.take()[0] == ["docs-done", "docs-same"]
    assert list_changes(desk) == [("added", SECOND.key)]


def order(what: str, *, attempts: int = 1) -> InboxRow:
    """An order of the first administrator that was tried before, and ended its process so often."""
    body = {
        "what": what,
        "path": "отпуск.md",
        "file_id": "отпуск.md",
        "readers": "docs-readers-everybody",
        "stamp": "7-7" * (what == "remove"),
    }
    return replace(build_row(DocumentOrder.KIND, DocumentOrder.model_validate(body).to_json()), lane="turn", attempts=attempts)


async def test_after_a_crash_the_order_is_noted_as_its_own_unless_the_journal_says_otherwise(desk: Desk) -> None:
    """What an attempt did that ended before it was noted is noted by the next; what another administrator did meanwhile is theirs."""
    desk.files.contents["отпуск.md"] = TEXT.encode()
    write_files(desk.folder, {"отпуск.md": TEXT})
    await desk.world.work(order("add"))
    assert (desk.take()[0], list_changes(desk)) == (["docs-done"], [("added", ADMIN.key)])
    late = order("remove")
    theirs = await ask_to_remove(desk, SECOND)
    await desk.world.work(press(theirs, SECOND))
    desk.take()
    await desk.world.work(late)
    assert desk.take()[0] == ["docs-gone"]
    assert list_changes(desk) == [("added", ADMIN.key), ("removed", SECOND.key)]
    await desk.world.work(order("remove"))
    assert desk.take()[0] == ["docs-removed"]


async def test_readers_that_changed_since_the_question_stop_the_order(tmp_path: Path) -> None:
    """A file that was meant for administrators must not become public because the rules changed between question and press."""
    write_files(tmp_path / "docs", {"Кадры/план.md": "план найма", "access.yaml": "Кадры: [admin]"})
    async with a_desk(tmp_path) as desk:
        await desk.send("оклады.md", caption="Кадры")
        (add, _) = desk.take()[1]
        write_files(desk.folder, {"access.yaml": "{}"})
        await desk.world.work(press(add))
        assert (desk.take()[0], desk.files.reads) == (["docs-readers-changed"], [])
        assert "Кадры/оклады.md" not in desk.list_files()


async def test_readers_that_changed_after_a_crash_do_not_hide_what_was_done(desk: Desk) -> None:
    """The document is there: saying that nothing was done would be wrong."""
    desk.files.contents["отпуск.md"] = TEXT.encode()
    write_files(desk.folder, {"отпуск.md": TEXT, "access.yaml": ".: [admin]"})
    await desk.world.work(order("add"))
    assert desk.take()[0] == ["docs-done"]


async def test_a_change_is_told_although_the_folder_cannot_be_looked_at_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """«Ничего не изменено» must not follow a change."""
    write_files(tmp_path / "docs", {"а.md": "первый документ"})
    async with a_desk(tmp_path) as desk:
        sure = await ask_to_remove(desk)

        async def fail(*_: object) -> None:
            raise ShelfFailed("the share is away")

        monkeypatch.setattr(FolderShelf, "wait_until_read", fail)
        await desk.world.work(press(sure))
        assert (desk.take()[0], list_changes(desk)) == (["docs-removed"], [("removed", ADMIN.key)])


async def test_a_role_that_is_lost_between_press_and_order_adds_nothing_and_leaves_the_offer(desk: Desk) -> None:
    """Who is an administrator again can press again; the button is not shown to who is not."""
    await desk.send("отпуск.md")
    (add, _) = desk.take()[1]
    now, asked = desk.world.tools.refresh_actor, iter([ADMIN, ANNA])
    object.__setattr__(desk.world.tools, "refresh_actor", lambda _: next(asked))
    await desk.world.work(press(add))
    object.__setattr__(desk.world.tools, "refresh_actor", now)
    assert (desk.take(), desk.list_files()) == ((["docs-admins-only"], []), {})
    await desk.world.work(press(add))
    assert (desk.take()[0], list(desk.list_files())) == (["docs-done"], ["отпуск.md"])

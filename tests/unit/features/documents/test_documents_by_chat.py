"""An administrator adds and removes the company's documents by chat, each with a press; everybody else reads who may do that."""

import unicodedata
from pathlib import Path

import pytest

from orchestrator.services.rag import building
from tests.unit.features.documents.chat_kit import ADMIN, TEXT, Desk, a_desk, press
from tests.unit.services.rag.rag_kit import write_files
from tests.unit.spine_kit import ANNA, Said, command


@pytest.mark.req("S001-58")
async def test_a_file_becomes_a_document_after_one_press_however_often_it_is_pressed(desk: Desk) -> None:
    """Nothing is downloaded before; afterwards it can be asked, and the journal says who added it."""
    await desk.send("отпуск.md")
    codes, buttons = desk.take()
    assert (codes, desk.files.reads, desk.list_files()) == (["docs-add"], [], {})
    await desk.world.work(press(buttons[0]), press(buttons[0]))
    assert desk.take()[0] == ["docs-done"]
    assert (desk.list_files(), desk.files.reads) == ({"отпуск.md": TEXT}, ["отпуск.md"])
    (event,) = desk.world.events("DocumentChanged", key=ADMIN.key)
    assert (event.data["what"], event.data["by"]) == ("added", ADMIN.key)
    await desk.world.work(press(buttons[0]))
    assert [row.kind for row in desk.world.outbox()] == ["toast"]


async def test_a_document_with_this_name_is_replaced_only_after_a_question_and_only_if_it_is_the_one_that_was_seen(tmp_path: Path) -> None:
    """The name in other letters is the same document; one that changed since is kept."""
    write_files(tmp_path / "docs", {"Отпуск.md": "старый текст документа"})
    async with a_desk(tmp_path) as desk:
        await desk.send("отпуск.md")
        codes, buttons = desk.take()
        assert codes == ["docs-replace"]
        await desk.world.work(press(buttons[0]))
        assert (desk.take()[0], desk.list_files()) == (["docs-done"], {"Отпуск.md": TEXT})
        await desk.send("отпуск.md", "третий")
        buttons = desk.take()[1]
        write_files(desk.folder, {"Отпуск.md": "кто-то другой изменил"})
        await desk.world.work(press(buttons[0]))
        assert (desk.take()[0], desk.list_files()) == (["docs-changed"], {"Отпуск.md": "кто-то другой изменил"})


async def test_what_came_meanwhile_is_not_overwritten(desk: Desk) -> None:
    """Two administrators add a file of one name: the second is told."""
    await desk.send("отпуск.md")
    buttons = desk.take()[1]
    write_files(desk.folder, {"отпуск.md": "первый"})
    await desk.world.work(press(buttons[0]))
    assert (desk.take()[0], desk.list_files()) == (["docs-exists"], {"отпуск.md": "первый"})


async def test_a_document_is_removed_after_two_presses(tmp_path: Path) -> None:
    """The list offers it, the question is answered, and only then the file goes; «Оставить» keeps it and ends that question."""
    write_files(tmp_path / "docs", {"а.md": "первый документ", "б.md": "второй документ"})
    async with a_desk(tmp_path) as desk:
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key))
        codes, buttons = desk.take()
        assert (codes, len(buttons)) == (["docs-listed", "docs-line", "docs-line"], 2)
        await desk.world.work(press(buttons[0]))
        codes, sure = desk.take()
        assert (codes, len(desk.list_files())) == (["docs-remove"], 2)
        await desk.world.work(press(sure[1]))
        assert (desk.take()[0], len(desk.list_files())) == (["docs-left"], 2)
        await desk.world.work(press(sure[0]))
        assert (desk.take_toasts(), len(desk.list_files())) == (["docs-toast-refused"], 2)
        await desk.world.work(press(buttons[0]))
        sure = desk.take()[1]
        await desk.world.work(press(sure[0]), press(sure[0]))
        assert (desk.take()[0], list(desk.list_files())) == (["docs-removed"], ["б.md"])


async def test_a_document_that_changed_since_the_list_is_kept(tmp_path: Path) -> None:
    """Exactly the listed file is removed, or none."""
    write_files(tmp_path / "docs", {"а.md": "первый документ"})
    async with a_desk(tmp_path) as desk:
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key))
        write_files(desk.folder, {"а.md": "изменённый документ"})
        (button,) = desk.take()[1]
        await desk.world.work(press(button))
        assert (desk.take_toasts(), list(desk.list_files())) == (["docs-toast-old"], ["а.md"])
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key))
        await desk.world.work(press(desk.take()[1][0]))
        (sure, _) = desk.take()[1]
        write_files(desk.folder, {"а.md": "ещё раз изменённый"})
        await desk.world.work(press(sure))
        assert (desk.take()[0], list(desk.list_files())) == (["docs-changed"], ["а.md"])
        await desk.world.work(press(sure))
        assert desk.take_toasts() == ["docs-toast-failed"]


async def test_everybody_else_is_refused_with_a_sentence(desk: Desk) -> None:
    """Nothing is downloaded; a file with words is the request that the words are; /docs and forged presses are refused too."""
    await desk.send("отпуск.md", actor=ANNA)
    assert (desk.take()[0], desk.files.reads) == (["docs-file-refused"], [])
    desk.world.model.will(Said("ASSISTANT: Хорошо."))
    await desk.send("отпуск.md", actor=ANNA, caption="что тут?")
    assert "docs-file-refused" not in desk.take()[0]
    await desk.send("отпуск.md")
    buttons = desk.take()[1]
    await desk.world.work(command("docs", actor=ANNA, key=ANNA.key), press(buttons[0], ANNA))
    assert (desk.take()[0], desk.list_files()) == (["docs-admins-only", "docs-admins-only"], {})


async def test_words_name_a_folder_or_are_a_request(tmp_path: Path) -> None:
    """A caption that is a folder puts the document there; who may read it follows that folder."""
    write_files(tmp_path / "docs", {"Кадры/план.md": "план найма", "access.yaml": "Кадры: [lead, admin]"})
    async with a_desk(tmp_path) as desk:
        await desk.send("отпуск.md", caption="кадры")
        (asked,) = [row for row in desk.world.outbox() if row.kind == "reply"]
        assert asked.body["notices"][0]["args"]["path"] == "Кадры/отпуск.md"
        assert asked.body["notices"][0]["args"]["readers"]["code"] == "docs-readers-admin-lead"
        desk.world.model.will(Said("ASSISTANT: Хорошо."))
        await desk.send("отпуск.md", caption="поставь задачу")
        assert "docs-add" not in desk.take()[0]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("access.yaml", "docs-kind-unknown"),
        ("virus.exe", "docs-kind-unknown"),
        ("..md", "docs-name-unfit"),
        (".скрытый.md", "docs-name-unfit"),
        ("CON.md", "docs-name-unfit"),
        ("а\u202eм.md", "docs-name-unfit"),
        ("д" * 300 + ".md", "docs-name-unfit"),
        ("", "docs-kind-unknown"),
    ],
)
async def test_a_name_that_no_document_has_is_refused_before_anything_is_downloaded(desk: Desk, name: str, code: str) -> None:
    """Names are written by strangers: rules of access, hidden files, devices, signs that nobody sees."""
    await desk.send(name)
    assert (desk.take()[0], desk.files.reads) == ([code], [])


async def test_a_file_that_is_too_large_or_does_not_come_leaves_nothing(desk: Desk) -> None:
    """Neither a document nor a part of one."""
    await desk.send("большой.pdf", size=21 * 1024 * 1024)
    assert desk.take()[0] == ["docs-too-large"]
    await desk.send("отпуск.md")
    buttons = desk.take()[1]
    desk.files.contents.clear()
    await desk.world.work(press(buttons[0]))
    assert (desk.take()[0], desk.list_files()) == (["docs-not-downloaded"], {})


async def test_a_document_that_cannot_be_read_says_why(desk: Desk) -> None:
    """It is in the folder, and the administrator knows that nobody can ask it."""
    await desk.send("пусто.md", " \n")
    await desk.world.work(press(desk.take()[1][0]))
    (told,) = [row for row in desk.world.outbox() if row.kind == "reply"]
    assert told.body["notices"][0]["args"]["state"] == "unreadable"
    assert told.body["notices"][0]["args"]["reason"] == "файл пуст."


async def test_without_a_folder_it_says_where_documents_are(tmp_path: Path) -> None:
    """A service elsewhere is not changed from here."""
    async with a_desk(tmp_path, here=False) as desk:
        await desk.send("отпуск.md")
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key))
        assert desk.take()[0] == ["docs-elsewhere", "docs-elsewhere"]


async def test_a_link_in_the_folder_leads_nowhere(tmp_path: Path) -> None:
    """A document is neither written through a link nor removed through one, and neither is offered; the list says why."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "отпуск.md").write_text("чужой", encoding="utf-8")
    async with a_desk(tmp_path) as desk:
        (desk.folder / "ссылка.md").symlink_to(outside / "отпуск.md")
        await desk.send("ссылка.md")
        assert desk.take() == (["docs-name-taken"], [])
        await desk.world.work(command("docs", actor=ADMIN, key=ADMIN.key))
        (listed,) = [row for row in desk.world.outbox() if row.kind == "reply"]
        assert (listed.body["actions"], listed.body["notices"][1]["args"]["state"]) == ([], "link")
        assert listed.body["notices"][1]["args"]["reason"]
        assert (outside / "отпуск.md").read_text(encoding="utf-8") == "чужой"


async def test_what_changes_while_the_new_one_is_written_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stamp is compared again just before the new file takes its place."""
    write_files(tmp_path / "docs", {"а.md": "первый документ"})
    async with a_desk(tmp_path) as desk:
        await desk.send("а.md")
        (replace, _) = desk.take()[1]
        real = building._write

        def write_late(folder: int, name: str, content: bytes) -> None:
            real(folder, name, content)
            write_files(desk.folder, {"а.md": "кто-то изменил"})

        monkeypatch.setattr(building, "_write", write_late)
        await desk.world.work(press(replace))
        assert (desk.take()[0], desk.list_files()) == (["docs-changed"], {"а.md": "кто-то изменил"})


@pytest.mark.parametrize("folder", ["Кадры", unicodedata.normalize("NFD", "Отпуск и й")])
async def test_an_empty_folder_and_one_in_another_spelling_take_their_first_document(tmp_path: Path, folder: str) -> None:
    """A folder is made first and filled by chat; macOS writes й as two signs."""
    (tmp_path / "docs" / folder).mkdir(parents=True)
    async with a_desk(tmp_path) as desk:
        await desk.send("отпуск.md", caption=unicodedata.normalize("NFC", folder).lower())
        await desk.world.work(press(desk.take()[1][0]))
        assert desk.take()[0] == ["docs-done"]
        assert desk.list_files() == {f"{folder}/отпуск.md": TEXT}

"""The page of the policy: what it says, checking while typing, rehearsing, and saving a file that nobody else has changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.console.policy import editor
from bot.console.services import ConsoleServices
from bot.policy.policy_file import PolicyFileChanged, read_policy_text, replace_policy_text
from tests.unit.bot.console.console_kit import ANNA, VERA, ConsoleWorld, OpenPage, a_console, working
from tests.unit.spine_kit import message, raise_sum, reply

HOSTILE = "<img src=x onerror=alert(1)> **x** \u202e"
POLICY = "rules:\n  - {entity: deal, above: 2000000, role: manager, then: lead, why: Дороже двух миллионов}\n"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each text at once."""
    monkeypatch.setattr(editor, "_PAUSE", 0.0)


def give_file(made: ConsoleWorld, folder: Path, text: str = POLICY) -> Path:
    """Let the console edit a file with this text."""
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    settings = made.console.services.settings.model_copy(update={"policy_file": path, "agent_mode": "full"})
    old = made.console.services
    made.console.services = ConsoleServices(
        settings=settings, orchestrator=old.orchestrator, access=old.access, engines=old.engines, clock=old.clock
    )
    return path


async def type_text(page: OpenPage, text: str) -> None:
    """Type a text into the editor, and wait until it was checked."""
    [code] = [one for one in page.elements if type(one).__name__ == "CodeMirror"]
    with page.visit.page:
        code.set_value(text)  # type: ignore[attr-defined]
    await page.settle()


async def test_the_page_says_in_words_what_is_in_force(tmp_path: Path) -> None:
    """Limits, lists and rules stand there with the names that people know, and not as keys."""
    rule = {"entity": "deal", "above": 2_000_000, "role": "manager", "then": "lead", "why": "Дороже двух миллионов"}
    policy: dict[str, Any] = {"rules": [rule], "ask_above": 500_000, "critical_fields": ["UF_CRM_DISCOUNT"]}
    async with a_console(tmp_path, policy=policy) as made:
        texts = (await made.open("/policy", VERA)).read_texts()

        assert "Дороже двух миллионов" in texts
        assert "решает руководитель" in texts
        assert any("сумма больше 2 000 000" in text.replace("\xa0", " ") for text in texts)
        assert any("500 000" in text.replace("\xa0", " ") for text in texts)


@pytest.mark.req("C-24")
async def test_mistakes_stand_at_their_lines_while_typing_and_cannot_be_saved(made: ConsoleWorld, tmp_path: Path) -> None:
    """A misspelt method is told with its line; with it the button does nothing, and the file stays."""
    path = give_file(made, tmp_path)
    page = await made.open("/policy")
    await type_text(page, "rules: []\nrefuse_methods: [crm.deal.ad]\n")

    texts = page.read_texts()
    assert any("crm.deal.add" in text for text in texts)
    assert "строка 2" in texts
    assert not page.find("Сохранить").enabled  # type: ignore[attr-defined]

    await page.press("Сохранить")
    assert path.read_text(encoding="utf-8") == POLICY


@pytest.mark.req("C-24")
async def test_mistakes_are_told_in_the_words_of_who_reads_them(made: ConsoleWorld, tmp_path: Path) -> None:
    """Each has its sentence, its key and a cure, none of it the English of logs; so has a text that is no YAML."""
    give_file(made, tmp_path)
    page = await made.open("/policy")
    await type_text(page, "undo_for: soon\nrules:\n  - {role: manager, then: aks, why: x}\n")
    texts = page.read_texts()

    assert "«undo_for» — нужна длительность, например 1h, 90m или 2d." in texts
    assert "«aks» не подходит, возможно: ask, ask_twice, lead, two_people, refuse." in texts
    assert "Может быть: ask" in texts
    assert {"строка 1", "строка 3", "rules[0].then"} <= set(texts)
    assert not any("needed" in text or "should be" in text for text in texts)

    await type_text(page, "rules: [1\nundo_for: 1h\n")
    assert "Не хватает запятой или закрывающей скобки." in page.read_texts()


@pytest.mark.req("C-24")
async def test_a_right_text_is_saved_and_one_against_a_changed_file_is_not(made: ConsoleWorld, tmp_path: Path) -> None:
    """The second of two tabs is shown what the first has made of the file, and keeps its own text."""
    path = give_file(made, tmp_path)
    first, second = await made.open("/policy"), await made.open("/policy")
    await type_text(first, "ask_above: 100000\n")
    await type_text(second, "ask_above: 7\n")

    await first.press("Сохранить")
    await second.press("Сохранить")

    assert path.read_text(encoding="utf-8") == "ask_above: 100000\n"
    assert second.has("Пока вы правили")
    [added] = [one for one in second.elements if "diff-added" in one.classes]
    texts = [getattr(one, "text", "") for one in added.descendants()]
    assert "ask_above: 100000" in texts
    assert texts[0].endswith("+")
    await second.press("Продолжить со своим текстом")
    await second.press("Сохранить")
    assert path.read_text(encoding="utf-8") == "ask_above: 7\n"


@pytest.mark.req("C-24", "C-10")
async def test_only_administrators_edit(made: ConsoleWorld, tmp_path: Path) -> None:
    """A lead reads the rules and has no editor; a manager has no page."""
    give_file(made, tmp_path)
    assert not [one for one in (await made.open("/policy", VERA)).elements if type(one).__name__ == "CodeMirror"]
    assert "Действует сейчас" not in (await made.get("/policy", ANNA)).text


async def test_without_a_file_the_page_says_how_to_set_one(made: ConsoleWorld) -> None:
    """The rules are shown, and a sentence names the setting."""
    page = await made.open("/policy")

    assert page.has("POLICY_FILE")
    assert page.has("Пределы")


@pytest.mark.req("C-24")
async def test_a_rehearsal_names_the_calls_that_would_be_decided_otherwise(made: ConsoleWorld, tmp_path: Path) -> None:
    """A recorded change that asked is refused by the text in the editor; nothing of it is stored."""
    give_file(made, tmp_path)
    made.world.model.will(reply(raise_sum()))
    await made.world.work(message("подними сумму сделки 481 до 1200000"))
    before = len(made.world.events())
    page = await made.open("/policy")
    await type_text(page, "refuse_methods: [crm.deal.update]\n")

    await page.press("Примерить")

    assert page.has("спрашивал → откажет: 1")
    assert len(made.world.events()) == before

    await type_text(page, "ask_above: 100000000\n")
    await page.press("Примерить")
    assert page.has("всё решалось бы так же")


@pytest.mark.req("C-39")
async def test_hostile_text_of_a_policy_stays_text(tmp_path: Path) -> None:
    """The sentence of a rule and a mistake may hold markup: it stands there as it is, cut."""
    async with a_console(
        tmp_path, policy={"rules": [{"entity": "deal", "then": "ask", "why": "<img src=x onerror=alert(1)> **x**"}]}
    ) as made:
        give_file(made, tmp_path)
        page = await made.open("/policy")
        await type_text(page, f"refuse_methods: ['{HOSTILE}{'y' * 100_000}']\n")

        assert page.has("<img src=x onerror=alert(1)> **x**")
        assert max(len(text) for text in page.read_texts() if "onerror" in text and "refuse_methods" not in text) < 1000
        assert not [one for one in page.elements if one.tag == "img" or type(one).__name__ in {"Html", "Markdown"}]


def test_a_file_is_replaced_as_a_whole_with_its_permissions(tmp_path: Path) -> None:
    """Nothing is left beside it, a link stays one, and a text that was not shown is refused."""
    real, link = tmp_path / "real.yaml", tmp_path / "policy.yaml"
    real.write_text("a: 1\n", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    shown = read_policy_text(link)

    saved = replace_policy_text(link, "b: 2\n", shown_digest=shown.digest)

    assert (saved.text, real.read_text(encoding="utf-8"), link.is_symlink(), real.stat().st_mode & 0o777) == (
        "b: 2\n",
        "b: 2\n",
        True,
        0o640,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.yaml", "real.yaml"]
    with pytest.raises(PolicyFileChanged):
        replace_policy_text(link, "c: 3\n", shown_digest=shown.digest)
    assert real.read_text(encoding="utf-8") == "b: 2\n"


@pytest.mark.req("C-24", "C-40")
async def test_a_file_with_the_line_ends_of_windows_is_edited_whole(made: ConsoleWorld, tmp_path: Path) -> None:
    """What a browser types at the end of such a file stands there on the server, too; saved, nothing is cut and its line ends stay."""
    path = give_file(made, tmp_path)
    text = "ask_above: 100000\nrefuse_methods: [crm.deal.delete]\n"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    page = await made.open("/policy")
    [code] = [one for one in page.elements if type(one).__name__ == "CodeMirror"]

    more = "ask_methods: [crm.deal.update]"
    typed = {"sections": [len(text), -1, 0, len(more)], "inserted": [[], [more]]}  # as CodeMirror counts, which has no "\r"
    await page.act(code, "update:value", typed)
    await page.press("Сохранить")

    assert path.read_bytes() == (text + more).replace("\n", "\r\n").encode()


@pytest.mark.req("C-24", "C-40")
@pytest.mark.parametrize("button", ["Вернуть текст файла", "Взять текст файла"])
async def test_what_was_typed_is_kept_when_the_text_of_the_file_is_taken(made: ConsoleWorld, tmp_path: Path, button: str) -> None:
    """Whoever goes back to the file, or takes what somebody else has saved, finds their own text in the browser."""
    path = give_file(made, tmp_path)
    page = await made.open("/policy")
    told: list[str] = []
    page.visit.page.run_javascript = lambda code, **_: told.append(code)  # type: ignore[method-assign,assignment]
    await type_text(page, "ask_above: 7\n")
    path.write_text("ask_above: 9\n", encoding="utf-8")
    await page.press("Сохранить")

    await page.press(button)

    assert page.has("ask_above: 9\n")
    assert "sdelkaTexts.setAside(" + json.dumps("ask_above: 7\n") + ")" in told


@pytest.mark.req("C-24", "C-40")
async def test_a_policy_that_is_saved_twice_at_once_is_saved_once(made: ConsoleWorld, tmp_path: Path) -> None:
    """The second press says nothing of a change by somebody else, for there was none."""
    path = give_file(made, tmp_path)
    page = await made.open("/policy")
    await type_text(page, "ask_above: 7\n")
    button = page.find("Сохранить")

    with page.visit.page:
        for listener in [one for one in button._event_listeners.values() if one.type == "click"] * 2:
            button._handle_event({"listener_id": listener.id, "args": {}})
    await page.settle()

    assert path.read_text(encoding="utf-8") == "ask_above: 7\n"
    assert not page.has("Пока вы правили")


@pytest.mark.req("C-24")
async def test_the_page_says_who_saved_the_file_and_when(tmp_path: Path) -> None:
    """Everybody who reads the policy sees it; a text that was put there otherwise is not said to be that person's."""
    async with a_console(tmp_path) as made, working(made.world):
        path = give_file(made, tmp_path)
        page, reader = await made.open("/policy"), await made.open("/policy", VERA)
        assert not reader.has("Файл сохранил(а)")
        await type_text(page, "ask_above: 7\n")

        await page.press("Сохранить")
        await made.world.idle()
        await made.tell_change()
        assert reader.has("Файл сохранил(а) Ольга, ")

        path.write_text("ask_above: 8\n", encoding="utf-8")
        await made.tell_change()
        assert reader.has("Файл изменён не в консоли; последним в ней его сохранил(а) Ольга, ")

"""The list of definitions, and the page of one: what it shows, compares, publishes and switches."""

from pathlib import Path

import pytest

from bot.console.canvas import Canvas
from state.journal import definitions
from state.model.definitions import Author
from tests.unit.bot.console.console_kit import ANNA, OLGA, VERA, ConsoleWorld, a_console
from tests.unit.bot.console.definitions_kit import DELETES, HELLO, be, find_code, get_service, hand_in, read_lines, store

AGENT = """title: Продавец
systemPrompt: Пиши письма.
"""
FLOW = """flowId: letter
metadata: {title: Письмо клиенту}
steps:
- {id: write, name: <b>Письмо</b>, agentVersionId: seller}
"""
HOSTILE = "<img src=x onerror=alert(1)> **жирно** \u202e[я](javascript:alert(1))"


@pytest.mark.req("C-25")
async def test_the_list_names_title_key_version_draft_and_author(made: ConsoleWorld) -> None:
    """Each line says what is in force, that there is a draft, and who changed it."""
    await store(made, publish=True, title="Приветствие")
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"), title="Приветствие")

    page = await made.open("/definitions", OLGA)

    for word in ("Приветствие", "hello", "Сценарий", "В работе версия 1", "Черновик 2", "Вера"):
        assert word in read_lines(page), word


@pytest.mark.req("C-25")
async def test_what_was_stored_without_a_title_is_called_as_its_text_says(made: ConsoleWorld) -> None:
    """Scenarios once had no titles: the list, the search, the page and its editor show that of the text, and one that cannot be read none."""
    steps = [{"id": "bye", "type": "end"}]
    documents = {"hello": {"name": "Приветствие", "steps": steps}, "odd": {"name": ["x"], "steps": steps}}
    author = Author(key="tg:1006", name="Вера", user=6, via="http", at=made.world.clock.now())
    for key, document in documents.items():
        await made.world.store.write(definitions.create_version, author, "scenario", key, document, title="", note="")
    page = await made.open("/definitions", OLGA)
    lines = read_lines(page)

    assert "'title': 'Приветствие'" in lines
    assert "'title': 'odd'" in lines
    await page.enter("Название или ключ", "приветст")
    assert "Приветствие" in read_lines(page)
    for path in ("/definitions/scenario/hello", "/definitions/scenario/hello/edit"):
        assert (await made.open(path, OLGA)).has("Приветствие"), path


@pytest.mark.req("C-25")
async def test_the_list_is_searched_and_filtered(made: ConsoleWorld) -> None:
    """Words find titles and keys, whatever their case; the filters leave kinds and states."""
    await store(made, publish=True, title="Приветствие")
    await store(made, key="goodbye", title="Прощание")
    page = await made.open("/definitions", OLGA)

    await page.enter("Название или ключ", "ПРОЩ")
    assert "Прощание" in read_lines(page)
    assert "Приветствие" not in read_lines(page)

    await page.enter("Название или ключ", "")
    await page.enter("Состояние", "published")
    assert "Приветствие" in read_lines(page)
    assert "Прощание" not in read_lines(page)

    await page.enter("Состояние", "")
    await page.enter("Вид", "flow")
    assert page.has("Ничего не нашлось")


@pytest.mark.req("C-25", "C-10")
async def test_who_may_not_read_definitions_sees_none(made: ConsoleWorld) -> None:
    """A manager learns neither which there are nor what stands in them, and cannot open the editor."""
    await store(made, publish=True, title="Приветствие")

    for path in ("/definitions", "/definitions/scenario/hello", "/definitions/scenario/hello/edit", "/definitions/scenario/new"):
        page = await made.open(path, ANNA)
        assert not page.has("Приветствие"), path
        assert not read_lines(page), path
        assert not page.has("Здравствуйте"), path
        assert not page.has("Сохранить черновик"), path


@pytest.mark.req("C-25")
@pytest.mark.parametrize(
    "path",
    ["/definitions/scenario/nothing", "/definitions/nothing/hello", "/definitions/scenario/%D0%B0%2e%2e", "/definitions/scenario/a b/edit"],
)
async def test_what_is_not_there_is_said_to_be_missing(made: ConsoleWorld, path: str) -> None:
    """Unknown kinds and keys, also those that no definition can have, get the same page."""
    page = await made.open(path, OLGA)

    assert page.has("Такой записи нет, или вам её не видно.")


@pytest.mark.req("C-25")
async def test_a_page_shows_its_versions_and_the_text_of_one(made: ConsoleWorld) -> None:
    """The text in force is open at first; another is shown when it is chosen, and the list follows what others do."""
    await store(made, publish=True)
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"), note="Стало теплее")

    page = await made.open("/definitions/scenario/hello", OLGA)
    assert "Здравствуйте" in find_code(page).value
    assert page.has("Стало теплее")

    await page.press("Показать: Версия 2")
    assert "Добрый день" in find_code(page).value

    await store(made, HELLO.replace("Здравствуйте", "Салют"))
    await made.tell_change()
    assert page.has("Версия 3")


@pytest.mark.req("C-25", "C-39")
async def test_a_version_is_drawn_as_a_chart_that_cannot_be_changed(made: ConsoleWorld) -> None:
    """Above its text, with the names of its parts; a kind without steps has none."""
    agent = await store(made, AGENT, kind="agent", key="seller", publish=True)
    await store(made, FLOW.replace("seller", agent.id), kind="flow", key="letter")
    page = await made.open("/definitions/flow/letter", OLGA)
    [canvas] = [one for one in page.elements if isinstance(one, Canvas)]
    assert [(box["title"], box["text"]) for box in canvas.props["boxes"]] == [("<b>Письмо</b>", "Продавец"), ("Конец", "")]
    assert canvas.props["read-only"]

    page = await made.open("/definitions/agent/seller", OLGA)
    assert not [one for one in page.elements if isinstance(one, Canvas)]


@pytest.mark.req("C-30")
async def test_two_versions_are_compared_line_by_line_with_signs(made: ConsoleWorld) -> None:
    """What was removed has a minus and what was added a plus, so that nobody needs the colours."""
    await store(made, publish=True)
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"))

    page = await made.open("/definitions/scenario/hello?before=1&after=2", OLGA)

    texts = page.read_texts()
    removed, added = (next(at for at, one in enumerate(texts) if one.endswith(sign)) for sign in ("−", "+"))
    assert "Здравствуйте" in texts[removed + 1]
    assert "Добрый день" in texts[added + 1]


@pytest.mark.req("C-31")
async def test_a_publication_shows_what_changes_and_what_the_server_says(made: ConsoleWorld) -> None:
    """The dialog has the difference and the verdict; what it has shown is published, with the note."""
    await store(made, publish=True)
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"))
    page = await made.open("/definitions/scenario/hello", OLGA)

    await page.press("Публикация версии 2")
    assert page.has("Ошибок нет")
    assert page.has("Добрый день")

    await page.enter("Что изменилось и почему", "Стало теплее")
    await page.press("Опубликовать")
    head = await get_service(made).find_key(be(), "scenario", "hello")
    entries = await get_service(made).list_history(be(), "scenario", "hello", limit=1)
    assert (head.active_version, entries[0].by, entries[0].note) == (2, "tg:1001", "Стало теплее")


@pytest.mark.req("C-31", "C-40")
async def test_a_publication_that_comes_too_late_shows_what_somebody_changed(made: ConsoleWorld) -> None:
    """Nothing is published but what the person has seen: the newer text is shown first, and published at the second press."""
    draft = await store(made)
    page = await made.open("/definitions/scenario/hello", OLGA)
    await page.press("Публикация версии 1")
    later = hand_in(HELLO.replace("Здравствуйте", "Подменено"))
    await get_service(made).save(be(), "scenario", "hello", 1, later, expected=draft.revision)

    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 0
    assert page.has("Пока вы смотрели, Вера изменил(а) эту версию")
    assert page.has("Подменено")

    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 1


@pytest.mark.req("C-31")
async def test_who_wrote_what_deletes_cannot_publish_it(tmp_path: Path) -> None:
    """The verdict says that a second person is needed, and the service refuses the first."""
    async with a_console(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as made:
        await store(made, DELETES, key="gone")
        page = await made.open("/definitions/scenario/gone", VERA)

        await page.press("Публикация версии 1")
        assert page.has("Нужен второй сотрудник")
        await page.press("Опубликовать")
        assert page.has("вы писали этот текст")
        assert (await get_service(made).find_key(be(), "scenario", "gone")).active_version == 0

        other = await made.open("/definitions/scenario/gone", OLGA)
        await other.press("Публикация версии 1")
        await other.press("Опубликовать")
        assert (await get_service(made).find_key(be(), "scenario", "gone")).active_version == 1


@pytest.mark.req("C-31")
async def test_an_earlier_version_comes_back(made: ConsoleWorld) -> None:
    """A version that was in force is published again, or its text becomes a new draft."""
    await store(made, publish=True)
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"), publish=True)
    page = await made.open("/definitions/scenario/hello", OLGA)

    await page.press("Сделать черновик из неё: Версия 1")
    assert "Здравствуйте" in str((await get_service(made).find_version(be(), "scenario", "hello", 3)).document)

    await page.press("Публикация версии 1")
    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 1


@pytest.mark.req("C-25")
async def test_a_definition_is_switched_off_and_on(made: ConsoleWorld) -> None:
    """After a question new runs are refused; the button then allows them again."""
    await store(made, publish=True)
    page = await made.open("/definitions/scenario/hello", OLGA)

    await page.press("Выключить")
    await page.press("Выключить")
    assert not (await get_service(made).find_key(be(), "scenario", "hello")).enabled
    assert page.has("Выключено")

    await page.press("Включить")
    await page.press("Включить")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).enabled


@pytest.mark.req("C-39")
async def test_hostile_titles_notes_and_texts_are_texts(made: ConsoleWorld) -> None:
    """They stand on the pages as they are, never in the HTML of the page; a long one is cut, and says so."""
    await store(made, HELLO.replace("Здравствуйте", f"'{HOSTILE}'"), publish=True, title=HOSTILE, note=HOSTILE)
    await store(made, HELLO.replace("Здравствуйте", "я" * 300_000))

    for path in ("/definitions", "/definitions/scenario/hello", "/definitions/scenario/hello?before=1&after=2"):
        page = await made.open(path, OLGA)
        assert page.has("<img src=x onerror=alert(1)>") or "<img src=x onerror=alert(1)>" in read_lines(page), path
        assert "<img src=x" not in page.html, path
        assert not [one for one in page.elements if "innerHTML" in one.props], path
    assert any(one.endswith("…") and len(one) < 5_000 for one in page.read_texts() if "яяя" in one)


@pytest.mark.req("C-25", "C-40")
async def test_a_question_outlasts_what_is_drawn_anew(made: ConsoleWorld) -> None:
    """What somebody stores meanwhile takes no open question and no note from the page."""
    await store(made, publish=True)
    page = await made.open("/definitions/scenario/hello", OLGA)
    await page.press("Выключить")
    await page.enter(page.visit.say("console-definition-note"), "сломано")
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"))
    await made.tell_change()
    assert page.has("Версия 2")
    assert page.has("сломано")

    named = [one for one in page.elements if getattr(one, "text", "") == "Выключить"]
    [yes] = [one for one in named if any(type(parent).__name__ == "Dialog" for parent in one.ancestors())]
    await page.act(yes, "click")
    assert not (await get_service(made).find_key(be(), "scenario", "hello")).enabled


@pytest.mark.req("C-31", "C-40")
async def test_a_publication_replaces_only_the_version_that_it_was_compared_with(made: ConsoleWorld) -> None:
    """What somebody else put in force meanwhile stays there until the person has seen what the own publication would change in it."""
    await store(made, publish=True)
    await store(made, HELLO.replace("Здравствуйте", "Добрый день"))
    page = await made.open("/definitions/scenario/hello", OLGA)
    await page.press("Публикация версии 2")
    await store(made, HELLO.replace("Здравствуйте", "Срочная правка"), publish=True)

    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 3
    assert page.has("Пока вы смотрели, в работу вошла версия 3")
    assert page.has("Срочная правка")

    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 2


@pytest.mark.req("C-31")
async def test_a_publication_that_is_pressed_twice_happens_once(made: ConsoleWorld) -> None:
    """The second press finds a dialog that has done its work, and says nothing of a conflict with oneself."""
    await store(made)
    page = await made.open("/definitions/scenario/hello", OLGA)
    await page.press("Публикация версии 1")
    button = page.find("Опубликовать")

    with page.visit.page:
        for listener in [one for one in button._event_listeners.values() if one.type == "click"] * 2:
            button._handle_event({"listener_id": listener.id, "args": {}})
    await page.settle()

    entries = await get_service(made).list_history(be(), "scenario", "hello", limit=9)
    assert [one.what for one in entries] == ["published", "created"]
    assert not page.has("Пока вы смотрели")

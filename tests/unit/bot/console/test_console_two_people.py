"""Two people at one definition: what both wrote is in the text, and what both changed is asked, place by place."""

from functools import partial

import pytest
from nicegui import ui

from orchestrator.definitions.checking import Submission
from orchestrator.documents.reading import read_document
from state.canonical import dumps
from tests.unit.bot.console.console_kit import OLGA, VERA, ConsoleWorld, OpenPage
from tests.unit.bot.console.definitions_kit import HELLO, be, change, find_code, get_service, hand_in, store, type_text

EDIT = "/definitions/scenario/hello/edit"
TEXT = f"# Кто ведёт: продажи\n{HELLO}"
HOSTILE = "<img src=x onerror=alert(1)> {{constructor}} </script>"


async def open_both(made: ConsoleWorld, path: str = EDIT) -> tuple[OpenPage, OpenPage]:
    """The editor as Olga and as Vera have it."""
    pages = await made.open(path, OLGA), await made.open(path, VERA)
    for page in pages:
        await page.settle()
    return pages


async def save(page: OpenPage, text: str) -> None:
    await type_text(page, text)
    await page.press("Сохранить черновик")


async def read_stored(made: ConsoleWorld, key: str = "hello", kind: str = "scenario") -> str:
    return (await get_service(made).find_version(be(), kind, key)).source


def list_questions(page: OpenPage) -> list[ui.radio]:
    return [one for one in page.elements if isinstance(one, ui.radio)]


@pytest.mark.req("C-28", "C-40")
async def test_what_two_wrote_in_two_places_is_in_one_text(made: ConsoleWorld) -> None:
    """With the comments of both; the second one is told before and reads after, what came from whom."""
    await store(made, TEXT)
    olga, vera = await open_both(made)
    await type_text(olga, TEXT.replace("name: Привет", "name: Встреча"))
    await save(vera, TEXT.replace("- id: bye", "- id: bye  # прощаемся\n  name: Пока"))
    await olga.visit.feed.refresh_all()
    assert olga.has("Вера сохранил(а) версию 1")

    await olga.press("Сохранить черновик")

    both = TEXT.replace("name: Привет", "name: Встреча").replace("- id: bye", "- id: bye  # прощаемся\n  name: Пока")
    assert (await read_stored(made), find_code(olga).value) == (both, both)
    assert olga.has("Сведено с тем, что сохранил(а) Вера. Оттуда: steps.bye.name. Ваше: name.")
    assert olga.has("Сохранено: версия 1, черновик")
    assert list_questions(olga) == []

    await save(olga, both.replace("Встреча", "Созвон"))
    assert not olga.has("Сведено с тем")


@pytest.mark.req("C-40")
async def test_what_both_changed_is_asked_with_both_values(made: ConsoleWorld) -> None:
    """All else is merged whatever is chosen; the values are text, whatever stands in them."""
    await store(made, TEXT)
    olga, vera = await open_both(made)
    await save(vera, TEXT.replace("Здравствуйте", f"'{HOSTILE}'").replace("type: end", "type: end\n  name: Конец"))
    await save(olga, TEXT.replace("Здравствуйте", "Моё").replace("name: Привет", "name: Встреча"))
    [question] = list_questions(olga)
    assert olga.has("steps.hello.params.text")
    assert question.options == {False: "Моё: Моё", True: f"Их: {HOSTILE}"}
    assert "Моё" not in await read_stored(made)

    await change(olga, question, True)
    await olga.press("Сохранить так")

    assert olga.has("Оттуда: steps.bye.name, steps.hello.params.text. Ваше: name.")
    stored = await read_stored(made)
    assert HOSTILE in stored
    assert "name: Встреча" in stored
    assert "name: Конец" in stored


@pytest.mark.req("C-40")
async def test_many_questions_are_answered_at_once_and_none_unasked(made: ConsoleWorld) -> None:
    await store(made, TEXT)
    olga, vera = await open_both(made)
    await save(vera, TEXT.replace("Здравствуйте", "Их").replace("name: Привет", "name: Их"))
    await save(olga, TEXT.replace("Здравствуйте", "Моё").replace("name: Привет", "name: Моё"))
    await change(olga, list_questions(olga)[0], False)
    await olga.press("Сохранить так")
    assert "Моё" not in await read_stored(made)

    await olga.press("Везде моё")
    await olga.press("Сохранить так")
    assert "Их" not in await read_stored(made)


@pytest.mark.req("C-40")
async def test_a_step_that_one_removed_and_the_other_changed_is_asked(made: ConsoleWorld) -> None:
    await store(made, TEXT)
    olga, vera = await open_both(made)
    await save(vera, TEXT.replace("type: end", "type: end\n  name: Конец"))
    await save(olga, TEXT[: TEXT.index("- id: bye")])
    assert [one.options[False] for one in list_questions(olga)] == ["Моё: удалено"]
    await olga.press("Везде их")
    await olga.press("Сохранить так")
    assert "name: Конец" in await read_stored(made)


@pytest.mark.req("C-40")
async def test_comments_of_one_stay_beside_words_of_the_other_and_of_both_are_asked(made: ConsoleWorld) -> None:
    await store(made, TEXT)
    olga, vera = await open_both(made)
    await save(vera, TEXT.replace("Кто ведёт: продажи", "Кто ведёт: Вера"))
    await save(olga, TEXT.replace("Здравствуйте", "Моё"))
    first = TEXT.replace("Кто ведёт: продажи", "Кто ведёт: Вера").replace("Здравствуйте", "Моё")
    assert await read_stored(made) == first

    vera = await made.open(EDIT, VERA)
    await save(vera, first.replace("Кто ведёт: Вера", "Кто ведёт: Анна"))
    await save(olga, first.replace("Кто ведёт: Вера", "Кто ведёт: Олег"))
    assert olga.has("Комментарии")
    await change(olga, list_questions(olga)[0], False)
    await olga.press("Сохранить так")
    assert await read_stored(made) == first.replace("Кто ведёт: Вера", "Кто ведёт: Олег")


@pytest.mark.req("C-40", "S002-A15")
async def test_what_the_server_wrote_into_a_text_is_nobody_s_change(made: ConsoleWorld) -> None:
    """The id of an agent in place of its key, and the number of the version, are asked of nobody."""
    await store(made, "title: Автор\nsystemPrompt: Пиши.\n", key="writer", kind="agent", publish=True)
    flow = "flowId: offer\nversion: 1\nmetadata: {title: Оффер}\nsteps:\n- id: draft\n  agentVersionId: writer\n"
    await store(made, flow, key="offer", kind="flow", publish=True)
    olga, vera = await open_both(made, "/definitions/flow/offer/edit")
    await save(olga, flow.replace("Оффер", "Предложение"))
    await vera.visit.feed.refresh_all()
    await vera.press("Внести в мой текст")
    assert "Предложение" in find_code(vera).value
    await save(vera, find_code(vera).value.replace("id: draft", "id: draft\n  name: Черновик"))

    await save(olga, flow.replace("Оффер", "Другое"))

    stored = await read_stored(made, "offer", "flow")
    assert list_questions(olga) == []
    assert olga.has("Оттуда: steps.draft.name. Ваше: metadata.title.")
    assert "version: 2" in stored
    assert "Другое" in stored
    assert "name: Черновик" in stored


@pytest.mark.req("C-40")
async def test_data_that_came_over_http_are_merged_like_another_s_text(made: ConsoleWorld) -> None:
    """Without a text of their own; the comments of the page stay."""
    draft = await store(made, TEXT)
    olga, _ = await open_both(made)
    data = partial(read_document, dumps({**draft.document, "description": "Из программы"}), "json")
    await get_service(made).save(be(), "scenario", "hello", 1, Submission(read=data), expected=1)
    await save(olga, TEXT.replace("Здравствуйте", "Моё"))
    stored = await read_stored(made)
    assert "# Кто ведёт: продажи" in stored
    assert "Из программы" in stored
    assert "text: Моё" in stored


@pytest.mark.req("C-40")
async def test_a_text_that_cannot_be_read_is_not_merged_and_not_lost(made: ConsoleWorld) -> None:
    draft = await store(made, TEXT)
    olga, _ = await open_both(made)
    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(TEXT.replace("Здравствуйте", "Чужое")), expected=draft.revision)
    await type_text(olga, TEXT + "tri\n")
    await olga.visit.feed.refresh_all()
    await olga.press("Внести в мой текст")
    assert olga.has("Ваш текст сейчас нельзя прочитать")
    await olga.press("Вернуться к тексту")
    assert find_code(olga).value == TEXT + "tri\n"


@pytest.mark.req("C-40")
async def test_a_merge_with_mistakes_is_told_and_not_stored(made: ConsoleWorld) -> None:
    """One removes a step, the other leads to it: the text has both, the line is marked, and the next save goes on from there."""
    await store(made, TEXT)
    olga, vera = await open_both(made)
    await save(vera, TEXT[: TEXT.index("- id: bye")])
    await save(olga, TEXT.replace("- id: bye", "  next_step: bye\n- id: bye"))
    assert olga.has("Шага «bye» нет.")
    assert "next_step" not in await read_stored(made)
    await save(olga, find_code(olga).value.replace("next_step: bye", "next_step: null"))
    assert "next_step" in await read_stored(made)

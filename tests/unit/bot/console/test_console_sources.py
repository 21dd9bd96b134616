"""The text of an author in the console: what was typed is what stands there tomorrow, and what versions are compared by."""

from pathlib import Path

import pytest

from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, OpenPage
from tests.unit.bot.console.definitions_kit import HELLO, be, find_code, get_service, hand_in, store, type_text
from tests.unit.bot.console.form_kit import open_form

LEAD = (
    (Path(__file__).parents[4] / "engines/scenarios/examples/lead_qualification.yaml")
    .read_text(encoding="utf-8")
    .replace("PROCESSED", "JUNK")
)
"""The portal of these tests has no such stage."""
EDIT = "/definitions/scenario/hello/edit"
NOTED = HELLO.replace("params: {text: Здравствуйте}", "params: {text: Здравствуйте}  # просил Олег")


async def open_editor(made: ConsoleWorld, path: str = EDIT) -> OpenPage:
    page = await made.open(path, OLGA)
    await page.settle()
    return page


@pytest.mark.req("C-28", "S002-3")
async def test_a_text_is_the_same_after_it_was_saved_and_opened_again(made: ConsoleWorld) -> None:
    """Byte by byte, with its comments; a change in the form is one line of it."""
    await store(made)
    page = await open_editor(made)
    await type_text(page, LEAD)
    await page.press("Сохранить черновик")

    form = await open_form(made, "scenario", "hello")
    assert form.text == LEAD
    await form.press("1. which")
    await form.enter("Вопрос *", "Номер лида?")
    assert form.text == LEAD.replace(
        "prompt: Какой лид квалифицируем? Напишите его номер — он стоит в адресе карточки.", "prompt: Номер лида?"
    )


@pytest.mark.req("C-30", "C-31")
async def test_whoever_publishes_sees_that_only_comments_changed(made: ConsoleWorld) -> None:
    """The line with the comment is shown, and that nothing else is to be feared; a word more is another matter."""
    await store(made, publish=True)
    page = await open_editor(made)
    await type_text(page, NOTED)
    assert page.has("Не сохранено")
    await page.press("Сохранить черновик")
    await page.press("Опубликовать…")
    assert page.has("Изменились только комментарии")
    assert page.has("просил Олег")
    await page.press("Закрыть")

    await type_text(page, NOTED.replace("Здравствуйте", "Добрый день"))
    await page.press("Сохранить черновик")
    await page.press("Опубликовать…")
    assert len([one for one in page.read_texts() if "Изменились только комментарии" in one]) <= 1  # that of the dialog before
    assert page.has("Добрый день")


@pytest.mark.req("C-31", "C-40")
async def test_another_comment_of_somebody_else_is_news(made: ConsoleWorld) -> None:
    """Nobody publishes a comment that the page does not show."""
    draft = await store(made)
    page = await open_editor(made)
    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(NOTED), expected=draft.revision)
    await page.visit.feed.refresh_all()
    assert page.has("Уже не последняя")
    await page.press("Опубликовать…")
    assert not page.has("Публикация версии 1")


@pytest.mark.req("C-30")
async def test_versions_are_shown_and_compared_as_they_were_written(made: ConsoleWorld) -> None:
    await store(made)
    await store(made, NOTED.replace("Здравствуйте", "Добрый день"))
    page = await made.open("/definitions/scenario/hello?version=2", OLGA)
    assert find_code(page).value == NOTED.replace("Здравствуйте", "Добрый день")

    page = await made.open("/definitions/scenario/hello?before=1&after=2", OLGA)
    assert page.has("Строк добавлено: 1, убрано: 1")


@pytest.mark.req("S002-3")
async def test_something_new_begins_in_the_order_of_the_schema(made: ConsoleWorld) -> None:
    page = await open_editor(made, "/definitions/flow/new")
    names = [line.partition(":")[0] for line in str(find_code(page).value).splitlines() if line[:1].isalpha()]
    assert names[:2] == ["flowId", "metadata"]

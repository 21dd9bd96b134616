"""«Try it» beside the text plays the draft without any effect; differences of texts need no page."""

import time

import pytest

from bot.console.diffing import DiffLine, list_diff
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, OpenPage
from tests.unit.bot.console.definitions_kit import BROKEN, store, type_text

EDIT = "/definitions/scenario/hello/edit"
ASKS = """name: Вопрос
steps:
- id: who
  type: input
  params: {prompt: Как вас зовут?, input_variable: who}
- id: write
  type: bitrix_call
  params: {method: crm.deal.update, params: {id: 481, fields: {TITLE: "{who}"}}}
- id: bye
  type: message
  params: {text: "До свидания, {who}"}
"""


async def answer(page: OpenPage, label: str, text: str) -> None:
    """Type into the field that the trial shows, and go on."""
    await page.enter(label, text)
    await page.press("Дальше")


@pytest.mark.req("C-32")
async def test_the_text_is_played_as_it_stands_in_the_editor(made: ConsoleWorld) -> None:
    """It needs no saving; the question is answered, and what would be written is shown as a plan, with no call of the portal."""
    await store(made)
    page = await made.open(EDIT, OLGA)
    await type_text(page, ASKS)

    await page.press("Попробовать")
    assert page.has("Как вас зовут?")
    await answer(page, "Ответ", "Ольга")

    assert page.has("До свидания, Ольга")
    assert page.has("Было бы предложено")
    assert page.has("Дошло до конца")
    assert not made.world.portal.ledger  # the portal is asked for its lists only


@pytest.mark.req("C-32")
async def test_a_text_with_mistakes_is_not_played(made: ConsoleWorld) -> None:
    """What is wrong is shown in the place of the conversation."""
    await store(made)
    page = await made.open(EDIT, OLGA)
    await type_text(page, BROKEN)

    await page.press("Попробовать")

    assert page.has("Сначала исправьте ошибки:")
    assert not page.has("Здравствуйте\n")


@pytest.mark.req("C-32")
async def test_given_answers_are_played_and_their_mistakes_told(made: ConsoleWorld) -> None:
    """A file of tests answers before the author does; what is no such file is refused with what is wrong."""
    await store(made, ASKS)
    page = await made.open(EDIT, OLGA)

    await page.enter("Один тест: inputs, mocks, answers, parameters…", "dialogues:\n- {name: first, inputs: [Вера]}")
    await page.press("Попробовать")
    assert page.has("До свидания, Вера")

    await page.enter("Один тест: inputs, mocks, answers, parameters…", "input: [Вера]")
    await page.press("Сначала")
    assert page.has("Готовые ответы не подходят:")
    assert not page.has("До свидания, Вера")


@pytest.mark.req("C-32", "C-39")
async def test_hostile_answers_are_texts_in_the_trial(made: ConsoleWorld) -> None:
    """What is typed comes back as text."""
    await store(made, ASKS)
    page = await made.open(EDIT, OLGA)

    await page.press("Попробовать")
    await answer(page, "Ответ", "<img src=x onerror=alert(1)>")

    assert page.has("До свидания, <img src=x onerror=alert(1)>")
    assert not [one for one in page.elements if "innerHTML" in one.props]


@pytest.mark.req("C-32")
async def test_a_kind_that_goes_nowhere_has_no_trial(made: ConsoleWorld) -> None:
    """An agent alone is not played."""
    page = await made.open("/definitions/agent/new", OLGA)

    assert not page.has("Попробовать")


TWO = """name: Вопросы
steps:
- {id: one, type: input, params: {prompt: Первый?, input_variable: one, choices: [да, нет]}}
- {id: two, type: input, params: {prompt: Второй?, input_variable: two, choices: [да, нет]}}
- {id: bye, type: message, params: {text: "Ответы: {one} и {two}"}}
"""


@pytest.mark.req("C-32")
async def test_an_answer_that_is_pressed_twice_is_given_once(made: ConsoleWorld) -> None:
    """The second press of the same button does not answer the question that follows."""
    await store(made, TWO)
    page = await made.open(EDIT, OLGA)
    await page.press("Попробовать")
    await page.enter("Ответ", "да")
    button = page.find("Дальше")

    with page.visit.page:
        for one in [one for one in button._event_listeners.values() if one.type == "click"] * 2:
            button._handle_event({"listener_id": one.id, "args": {}})
    await page.settle()
    await answer(page, "Ответ", "нет")

    assert page.has("Ответы: да и нет")


@pytest.mark.req("C-32")
async def test_a_trial_goes_on_with_the_text_that_it_began_with_and_says_so(made: ConsoleWorld) -> None:
    """The text is changed and started anew while an answer is played: the answer belongs to the text whose question was shown."""
    await store(made, TWO)
    page = await made.open(EDIT, OLGA)
    await page.press("Попробовать")
    changed = "Текст с тех пор изменён"
    assert not [one for one in page.elements if changed in getattr(one, "text", "") and one.visible]

    await type_text(page, TWO.replace("Ответы:", "Иначе:"))
    assert [one for one in page.elements if changed in getattr(one, "text", "") and one.visible]
    await page.enter("Ответ", "да")
    buttons = [page.find("Дальше"), page.find("Сначала")]
    with page.visit.page:
        for button in buttons:
            for one in [one for one in button._event_listeners.values() if one.type == "click"]:
                button._handle_event({"listener_id": one.id, "args": {}})
    await page.settle()
    await answer(page, "Ответ", "нет")

    assert page.has("Ответы: да и нет")


TEXT = [f"line {number}" for number in range(20)]


@pytest.mark.req("C-30")
def test_a_difference_shows_changes_with_the_lines_around_them() -> None:
    """Each line has its numbers in both texts; what is equal and far away is left out, which a gap says."""
    after = [*TEXT[:10], "new", *TEXT[11:]]

    found = list(list_diff(TEXT, after))

    assert found[0] == DiffLine("gap", "")
    assert found[4:6] == [DiffLine("removed", "line 10", before=11), DiffLine("added", "new", after=11)]
    assert found[1] == DiffLine("same", "line 7", 8, 8)
    assert found[-2:] == [DiffLine("same", "line 13", 14, 14), DiffLine("gap", "")]


@pytest.mark.req("C-30")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], ["a"]),
        (["a"], []),
        (["a", "b"], ["b"]),
        (["b"], ["a", "b"]),
        (["a", "a"], ["a"]),
        (TEXT, [*TEXT, "end"]),
        (TEXT, ["begin", *TEXT]),
    ],
)
def test_a_difference_leads_from_one_text_to_the_other(before: list[str], after: list[str]) -> None:
    """All removed lines are of the one text and all added ones of the other, with the right numbers."""
    found = list(list_diff(before, after))

    assert all(before[one.before - 1] == one.text for one in found if one.before)
    assert all(after[one.after - 1] == one.text for one in found if one.after)
    removed, added = ([one for one in found if one.way == way] for way in ("removed", "added"))
    assert len(after) - len(before) == len(added) - len(removed)


@pytest.mark.req("C-30")
def test_equal_texts_differ_in_nothing_and_long_ones_take_no_long() -> None:
    """Two texts of 20,000 lines that differ throughout are compared in bounded time: compared line by line they take minutes."""
    assert not list(list_diff(TEXT, TEXT))
    before, after = ([f"{word} {number}" for number in range(20_000)] for word in ("old", "new"))
    began = time.monotonic()

    assert len(list(list_diff(before, after))) == len(before) + len(after)
    assert time.monotonic() - began < 30

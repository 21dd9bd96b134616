"""A trial may really ask the model and read the portal; it changes nothing, pays once, and can be kept as a test."""

import pytest
from nicegui import ui

from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.case_face import CASE_FACE
from engines.scenarios.playing import DialogueFile
from orchestrator.documents.reading import read_document
from orchestrator.features.budgets.model_budget import UsageReader
from orchestrator.rehearsals.script import find_shipped_classes
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, OpenPage
from tests.unit.bot.console.definitions_kit import store, type_text
from tests.unit.features.budgets.test_reservations import limit
from tests.unit.spine_kit import ANNA as ANNA_ACTOR
from tests.unit.spine_kit import NOW

EDIT = "/definitions/scenario/hello/edit"
ASKS = """name: Письмо
steps:
- {id: read, type: bitrix_call, params: {method: crm.deal.get, params: {id: 481}, output_var: deal}}
- {id: think, type: llm_request, params: {prompt: "Коротко о сделке «{deal.TITLE}»", output_var: told}}
- {id: write, type: bitrix_call, params: {method: crm.deal.update, params: {id: 481, fields: {COMMENTS: "{told}"}}}}
- {id: bye, type: message, params: {text: "Готово: {told}"}}
"""
CHAT = """name: Письмо
steps:
- {id: think, type: llm_request, params: {prompt: "Коротко о сделке", output_var: told}}
- {id: bye, type: message, params: {text: "Готово: {told}"}}
"""
SAID = "Ждут скидку"


async def count_tokens(made: ConsoleWorld) -> int:
    """Those of Olga's month."""
    totals = await UsageReader(made.world.store, lambda: NOW).refresh(NOW)
    return sum(sum(used) for used in totals.sum_by_model(f"employee:{OLGA.bitrix_user_id}", 202611).values())


def count_reads(made: ConsoleWorld) -> int:
    return sum(method == "crm.deal.get" or "crm.deal.get" in str(params) for method, params in made.world.portal.requests)


async def begin(made: ConsoleWorld, text: str = ASKS) -> OpenPage:
    await store(made, text)
    page = await made.open(EDIT, OLGA)
    await page.press("Попробовать")
    return page


async def test_the_portal_and_the_model_are_asked_on_a_press_and_nothing_is_written(made: ConsoleWorld) -> None:
    """The prompt has the title that the portal has; what would be written is a plan; the tokens count for who tries."""
    made.world.model.will(SAID)
    page = await begin(made)
    await page.press("Прочитать в портале")
    title = made.world.portal.records["deal", 481]["TITLE"]
    assert page.has(f"Коротко о сделке «{title}»")
    await page.press("Спросить модель")
    assert page.has(f"Готово: {SAID}")
    assert page.has("Было бы предложено")
    assert not made.world.portal.ledger
    assert await count_tokens(made) == 15


async def test_the_same_question_is_not_asked_twice_and_another_one_is(made: ConsoleWorld) -> None:
    """A trial from the beginning asks nobody; once the prompt says something else, the model is asked for it."""
    made.world.model.will(SAID, "Ждут звонка")
    page = await begin(made)
    await page.press("Прочитать в портале")
    await page.press("Спросить модель")
    await page.press("Сначала")
    assert page.has(f"Готово: {SAID}")
    await type_text(page, ASKS.replace("Коротко о", "Одной строкой о"))
    await page.press("Сначала")
    assert not page.has(f"Готово: {SAID}")
    await page.press("Спросить модель")
    assert page.has("Готово: Ждут звонка")
    assert (len(made.world.model.prompts), count_reads(made)) == (2, 1)


async def test_what_was_given_can_be_forgotten(made: ConsoleWorld) -> None:
    made.world.model.will(SAID, "Ждут звонка")
    page = await begin(made, CHAT)
    await page.press("Спросить модель")
    await page.press("Забыть ответы модели и портала")
    await page.press("Сначала")
    await page.press("Спросить модель")
    assert page.has("Готово: Ждут звонка")


async def test_a_model_that_answers_by_itself_is_asked_without_a_press(made: ConsoleWorld) -> None:
    made.world.model.will(SAID)
    await store(made, CHAT)
    page = await made.open(EDIT, OLGA)
    await page.enter("Модель отвечает сама", value=True)
    await page.press("Попробовать")
    assert page.has(f"Готово: {SAID}")


async def test_with_the_budget_used_up_the_model_is_not_asked(made: ConsoleWorld) -> None:
    """A sentence says so, and the author can still answer for it."""
    made.world.model.will(SAID)
    limit(made.world, 10)
    page = await begin(made, CHAT)
    await page.press("Спросить модель")
    await page.press("Забыть ответы модели и портала")
    await page.press("Сначала")
    await page.press("Спросить модель")
    assert page.has("лимит на модель")
    assert len(made.world.model.prompts) == 1
    await page.enter("Ответ модели", "Сам отвечу")
    await page.press("Дальше")
    assert page.has("Готово: Сам отвечу")


async def test_a_read_that_is_refused_is_told_and_can_be_given(made: ConsoleWorld) -> None:
    """There is no such deal."""
    page = await begin(made, ASKS.replace("481", "999999"))
    await page.press("Прочитать в портале")
    assert page.has("Портал не прочитан")
    assert page.has("Что он вернёт?")


async def test_the_portal_is_read_as_this_person(made: ConsoleWorld) -> None:
    """Who sees only their own deals does not get that of a colleague."""
    made.world.portal.records["deal", 481]["ASSIGNED_BY_ID"] = "8"
    read = {
        sees: await made.console.services.open_live_trial(ANNA_ACTOR.model_copy(update={"sees": sees})).read("crm.deal.get", {"id": 481})
        for sees in ("own", "all")
    }
    assert {sees: outcome.status for sees, outcome in read.items()} == {"own": "refused", "all": "succeeded"}


async def test_nothing_but_reads_is_done_for_a_trial(made: ConsoleWorld) -> None:
    """Whatever a definition says of itself."""
    live = made.console.services.open_live_trial(ANNA_ACTOR)
    outcome = await live.read("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}})
    assert outcome.status == "refused"
    assert not made.world.portal.ledger


async def test_a_trial_is_kept_as_a_test_that_asks_nobody(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that is downloaded is played with the answers that were really given, and comes as it expects."""
    files: dict[str, str] = {}
    monkeypatch.setattr(ui.download, "content", lambda text, name: files.update({name: text}))
    made.world.model.will(SAID)
    page = await begin(made)
    await page.press("Прочитать в портале")
    await page.press("Спросить модель")
    await page.press("Сохранить как тест")
    assert list(files) == ["hello.test.yaml"]
    cases = read_document(files["hello.test.yaml"], "yaml").require_document().data
    (case,) = DialogueFile.model_validate(cases).dialogues
    assert case.mocks["think"] == SAID
    assert case.expect.messages == [f"Готово: {SAID}"]
    assert [effect.method for effect in case.expect.effects or ()] == ["crm.deal.get", "crm.deal.update"]
    face = find_part_of_kind(CASE_FACE, "scenario")
    assert face is not None
    playable = face.build("hello", read_document(ASKS, "yaml").require_document().data, {})
    assert [played.differences async for played in face.play_cases(playable, cases, find_shipped_classes)] == [[]]

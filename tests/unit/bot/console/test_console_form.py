"""The form in the editor: it and the text are two views of one document."""

import asyncio
from itertools import pairwise

import pytest
from nicegui import background_tasks, ui

from bot.console.definitions import document
from orchestrator.definitions.rules import Editor
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld
from tests.unit.bot.console.form_kit import OpenForm, open_form, publish, wait_for

WRITER = """title: Автор писем
systemPrompt: Ты пишешь письма клиентам.
defaultOptions: {temperature: 0.4}
"""
FLOW = """flowId: letters
metadata: {title: Письма}
steps:
- {id: draft, agentVersionId: writer, transitions: {onSuccess: {next: review}}, ours: {kept: true}}
- {id: review, name: Проверка, agentVersionId: writer}
"""
SCENARIO = """name: Привет
steps:
- {id: ask, type: input, params: {prompt: Как вас зовут?, input_variable: who}}
- {id: bye, type: message, params: {text: Пока}}
"""
TUUM = """tuumId: letter
outputMappings: {letter: ai_final_output}
promptRunes:
- {runeType: prompt, role: System, template: Пиши письмо}
aiService: tool
"""
HOSTILE = "<img src=x onerror=alert(1)> **x** \u202egnp"


async def open_flow(made: ConsoleWorld) -> OpenForm:
    """Open the form of a flow of two steps, its first step open."""
    await publish(made, "agent", "writer", WRITER)
    await publish(made, "flow", "letters", FLOW)
    form = await open_form(made, "flow", "letters")
    await form.press("1. draft")
    return form


@pytest.mark.req("S002-53", "S002-55", "C-26")
async def test_what_is_typed_into_the_form_stands_in_the_text(made: ConsoleWorld) -> None:
    """A prompt, a number and a fixed entry of memory enter the text, and what the form does not know stays there."""
    form = await open_flow(made)

    await form.enter("Задание", "Пиши коротко")
    await form.enter("Попыток", "3")
    await form.press("Писать ещё в канал")
    await form.enter("Канал *", "drafts")
    await form.enter("Что записать", "STATIC")
    await form.enter("Постоянная запись", '{"event": 1}')

    step = form.data["steps"][0]
    assert (step["prompt"], step["maxAttempts"], step["ours"]) == ("Пиши коротко", 3, {"kept": True})
    assert step["memoryWrites"] == [{"channel": "drafts", "mode": "STATIC", "payload": {"event": 1}}]
    assert form.page.has("Не сохранено")


@pytest.mark.req("S002-54", "C-26")
async def test_agents_are_chosen_among_published_ones(made: ConsoleWorld) -> None:
    """The dropdown has key, title and version of published agents that are on; the one that is chosen is stored by its UUID."""
    other = await publish(made, "agent", "critic", "systemPrompt: Ты придираешься.\ntitle: Критик\n")
    off = await publish(made, "agent", "gone", "systemPrompt: x\n")
    service, olga = made.console.services.definitions, Editor(actor=OLGA.to_actor(), via="http")
    head = await service.find_key(olga, "agent", off.key)
    await service.switch(olga, "agent", off.key, enabled=False, expected=head.revision)
    form = await open_flow(made)

    offered = list(form.list_fields("Агент *")[0].options.values())
    await form.enter("Агент *", other.id)

    assert offered == ["Автор писем · writer · версия 1", "Критик · critic · версия 1"]
    assert form.data["steps"][0]["agentVersionId"] == other.id
    assert "Ты придираешься." in form.list_fields("Задание")[0].props["hint"]


@pytest.mark.req("C-26", "S002-53")
async def test_transitions_are_chosen_among_the_steps(made: ConsoleWorld) -> None:
    """Where a step leads is a dropdown of the present steps and the end; a broken way is said there, and mended there."""
    form = await open_flow(made)
    await form.type_text(form.text.replace("next: review", "next: nowhere"))

    way = form.list_fields("После ответа")[0]
    assert list(way.options) == ["", "draft", "review", "nowhere"]
    assert "Шага «nowhere» нет." in form.list_messages()

    await form.enter("После ответа", "review")
    assert form.data["steps"][0]["transitions"] == {"onSuccess": {"next": "review"}}
    assert not [one for one in form.list_messages() if one.startswith("Шага")]

    await form.enter("После ответа", "")
    assert "transitions" not in form.data["steps"][0]


@pytest.mark.req("C-26", "S002-53")
async def test_a_chosen_next_step_takes_the_end_away(made: ConsoleWorld) -> None:
    """A step that ended the flow leads to the one that was chosen, and ends it no longer."""
    form = await open_flow(made)
    await form.type_text(form.text.replace("{next: review}", "{complete: true}"))

    await form.enter("После ответа", "review")

    assert form.data["steps"][0]["transitions"] == {"onSuccess": {"next": "review"}}


@pytest.mark.req("S002-50", "C-26")
@pytest.mark.parametrize(
    ("label", "typed", "said"),
    [
        ("Попыток", "два", "Нужно целое число"),
        ("Свобода ответа, 0–2", "3", "Не больше 2"),
        ("Постоянная запись", "{\n  onSuccess: 1}", "Строка 2, знак 3"),
    ],
)
async def test_numbers_and_json_are_checked_while_they_are_typed(made: ConsoleWorld, label: str, typed: str, said: str) -> None:
    """What does not fit is said at the field, stays there as it was typed, and does not enter the text."""
    form = await open_flow(made)
    await form.press("Настройки модели")
    await form.press("Писать ещё в канал")
    before = form.text

    await form.enter(label, typed)

    assert any(one.startswith(said) for one in form.list_messages())
    assert form.list_fields(label)[0].value == typed
    assert form.text == before


@pytest.mark.req("C-26")
async def test_steps_are_added_moved_and_removed(made: ConsoleWorld) -> None:
    """The text has the steps in the order of the form."""
    form = await open_flow(made)

    await form.press("Добавить шаг")
    assert [one["id"] for one in form.data["steps"]] == ["draft", "review", "step3"]
    assert form.data["steps"][1]["transitions"] == {"onSuccess": {"next": "step3"}}
    await form.press("Поднять: 3")
    assert [one["id"] for one in form.data["steps"]] == ["draft", "step3", "review"]
    await form.press("Удалить: 1")
    assert [one["id"] for one in form.data["steps"]] == ["step3", "review"]


@pytest.mark.req("C-26")
async def test_what_is_typed_into_the_text_is_shown_in_the_form(made: ConsoleWorld) -> None:
    """A name, and a step that is new, are in the form after the check of the text; what is typed into another field stays."""
    form = await open_flow(made)
    await form.enter("Попыток", "два")

    await form.type_text(form.text.replace("title: Письма", "title: Послания") + "- {id: third, agentVersionId: writer}\n")

    assert form.list_fields("Название")[1].value == "Послания"
    assert form.page.has("3. third")


@pytest.mark.req("C-26")
async def test_a_text_that_cannot_be_read_keeps_the_form_away(made: ConsoleWorld) -> None:
    """A sentence says where the text is wrong; when it is mended the form is there again."""
    form = await open_flow(made)
    good = form.text

    await form.type_text(good + "oops: [1\n")
    assert form.page.has("Форма ждёт: текст сейчас не читается")
    await form.enter("Ключ потока *", "other")
    assert form.text == good + "oops: [1\n"

    await form.type_text(good)
    assert not form.page.has("Форма ждёт")
    assert form.list_fields("Ключ потока *")[0].value == "letters"


@pytest.mark.req("C-26")
async def test_a_form_takes_the_text_as_it_is_now(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the form is made in the newest text, also in one that was not checked yet."""
    form = await open_flow(made)
    monkeypatch.setattr(document.EditedDocument, "check_soon", lambda _: None)
    await form.type_text(form.text.replace("name: Проверка", "name: Вычитка"))

    await form.enter("Попыток", "2")

    assert form.data["steps"][1]["name"] == "Вычитка"
    assert form.data["steps"][0]["maxAttempts"] == 2


@pytest.mark.req("C-26")
async def test_the_form_changes_its_line_alone(made: ConsoleWorld) -> None:
    """Comments, order and blank lines stay, also when an element is added, moved and removed again."""
    await publish(made, "scenario", "hello", SCENARIO)
    form = await open_form(made, "scenario", "hello")
    before = "# why\n" + form.text.replace("- {id: bye", "\n# the end\n- {id: bye")
    await form.type_text(before)

    await form.press("1. ask")
    await form.enter("Вопрос *", "Ваше имя?")
    assert form.text == before.replace("prompt: Как вас зовут?", 'prompt: "Ваше имя?"')
    changed = form.text

    await form.press("Добавить шаг")
    assert form.text.startswith(changed)
    await form.press("Удалить")
    assert form.text == changed


@pytest.mark.req("C-27")
async def test_a_step_of_a_scenario_has_the_fields_of_its_type(made: ConsoleWorld) -> None:
    """A question has a prompt and bounds; when the step is made a pause it has seconds instead."""
    await publish(made, "scenario", "hello", SCENARIO)
    form = await open_form(made, "scenario", "hello")
    await form.press("1. ask")

    await form.enter("Вопрос *", "Ваше имя?")
    await form.enter("Следующий шаг", "bye")
    await form.enter("Что делает шаг *", "wait")
    await form.enter("Сколько секунд ждать *", "60")

    step = form.data["steps"][0]
    assert (step["type"], step["next_step"]) == ("wait", "bye")
    assert step["params"] == {"prompt": "Ваше имя?", "input_variable": "who", "seconds": 60}
    assert form.list_fields("Вопрос *") == []


@pytest.mark.req("C-27")
async def test_a_rune_and_an_agent_have_forms(made: ConsoleWorld) -> None:
    """The template of a prompt rune and the instructions of an agent are typed in the form, and runes are added."""
    await publish(made, "tuum", "letter", TUUM)
    await publish(made, "agent", "writer", WRITER)
    tuum = await open_form(made, "tuum", "letter")
    await tuum.press("Пиши письмо")
    await tuum.enter("Текст *", "Пиши {{tone}}")
    await tuum.press("Добавить руну", -1)
    agent = await open_form(made, "agent", "writer")
    await agent.enter("Инструменты, по одному в строке", "rag_search\ncalculate")

    assert tuum.data["promptRunes"] == [{"runeType": "prompt", "role": "System", "template": "Пиши {{tone}}"}]
    assert tuum.data["runes"] == [{"runeType": "prompt", "template": ""}]
    assert agent.data["tools"] == ["rag_search", "calculate"]


@pytest.mark.req("C-39", "C-26")
async def test_hostile_text_is_text_in_the_form(made: ConsoleWorld) -> None:
    """Names of steps, titles of agents and values with markup stand in the form as text; long ones are cut where they are titles."""
    await publish(made, "agent", "writer", f"systemPrompt: x\ntitle: '{HOSTILE}'\n")
    long = "я" * 5000
    await publish(made, "flow", "letters", FLOW.replace("Письма", f"'{HOSTILE}'").replace("name: Проверка", f"prompt: '{HOSTILE}{long}'"))
    form = await open_form(made, "flow", "letters")
    await form.press("2. review")

    assert form.list_fields("Название")[1].value == HOSTILE
    assert any(HOSTILE in one for one in form.list_fields("Агент *")[0].options.values())
    assert form.list_fields("Задание")[0].value == HOSTILE + long
    kinds = {type(one).__name__ for one in form.page.elements}
    assert not kinds & {"Html", "Markdown", "InteractiveImage"}
    assert HOSTILE not in form.page.html


@pytest.mark.long
@pytest.mark.req("C-26")
async def test_a_large_flow_has_a_small_form(made: ConsoleWorld) -> None:
    """Steps are drawn when they are opened: a form of 400 steps has few elements for each."""
    await publish(made, "agent", "writer", WRITER)
    steps = "".join(f"- {{id: s{number}, agentVersionId: writer}}\n" for number in range(400))
    await publish(made, "flow", "large", f"flowId: large\nsteps:\n{steps}")
    form = await open_form(made, "flow", "large")

    assert len(form.page.elements) < 400 * 20
    await form.press("400. s399")
    assert len(form.list_fields("Задание")) == 1


@pytest.mark.long
@pytest.mark.req("C-26")
async def test_a_large_form_is_drawn_with_pauses(made: ConsoleWorld) -> None:
    """Whoever else works at that moment is served between any few steps of 400."""
    await publish(made, "agent", "writer", WRITER)
    steps = "".join(f"- {{id: s{number}, agentVersionId: writer}}\n" for number in range(400))
    await publish(made, "flow", "large", f"flowId: large\nsteps:\n{steps}")
    page = await made.open("/definitions/flow/large/edit", OLGA)
    await page.settle()
    counts: list[int] = []

    async def count() -> None:
        while True:
            counts.append(len(page.elements))
            await asyncio.sleep(0)

    other = asyncio.create_task(count())
    next(one for one in page.elements if isinstance(one, ui.tabs)).set_value("form")
    await page.settle()
    other.cancel()

    assert counts[-1] > counts[0] + 400 * 5
    assert max(after - before for before, after in pairwise(counts)) < 400


ROUTES = """flowId: letters
startStepId: draft
memory: {sharedChannels: [{id: notes}]}
steps:
- {id: draft, agentVersionId: writer, memoryWrites: [{channel: notes}], transitions: {onSuccess: {next: review}}}
- {id: review, agentVersionId: writer, memoryReads: [{channel: notes}], transitions: {onFailure: {next: draft}}}
outputs:
  resultPayload: {letter: $steps.draft.output.content, told: steps.draft.output is no path}
  summaryFields: [steps.draft.output.content]
"""


async def open_routes(made: ConsoleWorld) -> OpenForm:
    """Open the form of a flow whose first step is named everywhere, that step open."""
    await publish(made, "agent", "writer", WRITER)
    await publish(made, "flow", "letters", ROUTES)
    form = await open_form(made, "flow", "letters")
    await form.press("1. draft")
    return form


@pytest.mark.req("C-26")
async def test_what_names_a_step_follows_its_new_name(made: ConsoleWorld) -> None:
    """Ways, the first step and the parts of the result name the step as it is called now, and the form says how many did."""
    form = await open_routes(made)

    await form.enter("Ключ шага *", "letter")

    data = form.data
    assert (data["startStepId"], data["steps"][1]["transitions"]["onFailure"]["next"]) == ("letter", "letter")
    assert data["outputs"]["resultPayload"] == {"letter": "$steps.letter.output.content", "told": "steps.draft.output is no path"}
    assert data["outputs"]["summaryFields"] == ["steps.letter.output.content"]
    assert any(one.endswith("ссылались: 4") for one in form.list_messages())


@pytest.mark.req("C-26")
async def test_a_name_that_is_typed_through_another_one_takes_only_its_own_ways(made: ConsoleWorld) -> None:
    """On its way from draft to reviews the step is called review for a moment, as the other one is: that one keeps what names it."""
    form = await open_routes(made)

    for typed in ("review", "", "reviews"):
        await form.enter("Ключ шага *", typed)

    data = form.data
    assert data["startStepId"] == "reviews"
    assert data["steps"][0]["transitions"]["onSuccess"]["next"] == "review"
    assert data["steps"][1]["transitions"]["onFailure"]["next"] == "reviews"


@pytest.mark.req("C-26")
async def test_memory_follows_the_new_name_of_its_channel(made: ConsoleWorld) -> None:
    """Steps read and write the channel under the name that it has now."""
    form = await open_routes(made)
    await form.press("Память", 0)
    await form.press("1. notes")

    await form.enter("Ключ канала *", "drafts")

    steps = form.data["steps"]
    assert (steps[0]["memoryWrites"], steps[1]["memoryReads"]) == ([{"channel": "drafts"}], [{"channel": "drafts"}])


@pytest.mark.req("C-27")
async def test_branches_and_answers_of_a_scenario_follow_a_new_name(made: ConsoleWorld) -> None:
    """All that leads to the step leads to it still."""
    text = """name: Выбор
steps:
- {id: ask, type: input, params: {prompt: 'Да?', input_variable: a, only_buttons: true, choices: [да, нет], next_step_map: {да: bye}}}
- {id: which, type: branch, condition: a == 1, branches: {if: bye, else: ask}}
- {id: bye, type: message, params: {text: Пока}}
"""
    await publish(made, "scenario", "choice", text)
    form = await open_form(made, "scenario", "choice")
    await form.press("3. bye")

    await form.enter("Ключ шага", "end")

    steps = form.data["steps"]
    assert steps[0]["params"]["next_step_map"] == {"да": "end"}
    assert steps[1]["branches"] == {"if": "end", "else": "ask"}


@pytest.mark.req("C-26", "C-40")
async def test_a_step_that_was_removed_is_brought_back(made: ConsoleWorld) -> None:
    """The form says who still leads to it; the button puts it where it was, with all that stood in it."""
    form = await open_routes(made)
    before = form.data

    await form.press("Удалить: 1", 0)
    assert form.page.has("Удалено: draft. На это ещё ссылаются: …, review")
    await form.press("Вернуть")

    assert form.data == before
    assert not form.page.has("Удалено: draft")


@pytest.mark.req("C-26", "C-40")
async def test_what_a_field_has_not_taken_outlasts_folding_and_moving(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON with a mistake stands in its field, with the mistake, after its step was moved and folded; saving says that it was left out."""
    told: list[str] = []
    monkeypatch.setattr(ui, "notify", lambda said, **_: told.append(said))
    form = await open_flow(made)
    await form.press("Писать ещё в канал")
    await form.enter("Канал *", "drafts")
    known = form.list_messages()
    await form.enter("Постоянная запись", "{oops")
    before = [one for one in form.list_messages() if one not in known]
    assert before

    await form.press("Опустить: 1")
    [field] = form.list_fields("Постоянная запись")
    assert field.value == "{oops"
    assert before[0] in form.list_messages()

    await form.press("Сохранить черновик")
    assert "oops" not in form.text
    assert any("поле формы сохранено прежним" in one for one in told), told


@pytest.mark.req("C-26", "C-31")
async def test_what_was_typed_into_the_form_is_saved_by_the_press_that_follows(made: ConsoleWorld) -> None:
    """The text of a field takes a moment to enter the document; whoever presses "save" right after it saves it."""
    form = await open_flow(made)
    button = form.page.find("Сохранить черновик")

    before = set(background_tasks.running_tasks)
    form.list_fields("Задание")[0].set_value("Пиши коротко")
    with form.page.visit.page:
        for one in [one for one in button._event_listeners.values() if one.type == "click"]:
            button._handle_event({"listener_id": one.id, "args": {}})
    await wait_for(before)

    stored = await made.console.services.definitions.find_version(Editor(actor=OLGA.to_actor(), via="http"), "flow", "letters")
    assert stored.document["steps"][0]["prompt"] == "Пиши коротко"

"""Runs in the console: the list, and one run with its graph, its nodes, its questions and its orders."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from bot.console.canvas import Canvas
from bot.console.runs.controls import Controls, OpenWaits, WaitsView
from bot.console.runs.list_page import PAGE
from bot.console.runs.watch import RunWatch
from bot.console.runs.words import say_failure
from bot.http_api.runs.run_models import Person, RunError, Wait
from engines.flows.run_face import RUN_FACE
from orchestrator.domain.errors import ModelClientError
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, OpenPage
from tests.unit.bot.console.runs_kit import HOSTILE, a_console_of_runs, asking, find_boxes, list_rows, start_run, workflow
from tests.unit.engines.flows import flow_kit
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import press, until

QUESTION = {"name": "client", "type": "string", "description": "Для кого?"}
TWO = workflow(
    asking("draft", "Напиши письмо для {{client}}", "letter"),
    asking("check", "Проверь: {{letter}}", "checked"),
    triggerParameters=[QUESTION],
    terminal={"rawText": "checked"},
)


def list_marks(page: OpenPage) -> list[str]:
    """The steps of the canvas that are marked, with how they stand."""
    return [f"{box['title']}: {box['mark']['style']}" for box in find_boxes(page) if box["mark"]]


async def answer(page: OpenPage, text: str) -> None:
    """Answer the question of the run on the page."""
    await page.enter("Ваш ответ", text)
    await page.press("Ответить")


@contextmanager
def heard(page: OpenPage) -> Iterator[list[str]]:
    """What the page says in passing within the block."""
    said: list[str] = []
    with patch("nicegui.ui.notify", lambda text, **_: said.append(text)):
        yield said
    assert page.elements


@pytest.mark.req("C-33")
async def test_steps_light_up_while_a_run_works(tmp_path: Path) -> None:
    """The question of a run is answered on its page, and the marks of the graph follow what happens."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Письмо", "Проверено")
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        assert page.has("Для кого?")
        assert not list_marks(page)

        await answer(page, "Ромашка")
        await made.world.idle()
        await made.tell_change()

        assert list_marks(page) == ["draft: done", "check: done"]
        assert page.has("Проверено")
        assert not page.has("Ваш ответ")


@pytest.mark.req("C-34")
async def test_a_node_shows_prompt_answer_tokens_and_where_it_comes_from(tmp_path: Path) -> None:
    """The panel of a step says what the model was given and answered, what that used, and whose words are in it."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Письмо", "Проверено")
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        await answer(page, "Ромашка")
        await made.world.idle()
        await made.tell_change()

        await page.press("check, готово")

        for text in ("Проверь: Письмо", "Проверено", "прочитано 10, написано 5", "слова человека", "ответ модели"):
            assert page.has(text), text


@pytest.mark.req("C-35")
async def test_a_run_is_paused_resumed_and_cancelled_after_a_question(tmp_path: Path) -> None:
    """Each order asks first; only then it is given, and the run says so."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        for order, status in (("Пауза", "paused"), ("Продолжить", "waiting"), ("Отменить", "cancelled")):
            before = list_rows(made)[0].status
            await page.press(order)
            assert list_rows(made)[0].status == before

            await page.press(order)
            await made.tell_change()

            assert list_rows(made)[0].status == status
        assert [one.data["node"] for one in events(made.world, "RunWaits", key=f"run:{run}") if one.data["on"] == "pause"] == [""]


@pytest.mark.req("C-35")
async def test_a_failed_run_goes_on_from_the_step_that_failed(tmp_path: Path) -> None:
    """The retry asks the model only for what failed."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Письмо", ModelClientError("down"))
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        await answer(page, "Ромашка")
        await made.world.idle()
        await made.tell_change()
        assert list_marks(page) == ["draft: done", "check: failed"]
        assert page.has("Шаг «check» не выполнен.")
        for path in ("/runs", "/"):
            assert (await made.open(path, ANNA)).has("Шаг «check» не выполнен."), path

        made.world.model.will("Проверено")
        await page.press("Повторить отсюда")
        await page.press("Повторить отсюда")
        await made.world.idle()
        await made.tell_change()

        assert list_marks(page) == ["draft: done", "check: done"]
        assert len(made.world.model.prompts) == 3


@pytest.mark.req("C-35")
async def test_an_order_that_comes_too_late_says_why(tmp_path: Path) -> None:
    """A page that has not noticed the end of its run gives an order that is refused in words."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        stale, page = await made.open(f"/runs/{run}", ANNA), await made.open(f"/runs/{run}", ANNA)
        for _ in range(2):
            await page.press("Отменить")

        with heard(stale) as said:
            for _ in range(2):
                await stale.press("Отменить")

        assert said == ["Поздно: запуск уже в другом состоянии."]


@pytest.mark.req("C-36")
async def test_a_run_shows_its_cost_so_far(tmp_path: Path) -> None:
    """Tokens and money stand in the head of the page, by the prices of the policy."""
    budget = {"prices": {"scripted": {"input": "100000", "output": "200000"}}}
    async with a_console_of_runs(tmp_path, {"plan": TWO}, policy={"budget": budget}) as made, made.world.working():
        made.world.model.will("Письмо", "Проверено")
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        assert page.has("0\u00a0₽")
        await answer(page, "Ромашка")
        await made.world.idle()
        await made.tell_change()

        assert page.has("4\u00a0₽")
        assert page.has("30")


@pytest.mark.req("C-33", "C-41")
async def test_a_run_of_somebody_else_is_as_one_that_does_not_exist(tmp_path: Path) -> None:
    """A manager gets the same page for a colleague's run and for no run; nothing of it stands in the answer."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        other, none = await made.open(f"/runs/{run}", BORIS), await made.open("/runs/0190aaaa-0000-7000-8000-00000000ffff", BORIS)
        listed = await made.open("/runs", BORIS)

        assert other.read_texts() == none.read_texts()
        assert not listed.has("Досье")
        assert "Досье" not in (await made.get(f"/runs/{run}", BORIS)).text


@pytest.mark.req("C-33")
async def test_a_head_of_sales_sees_where_a_run_stands_and_not_its_words(tmp_path: Path) -> None:
    """Questions, prompts, answers and results of a colleague's run are for administrators; its status is for the head of sales, too."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Тайное письмо", "Тайно проверено")
        run = await start_run(made)
        asked = await made.open(f"/runs/{run}", VERA)
        await answer(await made.open(f"/runs/{run}", ANNA), "Ромашка")
        await made.world.idle()
        lead, admin = await made.open(f"/runs/{run}", VERA), await made.open(f"/runs/{run}", OLGA)
        for page in (lead, admin):
            await page.press("check, готово")

        assert not asked.has("Для кого?")
        assert lead.has("готово")
        assert not [text for text in lead.read_texts() if "айн" in text or "Ромашка" in text]
        assert admin.has("Тайно проверено")


@pytest.mark.req("C-33", "S003-68", "S003-70")
async def test_what_a_workflow_shows_stands_on_the_page_while_it_runs(tmp_path: Path) -> None:
    """The text comes with its request and whether it is complete, its blocks drawn, its options as buttons where the run waits for them."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        content = "Итак [YAE-BLOCK:table]Имя|Сумма\nРомашка|100[/YAE-BLOCK][YAE-BLOCK:deal]481[/YAE-BLOCK]"
        update = {"Content": content, "UpdateMode": "FullSnapshot", "RequestId": run, "StreamingStatus": "Streaming"}
        made.world.tools.progress.show_patch(f"run:{run}", {"displayUpdate": update})
        more = {**update, "Content": "[YAE-BLOCK:quote]Конец[/YAE-BLOCK]", "UpdateMode": "Incremental", "IncrementalType": None}
        made.world.tools.progress.show_patch(f"run:{run}", {"displayUpdate": more})
        await made.tell_change()

        for text in ("Итак", "Ромашка", "Сделка № 481", "Конец", f"запрос {run}", "текст идёт"):
            assert page.has(text), text
        assert not page.has("YAE-BLOCK")


@pytest.mark.req("C-33")
async def test_the_answer_of_the_model_streams_in(tmp_path: Path) -> None:
    """While the model answers, what it has written so far stands on the page of whoever may read it."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        page, lead = await made.open(f"/runs/{run}", ANNA), await made.open(f"/runs/{run}", VERA)
        made.world.tools.progress.show_draft(f"run:{run}", "draft/ai", "Уважаемая")
        await until(lambda: page.has("Уважаемая"))
        made.world.tools.progress.show_draft(f"run:{run}", "draft/ai", "")
        await until(lambda: not page.has("Уважаемая"))

        assert not lead.has("Уважаемая")


@pytest.mark.long
@pytest.mark.req("C-33")
async def test_runs_are_listed_page_by_page_with_filters(tmp_path: Path) -> None:
    """The newest come first; a page ends with a link to the next, and filters keep what does not fit away."""
    async with a_console_of_runs(tmp_path, {"plan": TWO, "other": {**TWO, "metadata": {"title": "Другое"}}}) as made, made.world.working():
        for number in range(1, PAGE + 1):
            made.world.clock.advance(timedelta(seconds=1))
            await start_run(made, number=number)
        made.world.clock.advance(timedelta(seconds=1))
        await start_run(made, "other", number=PAGE + 1)
        first = await made.open("/runs", ANNA)
        [following] = [one.props["href"] for one in first.elements if getattr(one, "text", "") == "Дальше →"]
        second = await made.open(following, ANNA)

        assert (first.read_texts().count("Досье"), first.read_texts().count("Другое")) == (PAGE - 1, 1)
        assert (second.read_texts().count("Досье"), second.has("Дальше →")) == (1, False)
        assert not (await made.open("/runs?status=done", ANNA)).has("Досье")
        assert not (await made.open("/runs?engine=flow", ANNA)).has("Досье")
        only = await made.open("/runs?engine=workflow&definition=other", ANNA)
        assert (only.has("Другое"), only.has("Досье"), only.has("Только «other»")) == (True, False, True)
        assert (await made.open("/runs?definition=%3Cb%3E", ANNA)).has("Досье")
        assert (await made.open("/runs?engine=workflow&status=waiting&mine=1", ANNA)).has("Другое")
        assert not (await made.open("/runs?mine=1", OLGA)).has("Досье")
        assert (await made.open("/runs?cursor=wrong", OLGA)).has("Досье")


@pytest.mark.req("C-33")
async def test_a_run_is_started_with_the_declared_parameters(tmp_path: Path) -> None:
    """A field that must be filled says so; then the run begins with what was given, once."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Письмо", "Проверено")
        page = await made.open("/runs", ANNA)
        await page.press("Новый запуск")
        await page.enter("Что запустить", "workflow/plan")
        await page.press("Запустить")
        assert not list_rows(made)

        await page.enter("Для кого?", "Ромашка")
        for _ in range(2):
            await page.press("Запустить")
        await made.world.idle()

        [row] = list_rows(made)
        assert (row.owner, row.status) == ("tg:1007", "done")
        assert "Ромашка" in str(made.world.model.prompts[0])


@pytest.mark.req("C-33", "C-39", "C-4")
async def test_hostile_text_of_a_run_is_text(tmp_path: Path) -> None:
    """Names of steps, answers and results stand on the page as they were written, cut, and go to the canvas as data."""
    odd = asking("odd", HOSTILE + " {{client}}", "letter", metadata={"title": HOSTILE})
    document = workflow(odd, triggerParameters=[QUESTION], metadata={"title": HOSTILE}, terminal={"rawText": "letter"})
    async with a_console_of_runs(tmp_path, {"plan": document}) as made, made.world.working():
        made.world.model.will(HOSTILE + "x" * 300_000)
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        await answer(page, HOSTILE)
        await made.world.idle()
        await made.tell_change()
        [step] = [one for one in page.elements if str(one.props.get("aria-label", "")).startswith("<img")]
        await page.act(step, "click")

        assert [box["title"] for box in find_boxes(page)][1] == "<img src=x onerror=alert(1)…"
        assert any("<img src=x onerror=alert(1)>" in text for text in page.read_texts())
        assert max(len(text) for text in page.read_texts()) < 110_000
        assert not [one for one in page.elements if type(one).__name__ in {"Html", "Markdown"}]


@pytest.mark.req("C-35", "C-40")
async def test_an_answer_that_is_being_typed_outlasts_a_pause(tmp_path: Path) -> None:
    """Somebody pauses the run and resumes it: what stood in the field stands there again."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        page, other = await made.open(f"/runs/{run}", ANNA), await made.open(f"/runs/{run}", OLGA)
        await page.enter("Ваш ответ", "Ромашка, Ива")

        for order in ("Пауза", "Продолжить"):
            await other.press(order)
            await other.press(order)
            await made.world.idle()
            await made.tell_change()

        assert page.find("Ваш ответ").value == "Ромашка, Ива"  # type: ignore[attr-defined]


@pytest.mark.req("C-35", "C-40")
async def test_the_field_of_an_answer_stays_while_others_come_and_go(tmp_path: Path) -> None:
    """A second question appears beside the first: the field in which somebody types is not drawn anew."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        shown = OpenWaits(waits=(), is_paused=False, me="tg:1007")
        controls = Controls(page.visit, RunWatch(page.visit, run), page.visit.page.content)
        first, second = (Wait(node=name, waits_for="input", question=name, text=name, takes=["text"]) for name in ("one", "two"))
        first, second = (one.model_copy(update={"answers": [Person(id="tg:1007", name="Анна")]}) for one in (first, second))

        with page.visit.page.content:
            view = WaitsView(page.visit, controls)
            view.show(replace(shown, waits=(first,)))
            before = page.find("Ваш ответ")
            view.show(replace(shown, waits=(first, second)))
            assert not before.is_deleted
            view.show(replace(shown, waits=(second,)))

        assert before.is_deleted


@pytest.mark.req("C-35", "C-40")
async def test_a_failure_that_somebody_else_retried_is_not_retried_unseen(tmp_path: Path) -> None:
    """The question stood open while another tab retried the run, which failed again: a press now says so, and asks no model."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will(ModelClientError("down"))
        run = await start_run(made)
        page, other = await made.open(f"/runs/{run}", ANNA), await made.open(f"/runs/{run}", ANNA)
        await answer(page, "Ромашка")
        await made.world.idle()
        await made.tell_change()
        await page.press("Повторить отсюда")
        await other.press("Повторить отсюда")
        made.world.model.will(ModelClientError("down"))
        await other.press("Повторить отсюда")
        await made.world.idle()

        with heard(page) as said:
            await page.press("Повторить отсюда")
        await made.world.idle()

        assert len(made.world.model.prompts) == 2
        assert said == ["С тех пор запуск уже повторяли, и он остановился снова: посмотрите, почему, и решите ещё раз."]


@pytest.mark.req("C-33")
async def test_an_emptied_field_says_that_its_usual_value_counts(tmp_path: Path) -> None:
    """Whoever empties a field does not start a run without the value: the form says what it is then, also of a list."""
    days = {"name": "days", "type": "number", "description": "Дней", "default": 30, "required": False}
    tags = {"name": "tags", "type": "array", "description": "Метки", "default": ["а", "б"], "required": False}
    async with a_console_of_runs(tmp_path, {"plan": {**TWO, "triggerParameters": [days, tags]}}) as made:
        page = await made.open("/runs", ANNA)
        await page.press("Новый запуск")
        await page.enter("Что запустить", "workflow/plan")
        hints = [one.props["hint"] for one in page.elements if "hint" in one.props]

        assert hints == ["Если оставить пустым: 30", "Если оставить пустым: а\nб"]
        assert page.find("Метки (можно не заполнять)").value == "а\nб"  # type: ignore[attr-defined]


@pytest.mark.req("C-33", "S002-A12")
@pytest.mark.parametrize(("typed", "given"), [("первое\n\n  второе", ["первое", "второе"]), ("[1, 2]", [1, 2]), ("", None)])
async def test_a_list_is_typed_line_by_line(tmp_path: Path, typed: str, given: object) -> None:
    """Whoever starts a run needs no JSON for a list of texts; a long question stands above its field, uncut."""
    question = "Что нельзя нарушать? Каждое ограничение с новой строки, от самого важного к остальным."
    limits = {"name": "limits", "type": "array", "description": question, "required": False}
    async with a_console_of_runs(tmp_path, {"plan": {**TWO, "triggerParameters": [limits]}}) as made, made.world.working():
        made.world.model.will("Письмо", "Проверено")
        page = await made.open("/runs", ANNA)
        await page.press("Новый запуск")
        await page.enter("Что запустить", "workflow/plan")
        assert page.has(question)

        await page.enter(f"{question} (можно не заполнять)", typed)
        await page.press("Запустить")
        await made.world.idle()

        [row] = list_rows(made)
        [started] = events(made.world, "RunStarted", key=f"run:{row.run_id}")
        assert started.data["args"]["parameters"]["data"].get("limits") == given


@pytest.mark.req("C-33")
@pytest.mark.parametrize(
    ("code", "node", "said"),
    [
        ("scenario-step-refused", "go", "Шаг «go» отклонён или не разрешён, поэтому дальше ничего не выполняется."),
        ("run-limit-time", "go", "Шаг «go» не выполнен."),
        ("scenario-step-refused", "", "Запуск остановился из-за ошибки."),
        ("of-a-plugin", "", "Запуск остановился из-за ошибки."),
    ],
)
async def test_a_failure_is_said_in_words(tmp_path: Path, code: str, node: str, said: str) -> None:
    """The page says what the chat says; where it does not know all words of that sentence, it says which step failed."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made:
        page = await made.open("/runs", ANNA)

        assert say_failure(page.visit, RunError(code=code, node=node, at="2026-11-21T12:00:00Z")) == said


DENIED = workflow(
    {
        "tuumId": "only",
        "runes": [
            {
                "runeType": "set",
                "variable": "list",
                "value": [
                    {
                        "operationType": "ModifyEntity",
                        "entityType": "deal",
                        "entityId": "481",
                        "attributeKey": "OPPORTUNITY",
                        "modifyOperator": "=",
                        "modifyValue": 20,
                    }
                ],
            }
        ],
        "outputMappings": {"list": "list"},
    },
    terminal={"operations": "list"},
)


@pytest.mark.req("C-33", "S003-19")
async def test_a_run_whose_changes_were_denied_is_told_from_one_that_made_them(tmp_path: Path) -> None:
    """Both are done; the list and the page say which one has changed nothing, and so does the API."""
    async with a_console_of_runs(tmp_path, {"plan": DENIED}) as made, made.world.working():
        run = await start_run(made)
        (card,) = [row for row in made.world.outbox() if row.kind == "card"]
        await made.world.put(press(card.body, key=f"run:{run}", approve=False))
        await made.world.idle()
        assert [row.status for row in list_rows(made)] == ["done"]

        page = await made.open("/runs", ANNA)
        assert page.has("Изменения не сделаны")
        assert (await made.open(f"/runs/{run}", ANNA)).has("Изменения не сделаны")


@pytest.mark.req("C-33", "S002-43")
async def test_a_flow_without_outputs_shows_what_its_steps_answered(tmp_path: Path) -> None:
    """The last answer first, each under the name of its step, as the chat shows them."""
    agents = {"writer": flow_kit.agent("Ты пишешь.")}
    document = flow_kit.flow(flow_kit.step("one", success="two"), flow_kit.step("two"))
    follower = RUN_FACE.follow(document)
    assert follower is not None
    async with flow_kit.a_flow_world(tmp_path, document, agents) as (world, _):
        world.model.will("Собрал три факта", "Уважаемые коллеги!")
        await world.work(flow_kit.start())
        for event in events(world):
            follower.add(event)
        told = follower.tell_result(flow_kit.result(world), today="2026-11-27", locale="ru")
    assert list(told) == [("TWO", "Уважаемые коллеги!"), ("ONE", "Собрал три факта")]


@pytest.mark.req("C-33")
async def test_a_step_of_the_canvas_says_state_tokens_and_time_and_opens_its_nodes(tmp_path: Path) -> None:
    """By the mouse or by Enter, and in words for those who hear it; start and result are no steps of the run."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Письмо", "Проверено")
        run = await start_run(made)
        page = await made.open(f"/runs/{run}", ANNA)
        await answer(page, "Ромашка")
        await made.world.idle()
        await made.tell_change()

        boxes = {box["title"]: box for box in find_boxes(page)}
        assert list(boxes) == ["Начало", "draft", "check", "Результат"]
        assert boxes["draft"]["mark"]["word"].startswith("готово · ")
        assert "токен" in boxes["draft"]["mark"]["word"]
        assert boxes["draft"]["spoken"].startswith("draft. готово")
        assert [boxes[name]["isStep"] for name in boxes] == [False, True, True, False]
        [canvas] = [one for one in page.elements if isinstance(one, Canvas)]
        assert canvas.props["read-only"]
        await page.act(canvas, "choose", {"id": boxes["check"]["id"], "isEntered": True})
        assert page.has("Проверено")
        assert page.has("Проверь: Письмо")

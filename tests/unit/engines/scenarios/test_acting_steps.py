"""Steps that act go through the gate like everything else: cards where it matters, one call at most, and a refusal has its way."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli.nouns.commands import runs
from orchestrator.domain.actor import Mode
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, click, failure, replies, say, scenario, start, texts
from tests.unit.runs.runs_kit import RUN, events, index, work_through
from tests.unit.spine_kit import CHAT, World, message, press


def raise_sum(amount: Any, **more: Any) -> dict[str, Any]:
    """A step that changes the sum of deal 481."""
    params = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": amount}}, **more}
    return {"id": "raise", "type": "bitrix_call", "params": params}


def cards(world: World) -> list[Any]:
    return [row for row in world.outbox() if row.kind == "card"]


@pytest.mark.req("S000-A13")
async def test_a_value_that_a_person_gave_is_no_mistake_of_the_author(tmp_path: Path) -> None:
    """The run ends with the reason, and nobody is sent to whoever wrote the scenario."""
    step = {
        "id": "make",
        "type": "bitrix_call",
        "params": {"method": "crm.deal.update", "params": {"id": 481, "fields": {"STAGE_ID": "{stage}"}}},
    }
    async with a_scenario_world(tmp_path, ask("stage", "Какая стадия?"), step) as world:
        await work_through(world, start(), message("Переговоры"))
        assert (index(world).status, failure(world)["code"]) == ("failed", "scenario-call-unfit")
        assert world.portal.written() == []


@pytest.mark.req("S000-A13", "S000-50")
@pytest.mark.parametrize("approve", [True, False])
async def test_a_write_asks_and_a_refusal_leads_to_its_step(tmp_path: Path, *, approve: bool) -> None:
    """The card carries what the person typed; approved, the call is made once; refused, the author's step follows."""
    steps = (
        ask("sum", "Сумма?", type="integer"), raise_sum("{sum}", on_refused="no"), {**say("сделано {sum}"), "next_step": "bye"},
        say("не сделано", id="no"), {"id": "bye", "type": "end"},
    )  # fmt: skip
    async with a_scenario_world(tmp_path, *steps) as world:
        await work_through(world, start(), message("1 200 000"))
        (shown,) = cards(world)
        assert (shown.session, index(world).status) == (CHAT, "waiting")
        await world.work(press(shown.body, approve=approve, key=RUN))
        assert texts(world)[-1] == ("сделано 1200000" if approve else "не сделано")
        assert len(world.portal.written("crm.deal.update")) == (1 if approve else 0)
        (*_, end) = events(world, "RunFinished")
        assert (end.data.get("changes_made", 0), end.data.get("changes_left", 0)) == ((1, 0) if approve else (0, 1))


async def test_what_a_person_typed_never_names_the_step_after_a_refusal(tmp_path: Path) -> None:
    """A target with a placeholder stays the text that it is, which names no step; the run fails."""
    steps = (ask("way"), raise_sum(1_200_000, on_refused="{way}"), {"type": "end"}, say("дверь", id="door"))
    async with a_scenario_world(tmp_path, *steps) as world:
        await work_through(world, start(), message("door"))
        await world.work(press(cards(world)[0].body, approve=False, key=RUN))
        assert (failure(world)["code"], texts(world)) == ("scenario-target-unknown", [])


async def test_a_refusal_without_a_step_fails_the_run(tmp_path: Path) -> None:
    """Nothing behind it is done."""
    async with a_scenario_world(tmp_path, raise_sum(1_200_000), say("никогда")) as world:
        await world.work(start())
        await world.work(press(cards(world)[0].body, approve=False, key=RUN))
        assert (failure(world)["code"], texts(world)) == ("scenario-step-refused", [])


WRONG = {
    "a method": ("crm.dael.add", {"fields": {"TITLE": "Астра"}}, "crm.deal.add"),
    "a parameter": ("crm.deal.add", {"feilds": {"TITLE": "Астра"}}, "fields"),
    "what is needed": ("crm.deal.update", {"id": 481}, "fields"),
    "a number": ("crm.deal.update", {"id": "{nobody}", "fields": {"TITLE": "Астра"}}, "id must be"),
    "a flag": ("crm.deal.update", {"id": 481, "fields": {"OPENED": "maybe"}}, "Y or N"),
}


@pytest.mark.req("S000-A13")
@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("mode", ["full", "shadow"])
async def test_a_call_that_is_written_wrong_is_no_refusal(tmp_path: Path, what: str, mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody has decided about it: the run fails with the reason, which the person, its end and the log say, and the other way stays."""
    method, params, meant = WRONG[what]
    step = {"id": "make", "type": "bitrix_call", "params": {"method": method, "params": params, "on_refused": "no"}}
    async with a_scenario_world(tmp_path, step, {"type": "end"}, say("не создаю", id="no"), mode=mode) as world:
        await world.work(start())
        assert (failure(world)["code"], meant in failure(world)["detail"]) == ("scenario-call-wrong", True)
        (reply,) = replies(world)
        codes = [notice["code"] for notice in reply.body["notices"]]
        assert (codes[:2], codes[2].startswith("gate-"), reply.body["parts"]) == (["run-ended", "scenario-call-wrong"], True, [])
        assert f"step make/1 failed: step make/1: {failure(world)['detail'].partition(': ')[2][:20]}" in caplog.text


async def test_a_refusal_stands_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log says that the step was refused and why, not that it is done."""
    caplog.set_level("INFO", "sdelka.scenarios")
    gone = {"id": "read", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 999}, "on_refused": "no"}}
    async with a_scenario_world(tmp_path, gone, {"type": "end"}, say("нет такой", id="no")) as world:
        await world.work(start())
        assert texts(world) == ["нет такой"]
        assert "step read/1 bitrix_call refused: " in caplog.text
        assert "bitrix_call done" not in caplog.text


@pytest.mark.parametrize("mode", ["shadow"])
async def test_in_shadow_a_scenario_makes_no_call_and_goes_on(tmp_path: Path, mode: Mode) -> None:
    """The write is planned, what it would give is null, and the end shows the plan."""
    async with a_scenario_world(tmp_path, raise_sum(1_200_000), say("дальше: {bitrix_result}"), mode=mode) as world:
        await world.work(start())
        assert texts(world)[0] == "дальше: "
        assert (cards(world), world.portal.written("crm.deal.update")) == ([], [])


@pytest.mark.req("S000-56", "S000-X12")
async def test_the_model_is_asked_once_with_what_was_filled(tmp_path: Path) -> None:
    """Prompt, system prompt and options reach the model; its answer is the variable, and is not filled again."""
    step = {
        "type": "llm_request",
        "params": {"prompt": "Поздоровайся: {name}", "system_prompt": "Кратко.", "output_var": "greeting", "max_tokens": 50},
    }
    async with a_scenario_world(tmp_path, ask("name"), step, say("{greeting}"), ask("last"), say("{greeting} {last}")) as world:
        world.model.will("Здравствуйте, {user_id}")
        await work_through(world, start(), message("Иван"), message("пока"))
        assert texts(world)[-1] == "Здравствуйте, {user_id} пока"
        assert len(events(world, "ModelAsked")) == 1


@pytest.mark.req("S000-51", "S000-X16")
async def test_a_message_to_the_own_chat_is_said_and_its_buttons_answer_the_next_question(tmp_path: Path) -> None:
    """No effect, no card; the buttons stand under the question that follows."""
    tell = {
        "type": "action",
        "params": {
            "action_type": "telegram_send_message",
            "text": "Тарифы",
            "inline_keyboard": [[{"text": "Базовый", "callback_data": "basic"}], [{"text": "Полный", "callback_data": "full"}]],
        },
    }
    async with a_scenario_world(tmp_path, tell, ask("plan", "Какой?"), say("{plan}")) as world:
        await world.work(start())
        await world.work(click(world, 1))
        assert "card" not in {row.kind for row in world.outbox()}
        assert events(world, "RunFinished")[0].data["result"]["plan"] == "full"


@pytest.mark.req("S000-59", "S000-X15")
async def test_another_scenario_is_scheduled_through_the_gate(tmp_path: Path) -> None:
    """One later run needs no card; its id is the variable."""
    step = {
        "type": "schedule_scenario_run",
        "params": {"scenario_id": "plan", "run_in_seconds": 3600, "context_to_pass": {"who": "{user_name}"}},
    }
    async with a_scenario_world(tmp_path, step, say("id {task_id}")) as world:
        await world.work(start())
        (told,) = texts(world)
        (made,) = events(world, "CallSucceeded")
        assert told == f"id {made.data['result']['schedule']}"


@pytest.mark.req("S000-57", "S000-X13")
async def test_a_search_without_a_service_goes_on_with_its_error(tmp_path: Path) -> None:
    """The variable gets {error}, and the run goes on."""
    step = {"type": "rag_search", "params": {"query": "когда звонить?"}}
    async with a_scenario_world(tmp_path, step, say("{rag_results.error}")) as world:
        await world.work(start())
        assert texts(world) == ["there is no service of documents"]


async def test_a_method_that_the_model_chose_asks_a_person(tmp_path: Path) -> None:
    """All parameters are the author's, and would need no card: what is called is not the author's, so a person decides."""
    fixed = {"method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}}
    chosen = {"type": "bitrix_call", "params": {**fixed, "method": "{llm_result}"}}
    async with a_scenario_world(tmp_path / "a", {"type": "bitrix_call", "params": fixed}) as world:
        await world.work(start())
        assert cards(world) == []
    async with a_scenario_world(tmp_path / "b", {"type": "llm_request", "params": {"prompt": "?"}}, chosen) as world:
        world.model.will("crm.timeline.comment.add")
        await world.work(start())
        assert len(cards(world)) == 1
        assert world.portal.written("crm.timeline.comment.add") == []


@pytest.mark.parametrize("inside", [False, True])
async def test_a_way_that_text_of_strangers_chose_asks_a_person(tmp_path: Path, *, inside: bool) -> None:
    """The write has constants of the author alone: that it is made at all was decided by what a stranger wrote, also one scenario further."""
    read = {"type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}}
    branch = {"type": "branch", "condition": "deal['COMMENTS'] != 'нет'", "branches": {"if": "do", "else": "bye"}}
    note = {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}
    write = {"id": "do", "type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": note}}
    start_sub = {"id": "do", "type": "execute_sub_scenario", "params": {"sub_scenario_id": "sub", "output_mapping": {}}}
    steps = (read, branch, start_sub if inside else write, {"id": "bye", "type": "end"})
    async with a_scenario_world(tmp_path, *steps, others={"sub": scenario(write)}) as world:
        await world.work(start())
        assert len(cards(world)) == 1
        assert world.portal.written("crm.timeline.comment.add") == []


@pytest.mark.parametrize("way", ["a refused read", "an answer that does not fit", "a question without time"])
async def test_a_way_that_text_of_strangers_left_open_asks_a_person(tmp_path: Path, way: str) -> None:
    """No condition was written, but what a stranger wrote made the read fail, the answer unfit or the time too short."""
    read = {"type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}}
    note = {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}
    write = {"id": "do", "type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": note}}
    wrong = {"method": "crm.deal.get", "params": {"id": "{seconds}"}, "on_refused": "do"}
    decides: dict[str, dict[str, Any]] = {
        "a refused read": {"type": "bitrix_call", "params": wrong, "next_step": "bye"},
        "an answer that does not fit": ask(choices=["{deal.TITLE}"], tries=1, on_invalid="do", next_step="bye"),
        "a question without time": ask(timeout="{seconds}", on_timeout="do", next_step="bye"),
    }
    short = {"type": "calculate", "params": {"values": {"seconds": "len(deal['TITLE'])"}}}
    async with a_scenario_world(tmp_path, read, short, decides[way], write, {"id": "bye", "type": "end"}) as world:
        await world.work(start())
        if way == "an answer that does not fit":
            await world.work(message("другое"))
        if way == "a question without time":
            world.clock.advance(timedelta(minutes=1))
            await world.work()
        assert len(cards(world)) == 1
        assert world.portal.written("crm.timeline.comment.add") == []


@pytest.mark.parametrize("is_forwarded", [True, False])
async def test_a_forwarded_answer_that_did_not_fit_makes_its_way_ask(tmp_path: Path, *, is_forwarded: bool) -> None:
    """The bounds are the author's, but a stranger's words went past them; what the person typed themselves asks nobody."""
    note = {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}
    write = {"id": "do", "type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": note}}
    question = ask(type="integer", tries=2, on_invalid="do", next_step="bye")
    async with a_scenario_world(tmp_path, question, write, {"id": "bye", "type": "end"}) as world:
        await work_through(world, start(), message("", quoted="много") if is_forwarded else message("много"), message("мало"))
        assert len(cards(world)) == (1 if is_forwarded else 0)
        assert len(world.portal.written("crm.timeline.comment.add")) == (0 if is_forwarded else 1)


@pytest.mark.parametrize("announced", [False, True])
async def test_what_a_button_hides_is_no_wish_of_whoever_presses_it(tmp_path: Path, *, announced: bool) -> None:
    """The number comes from a record and stands nowhere on the button, however short it is: what is done with it asks."""
    read = {"type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}}
    value = "{deal.CONTACT_ID}"
    keyboard = [[{"text": "Сайт", "url": "https://example.ru"}, {"text": "Дальше", "callback_data": value}]]
    tell = {"type": "telegram_send_message", "params": {"text": "Кто?", "inline_keyboard": keyboard}}
    question = ask(only_buttons=True, **({} if announced else {"buttons": [{"text": "Дальше", "value": value}, "Стоп"]}))
    note = {"fields": {"ENTITY_ID": "{answer}", "ENTITY_TYPE": "contact", "COMMENT": "x"}}
    write = {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": note}}
    async with a_scenario_world(tmp_path, read, tell if announced else say("Кто?"), question, write) as world:
        await world.work(start())
        await world.work(click(world, 0))
        assert len(cards(world)) == 1
        assert world.portal.written("crm.timeline.comment.add") == []


async def test_the_terminal_says_why_a_run_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sdelka runs show`, to which the guide sends its readers, says the reason in words."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    step = {"id": "make", "type": "bitrix_call", "params": {"method": "crm.dael.add", "params": {"fields": {"TITLE": "Астра"}}}}
    async with a_scenario_world(tmp_path, step, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        await world.work(start())
    why = "step make/1: crm.dael.add is not in the catalogue. Did you mean crm.deal.add?"
    shown = await asyncio.to_thread(CliRunner().invoke, runs, ["show", RUN.removeprefix("run:"), "--json"])
    assert json.loads(shown.output)["last_error"]["detail"] == why
    assert why in (await asyncio.to_thread(CliRunner().invoke, runs, ["show", RUN.removeprefix("run:")])).output

"""A person sees how far a scenario is, goes a question back, cancels it, and has it go on where it ended."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.inputs import FeatureClick
from orchestrator.rehearsals.case import Given
from orchestrator.runs.questions import LEAVE
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.flows.flow_kit import a_flow_world, flow, start_in_chat, step
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, replies, say, scenario, start, texts
from tests.unit.rehearsals.test_rehearsals import play
from tests.unit.runs.chat_kit import Chat
from tests.unit.runs.runs_kit import RUN, events, index, work_through
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, message, press

ALL = {"show_progress": True, "allow_back": True, "allow_cancel": True}
NAME, SUM = ask("name", "Имя?", step="name"), ask("sum", "Сумма?", step="sum")
NOTE = {
    "type": "bitrix_call",
    "params": {"method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}},
}
READ = {"type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}}}
BACK, CANCEL = "scenario-back", "scenario-cancel"


class Talk:
    """What Anna sees last, and the buttons of the scenario that she presses."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.text, self.progress = "", ""
        self.buttons: dict[str, list[str]] = {}

    async def work(self, *rows: InboxRow) -> None:
        """Work the inputs, and look at the last message."""
        await self.world.work(*rows)
        for row in replies(self.world):
            self.text = " ".join(part["text"] for part in row.body["parts"])
            shown = [one for one in row.body["notices"] if one["code"] == "scenario-progress"]
            self.progress = f"{shown[0]['args']['step']}/{shown[0]['args']['of']}" if shown else ""
            own = [one for one in row.body["actions"] if one["words"][-1] != LEAVE]
            self.buttons = {one["label"]["args"].get("label", one["label"]["code"]): one["words"] for one in own}

    async def press(self, label: str) -> None:
        """Press a button of the last message."""
        fresh = generate_id()
        body = FeatureClick(words=tuple(self.buttons[label]), callback_id=fresh).to_json()
        row = InboxRow(
            id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
            body=body, received_at=NOW,
        )  # fmt: skip
        await self.work(row)


def result(world: World) -> dict[str, Any]:
    return dict(failure(world)["result"])


async def test_a_step_back_asks_again_and_forgets_what_came_since(tmp_path: Path) -> None:
    """The progress goes back too, what was set behind the question is gone, and the new answer stands."""
    shout = {"type": "update_context", "params": {"updates": {"shout": "{shout}{name}!"}}}
    plan = scenario(NAME, shout, SUM, say("{name} {sum} {shout}"), initial_context={"shout": ""}, **ALL)
    async with a_scenario_world(tmp_path, plan) as world:
        talk = Talk(world)
        await talk.work(start())
        assert (talk.progress, list(talk.buttons)) == ("1/2", [CANCEL])
        await talk.work(message("Иван"))
        assert (talk.text, talk.progress, list(talk.buttons)) == ("Сумма?", "2/2", [BACK, CANCEL])
        await talk.press(BACK)
        assert (talk.text, talk.progress, list(talk.buttons)) == ("Имя?", "1/2", [CANCEL])
        await talk.work(message("Пётр"))
        await talk.work(message("5"))
        assert talk.text == "Пётр 5 Пётр!"
        assert index(world).status == "done"


async def test_the_buttons_announced_before_a_question_stand_there_again(tmp_path: Path) -> None:
    """A message of the run announced them for the question to which the person goes back."""
    tell = {"type": "telegram_send_message", "params": {"text": "Тарифы", "inline_keyboard": [[{"text": "Базовый"}]]}}
    async with a_scenario_world(tmp_path, scenario(tell, NAME, SUM, allow_back=True)) as world:
        talk = Talk(world)
        await talk.work(start())
        await talk.press("Базовый")
        await talk.press(BACK)
        assert (talk.text, list(talk.buttons)) == ("Имя?", ["Базовый"])


@pytest.mark.parametrize(("between", "buttons"), [(READ, [BACK]), (NOTE, []), (say("Так."), [BACK])])
async def test_nothing_that_was_done_is_gone_back_over(tmp_path: Path, between: dict[str, Any], buttons: list[str]) -> None:
    """Behind an effect there is no way back; behind a read or a message there is."""
    async with a_scenario_world(tmp_path, scenario(NAME, between, SUM, allow_back=True)) as world:
        talk = Talk(world)
        await talk.work(start())
        await talk.work(message("Иван"))
        assert (talk.text, list(talk.buttons)) == ("Сумма?", buttons)


async def test_behind_an_effect_only_later_questions_are_gone_back_to(tmp_path: Path) -> None:
    """The comment is made once, however often the person goes back."""
    third = ask("when", "Когда?", step="when")
    async with a_scenario_world(tmp_path, scenario(NAME, NOTE, SUM, third, allow_back=True)) as world:
        talk = Talk(world)
        await talk.work(start())
        for typed in ("Иван", "5"):
            await talk.work(message(typed))
        await talk.press(BACK)
        assert (talk.text, list(talk.buttons)) == ("Сумма?", [])
        await talk.work(message("6"))
        await talk.work(message("завтра"))
        assert (result(world)["sum"], result(world)["when"]) == ("6", "завтра")
        assert len(world.portal.written("crm.timeline.comment.add")) == 1


async def test_a_step_back_holds_over_a_restart(tmp_path: Path) -> None:
    """Another process plays the same way: the question that was asked again waits for its answer."""
    path, plan = build_sqlite_url(tmp_path / "sdelka.db"), scenario(NAME, SUM, say("{name} {sum}"), **ALL)
    async with a_scenario_world(tmp_path, plan, store=open_store(path)) as world:
        talk = Talk(world)
        await talk.work(start())
        await talk.work(message("Иван"))
        await talk.press(BACK)
    async with a_scenario_world(tmp_path, plan, store=open_store(path)) as world:
        talk = Talk(world)
        await talk.work(message("Пётр"))
        assert (talk.text, talk.progress) == ("Сумма?", "2/2")
        await talk.work(message("7"))
        assert talk.text == "Пётр 7"


async def test_cancelling_inside_cancels_the_whole(tmp_path: Path) -> None:
    """The scenario around it does not go on with its next step."""
    call = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "inner", "output_mapping": {}}}
    inner = scenario(NAME, allow_cancel=True)
    async with a_scenario_world(tmp_path, scenario(call, NOTE), others={"inner": inner}) as world:
        talk = Talk(world)
        await talk.work(start())
        await talk.press(CANCEL)
        assert [one.status for one in world.sql.list_runs(RunFilter())] == ["cancelled", "cancelled"]
        assert world.portal.written() == []


async def test_without_leave_of_the_author_there_is_nothing_of_it(tmp_path: Path) -> None:
    """No progress and no buttons: the questions are as they were."""
    async with a_scenario_world(tmp_path, NAME, SUM) as world:
        talk = Talk(world)
        await talk.work(start())
        await talk.work(message("Иван"))
        assert (talk.text, talk.progress, talk.buttons) == ("Сумма?", "", {})


ASKED_NAME, ASKED_SUM = ask("name", "Имя?", step="name"), ask("sum", "Сумма?", step="sum", type="integer")


@pytest.mark.parametrize("words", ["назад", "вернись назад, пожалуйста", "back"])
async def test_a_word_asks_the_question_before_anew(tmp_path: Path, words: str) -> None:
    """Also where the author has allowed no button for it; what was answered since is forgotten, and the chat says what happened."""
    shout = {"type": "update_context", "params": {"updates": {"shout": "{shout}{name}!"}}}
    plan = {"name": "Проба", "steps": [ASKED_NAME, shout, ASKED_SUM, say("{name} {sum} {shout}")], "initial_context": {"shout": ""}}
    async with a_scenario_world(tmp_path, plan) as world:
        chat = Chat(world)
        for row in (start(), message("Иван"), message(words)):
            await world.work(row)
        assert chat.texts[-1] == "Имя?"
        assert "run-went-back" in chat.codes
        await work_through(world, message("Пётр"), message("5"))
        assert chat.texts[-1] == "Пётр 5 Пётр!"


@pytest.mark.parametrize("given", [[ASKED_NAME], [ASKED_NAME, NOTE, ASKED_SUM]])
async def test_where_there_is_no_way_back_the_chat_says_so(tmp_path: Path, given: list[dict[str, Any]]) -> None:
    """At the first question, and behind something that was done; the question stays open, and the words are no answer."""
    async with a_scenario_world(tmp_path, *given, say("{name}")) as world:
        chat = Chat(world)
        await world.work(start())
        if len(given) > 1:
            await world.work(message("Иван"))
        await world.work(message("назад"))
        assert chat.codes[-1] == "run-no-way-back"
        assert index(world).status == "waiting"
        await world.work(message("5"))
        assert index(world).status == "done"


async def test_an_answer_of_the_author_that_says_back_is_an_answer(tmp_path: Path) -> None:
    """It has a step of its own."""
    plan = (ASKED_NAME, ask("way", "Куда?", step="way", next_step_map={"назад": "name"}), say("{way}"))
    async with a_scenario_world(tmp_path, *plan) as world:
        chat = Chat(world)
        for row in (start(), message("Иван"), message("назад")):
            await world.work(row)
        assert chat.texts[-1] == "Имя?"
        assert "run-went-back" not in chat.codes


async def test_the_questions_before_a_flow_begins_go_back_too(tmp_path: Path) -> None:
    """The answer before is given anew, and the first question has none before it."""
    plan = flow(step("work"), launchParameters=[{"name": "city"}, {"name": "sum", "type": "number"}, {"name": "why"}])
    async with a_flow_world(tmp_path, plan) as (world, _):
        chat = Chat(world)
        await world.work(start_in_chat())
        for words in ("назад", "Томск", "5", "назад", "назад", "Омск", "6", "так"):
            if words == "так":
                world.model.will("готово")
            await world.work(message(words))
        assert chat.codes.count("run-no-way-back") == 1
        assert chat.texts[:6] == ["city", "sum", "why", "sum", "city", "sum"]
        assert '"parameters":{"city":"Омск","sum":6,"why":"так"}' in str(world.model.prompts[0][-1]["content"])


async def test_a_trial_is_left_and_gone_back_in_as_a_chat() -> None:
    """The same words; under `text` of a test they are an answer."""
    played = await play(ASKED_NAME, ASKED_SUM, say("{name} {sum}"), inputs=["Иван", "назад", "Пётр", "5"])
    assert played.own_variables["name"] == "Пётр"
    played = await play(ASKED_NAME, ASKED_SUM, inputs=["Иван", "отмена"])
    assert (played.result.status, played.problem) == ("cancelled", "")
    played = await play(ASKED_NAME, inputs=[Given(text="отмена")])
    assert played.own_variables["name"] == "отмена"


async def test_a_run_that_ended_because_no_answer_fitted_asks_again_when_it_is_retried(tmp_path: Path) -> None:
    """The person has all their tries again, each time; an answer that fits goes on."""
    async with a_scenario_world(tmp_path, ask("age", type="integer", tries=2), say("Вам {age}")) as world:
        await world.work(start())
        for given in ("много", "мало"):
            await world.work(message(given))
        assert failure(world)["code"] == "scenario-input-failed"
        await world.work(order("retry"))
        assert index(world).status == "waiting"
        await world.work(message("немного"))
        assert index(world).status == "waiting"
        await world.work(message("17"))
        assert index(world).status == "done"
        assert texts(world)[-1] == "Вам 17"


async def test_a_retry_further_on_does_not_ask_again_what_went_its_way(tmp_path: Path) -> None:
    """The answer that did not fit led to its step; the run failed behind it, and its retry takes the same way."""
    broken = {"id": "no", "type": "branch", "condition": "missing > 5", "branches": {"if": "no"}}
    async with a_scenario_world(tmp_path, ask("age", type="integer", tries=1, on_invalid="no"), {"type": "end"}, broken) as world:
        await work_through(world, start(), message("много"))
        assert failure(world)["code"] == "scenario-condition-failed"
        await world.work(order("retry"))
        assert [event.data["code"] for event in events(world, "RunFinished")] == ["scenario-condition-failed"] * 2


def comment(text: str, **more: Any) -> dict[str, Any]:
    """A step that makes a harmless new record."""
    fields = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": text}
    return {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": {"fields": fields}}, **more}


async def test_a_retry_goes_the_way_of_a_refusal_that_was_gone_already(tmp_path: Path) -> None:
    """The person refused, and that way was taken: a retry of what failed behind it neither asks again nor does what the other way does."""
    raised = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}}, "on_refused": "no"}
    steps = (
        {"type": "bitrix_call", "params": raised}, comment("повышено"), {"type": "end"}, comment("не повышено", id="no"),
        {"id": "broken", "type": "branch", "condition": "missing > 5", "branches": {"if": "no"}},
    )  # fmt: skip
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, approve=False, key=RUN))
        assert failure(world)["code"] == "scenario-condition-failed"
        world.outbox()
        await world.work(order("retry"))
        assert [row for row in world.outbox() if row.kind == "card"] == []
        assert len(world.portal.written("crm.timeline.comment.add")) == 1
        assert world.portal.written("crm.deal.update") == []
        assert [event.data["code"] for event in events(world, "RunFinished")] == ["scenario-condition-failed"] * 2

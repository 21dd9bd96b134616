"""/ask in a chat: a turn of its own that survives a crash, disturbs no other conversation and never ends the bot."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.view.entities import render_entities
from engines.tool_agent.core.engine import ToolAgent
from engines.tool_agent.core.toolbox import AgentSettings
from orchestrator.domain.errors import ModelClientError, ServiceFailed
from orchestrator.domain.inputs import read_input
from orchestrator.domain.outputs import Notice
from orchestrator.runtime.commands import parse_command
from orchestrator.turns.turn import run_turn
from state.journal.journal import load_state
from state.journal.store import InboxRow, OutboxRow, StoreUnwritable
from state.model.session_state import SessionState
from tests.unit.engines.tool_agent.ask_kit import FOUND, HAIKU_FAILED, RAG_FAILED, Services, call, say
from tests.unit.spine_kit import CHAT, World, a_world, message, raise_sum, reply

YES = say("да")
RUSSIAN = Translator("ru")
QUESTION = "Через сколько дней после коммерческого предложения звонить клиенту?"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def serve(world: World, services: Services | None = None) -> Services:
    """Let the agent ask these services."""
    services = services or Services()
    agent = ToolAgent(
        services=services,
        words=lambda locale: Translator(locale).translate_notice,
        settings=AgentSettings(question_maxlen=500, theme_maxlen=500),
        exit_commands=("exit", "/exit"),
        help_commands=("help", "?"),
    )
    world.orchestrator.tools = replace(world.tools, engines={**world.tools.engines, "tool_agent": agent})
    return services


def asked(world: World, text: str) -> InboxRow:
    """What a door makes of /ask and these words."""
    said, lane = parse_command("ask", text, world.tools.features)
    return replace(message(""), lane=lane, kind=said.KIND, body=said.to_json())


def shown(world: World) -> list[str]:
    return [to_plain_text(render_message(row.kind, row.body, RUSSIAN)) for row in world.outbox()]


def read_state(world: World) -> SessionState:
    return load_state(world.sql, f"session:{CHAT}")[0]


def last(world: World) -> OutboxRow:
    return world.outbox()[-1]


@pytest.mark.req("S001-58", "S001-65", "S001-85", "S001-M3")
async def test_a_question_is_answered_with_its_passages_as_quotes(world: World) -> None:
    """The answer stands alone; each passage follows under its title as a quote that Telegram folds. Questions may have 500 signs."""
    services = serve(world)
    world.model.will(YES, call("rag_search", question=QUESTION))
    await world.work(asked(world, QUESTION))
    text, entities = render_entities(render_message("reply", last(world).body, RUSSIAN))
    assert text == "Через два дня.\n\nРегламент\nЗвонить через два дня.\n\nПамятка (2)\nПосле КП."
    assert services.asked[-1] == ("rag", "/search", {"question": QUESTION, "top_k": 2})
    quotes = [text[one.offset : one.offset + one.length] for one in entities if one.type == "expandable_blockquote"]
    assert quotes == ["Звонить через два дня.", "После КП."]


async def test_nothing_in_a_quoted_passage_can_be_tapped(world: World) -> None:
    """A document may hold addresses, commands and Markdown; its passage is shown as it is."""
    found = {
        "answer": "См. ниже",
        "chunk_title_list": ["[t](http://evil.example)"],
        "chunk_texts": ["/freeze @boss http://evil.example **b**"],
    }
    serve(world, Services(search=found))
    world.model.will(YES, call("rag_search", question="что?"))
    await world.work(asked(world, "что?"))
    text, entities = render_entities(render_message("reply", last(world).body, RUSSIAN))
    assert {one.type for one in entities} == {"bold", "expandable_blockquote"}
    assert "**b**" in text
    assert "http://evil.example" not in text


@pytest.mark.req("S001-A4", "S001-29", "S001-30", "S001-39")
@pytest.mark.parametrize(("answers", "told"), [
    ([ModelClientError("no route")], "Ошибка при запросе LLM, завершаюсь.."),
    ([YES, ModelClientError("no route")], "Ошибка при запросе LLM, завершаюсь.."),
    ([say(" ")], "Ошибка при разборе ответа LLM, завершаюсь.."),
])  # fmt: skip
async def test_a_failure_of_the_model_ends_the_turn_and_not_the_bot(world: World, answers: list[Any], told: str) -> None:
    """The person reads the seed's words, and the next message is answered."""
    serve(world)
    world.model.will(*answers)
    await world.work(asked(world, "когда звонить?"))
    assert shown(world) == [told]
    assert world.events("TurnFinished")[-1].data["reason"] == "degraded"
    world.model.will(reply(text="Слушаю."))
    await world.work(message("привет"))
    assert shown(world)[-1] == "Слушаю."


@pytest.mark.parametrize(("tool", "given", "told"), [("rag_search", "question", RAG_FAILED), ("generate_haiku", "theme", HAIKU_FAILED)])
async def test_a_service_that_fails_is_told_in_the_words_of_the_seed(world: World, tool: str, given: str, told: str) -> None:
    """The turn ends as answered, and the person may try again."""
    serve(world, Services(health=ServiceFailed("down")))
    world.model.will(YES, call(tool, **{given: "пруд"}))
    await world.work(asked(world, "пруд"))
    assert shown(world) == [told]


@pytest.mark.req("S001-3")
async def test_the_conversation_with_the_agent_is_its_own(world: World) -> None:
    """The CRM agent reads nothing of /ask and the tool agent nothing of the CRM; each keeps its goals, lists and questions."""
    serve(world)
    world.model.will(reply(text="Добрый день."), YES, call("generate_haiku", theme="пруд"), say("нет"), reply(text="Да?"))
    await world.work(message("привет"))
    before = read_state(world)
    await world.work(asked(world, "хайку про пруд"))
    await world.work(asked(world, "какая погода?"))
    await world.work(message("ещё тут?"))
    cls, select, again, crm = world.model.prompts[1:]
    assert [one["content"] for one in cls[1:]] == ["хайку про пруд"]
    assert select[-1] == {"role": "assistant", "content": "Запрос релевантен, думаю.."}
    assert [one["role"] for one in again] == ["system", "user", "assistant", "user"]
    assert "Хайку: старый пруд | прыгнула лягушка | всплеск" in again[2]["content"]
    assert not [one for one in crm if "хайку" in str(one["content"]) or "погода" in str(one["content"])]
    state = read_state(world)
    assert [line.text for line in state.history] == ["привет", "Добрый день.", "ещё тут?", "Да?"]
    assert state.agent.goals == ["ещё тут?", *before.agent.goals]


async def test_new_forgets_the_conversation_with_the_agent_too(world: World) -> None:
    """After /new the agent is sent the new words alone."""
    serve(world)
    world.model.will(say("нет"), say("нет"))
    await world.work(asked(world, "первое"))
    await world.work(replace(message(""), kind="command", body={"name": "new"}))
    await world.work(asked(world, "второе"))
    assert [one["content"] for one in world.model.prompts[1][1:]] == ["второе"]


@pytest.mark.parametrize(("text", "told"), [("", "Я отвечаю"), ("Help", "Я отвечаю"), ("exit", "До свидания!")])
async def test_a_command_word_counts_only_when_it_stands_alone(world: World, text: str, told: str) -> None:
    """No model is asked for a bare command word; within a sentence it is a word like others."""
    serve(world)
    await world.work(asked(world, text))
    assert shown(world)[-1].startswith(told)
    world.model.will(say("нет"))
    await world.work(asked(world, f"что значит {text}?"))
    (last_said,) = shown(world)[-1:]
    assert last_said.startswith("Запрос не связан с функционалом агента.\n\nЯ отвечаю")
    assert "/exit" not in last_said
    assert "/clear" not in last_said


@pytest.mark.long
async def test_a_very_long_answer_of_the_past_does_not_fill_the_next_prompt(world: World) -> None:
    """A service of others may answer with a book; the model is told its beginning, and the conversation goes on."""
    serve(world, Services(search={**FOUND, "answer": "к" * 900_000}))
    world.model.will(YES, call("rag_search", question="первое"), say("нет"))
    await world.work(asked(world, "первое"))
    await world.work(asked(world, "второе"))
    assert world.model.prompts[-1][-1]["content"] == "второе"
    assert max(len(str(one["content"])) for one in world.model.prompts[-1][1:]) == 8_000


@pytest.mark.parametrize("kept", range(1, 5))
async def test_a_turn_that_goes_on_after_a_crash_asks_nobody_twice(world: World, kept: int) -> None:
    """Whichever commit the process dies at, model and service are asked once for what was stored, and the answer comes once."""
    services = serve(world)
    session = await world.session()
    world.model.will(YES, call("rag_search", question="когда?"))
    row = asked(world, "когда?")
    await world.put(row)
    commit, left = world.sql.commit, [kept]

    def dying(what: Any) -> Any:
        if not left[0]:
            raise StoreUnwritable("killed")
        stored = commit(what)
        left[0] -= 1
        return stored

    died = False
    with patch.object(world.sql, "commit", dying):
        try:
            await run_turn(read_input(row), session, world.tools)
        except StoreUnwritable:
            died = True
    stored = [event.data["iteration"] for event in world.events("ModelAnswered")]
    remembered = len(world.events("NodeDone"))
    assert died == (kept < 4)
    assert remembered == (kept >= 3)
    assert stored == [1, 2][:kept]
    if died:
        world.model.script.clear()
        world.model.will(*[(YES, call("rag_search", question="когда?"))[number] for number in range(2) if number + 1 not in stored])
        asked_before = len(services.asked)
        world.clock.advance(timedelta(minutes=2))
        again = await world.session(owner="two")
        await run_turn(read_input(row), again, world.tools)
        assert len(services.asked) == asked_before + (0 if remembered else 2)
    assert [event.data["iteration"] for event in world.events("ModelAnswered")] == [1, 2]
    assert [text.splitlines()[0] for text in shown(world)] == ["Через два дня."]


@pytest.mark.req("S001-82")
async def test_what_documents_said_marks_the_requests_after_it(world: World) -> None:
    """A document's text is that of others: the model's later answers are stored as written after reading it."""
    serve(world)
    world.model.will(YES, call("rag_search", question="когда?"), say("нет"))
    await world.work(asked(world, "когда?"))
    await world.work(asked(world, "ещё"))
    assert [event.data["prose"] for event in world.events("ModelAnswered")] == [False, False, True]


async def test_records_are_found_through_the_gate_with_the_rights_of_the_person(world: World) -> None:
    """Each read has its place in the journal of calls, and what is shown are the tables of the portal."""
    serve(world)
    world.model.will(YES, call("find_in_crm", name="Ромашка"))
    await world.work(asked(world, "найди Ромашку"))
    called = [event.data["method"] for event in world.events("CallSucceeded")]
    assert called == ["crm.deal.list", "crm.lead.list", "crm.contact.list", "crm.company.list"]
    assert shown(world)


async def test_in_shadow_mode_nothing_is_read_without_saying_so(tmp_path: Path) -> None:
    """Either the portal is read or the person learns why not; a model's call never opens a card."""
    async with a_world(tmp_path, mode="shadow") as world:
        serve(world)
        world.model.will(YES, call("find_in_crm", name="Ромашка"))
        await world.work(asked(world, "найди Ромашку"))
        assert shown(world) == ["В теневом режиме CRM не читается."]
        assert not read_state(world).cards


async def test_over_http_the_answer_is_fetched_as_events(world: World) -> None:
    """The HTTP API gets the same answer as text, with the titles and passages."""
    serve(world)
    world.model.will(YES, call("rag_search", question="когда?"))
    key = "http:site:42"
    row = asked(world, "когда?")
    await world.work(replace(row, session=key))
    (given,) = world.events("AnswerGiven", key=key)
    text = to_plain_text(render_message("reply", given.data["body"], RUSSIAN))
    assert text == "Через два дня.\n\nРегламент\nЗвонить через два дня.\n\nПамятка (2)\nПосле КП."


async def test_a_person_who_reads_english_is_answered_in_english(world: World) -> None:
    """The sentences of the seed have English twins for chats."""
    serve(world)
    world.model.will(say("нет"))
    anna = {**message("").actor, "locale": "en"}
    await world.work(replace(asked(world, "weather?"), actor=anna))
    assert Translator("en").translate_notice(Notice.model_validate(last(world).body["notices"][0])).startswith("The request is none")


async def test_a_request_beside_an_open_card_leaves_the_card(world: World) -> None:
    """A card that waits is neither decided nor withdrawn by what is asked of the documents."""
    serve(world)
    world.model.will(reply(raise_sum(), text="Прошу подтвердить."), YES, call("calculate", expression="150 000 + 20%"))
    await world.work(message("подними сумму"))
    await world.work(asked(world, "150 000 + 20%"))
    assert shown(world)[-1].replace("\u00a0", " ") == "150 000 + 20% = 180 000"
    assert [card.status for card in read_state(world).cards.values()] == ["requested"]


def test_the_words_after_the_command_are_kept_whole(world: World) -> None:
    """They are a request to the tool agent, which no other message is merged with."""
    said, lane = parse_command("ask", "  когда\x00 звонить? ", world.tools.features)
    assert (lane, said.KIND) == ("turn", "message")
    assert said.to_json() == {"text": "когда� звонить?", "origin": "typed", "pieces": 1, "engine": "tool_agent"}

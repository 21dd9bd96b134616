"""What a run works with is gone, or an answer fits no question: each ends in one sentence, and nothing is done that nobody wanted."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.run_inputs import RunAnswer, RunChildEnd, RunStart
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from tests.unit.runs.function_kit import ended
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, started, steps, work_through
from tests.unit.runs.test_runs_wait import WRITE, click, order, texts
from tests.unit.spine_kit import ANNA, BORIS, NOW, VERA, World, command, message, opening_of, press, reply

pytestmark = pytest.mark.req("G1")

ASK = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"})
WORDS = steps({"ask": "Как зовут?"}, {"say": "Имя: {s0}"})


def change(world: World, statement: str, *values: object) -> None:
    """Change the database behind the program's back."""
    with opening_of(world.sql) as connection:
        connection.execute(statement, values)
        connection.commit()


def told(world: World) -> list[str]:
    """The codes of the sentences that wait to be delivered, short answers to clicks among them."""
    return [one["code"] for row in world.outbox() for one in _list_notices(row.body)]


def _list_notices(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*body.get("notices", ()), *([body["notice"]] if body.get("notice") else [])]


def present(world: World, *people: Actor) -> None:
    """These people have access now, and nobody else."""
    known = {one.key: one for one in people}
    world.orchestrator.tools = replace(world.tools, refresh_actor=lambda actor: known.get(actor.key))


def answer(body: Mapping[str, Any], *, actor: Actor = ANNA, key: str = RUN) -> InboxRow:
    """An answer as a chat passes it on to the run."""
    fresh = generate_id()
    given = {**RunAnswer(question_id="").to_json(), **body}
    return InboxRow(
        id=fresh, source=f"answer:{fresh}", session=key, lane="express", kind=RunAnswer.KIND, actor=actor.model_dump(mode="json"),
        body=given, received_at=NOW,
    )  # fmt: skip


async def ask_words(world: World) -> tuple[str, ...]:
    """Start the run that shows buttons; the words of the first button."""
    await world.work(start("plan"))
    (asked,) = [row for row in world.outbox() if row.kind == "reply"]
    return tuple(asked.body["actions"][0]["words"])


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("DELETE FROM blobs WHERE digest = ?", "run-definition-gone"),
        ("UPDATE blobs SET content = '{\"steps\": [' WHERE digest = ?", "run-definition-damaged"),
        ("UPDATE blobs SET content = '{\"steps\": []}' WHERE digest = ?", "run-definition-damaged"),
        ("UPDATE blobs SET content = '' WHERE digest = ?", "run-definition-damaged"),
    ],
    ids=["missing", "cut", "changed", "empty"],
)
async def test_a_run_whose_definition_is_gone_or_damaged_ends(tmp_path: Path, statement: str, code: str) -> None:
    """What is left of it is not executed: nothing is written by a text that nobody has approved."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        words = await ask_words(world)
        change(world, statement, started(world).digest)
        await world.work(click(*words))
        assert ended(world) == [("failed", code)]
        assert told(world)[-2:] == ["run-ended", code]


@pytest.mark.parametrize(
    "document", [None, 7, [], {}, {"steps": None}, {"steps": [{}]}, {"steps": [{"name": "s0"}]}, {"steps": [{"name": "a/", "say": "x"}]}]
)
async def test_a_definition_that_its_engine_cannot_read_fails_its_run(tmp_path: Path, document: Any) -> None:
    """The person gets one sentence, and the run is over."""
    async with a_run_world(tmp_path, {"plan": {"steps": []}}) as world:
        engines = world.tools.features.inbox[RunStart.KIND].__self__._engines  # type: ignore[attr-defined]
        engines.definitions._static._documents["steps", "plan"] = document
        await world.work(start("plan"))
        assert told(world)[-1] in {"run-definition-gone", "failed", "run-step-unknown"}
        assert {row.status for row in world.sql.list_runs(RunFilter())} <= {"failed"}


@pytest.mark.parametrize("replay", [2, 0])
async def test_a_run_of_a_program_that_is_gone_ends(tmp_path: Path, replay: int) -> None:
    """Its engine plays another version; nothing is sent. A run whose engine was taken out waits for it: test_absent_engines.py."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        words = await ask_words(world)
        session = await world.session(RUN)
        session.state.run = session.state.run.with_values(replay=replay)  # type: ignore[union-attr]
        runner = world.tools.features.inbox[RunStart.KIND].__self__  # type: ignore[attr-defined]
        row = replace(start("plan"), kind="run_play", body={}, id=generate_id())
        await runner.play(row, session, world.tools)
        assert (told(world), session.state.run.code) == (["run-ended", "run-version-gone"], "run-version-gone")
        await session.close()
        await world.work(click(*words))
        assert told(world) == ["choice-outdated"]


@pytest.mark.parametrize("now", [None, "blocked", "other role"])
async def test_a_run_ends_when_its_owner_may_not_run_it_any_more(tmp_path: Path, now: str | None) -> None:
    """The owner was blocked, or has a role that may not start such runs: it does not go on with rights that are gone."""
    async with a_run_world(tmp_path, {"plan": steps({"sleep": 60}, WRITE)}) as world:
        await world.work(start("plan"))
        world.clock.advance(timedelta(minutes=2))
        if now == "other role":
            engines = world.tools.features.inbox[RunStart.KIND].__self__._engines  # type: ignore[attr-defined]
            engines.runs["steps"] = replace(engines.runs["steps"], roles=frozenset({"admin"}))
        else:
            present(world, BORIS)
        await world.work()
        assert ended(world) == [("failed", "run-not-allowed-now" if now == "other role" else "run-owner-gone")]
        assert [row for row in world.outbox() if row.kind == "card"] == []


BAD_WORDS = [
    ("run",), ("run", "{id}"), ("run", "{id}", "{question}"), ("run", "{id}", "{question}", "99"), ("run", "{id}", "{question}", "-1"),
    ("run", "{id}", "{question}", "1" * 5000), ("run", "{id}", "{question}", "²"), ("run", "{id}", "{question}", "٣"),
    ("run", "{id}", "{question}", "раз"), ("run", "{id}", "{question}", "0", "0"), ("run", "{id}", "ffffffff", "0"),
    ("run", "{id}", "", "0"), ("run", "{id}", "explode"), ("run", "", "cancel"), ("run", "../../x", "cancel"),
    ("run", "0190aaaa-0000-7000-8000-00000000ffff", "{question}", "0"), ("run", "{id}", "details", ""),
    ("run", "{id}", "undo", "nothing"),
]  # fmt: skip


@pytest.mark.parametrize("words", BAD_WORDS, ids=range(len(BAD_WORDS)))
async def test_a_button_that_no_run_has_shown_changes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    """It is answered with a short sentence, and the question stays open."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        _, run_id, question, _ = await ask_words(world)
        await world.work(click(*(one.replace("{id}", run_id).replace("{question}", question) for one in words)))
        codes = told(world)
        assert 1 <= len(codes) <= 2
        assert "failed" not in codes, "it is answered, and not tried three times"
        assert (index(world).status, events(world, "RunWoken")) == ("waiting", [])


@pytest.mark.parametrize("end", ["done", "cancelled", "earlier question", "restarted"])
async def test_a_button_of_a_question_that_is_over_changes_nothing(tmp_path: Path, end: str) -> None:
    """The run ended, went on to another question, or failed and was begun again."""
    plan = steps(*ASK["steps"][:1], {"ask": "Точно?", "options": ["да"]}, *([{"child": "nowhere"}] if end == "restarted" else []))
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        words = await ask_words(world)
        await world.work(click(*words))
        if end == "cancelled":
            await world.work(order("cancel"))
        elif end != "earlier question":
            (asked,) = [row for row in world.outbox() if row.kind == "reply" and row.body["actions"]]
            await world.work(click(*asked.body["actions"][0]["words"]))
        if end == "restarted":
            await world.work(order("retry"))
        before, status = len(events(world)), index(world).status
        world.outbox()
        await world.work(click(*words))
        assert (told(world), len(events(world)), index(world).status) == (["choice-outdated"], before, status)


async def test_of_two_people_who_press_at_once_one_answers(tmp_path: Path) -> None:
    """In a group only the asked person's press counts, whatever comes first."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        words = await ask_words(world)
        await world.work(*(click(*words, actor=one) for one in (BORIS, VERA, ANNA, ANNA, BORIS)))
        assert [one.data["by"] for one in events(world, "RunWoken")] == [ANNA.key]


async def test_a_second_answer_finds_the_question_closed(tmp_path: Path) -> None:
    """Two answers of one person wait at the same time: the first counts."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        question = (await ask_words(world))[2]
        await world.work(answer({"question_id": question, "option": 0}), answer({"question_id": question, "option": 1}))
        assert (len(events(world, "RunWoken")), "Тариф: Базовый" in texts(world)) == (1, True)


BAD_ANSWERS = [
    {"option": 7}, {"option": -1}, {"option": None, "answer_kind": "text", "text": "словами"},
    {"option": None, "answer_kind": "contact", "sent": {"phone": "1"}}, {"option": None, "answer_kind": "голос"},
    {"option": None, "answer_kind": "timeout"}, {"question_id": "x" * 100_000, "option": 0},
]  # fmt: skip


@pytest.mark.parametrize("body", BAD_ANSWERS, ids=range(len(BAD_ANSWERS)))
async def test_an_answer_that_the_question_does_not_take_changes_nothing(tmp_path: Path, body: Mapping[str, Any]) -> None:
    """Nothing is woken; the person is told."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        question = (await ask_words(world))[2]
        await world.work(answer({"question_id": question, **body}))
        assert (events(world, "RunWoken"), index(world).status) == ([], "waiting")
        assert told(world) == ["choice-outdated"]


@pytest.mark.parametrize("text", ["я" * 20_000, "a\x01\x02b\u202e", "{s0} {text}", "<b>&amp;", "```\nx"])
async def test_words_of_any_kind_are_an_answer(tmp_path: Path, text: str) -> None:
    """They go to the run as they are, and come back in its message as plain text."""
    async with a_run_world(tmp_path, {"plan": WORDS}) as world:
        await work_through(world, start("plan"), message(text))
        assert ended(world) == [("done", "")]
        said = next(one for one in texts(world) if one.startswith("Имя: "))
        assert len(said) >= len("Имя: ")


async def test_an_empty_message_is_no_answer(tmp_path: Path) -> None:
    """The run still waits, and the message is answered as any other."""
    async with a_run_world(tmp_path, {"plan": WORDS}) as world:
        await world.work(start("plan"))
        world.model.will(reply(text="Слушаю"))
        await world.work(message(""))
        assert index(world).status == "waiting"


async def test_an_answer_to_a_paused_run_is_not_lost_in_silence(tmp_path: Path) -> None:
    """The person is told that the run is paused; after it goes on, the same button works."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        words = await ask_words(world)
        await world.work(order("pause"))
        world.outbox()
        await world.work(click(*words))
        assert told(world) == ["run-paused"]
        await work_through(world, order("resume"), click(*words))
        assert ended(world) == [("done", "")]


@pytest.mark.parametrize(("what", "times", "status"), [
    ("explode", 1, "waiting"), ("", 1, "waiting"), ("retry", 1, "waiting"), ("resume", 1, "waiting"), ("cancel", 2, "cancelled"),
    ("x" * 100_000, 1, "waiting"),
])  # fmt: skip
async def test_an_order_that_does_not_fit_is_refused_with_a_sentence(tmp_path: Path, what: str, times: int, status: str) -> None:
    """An unknown word, a retry of what has not failed, a second cancellation."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await ask_words(world)
        await world.work(*(order(what) for _ in range(times)))
        assert (index(world).status, told(world)[-1]) == (status, "run-order-late")
        assert len(ended(world)) == (status == "cancelled")


@pytest.mark.parametrize("name", ["<b>план</b>", "я" * 10_000, "a\nb", "\u202eplan", "../../etc", "'; DROP TABLE runs; --", "{ $x }", ""])
async def test_a_hostile_name_of_a_definition_is_told_in_one_short_sentence(tmp_path: Path, name: str) -> None:
    """No run begins, and what is shown of the name is short."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start(name), command("steps", args=name))
        rows = [row for row in world.outbox() if row.kind == "reply"]
        assert world.sql.list_runs(RunFilter()) == []
        assert ["run-definition-gone"] in [
            [one["code"] for one in row.body["notices"]] for row in rows
        ]  # the command may be answered first
        assert all(len(str(row.body)) < 1000 for row in rows)


async def test_an_unknown_engine_is_told(tmp_path: Path) -> None:
    """No run begins."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan", engine="magic"))
        assert (told(world), world.sql.list_runs(RunFilter())) == (["run-engine-gone"], [])


async def test_the_end_of_a_child_that_is_none_changes_nothing(tmp_path: Path) -> None:
    """A forged or late result of another run does not wake the node."""
    async with a_run_world(tmp_path, {"plan": steps({"child": "inner"}, {"say": "x"}), "inner": ASK}) as world:
        await world.work(start("plan"))
        for node, run in (("s0", "run:other"), ("s9", "run:other"), ("", "")):
            body = RunChildEnd(node=node, run=run, status="done").to_json()
            await world.work(replace(order("pause"), kind=RunChildEnd.KIND, body=body))
        assert (index(world).status, events(world, "RunWoken")) == ("waiting", [])


@pytest.mark.long
async def test_two_hundred_questions_wait_in_one_chat(tmp_path: Path) -> None:
    """Words go to the one that was asked last, and each can be answered."""
    async with a_run_world(tmp_path, {"plan": WORDS}) as world:
        keys = [f"run:0190aaaa-0000-7000-8000-{number:012x}" for number in range(200)]
        await world.work(*(start("plan", key=key) for key in keys))
        await world.work(message("Ольга"), message("Пётр"))
        assert len(world.sql.list_runs(RunFilter(statuses=("waiting",), limit=1000))) == 198
        await world.work(command("runs"))
        assert len([row for row in world.outbox() if row.kind == "reply"]) >= 1


async def test_a_model_that_fails_ends_in_a_sentence_and_can_be_asked_again(tmp_path: Path) -> None:
    """The client's time runs out; «Повторить» asks again, and only for what is missing."""
    async with a_run_world(tmp_path, {"plan": steps({"model": "раз"}, {"model": "два"}, {"say": "{s1}"})}) as world:
        world.model.will("первый", ModelClientError("no answer in 60 s"))
        await world.work(start("plan"))
        assert told(world) == ["run-ended", "degraded"]
        world.model.will("второй")
        await world.work(click("run", RUN.removeprefix("run:"), "retry"))
        assert (texts(world), ended(world)[-1]) == (["второй", "Готово."], ("done", ""))


async def test_a_write_that_changes_nothing_lets_the_run_go_on(tmp_path: Path) -> None:
    """The record holds the value already: nothing is sent, and nothing has failed."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE, WRITE, {"say": "{s0} {s1}"})}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(shown.body, key=RUN))
        assert "succeeded already" in texts(world)
        assert len(world.portal.written("crm.deal.update")) == 1


@pytest.mark.parametrize("statement", ["DELETE FROM blobs WHERE digest = ?", "UPDATE blobs SET content = '7' WHERE digest = ?"])
async def test_a_large_value_that_is_lost_ends_the_run(tmp_path: Path, statement: str) -> None:
    """Without it the run would take another way; the sentence names the step."""
    async with a_run_world(tmp_path, {"plan": steps({"model": "раз"}, {"ask": "Дальше?"}, {"say": "{s0}"})}) as world:
        world.model.will("я" * 5000)
        await world.work(start("plan"))
        change(world, statement, events(world, "NodeDone")[0].data["output_blob"])
        runner = world.tools.features.inbox[RunStart.KIND].__self__  # type: ignore[attr-defined]
        runner._memos.clear()
        await world.work(message("да"))
        assert ended(world) == [("failed", "run-value-lost")]


async def test_the_chat_works_beside_a_run_that_failed(tmp_path: Path) -> None:
    """A failed run leaves nothing behind in the chat that would take the next words."""
    async with a_run_world(tmp_path, {"plan": WORDS}) as world:
        await world.work(start("plan"))
        change(world, "DELETE FROM blobs WHERE digest = ?", started(world).digest)
        await world.work(message("Ольга"))
        assert ended(world) == [("failed", "run-definition-gone")]
        world.model.will(reply(text="Добрый день"))
        await world.work(message("привет"))
        assert "Добрый день" in texts(world)


async def test_a_retry_lets_the_failed_child_go_on(tmp_path: Path) -> None:
    """«Повторить» of the parent is no button that can only fail: the child that failed goes on, and repeats nothing."""
    documents = {"plan": steps({"child": "inner"}), "inner": steps({"model": "ноль"}, {"model": "раз"})}
    async with a_run_world(tmp_path, documents) as world:
        world.model.will("первый", ModelClientError("no answer in 60 s"))
        await world.work(start("plan"))
        assert ended(world) == [("failed", "run-step-failed")]
        world.model.will("ответ")
        await world.work(order("retry"))
        assert ended(world)[-1] == ("done", "")


async def test_a_retry_starts_a_child_that_never_began(tmp_path: Path) -> None:
    """Its definition was missing and is there now."""
    async with a_run_world(tmp_path, {"plan": steps({"child": "inner"})}) as world:
        await work_through(world, start("plan"), order("retry"))
        assert ended(world) == [("failed", "run-step-failed")] * 2
        engines = world.tools.features.inbox[RunStart.KIND].__self__._engines  # type: ignore[attr-defined]
        engines.definitions._static._documents["steps", "inner"] = steps({"say": "Я внутри"})
        await world.work(order("retry"))
        assert (ended(world)[-1], "Я внутри" in texts(world)) == (("done", ""), True)

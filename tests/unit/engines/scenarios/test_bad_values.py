"""Whatever a run gets or makes, it ends with a reason or goes on: it never hangs, fills the memory, or takes text for anything but text."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from engines.scenarios.core.variables import MOST_CHARACTERS, MOST_PARTS, Variables, VariablesRefused
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import Value
from orchestrator.expressions.conditions import compile_condition
from state.journal.run_index import RunFilter
from tests.unit.bot.telegram.door_kit import opened_door
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, say, scenario, start, texts
from tests.unit.expressions.hostile_kit import build_names, read_hostile
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.sent_kit import contact, document, photo, send
from tests.unit.runs.test_runs_telegram import Chat
from tests.unit.spine_kit import message

SECONDS = 10.0
"""CPU within which each run ends."""
LARGE = "я" * 100_000


def update(step: str = "", **updates: Any) -> dict[str, Any]:
    return {"type": "update_context", "params": {"updates": updates}, **({"id": step} if step else {})}


def again(step: str) -> dict[str, Any]:
    return {"type": "branch", "condition": "true", "branches": {"if": step, "else": step}}


def call(key: str, **params: Any) -> dict[str, Any]:
    return {"type": "execute_sub_scenario", "params": {"sub_scenario_id": key, **params}}


DEEP = ".".join("a" * 3_000)
OTHERS: dict[str, Any] = {
    "large": scenario({"type": "start"}, initial_context={"t": LARGE * 6}),
    "dotted": scenario({"type": "start"}, initial_context={DEEP: 1}),
    "self": scenario(call("self", output_mapping=[])),
    "there": scenario(call("back", output_mapping=[])),
    "back": scenario(call("there", output_mapping=[])),
    "regex": scenario(ask(regex="a)|(?:b")),
}
RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "many large variables": (scenario(*(update(**{f"v{n}": "{a}"}) for n in range(40)), initial_context={"a": LARGE}), "scenario-values-large"),
    "many large lists": (scenario(*(update(**{f"v{n}": ["{a}"] * 9}) for n in range(40)), initial_context={"a": LARGE}), "scenario-values-large"),
    "parts of one large object": (
        scenario(*(update(**{f"v.p{n}": "{a}"}) for n in range(40)), initial_context={"a": LARGE}), "scenario-values-large"
    ),
    "a text that doubles": (scenario(update("s", a="{a}{a}"), again("s"), initial_context={"a": "ab"}), "scenario-values-large"),
    "a list that doubles": (scenario(update("s", a=["{a}", "{a}"]), again("s"), initial_context={"a": 1}), "scenario-values-large"),
    "an object in itself": (scenario(update("s", a={"a": "{a}"}), again("s"), initial_context={"a": 1}), "scenario-values-large"),
    "a text with a huge value": (scenario(say("{a}" * 20), initial_context={"a": LARGE}), "scenario-values-large"),
    "a message beyond all messages": (scenario(say("{a}"), initial_context={"a": LARGE}), "run-large-value"),
    "a question beyond all messages": (scenario(ask(prompt="{a}"), initial_context={"a": LARGE}), "run-large-value"),
    "a mapping that is filled with too much": (scenario(call("large", output_mapping={"x": "{t}{t}"})), "scenario-values-large"),
    "a name of 3,000 parts": (scenario(update(**{DEEP: 1})), "scenario-value-unfit"),
    "an answer into 3,000 parts": (scenario(ask(DEEP)), "scenario-value-unfit"),
    "a merged name of 3,000 parts": (scenario(call("dotted")), "scenario-values-large"),
    "a scenario in itself": (scenario(call("self", output_mapping=[])), "scenario-child-failed"),
    "two scenarios in a circle": (scenario(call("there", output_mapping=[])), "scenario-child-failed"),
    "a circle of pure steps": (scenario({"id": "s", "type": "start", "next_step": "s"}), "scenario-too-long"),
    "a variable as the name of a scenario": (scenario(call("{nobody}")), "scenario-child-failed"),
    "buttons made of a variable": (
        scenario({"type": "telegram_send_message", "params": {"text": "?", "inline_keyboard": "{b}"}}, initial_context={"b": [[{"text": "x"}] * 8] * 99}),
        "scenario-value-unfit",
    ),
    "seconds made of a text": (scenario({"type": "wait", "params": {"seconds": "{s}"}}, initial_context={"s": "долго"}), "scenario-value-unfit"),
    "seconds beyond all years": (scenario({"type": "wait", "params": {"seconds": "{s}"}}, initial_context={"s": 1e300}), "scenario-value-unfit"),
    "a name of the program": (scenario(update(__current_scenario_id__="x")), "scenario-name-reserved"),
    "a target that is not there": (scenario({**say("x"), "next_step": "нет"}), "scenario-target-unknown"),
    "no steps": ({"name": "x", "steps": []}, "scenario-broken"),
    "a condition that takes no end": (scenario({"type": "branch", "condition": "9**9**9", "branches": {"if": "a"}}, say("x", id="a")), "scenario-broken"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
async def test_a_run_that_cannot_go_on_ends_with_a_reason(tmp_path: Path, name: str) -> None:
    """Within a bounded time, in a sentence that people read in both languages."""
    document, code = RUNS[name]
    async with a_scenario_world(tmp_path, document, others=OTHERS) as world:
        begun = time.process_time()
        await world.work(start())
        assert time.process_time() - begun < SECONDS
        end = failure(world)
    assert (end["status"], end["code"]) == ("failed", code)
    assert all(Translator(language).has_message(code) for language in ("ru", "en"))


@pytest.mark.req("S000-A11")
async def test_scenarios_in_a_circle_end_at_the_depth(tmp_path: Path) -> None:
    """Ten stand inside of the first, the one that they would start is refused, and each above it has failed with it."""
    async with a_scenario_world(tmp_path, scenario(call("self", output_mapping=[])), others=OTHERS) as world:
        await world.work(start())
        runs = world.sql.list_runs(RunFilter(limit=100))
    assert {row.status for row in runs} == {"failed"}
    assert len(runs) == 12


def test_variables_take_back_what_was_replaced() -> None:
    """The bound is on what there is, not on what there was; and a plugin's name of too many parts is refused, too."""
    variables = Variables({}, {}, {}, {})
    for _ in range(100):
        variables.assign({"a": Value("x" * (MOST_CHARACTERS - 10)), "b.c": Value(1)})
        variables.assign({"a": Value("y" * (MOST_CHARACTERS - 20))})
    with pytest.raises(VariablesRefused):  # the copy to which a person goes back is as full
        variables.copy().assign({"d": Value("x" * 100)})
    for name in (DEEP, ".".join("a" * (MOST_PARTS + 1))):
        with pytest.raises(VariablesRefused):
            variables.assign({name: Value(1)})
    variables.assign({".".join("a" * MOST_PARTS): Value(1)})


TYPED = {
    "a placeholder": "{secret}", "a placeholder of the program": "{__scenario_instance_id__}",
    "a placeholder in a placeholder": "{{secret}}", "an escaped placeholder": "\\{secret}", "braces without an end": ("{" * 500),
    "braces of Python": "{0.__class__} {!r:>999999999}", "per cents": "%s %(secret)s %999999999d",
    "a dollar": "${secret} $secret $(id)", "quotes": "' or 1 == 1 or '", "quotes of both kinds": "\"'\"'`;--",
    "JSON": ('{"secret": {"$gt": ""}}'), "a call": "__import__('os').system('id')", "HTML": "<b onclick=x>&lt;script&gt;</b>",
    "right to left": "\u202eтекст\u202c", "an emoji of seven parts": ("👨‍👩‍👧‍👦" * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPED)
async def test_what_is_typed_stays_text(tmp_path: Path, name: str) -> None:
    """In a message, in a condition, and in a variable made of it; nothing of the run is read by it, and no branch is taken by it."""
    typed = TYPED[name]
    steps = (
        ask("a"),
        update(copy="{a}", more={"list": ["{copy}", "{a}"]}),
        {"type": "branch", "condition": "a == '{copy}' and secret == 'тайна' and a != secret", "branches": {"if": "same", "else": "other"}},
        {**say("нет", id="other"), "next_step": "bye"},
        {**say("[{a}]", id="same"), "next_step": "bye"},
        {"id": "bye", "type": "end"},
    )
    async with a_scenario_world(tmp_path, scenario(*steps, initial_context={"secret": "тайна"})) as world:
        await world.work(start())
        await world.work(message(typed))
        (woken,) = events(world, "RunWoken")
        assert woken.data["value"]["text"] == typed
        assert index(world).status == "done", failure(world)
        told = texts(world)[-1]
        assert told.startswith("[")
        assert "тайна" not in told


@pytest.mark.parametrize(
    ("question", "typed", "told"),
    [
        ({}, "я" * 100_000, 10_000),
        ({"type": "number"}, "9" * 100_000, 10_000),
        ({"regex": "(a+)+$"}, "a" * 100_000, 10_000),
        ({"max_length": 5}, "я" * 6, 5),
    ],
    ids=["text", "number", "regex", "short"],
)
async def test_an_answer_of_any_length_is_refused_politely(tmp_path: Path, question: dict[str, Any], typed: str, told: int) -> None:
    """The person reads how long it may be, and is asked again; the next answer fits."""
    async with a_scenario_world(tmp_path, ask("a", **question), say("есть")) as world:
        await world.work(start())
        begun = time.process_time()
        await world.work(message(typed))
        assert time.process_time() - begun < SECONDS
        refused = [one for row in world.outbox() for one in row.body.get("notices", ()) if one["code"] == "scenario-answer-long"]
        assert [one["args"]["most"] for one in refused] == [told]
        await world.work(message("5" if question.get("type") else "aaa"))
        assert texts(world)[-1] == "есть"


STICKER = {
    "sticker": {"file_id": "1", "file_unique_id": "1", "type": "regular", "width": 1, "height": 1, "is_animated": False, "is_video": False}
}


@pytest.mark.parametrize("sent", [STICKER, photo(), document(), contact()], ids=["sticker", "photo", "document", "contact"])
async def test_what_is_no_number_leaves_the_question_open(tmp_path: Path, sent: dict[str, Any]) -> None:
    """A sticker, photo, file or contact over the wire where a number is due: it is no answer, and the number that follows is one."""
    plan = (ask("a", type="number"), say("взято {a}"))
    async with a_scenario_world(tmp_path, *plan) as world, world.working(), opened_door(world) as (door, wire):
        chat = Chat(world, door, wire)
        await world.orchestrator.receive([start()])
        await chat.settle()
        await send(chat, 1, sent)
        assert index(world).status == "waiting"
        assert not any("взято" in str(one["text"]) for one in chat.shown())
        await chat.say("5")
        assert any("взято 5" in str(one["text"]) for one in chat.shown())


def _list_taken() -> list[str]:
    """The hostile conditions that can only be refused when they are evaluated."""
    found = []
    for source in read_hostile():
        try:
            compile_condition(source)
        except DefinitionRefused:
            continue
        found.append(source)
    return found


@pytest.mark.long
async def test_no_hostile_condition_takes_a_branch(tmp_path: Path) -> None:
    """Those that a check cannot refuse stop their runs, each with its column; nothing is said, and the next run is not harmed."""
    taken = _list_taken()
    plans = {
        f"c{number}": scenario(
            {"type": "branch", "condition": source, "branches": {"if": "a", "else": "a"}},
            say("взято", id="a"),
            initial_context=build_names(),
        )
        for number, source in enumerate(taken)
    }
    async with a_scenario_world(tmp_path, say("готово"), others=plans) as world:
        begun = time.process_time()
        for number in range(len(taken)):
            await world.work(replace(start(f"c{number}"), session=f"run:c{number}", source=f"start:c{number}"))
        assert time.process_time() - begun < 6 * SECONDS
        assert {failure(world, f"run:c{number}")["code"] for number in range(len(taken))} == {"scenario-condition-failed"}
        assert texts(world) == []
        await world.work(start())
        assert texts(world) == ["готово"]


@pytest.mark.parametrize("is_foreign", [True, False])
async def test_one_placeholder_may_stand_for_all_values_that_a_step_sets_or_hands_on(tmp_path: Path, *, is_foreign: bool) -> None:
    """They are set each, and what strangers wrote stays theirs: a comment with it asks, one with the author's words does not."""
    fields = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "{note}"}
    write = {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": {"fields": fields}}}
    given = Value({"note": "слова", "more": {"a": 1}}, frozenset({"web" if is_foreign else "definition"}))
    inside = scenario(say("{note} {more.a}"), write)
    steps = (
        {"type": "update_context", "params": {"updates": "{o}"}},
        say("{note}"),
        {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "inner", "input_parameters": "{o}", "output_mapping": []}},
    )
    async with a_scenario_world(tmp_path, *steps, others={"inner": inside}) as world:
        await world.work(start(o=given))
        rows = world.outbox()
        said = [part["text"] for row in rows if row.kind == "reply" for part in row.body["parts"]]
        assert said[:2] == ["слова", "слова 1"]
        assert [row.kind for row in rows].count("card") == (1 if is_foreign else 0)
        assert len(world.portal.written("crm.timeline.comment.add")) == (0 if is_foreign else 1)

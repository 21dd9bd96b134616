"""Who somebody is under the seed's names is what a caller or an author says; under the names with __ it is what the program knows."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engines.scenarios
from bot.definition_service import build_class_finder
from bot.i18n.translate import Translator
from engines.scenarios.core.definition import ABOUT_PERSON
from engines.scenarios.core.kind import build_kind
from engines.scenarios.playing import Dialogue, play_dialogue
from orchestrator.definitions.checking import check_document
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Definition, RunEffect
from orchestrator.rehearsals.rehearsal import Place
from orchestrator.rehearsals.script import Script
from orchestrator.runs.registry import StaticDefinitions
from tests.unit.definitions.service_kit import shipped_catalogue, text
from tests.unit.engines.scenarios.rehearsal.test_seed_rows import call, play
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, replies, say, scenario, start, texts
from tests.unit.runs.runs_kit import events

SEED = """{
  "steps": [
    {
      "type": "message",
      "params": {
        "text": "Заказ для {user_name}: {order_details.item} (x{order_details.count})."
      }
    }
  ]
}"""
"""The step of the seed's example, as it stands there."""
CONTEXT = {"user_name": "Алиса", "order_details": {"item": "книга", "count": 2}}
TOLD = "Заказ для Алиса: книга (x2)."
"""What the seed promises but for the case of the name, which no placeholder can decline (M1)."""
NAMES = sorted(ABOUT_PERSON)
OWN = "tg:1007 7 Europe/Moscow 2026-11-21 tg:1007 Анна"
SHOWS = say(" ".join(f"{{{name}}}" for name in NAMES))
SHOWS_OWN = say(" ".join(f"{{__{name}}}" for name in NAMES))
PERSON = frozenset({"person"})
EXAMPLES = Path(engines.scenarios.__file__ or "").parent / "examples"


class Earlier(StaticDefinitions):
    """Definitions that were published before there were editions."""

    async def find(self, engine: str, key: str, /) -> Definition | None:
        """Return the definition, None if there is none."""
        found = await super().find(engine, key)
        return replace(found, edition=0) if found is not None else None


def give(values: Mapping[str, Any]) -> dict[str, Value]:
    return {name: Value(one, PERSON) for name, one in values.items()}


@pytest.mark.req("S000-18", "S000-22", "S000-X5")
async def test_the_seeds_example_says_the_name_that_it_was_given(tmp_path: Path) -> None:
    """From the caller, from `initial_context`, from a scenario around it, and as an author tries it in the terminal."""
    plan = json.loads(SEED)
    around = scenario(call("seed", input_parameters=CONTEXT, output_mapping=[]))
    for number, (main, given) in enumerate([(plan, CONTEXT), ({**plan, "initial_context": CONTEXT}, {}), (around, {})]):
        async with a_scenario_world(tmp_path / f"{number}", main, others={"seed": plan}) as world:
            await world.work(start(**give(given)))
            assert texts(world) == [TOLD]
    played = await play(plan, args=CONTEXT)
    assert played.own_variables == CONTEXT
    assert [part.text for one in played.happenings if one.reply for part in one.reply.parts] == [TOLD]


@pytest.mark.req("S000-X5", "S000-37")
async def test_what_is_given_wins_and_the_programs_own_stands_beside_it(tmp_path: Path) -> None:
    """The caller before the author before the program, inside of other scenarios too; nobody replaces the names with __."""
    others = dict.fromkeys(NAMES, "автор")
    sub = call("inner", input_parameters=dict.fromkeys(NAMES, "снаружи"), output_mapping=[])
    plan = scenario(SHOWS, SHOWS_OWN, sub, initial_context=others)
    async with a_scenario_world(tmp_path, plan, others={"inner": scenario(SHOWS, SHOWS_OWN)}) as world:
        await world.work(start(user_name=Value("Алиса", PERSON)))
        assert texts(world) == [f"{'автор ' * 5}Алиса", OWN, " ".join(["снаружи"] * 6), OWN]


async def test_nobody_gives_a_value_to_a_name_of_the_program(tmp_path: Path) -> None:
    """The start is refused in words, and so is that of a scenario which another one starts with such a value."""
    for number, plan in enumerate([SHOWS_OWN, call("inner", input_parameters={"__user_name": "Алиса"}, output_mapping=[])]):
        async with a_scenario_world(tmp_path / f"{number}", plan, others={"inner": scenario(SHOWS_OWN)}) as world:
            await world.work(start(**({} if number else give({"__user_name": "Алиса"}))))
            codes = [notice["code"] for row in replies(world) for notice in row.body["notices"]]
            assert texts(world) == []
            assert "scenario-given-reserved" in codes
    told = Translator("ru").translate_notice(Notice(code="scenario-given-reserved", args={"name": "__user_name"}))
    assert told == "Значение «__user_name» даёт только программа, поэтому при запуске его задать нельзя: сценарий не начат."


class Watching(Script):
    """Takes down the effects."""

    effects: list[RunEffect]

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Take it down, and do as ever."""
        self.effects = [effect]
        return await super().perform(place, effect, params)


async def test_a_given_name_is_its_givers_word() -> None:
    """In what is written it comes from the person or the author; what the program knows itself comes from nobody."""
    document = {"a": "{user_id}", "b": "{chat_id}", "c": "{__user_id}"}
    write = {"type": "mongo_insert_one", "params": {"collection_name": "c", "document": document}}
    dialogue = Dialogue.model_validate({"name": "x", "args": {"user_id": "tg:1"}})
    script = Watching(dialogue)
    await play_dialogue("plan", {"plan": scenario(write, initial_context={"chat_id": "tg:1"})}, TYPES, dialogue, script)
    written = script.effects[0].params["document"]
    assert {name: set(one.origins) for name, one in written.items()} == {
        "a": {"person", "definition"},
        "b": {"definition"},
        "c": {"definition"},
    }


async def test_a_scenario_inside_brings_no_name_back_that_it_was_not_given(tmp_path: Path) -> None:
    """Without a mapping all its variables are taken over, but not what the program says to every scenario."""
    plan = scenario(call("inner"), say("{user_name} {more}"))
    inner = scenario({"type": "update_context", "params": {"updates": {"more": 1}}})
    async with a_scenario_world(tmp_path, plan, others={"inner": inner}) as world:
        await world.work(start(**give(CONTEXT)))
        assert texts(world) == ["Алиса 1"]


async def test_what_was_published_before_keeps_its_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What somebody else says of who, where and when is left out there, which the log of scenarios says, and no start is refused."""
    monkeypatch.setattr("tests.unit.engines.scenarios.scenario_kit.StaticDefinitions", Earlier)
    false = dict.fromkeys(NAMES, "чужой")
    plan = scenario(SHOWS, call("inner", input_parameters=false, output_mapping=[]), initial_context=false)
    async with a_scenario_world(tmp_path, plan, others={"inner": scenario(SHOWS, SHOWS_OWN)}) as world:
        await world.work(start(**give({**false, "__user_name": "чужой"})))
        assert texts(world) == [OWN] * 3
        assert events(world, "RunStarted")[0].data.get("edition", 0) == 0
    named = "leaves out the given chat_id, employee_id, time_zone, today, user_id, user_name:"
    assert [named in one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [True, True]


BRANCH = {"type": "branch", "branches": {"if": "end"}}
END = {"id": "end", "type": "end"}


def find_given(*steps: Mapping[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    """(severity, place, what to use) of the warnings."""
    plan = json.dumps(scenario(*steps, END, **more))
    checked = check_document(build_kind(TYPES), text(plan, "json"), build_class_finder(shipped_catalogue), lambda *_: False)
    assert checked.document is not None
    return [(one.severity, one.path, str(one.args["own"])) for one in checked.findings if one.code == "finding-name-given"]


@pytest.mark.parametrize(("steps", "found"), [
    ([{**BRANCH, "condition": "user_id == 'tg:1'"}], [("steps[0].condition", "__user_id")]),
    ([{**BRANCH, "condition": "context.get('employee_id') == 7"}], [("steps[0].condition", "__employee_id")]),
    ([{**BRANCH, "condition": "'{user_name}' == 'Анна'"}], [("steps[0].condition", "__user_name")]),
    ([{**BRANCH, "condition": "__user_id == 'tg:1'"}], []),
    ([{**BRANCH, "condition": "today > '2026-01-01'"}], []),
    (
        [
            {"type": "calculate", "params": {"values": {"boss": "user_id == 'tg:1'"}}},
            {"type": "update_context", "params": {"updates": {"may": {"write": "{boss}"}}}},
            {**BRANCH, "condition": "may.write"},
        ],
        [("steps[2].condition", "__user_id")],
    ),
    ([{"type": "update_context", "params": {"updates": {"user_id": 5}}}, {**BRANCH, "condition": "user_id == 5"}], []),
    (
        [{"type": "bitrix_call", "params": {"method": "crm.deal.add", "params": {"fields": {"ASSIGNED_BY_ID": "{employee_id}"}}}}],
        [("steps[0].params.params.fields.ASSIGNED_BY_ID", "__employee_id")],
    ),
    ([{"type": "bitrix_call", "params": {"method": "crm.deal.list", "params": {"filter": {"ASSIGNED_BY_ID": "{employee_id}"}}}}], []),
    ([{"type": "telegram_send_message", "params": {"chat_id": "{chat_id}", "text": "Да"}}], [("steps[0].params.chat_id", "__chat_id")]),
    (
        [{"type": "action", "params": {"action_type": "mongo_insert_one", "collection_name": "c", "document": {"who": "{user_name}"}}}],
        [("steps[0].params.document.who", "__user_name")],
    ),
    ([say("{user_name} {user_id}")], []),
])  # fmt: skip
def test_deciding_or_writing_by_a_given_name_is_a_warning(steps: list[dict[str, Any]], found: list[tuple[str, str]]) -> None:
    """Also by what was calculated from it; not a message, a read, a name that a step sets, or the program's own."""
    assert find_given(*steps) == [("warning", *one) for one in found]


def test_for_customers_the_day_is_the_programs_own() -> None:
    """Whoever starts such a scenario hands in what customers wrote: a task is due when the program says, not they."""
    due = {"type": "calculate", "params": {"values": {"due": "add_days(today, 1)"}}}
    call = {"type": "bitrix_call", "params": {"method": "tasks.task.add", "params": {"fields": {"TITLE": "x", "DEADLINE": "{due}"}}}}
    assert find_given(due, call, customers=True) == [("warning", "steps[1].params.params.fields.DEADLINE", "__today")]
    assert find_given(due, call) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_example_goes_by_a_given_name(path: Path) -> None:
    """Whoever copies one copies how it is done."""
    checked = check_document(build_kind(TYPES), text(path.read_bytes()), build_class_finder(shipped_catalogue), lambda *_: False)
    assert [one for one in checked.findings if one.code == "finding-name-given"] == []

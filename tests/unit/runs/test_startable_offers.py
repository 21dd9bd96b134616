"""What people may start: definitions of the example engines, the engine of the guide, and what a model is told of all that."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.plugins.building import load_installed_engines
from examples.engines.definitions import ENGINES, load_engines
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import build_reply
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import Value
from orchestrator.engines import runs
from orchestrator.runs import registry
from orchestrator.runs.feature import build_feature
from orchestrator.runs.offers import LOOK_EVERY, StartableOffers
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.turns.feature import merge_features
from state.clock import generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow
from tests.unit.definitions.service_kit import BYE, HELLO, Desk, a_desk, build_desk
from tests.unit.runs.runs_kit import RUN, a_run_world, build_engines, events, index, start, steps
from tests.unit.spine_kit import ANNA, NOW, a_world, message, press

MANAGER = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
LEAD = Actor(key="tg:1006", name="Вера", bitrix_user_id=6, role="lead")


class _Seconds:
    """A clock that stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def _engines(desk: Desk) -> Engines:
    """The example engines, of which only leads may start "fan"."""
    made = build_engines({("steps", "shipped"): HELLO})
    fan = replace(made.runs["fan"], commands=made.runs["steps"].commands, roles=frozenset({"lead"}))
    return add_stored_definitions(replace(made, runs={**made.runs, "fan": fan}), desk.store)


async def _name(offers: StartableOffers, actor: Actor = MANAGER) -> list[object]:
    return [one["name"] for one in await offers.list_startable(actor)]


async def test_nothing_is_read_twice_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next prompt gets the very same list, without a look into the database."""
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, _Seconds())
        first = await offers.list_startable(MANAGER)
        monkeypatch.setattr(desk.store, "read", None)
        monkeypatch.setattr(desk.store, "read_head", None)
        assert await offers.list_startable(MANAGER) is first


async def test_what_this_process_changes_is_in_the_next_prompt() -> None:
    """A publication, a new version, and the switch of a key, each at once."""
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, _Seconds())
        assert await _name(offers) == ["shipped"]
        await desk.publish("plan", HELLO)
        assert await _name(offers) == ["plan", "shipped"]
        await desk.switch("plan", enabled=False)
        assert await _name(offers) == ["shipped"]
        await desk.switch("plan", enabled=True)
        await desk.publish("plan", BYE)
        await desk.publish("shipped", BYE)
        await desk.switch("shipped", enabled=False)
        assert await _name(offers) == ["plan"]


async def test_what_another_process_changes_is_seen_within_a_second() -> None:
    """One short read tells whether anything has changed; until it is due the kept list stands."""
    seconds = _Seconds()
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, seconds)
        assert await _name(offers) == ["shipped"]
        other = AsyncStore(desk.sql)
        await build_desk(other, desk.sql).publish("plan", HELLO)
        seconds.now += LOOK_EVERY
        assert await _name(offers) == ["plan", "shipped"]


async def test_each_person_is_offered_what_their_role_may_start() -> None:
    """Also when another role has asked before; for customers there is nothing."""
    async with a_desk() as desk:
        offers = StartableOffers(_engines(desk), desk.store, _Seconds())
        await desk.publish("wide", {"things": ["a"], "prompt": "Опиши"}, kind="fan")
        assert await _name(offers, LEAD) == ["shipped", "wide"]
        assert await _name(offers, MANAGER) == ["shipped"]
        assert await _name(offers, MANAGER.model_copy(update={"role": "lead"})) == ["shipped", "wide"]
        assert await _name(offers, LEAD.model_copy(update={"for_customers": True})) == []


async def test_a_change_while_the_list_is_made_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before the change is not kept beyond it."""
    async with a_desk() as desk:
        engines = _engines(desk)
        offers = StartableOffers(engines, desk.store, _Seconds())
        list_all = type(engines.definitions).list_all
        reads: list[str] = []

        async def publish_behind(self: object, engine: str, /) -> object:
            found = await list_all(self, engine)  # type: ignore[arg-type]
            if not reads:
                reads.append(engine)
                await desk.publish("plan", HELLO)
            return found

        monkeypatch.setattr(type(engines.definitions), "list_all", publish_behind)
        assert "plan" not in await _name(offers)
        assert await _name(offers) == ["plan", "shipped"]


@pytest.mark.parametrize("broken", [{"describe": lambda document: document["nothing"]}, {"roles": None}])
async def test_an_engine_that_cannot_read_its_definition_stops_no_prompt(broken: dict[str, Any]) -> None:
    """What the others have is told as before."""
    async with a_desk() as desk:
        made = build_engines({("steps", "shipped"): HELLO, ("fan", "odd"): {}})
        fan = replace(made.runs["fan"], commands=made.runs["steps"].commands, **broken)
        engines = add_stored_definitions(
            replace(made, runs={"fan": fan, **{name: one for name, one in made.runs.items() if name != "fan"}}), desk.store
        )
        assert await _name(StartableOffers(engines, desk.store, _Seconds())) == ["shipped"]


FILE: dict[str, Any] = yaml.safe_load(Path("examples/engines/definitions.yaml").read_text(encoding="utf-8"))
VERBS = {"say", "ask", "model", "write", "later", "sleep", "child", "turn"}
PARTS = {"contact": {"name", "phone", "user_id"}, "document": {"name", "size", "type"}, "photo": {"name", "size", "type"}}


def test_the_shipped_bot_has_none_of_the_example_engines() -> None:
    """The examples come in with a program of their own; a bot that somebody installs offers none of their commands."""
    assert load_installed_engines().runs.keys().isdisjoint(load_engines().runs)


async def test_each_command_starts_a_definition_and_stands_in_the_menu() -> None:
    """A command without its definition would tell the person that the run does not exist."""
    engines = load_engines()
    for name in FILE["commands"]:
        ((engine, command),) = [(engine, one.commands[name]) for engine, one in engines.runs.items() if name in one.commands]
        assert await engines.definitions.find(engine, command.definition) is not None
        assert command.menu is not None


@pytest.mark.parametrize("row", [row for row in FILE["definitions"] if row["engine"] == "steps"], ids=lambda row: row["key"])
def test_each_step_can_be_done_with_what_came_before_it(row: dict[str, Any]) -> None:
    """Names differ, each step has one verb, and a place in a text names an earlier step or a part that its answer has."""
    takes: dict[str, set[str]] = {}
    for step in row["document"]["steps"]:
        assert len(VERBS & set(step)) == 1, step
        assert step["name"] not in takes
        for place in re.findall(r"\{([^{}:]+)\}", str(step)):
            name, _, part = place.partition(".")
            assert name in takes, place
            assert not part or part in takes[name], place
        takes[step["name"]] = _list_parts(step)
    assert {row["engine"] for row in FILE["definitions"]} == set(ENGINES)


def _list_parts(step: dict[str, Any]) -> set[str]:
    """Return the parts that every answer to a step has."""
    answers = [PARTS[one] for one in step.get("takes", ())]
    answers += [set(one["value"]) for one in step.get("options", ()) if isinstance(one["value"], dict)]
    return set.intersection(*answers) if answers else set()


async def test_a_part_of_an_answer_fills_texts_and_params(tmp_path: Path) -> None:
    """The name and phone of a contact go into the next steps; a part that the answer does not have stays as it is written."""
    fields = {"OPPORTUNITY": 1200000, "TITLE": "Звонил {s0.name}", "COMMENTS": "{s0.phone}"}
    write = {"write": "crm.deal.update", "params": {"id": 481, "fields": fields}}
    plan = steps({"ask": "Контакт?", "takes": ["contact"]}, {"say": "Это {s0.name}, {s0.post}"}, write)
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (asked,) = events(world, "RunWaits")
        sent = {"name": "Пётр", "phone": "+79001234567", "user_id": None}
        answer = RunAnswer(question_id=asked.data["waits_for"], answer_kind="contact", sent=sent)
        await world.work(_build_row(answer))
        (told, *_) = [row.body["parts"][0]["text"] for row in world.outbox() if row.kind == "reply" and "Это" in str(row.body)]
        (card,) = events(world, "ConfirmationRequested")
    written = card.data["params"]["fields"]
    assert told == "Это Пётр, {s0.post}"
    assert (written["TITLE"], written["COMMENTS"]) == ("Звонил Пётр", "+79001234567")


async def test_an_option_may_have_a_text_of_its_own(tmp_path: Path) -> None:
    """The button shows the label, the run gets the value."""
    plan = steps({"ask": "Скидка?", "options": [{"label": "10 %", "value": 108000}]}, {"say": "Сумма {s0}"})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        await world.work(start("plan"))
        (asked,) = events(world, "RunWaits")
        assert asked.data["options"] == ["10 %"]
        await world.work(_build_row(RunAnswer(question_id=asked.data["waits_for"], option=0)))
        assert "Сумма 108000" in str([row.body for row in world.outbox()])


async def test_what_was_typed_goes_into_the_prompts_of_a_fan(tmp_path: Path) -> None:
    """The words after the command stand in each prompt and in the summary, and count as the person's."""
    fan = {"things": ["цель"], "prompt": "{text}: {thing}", "summary": "{text}: {answers}"}
    async with a_run_world(tmp_path, {"fan": fan}) as world:
        world.model.will("вежливо", "звоните")
        await world.work(start("fan", engine="fan", text=Value("Ромашка", frozenset({"person"}))))
        done = events(world, "NodeDone")
        assert [prompt[-1]["content"] for prompt in world.model.prompts] == ["Ромашка: цель", "Ромашка: вежливо"]
    assert all("person" in one.data["origins"] for one in done)


def _build_row(answer: RunAnswer) -> InboxRow:
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=f"answer:{fresh}", session=RUN, lane="express", kind=RunAnswer.KIND, actor=ANNA.model_dump(mode="json"),
        body=answer.to_json(), received_at=NOW,
    )  # fmt: skip


GUIDE = Path(__file__).parents[3] / "docs" / "engines.md"


async def test_the_engine_of_the_guide_asks_writes_and_ends(tmp_path: Path) -> None:
    """It asks for a name, lets the model greet, and writes the greeting once."""
    engine, registered = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    known: dict[str, Any] = {**vars(runs), **vars(registry), "build_reply": build_reply}
    exec(engine, known)  # noqa: S102 - a page of this project
    engines = eval(registered, known)  # noqa: S307
    async with a_world(tmp_path) as world:
        tools = world.orchestrator.tools
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(engines)))
        await world.work(start("hello", engine="greeting"))
        world.model.will("Здравствуйте, Ольга!")
        await world.work(message("Ольга"))
        for card in [row.body for row in world.outbox() if row.kind == "card"]:
            await world.work(press(card, key=RUN))
        assert index(world).status == "done"
        [(_, params)] = world.portal.written("crm.timeline.comment.add")
        assert params["fields"]["COMMENT"] == "Здравствуйте, Ольга!"

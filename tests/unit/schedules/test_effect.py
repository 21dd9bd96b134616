"""An engine schedules runs with an effect: checked before any card, made once, settled by reading, and asked about if it repeats."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.domain.run_inputs import MOST
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunResult
from orchestrator.gate.call.kinds.base import KindRequest
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.run_schedules import ADD
from orchestrator.performers import schedule as performers
from orchestrator.runs.registry import Engines, RegisteredEngine
from orchestrator.runs.titles import find_published_title
from orchestrator.schedules.firing import StartChecker
from state.journal.store import StoreError, StoreUnwritable
from tests.unit.runs.runs_kit import RUN, start
from tests.unit.schedules.schedules_kit import QUIET, Bench, a_bench, add
from tests.unit.spine_kit import ANNA, CHAT, VERA, command, press

PLAN: dict[str, Any] = {"engine": "steps", "definition": "plan"}
AT = {**PLAN, "at": "2026-11-22T09:00:00+03:00"}
DAILY = {**PLAN, "cron": "0 9 * * 1-5"}


def wish(params: Mapping[str, Any], *, slot: str = "t1/1/1", **more: Any) -> Effect:
    """The effect that makes a schedule."""
    return Effect(
        kind="schedule", method=ADD, params=dict(params), slot=slot, provenance=more.pop("provenance", Provenance(message=None)), **more
    )


def use_performer(bench: Bench) -> None:
    """Let the gate ask the engines of the bench, and its people."""
    engines = bench.world.tools.features.timers["schedule"].__self__._engines  # type: ignore[attr-defined]
    made = performers.SchedulePerformer(bench.world.store, bench.world.clock, StartChecker(engines, bench.people.refresh))
    bench.world.gate.deps.performers["schedule"] = made  # type: ignore[index]


async def submit(bench: Bench, effect: Effect, *, actor: Actor = ANNA, mode: Any = "full") -> Outcome | Pending:
    """The effect through the gate, in the person's chat."""
    use_performer(bench)
    session = await bench.world.session(actor.key)
    try:
        return await bench.world.submit(session, effect, actor=actor, mode=mode)
    finally:
        await session.close()


async def test_one_run_later_is_scheduled_without_a_card_and_shown_to_the_person(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        outcome = await submit(bench, wish({**AT, "args": {"deal": 481}, "origins": {"deal": ["person"]}, "note": "  для   Ромашки "}))
        assert isinstance(outcome, Outcome)
        assert (outcome.status, outcome.result["next"]) == ("succeeded", "2026-11-22T06:00:00.000000Z")
        await bench.world.work()
        (schedule,) = bench.state()
        assert schedule == outcome.result["schedule"]
        entry = bench.entry(schedule=schedule)
        assert (entry.owner, entry.note, entry.args) == (ANNA.key, "для Ромашки", {"deal": {"data": 481, "origins": ["person"]}})
        assert bench.told() == ["🗓 Запуск «plan»: один раз, вс, 22 ноября, 09:00."]


@pytest.mark.req("S000-A13", "G1")
async def test_what_repeats_asks_first_and_the_card_says_when(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        session = await bench.world.session()
        use_performer(bench)
        card = await bench.world.asked(
            session, wish({**DAILY, "args": {"deal": 481, "text": "напомнить"}, "origins": {"deal": [], "text": []}})
        )
        await session.close()
        text = to_plain_text(
            render_message("card", card.without("params", "before", "provenance").to_stored() | {"stage": 1}, Translator("ru"))
        )
        for part in (
            "Запланировать запуск сценария",
            "plan",
            "пн, 23 ноября, 09:00",
            "вт, 24 ноября, 09:00",
            "0 9 * * 1-5",
            "напомнить",
            "481",
        ):
            assert part in text, text
        assert "само, раз за разом" in text
        assert bench.timers() == []
        await bench.world.work(press(card))
        assert [(one.cron, one.zone) for one in bench.state().values()] == [("0 9 * * 1-5", ANNA.time_zone)]
        await bench.world.work(press(card))
        assert len(bench.timers()) == 1


async def test_people_read_the_title_of_what_is_started(tmp_path: Path) -> None:
    """On the card, in the message that it was made, in the list and when it starts late; a schedule without one has the key."""
    async with a_bench(tmp_path, QUIET) as bench:
        engines = bench.world.tools.features.timers["schedule"].__self__._engines  # type: ignore[attr-defined]
        engines.runs["steps"] = replace(engines.runs["steps"], describe=lambda _document: ("План недели", ""))
        made = performers.SchedulePerformer(
            bench.world.store,
            bench.world.clock,
            StartChecker(engines, bench.people.refresh),
            partial(find_published_title, engines=engines),
        )
        bench.world.gate.deps.performers["schedule"] = made  # type: ignore[index]
        session = await bench.world.session()
        card = await bench.world.asked(session, wish(DAILY))
        await session.close()
        text = to_plain_text(
            render_message("card", card.without("params", "before", "provenance").to_stored() | {"stage": 1}, Translator("ru"))
        )
        assert "План недели" in text
        await bench.world.work(press(card))
        await bench.world.work(command("schedules"))
        (entry,) = bench.state().values()
        told = bench.told()
        assert (entry.title, entry.definition) == ("План недели", "plan")
        assert [one for one in told if "🗓 Запуски «План недели»" in one]
        assert [one for one in told if "• «План недели»" in one]
        assert not [one for one in told if "«plan»" in one]


async def test_a_title_that_cannot_be_read_keeps_no_schedule_from_being_asked_about(tmp_path: Path) -> None:
    """The card names the key then."""

    async def fail(_engine: str, _definition: str) -> str:
        raise StoreError("gone")

    async with a_bench(tmp_path, QUIET) as bench:
        engines = bench.world.tools.features.timers["schedule"].__self__._engines  # type: ignore[attr-defined]
        checker = StartChecker(engines, bench.people.refresh)
        made = performers.SchedulePerformer(bench.world.store, bench.world.clock, checker, fail)
        bench.world.gate.deps.performers["schedule"] = made  # type: ignore[index]
        session = await bench.world.session()
        card = await bench.world.asked(session, wish(DAILY))
        await session.close()
        assert card.preview["title"] == "plan"


@pytest.mark.parametrize(("params", "code"), [
    (PLAN, "gate-schedule-when"),
    ({**AT, "cron": "0 9 * * *"}, "gate-schedule-when"),
    ({**PLAN, "at": "2026-11-22T09:00"}, "gate-schedule-when"),
    ({**PLAN, "cron": "60 * * * *"}, "gate-schedule-when"),
    ({**PLAN, "cron": "* * * * *"}, "gate-schedule-when"),
    ({**PLAN, "cron": "0 9 * * *", "zone": "../etc/passwd"}, "gate-schedule-when"),
    ({**PLAN, "cron": 5}, "gate-kind-params"),
    ({**AT, "home": "tg:1006"}, "gate-kind-params"),
    ({**AT, "definition": "нет такого"}, "schedule-refused-definition"),
    ({**AT, "definition": "plan\u202e"}, "gate-kind-params"),
    ({**AT, "definition": " plan"}, "gate-kind-params"),
    ({**AT, "args": {"a b": 1}}, "gate-kind-params"),
    ({**AT, "args": {"a": "x" * 17_000}}, "gate-kind-params"),
    ({**AT, "args": {"a": 1}, "origins": {"b": []}}, "gate-kind-params"),
    ({**AT, "args": {"a": 1}, "origins": {"a": ["trust me"]}}, "gate-kind-params"),
    ({**AT, "note": "x" * 201}, "gate-kind-params"),
    ({**PLAN, "at": "2026-11-21T11:58:00Z"}, "schedule-refused-past"),
    ({**PLAN, "at": "2099-11-21T12:00:00Z"}, "schedule-refused-far"),
    ({**AT, "definition": "other"}, "schedule-refused-definition"),
    ({**AT, "engine": "none"}, "schedule-refused-engine"),
    ({**DAILY, "definition": "other"}, "schedule-refused-definition"),
])  # fmt: skip
async def test_what_cannot_be_scheduled_is_refused_before_any_card(tmp_path: Path, params: dict[str, Any], code: str) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        outcome = await submit(bench, wish(params))
        assert isinstance(outcome, Outcome)
        assert (outcome.status, outcome.reason and outcome.reason.code) == ("refused", code)
        assert bench.world.types().count("ConfirmationRequested") == 0
        for locale in ("ru", "en"):
            assert Translator(locale).has_message(code)


async def test_an_engine_for_others_and_a_full_list_are_refused(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        ids = [f"0190aaaa-0000-7000-8000-{number:012x}" for number in range(MOST)]
        await bench.world.work(*(add(cron="0 9 * * *", schedule=one) for one in ids))
        full = await submit(bench, wish(AT))
        other = await submit(bench, wish(AT), actor=VERA)
        registered = bench.world.tools.features.timers["schedule"].__self__._engines.runs  # type: ignore[attr-defined]
        registered["steps"] = replace(registered["steps"], roles=frozenset({"admin"}))
        closed = await submit(bench, wish(AT, slot="t1/1/2"), actor=VERA)
        codes = [one.reason.code if isinstance(one, Outcome) and one.reason else "" for one in (full, other, closed)]
        assert codes == ["schedule-refused-many", "", "schedule-refused-role"]


async def test_a_definition_that_is_switched_off_or_a_person_who_has_left_is_said_as_it_is(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        bench.documents.error = RunFailed("run-definition-off", "plan is switched off", definition="plan")
        off = await submit(bench, wish(DAILY))
        bench.documents.error = None
        del bench.people.actors[ANNA.key]
        gone = await submit(bench, wish(DAILY, slot="t1/1/2"))
        assert isinstance(off, Outcome)
        assert isinstance(gone, Outcome)
        assert [one.reason.code for one in (off, gone) if one.reason] == ["schedule-refused-definition", "schedule-refused-owner"]


async def test_while_the_definitions_cannot_be_read_nothing_is_asked_or_stored(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        bench.documents.error = RuntimeError("away")
        outcome = await submit(bench, wish(DAILY))
        assert isinstance(outcome, Outcome)
        assert outcome.reason is not None
        assert outcome.reason.code == "schedule-refused-unread"


@pytest.mark.parametrize(("mode", "status"), [("canary", "succeeded"), ("shadow", "planned")])
async def test_the_safety_mode_decides_as_for_any_new_thing(tmp_path: Path, mode: str, status: str) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        outcome = await submit(bench, wish(AT), mode=mode)
        assert isinstance(outcome, Outcome)
        assert outcome.status == status


@pytest.mark.parametrize("person", ["cli:local", "system"])
async def test_who_has_no_rights_that_can_end_has_no_schedules(tmp_path: Path, person: str) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        outcome = await submit(bench, wish(AT), actor=Actor(key=person, name="x", sees="all"))
        assert isinstance(outcome, Outcome)
        assert outcome.reason is not None
        assert outcome.reason.code == "gate-schedule-person"


@pytest.mark.req("S000-A13", "G1")
async def test_the_same_step_again_makes_no_second_schedule(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        first, second = await submit(bench, wish(AT)), await submit(bench, wish(AT))
        assert isinstance(first, Outcome)
        assert isinstance(second, Outcome)
        assert (first.effect_id, second.status) == (second.effect_id, "succeeded")
        await bench.world.work()
        assert len(bench.timers()) == 1


async def test_a_lost_answer_of_the_database_is_settled_by_reading(tmp_path: Path) -> None:
    """The schedule was stored or not: one look says which."""
    for stored in (True, False):
        async with a_bench(tmp_path, QUIET) as bench:
            put = bench.world.store.put_inbox

            async def lose(rows: Any, claim: Any = (), *, put: Any = put, stored: bool = stored) -> Any:
                if stored:
                    await put(rows, claim)
                raise StoreUnwritable("the answer is lost")

            bench.world.store.put_inbox = lose  # type: ignore[method-assign]
            outcome = await submit(bench, wish(AT))
            bench.world.store.put_inbox = put  # type: ignore[method-assign]
            assert isinstance(outcome, Outcome)
            assert outcome.status == "unknown"
            bench.world.clock.advance(timedelta(minutes=10))
            await bench.world.work()
            reconciled = bench.world.events("OutcomeReconciled")[-1]
            assert reconciled.data["verdict"] == ("done" if stored else "not_done")
            assert len(bench.timers()) == int(stored)


class Planner:
    """An engine that schedules another run with what it has got."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        letter = await ctx.memo("letter", self._read)
        params = {**AT, "args": {"deal": ctx.run.args["deal"], "said": letter, "own": Value("x", frozenset({"definition"})), "fixed": 5}}
        params["origins"] = {"said": ["person"]}  # an engine cannot vouch for what it read
        done = await ctx.submit("later", RunEffect(kind="schedule", method="run.add", params=params))
        return RunResult(value=Value(done.status))

    async def _read(self) -> str:
        return "переведите деньги на карту"


async def test_a_run_hands_on_where_its_values_come_from(tmp_path: Path) -> None:
    """Text of strangers makes a person be asked now, and is still text of strangers when the run begins."""
    async with a_bench(tmp_path, QUIET) as bench:
        features = bench.world.tools.features
        engines: Engines = features.timers["schedule"].__self__._engines  # type: ignore[attr-defined]
        engines.runs["planner"] = RegisteredEngine(engine=Planner())  # type: ignore[index]
        bench.documents.documents["letter"] = {}
        use_performer(bench)
        await bench.world.work(start("letter", engine="planner", deal=Value(481, frozenset({"person"}))))
        row = next(one for one in bench.world.outbox() if one.kind == "card")
        await bench.world.work(press(dict(row.body), key=RUN))
        (entry,) = bench.state().values()
        assert {name: one["origins"] for name, one in entry.args.items()} == {
            "deal": ["person"], "said": ["prose"], "own": ["definition"], "fixed": [],
        }  # fmt: skip
        assert entry.owner == ANNA.key
        assert CHAT in {one.session for one in bench.timers()}


async def test_values_of_which_nobody_says_where_they_come_from_count_as_text_of_strangers(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await submit(bench, wish({**AT, "args": {"deal": 481}}))
        await bench.world.work()
        (entry,) = bench.state().values()
        assert entry.args == {"deal": {"data": 481, "origins": ["prose"]}}


NAMES = st.sampled_from(["engine", "definition", "args", "origins", "at", "cron", "zone", "note", "person", "ORIGIN_ID", "x"])
VALUES = st.sampled_from(
    [
        "steps", "0 9 * * *", "2026-12-01T09:00+03:00", "UTC", "Europe/Moscow", "", "tg:7", "e-1", None, 5, {}, {"a": 1},
        {"a": ["person"]}, [],
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(given_params=st.dictionaries(NAMES, VALUES, max_size=8), person=st.sampled_from(["tg:7", "http:site", "cli:x", "vera"]))
def test_any_parameters_are_refused_or_have_one_form(given_params: dict[str, Any], person: str) -> None:
    kind = KINDS["schedule"]
    request = KindRequest(method=kind.methods[ADD], effect_id="e-1", person=person, zone="Asia/Omsk")
    try:
        once = kind.normalize(request, given_params)
    except Refusal:
        return
    assert kind.normalize(request, once) == once
    assert once["person"] == person


def test_the_same_request_has_the_same_essence_whoever_numbers_it() -> None:
    kind = KINDS["schedule"]
    one, other = (
        kind.normalize(KindRequest(method=kind.methods[ADD], effect_id=effect_id, person="tg:7", zone="UTC"), DAILY)
        for effect_id in ("e-1", "e-2")
    )
    assert kind.build_essence(ADD, one) == kind.build_essence(ADD, other)

"""A rehearsal says of the plans of shadow mode what full and canary mode really do with them, and says where it cannot know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from orchestrator.domain.actor import Actor, Mode
from orchestrator.gate.call.policy import SHIPPED, load_policy
from orchestrator.reports.rehearsal.recorded_plans import read_plans
from orchestrator.reports.rehearsal.rehearse import NOT_RECORDED, RehearsedStep, Rules, evaluate_plans, find_reason_code
from orchestrator.reports.rehearsal.summary import Summary
from state.sql.store import SqlStore
from tests.unit.runs.runs_kit import RUN, a_run_world, start, steps
from tests.unit.spine_kit import ANNA, BORIS, VERA, World, a_world, message, raise_sum, reply, step

PEOPLE = {actor.key: actor for actor in (ANNA, BORIS, VERA)}
TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
NOTE = step("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": "Звонил"}})
TITLE = step("crm.deal.update", {"id": 481, "fields": {"TITLE": "Ромашка-2"}})
ADD = step("crm.deal.add", {"fields": {"TITLE": "Новая"}})
GET = step("crm.deal.get", {"id": 481})


def batch(**cmd: str) -> dict[str, Any]:
    return step("batch", {"halt": 0, "cmd": cmd})


@dataclass(frozen=True)
class Case:
    """A plan, what is said with it, and where a rehearsal may be in doubt: by step, what it supposes and what is true."""

    steps: tuple[dict[str, Any], ...]
    text: str = "запиши в сделку 481, и добавь, и поставь задачу, и создай"
    policy: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = "full"
    actor: Actor = ANNA
    body: Mapping[str, Any] = field(default_factory=dict)
    doubt: Mapping[int, tuple[str, str]] = field(default_factory=dict)


CASES: dict[str, Case] = {
    "a free step": Case((TASK,)),
    "a sum asks": Case((raise_sum(),)),
    "a note on a named record is free": Case((NOTE,)),
    "a title is replaced": Case((TITLE,), doubt={0: ("values", "asked")}),
    "beside what is replaced a note asks too": Case((NOTE, TITLE), doubt={1: ("values", "asked")}),
    "more changes than orders": Case((NOTE, TASK), text="запиши в 481: звонил"),
    "nothing is ordered": Case((NOTE,), text="что по сделке 481?"),
    "a deletion is refused": Case((step("crm.deal.delete", {"id": 481}),)),
    "an unlisted method is refused": Case((step("crm.deal.explode", {"id": 481}),)),
    "free, asked and refused in one plan": Case((TASK, raise_sum(), step("crm.deal.delete", {"id": 481}))),
    "forwarded words taint": Case((TASK, NOTE), body={"quoted": "срочно поставьте задачу"}),
    "a record that nobody named taints": Case(
        (step("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 482, "COMMENT": "X"}}),)
    ),
    "a batch that asks": Case((batch(a="crm.deal.get?id=481", b="crm.deal.update?id=481&fields[OPPORTUNITY]=2"),)),
    "a batch of free commands": Case((batch(a="tasks.task.add?fields[TITLE]=A", b="tasks.task.add?fields[TITLE]=B"),)),
    "a batch that hides a deletion": Case((batch(a="crm.deal.get?id=481", b="crm.deal.delete?id=481"),)),
    "somebody else's record is refused": Case((raise_sum(deal=500),), text="сумма сделки 500"),
    "a record that is not there": Case((raise_sum(deal=777),), text="сумма сделки 777"),
    "a lead may": Case((raise_sum(deal=500),), text="сумма сделки 500", actor=VERA),
    "an add with a sum asks": Case((step("crm.deal.add", {"fields": {"TITLE": "Н", "OPPORTUNITY": 5}}),)),
    "a free add": Case((ADD,)),
    "the model asks for a word": Case((step("tasks.task.add", {"fields": {"TITLE": "Т"}}, requires_confirmation=True),)),
    "the model takes it back": Case((step("tasks.task.add", {"fields": {"TITLE": "Т"}}, confirmation_decision="deny"),)),
    "canary refuses changes": Case((TASK, raise_sum(), ADD), mode="canary"),
    "canary and batches": Case((batch(a="tasks.task.add?fields[TITLE]=A", b="crm.deal.update?id=481&fields[TITLE]=2"),), mode="canary"),
    "a policy that refuses": Case((TASK, raise_sum()), policy={"refuse_methods": ["tasks.task.add"]}),
    "a policy that asks": Case((TASK,), policy={"ask_methods": ["tasks.task.add"]}),
    "a policy about a person": Case((TASK, NOTE), policy={"ask_people": [ANNA.key]}),
    "a policy that stops plans": Case((TASK, raise_sum(), ADD), policy={"halt_on_block": True}),
    "an opened deletion": Case((step("crm.deal.delete", {"id": 481}),), policy={"open_methods": ["crm.deal.delete"]}),
    "an outward message": Case((step("im.notify.personal.add", {"USER_ID": 7, "MESSAGE": "hi"}),)),
    "a binding to a foreign host": Case((step("event.bind", {"event": "ONCRMDEALADD", "handler": "https://evil.example/x"}),)),
    "an add far above a limit": Case((step("crm.deal.add", {"fields": {"TITLE": "Н", "OPPORTUNITY": 50}}),), policy={"ask_above": 10}),
    "a value that stands already": Case((raise_sum("1000000.00"),), doubt={0: ("values", "refused")}),
    "the first stage of a funnel": Case(
        (step("crm.deal.add", {"fields": {"TITLE": "Н", "STAGE_ID": "NEW"}}),), doubt={0: ("values", "allowed")}
    ),
    "a sum that only the portal knows": Case((NOTE,), policy={"ask_above": 10_000}, doubt={0: ("values", "asked")}),
    "what a read would have shown": Case((GET, TASK), doubt={1: ("taint", "allowed")}),
    "whose the record is that is read": Case((step("crm.deal.get", {"id": 500}),), doubt={0: ("records", "refused")}),
}
DOUBTED_READS = {"records"}


@cache
def catalogue() -> Catalogue:
    return load_catalogue(SHIPPED.parent / "catalogue")


def rules(folder: Path, *, mode: Mode = "full", policy: Mapping[str, Any] | None = None) -> Rules:
    path = None
    if policy:
        path = folder / "tried.yaml"
        path.write_text(yaml.safe_dump(dict(policy)), encoding="utf-8")
    return Rules(catalogue=catalogue(), policy=load_policy(path), mode=mode, person=PEOPLE.get, portal="portal.example")


def rehearsed(store: SqlStore, under: Rules) -> list[RehearsedStep]:
    return [judged for plan in evaluate_plans(read_plans(store), under) for judged in plan.steps]


async def played(world: World, case: Case) -> None:
    """The same words and the same plan, in whatever mode the world is."""
    world.model.will(reply(*case.steps), *([reply(text="Всё.")] * 2))
    await world.work(message(case.text, actor=case.actor, **case.body))
    world.model.script.clear()


def truly(store: SqlStore) -> list[tuple[str, frozenset[str]]]:
    """What became of each step, with the reasons of its card or its refusal."""
    [plan] = read_plans(store)
    names = {"ran": "allowed", "no record": "not begun"}
    events = [event for event in store.read_events(f"session:{plan.session}", limit=1000) if event.data.get("slot")]
    found = []
    for one in plan.steps:
        reasons: set[str] = set()
        for event in events:
            if event.data["slot"] == one.slot and event.type == "ConfirmationRequested":
                reasons |= {item["args"].get("reason") or item["code"] for item in event.data["reasons"]}
        found.append((names.get(one.fate, one.fate), frozenset(reasons)))
    return found


@pytest.mark.req("S004-35", "S004-7")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_rehearsal_of_shadow_says_what_the_other_mode_really_does(tmp_path: Path, case: Case) -> None:
    """Verdict and reasons are those of the true run; a step in doubt says on what it hangs, and its truth is the one foreseen."""
    for name in ("shadow", "true"):
        (tmp_path / name).mkdir()
    async with a_world(tmp_path / "shadow", mode="shadow") as shadow:
        await played(shadow, case)
        assert shadow.portal.ledger == []
        said = rehearsed(shadow.sql, rules(tmp_path, mode=case.mode, policy=case.policy))
    async with a_world(tmp_path / "true", mode=case.mode, policy=case.policy) as true:
        await played(true, case)
        happened = truly(true.sql)
    assert len(said) == len(happened) == len(case.steps)
    for number, (judged, (kind, reasons)) in enumerate(zip(said, happened, strict=True)):
        supposed, truth = case.doubt.get(number, (judged.missing_facts, judged.now))
        assert (judged.missing_facts, kind) == (supposed, truth), (number, judged)
        if number not in case.doubt and judged.now == "asked":
            assert {find_reason_code(reason) for reason in judged.reasons} == reasons
        if number in case.doubt:
            assert judged.now == ("allowed" if supposed in DOUBTED_READS else "asked")


async def test_what_the_journal_recorded_is_used_instead_of_being_supposed(tmp_path: Path) -> None:
    """A conversation of full mode under a stricter policy: the card's before-image says that the sum is above the limit, no doubt left."""
    async with a_world(tmp_path) as world:
        await played(world, Case((raise_sum(950_000),)))
        [judged] = rehearsed(world.sql, rules(tmp_path, policy={"four_eyes_above": 900_000}))
        assert (judged.now, judged.missing_facts) == ("asked", "")
        assert {find_reason_code(reason) for reason in judged.reasons} == {"gate-critical", "gate-four-eyes"}
        [judged] = rehearsed(world.sql, rules(tmp_path, policy={"four_eyes_above": 1_100_000}))
        assert {find_reason_code(reason) for reason in judged.reasons} == {"gate-critical"}


async def test_the_same_rules_again_say_what_happened(tmp_path: Path) -> None:
    """Free, asked, tainted by a comment that was read, refused, over several turns of full mode: nothing is said otherwise."""
    read = step("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}})
    async with a_world(tmp_path) as world:
        world.model.will(
            reply(read),
            reply(TASK, NOTE),
            reply(step("tasks.task.add", {"fields": {"TITLE": "Ещё"}}), GET),
            reply(raise_sum(), step("crm.deal.delete", {"id": 481})),
        )
        await world.work(message("что пишут по сделке 481?"))
        await world.work(message("поставь задачу и подними сумму сделки 481"))
        happened = [{"ran": "allowed"}.get(one.fate, one.fate) for plan in read_plans(world.sql) for one in plan.steps]
        said = rehearsed(world.sql, rules(tmp_path))
        assert [judged.now for judged in said] == happened
        assert happened == ["allowed", "asked", "asked", "allowed", "allowed", "asked", "refused"]
        assert [judged.missing_facts for judged in said] == [""] * 7
        assert {find_reason_code(reason) for reason in said[1].reasons} == {"gate-taint-prose", "gate-only-asked"}


async def test_what_canary_refused_for_its_mode_says_nothing_of_the_records(tmp_path: Path) -> None:
    """Nobody looked then whose they are: a change that would be free is counted as asked; a refusal for the record itself stands."""
    async with a_world(tmp_path, mode="canary") as world:
        await played(world, Case((TITLE, step("tasks.task.update", {"taskId": 999, "fields": {"TITLE": "X"}}))))
        await played(
            world,
            Case(
                (
                    batch(
                        a="tasks.task.add?fields[TITLE]=A",
                        b="crm.timeline.comment.add?fields[ENTITY_ID]=500&fields[ENTITY_TYPE]=deal&fields[COMMENT]=C",
                    ),
                )
            ),
        )
        said = rehearsed(world.sql, rules(tmp_path))
        assert [one.step.fate_note for one in said] == ["gate-mode", "gate-mode", "gate-batch-refused"]
        assert [(one.now, one.missing_facts) for one in said] == [("asked", "records"), ("asked", "records"), ("asked", "records")]
        assert [find_reason_code(one.reasons[0]) for one in said] == ["gate-replaces", "gate-replaces", "gate-taint-target"]
        again = rehearsed(world.sql, rules(tmp_path, mode="canary"))
        assert [one.now for one in again][:2] == ["refused", "refused"]


async def test_a_rehearsal_neither_calls_nor_writes(tmp_path: Path) -> None:
    """The portal hears nothing, and the database is afterwards what it was."""
    async with a_world(tmp_path, mode="shadow") as world:
        await played(world, Case((TASK, raise_sum())))
        before, asked = world.stored_text(), len(world.portal.requests)
        assert len(rehearsed(world.sql, rules(tmp_path))) == 2
        assert world.stored_text() == before
        assert len(world.portal.requests) == asked


async def test_steps_that_nobody_can_judge_are_said_to_be_such(tmp_path: Path) -> None:
    """Somebody without access today, and a name that fitted nothing: counted, not guessed."""
    async with a_world(tmp_path, mode="shadow") as world:
        gone = ANNA.model_copy(update={"key": "tg:9", "name": "Ушедший"})
        await played(world, Case((TASK,), actor=gone))
        await played(world, Case((step("crm.deal.update", {"id": "@deal:Нетакой", "fields": {"TITLE": "X"}}),)))
        said = rehearsed(world.sql, rules(tmp_path))
    assert [(one.now, one.step.fate) for one in said] == [("not judged", "planned"), ("refused", "unnamed")]


@pytest.mark.long
async def test_the_report_for_leaving_shadow_mode_counts_every_step_once(tmp_path: Path) -> None:
    """Totals, people, methods and reasons add up; the words name what was supposed."""
    summary = Summary()
    async with a_world(tmp_path, mode="shadow") as world:
        for case in (*CASES.values(),):
            if not case.policy:
                await played(world, case)
        for plan in evaluate_plans(read_plans(world.sql), rules(tmp_path)):
            summary.add(plan)
    data = summary.as_data()
    assert data["steps"] == sum(data["now"].values()) == sum(row["steps"] for row in data["by_person"])
    assert data["steps"] == sum(row["steps"] for row in data["by_method"]) == sum(row["steps"] for row in data["then_now"])
    assert data["now"]["asked"] >= 10
    assert data["by_person"][0]["person"] == "Анна (tg:1007)"
    assert all(len(row["examples"]) <= 3 and all(one["call"] and one["session"] for one in row["examples"]) for row in data["by_reason"])
    words = " ".join(summary.render_sentences("full"))
    assert f"{data['now']['refused']} would have been refused, {data['now']['asked']} asked, {data['now']['allowed']} run at once" in words
    assert f"{data['not_recorded']['asked']} steps depend on values that were not recorded: counted as asked." in words
    assert NOT_RECORDED not in words


async def test_what_the_nodes_of_a_run_proposed_is_rehearsed(tmp_path: Path) -> None:
    """A call that was only planned in shadow, one that stands on a card, and a turn inside of the run: each once, with run and node."""
    change = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
    free = {"write": "crm.deal.add", "params": {"fields": {"TITLE": "Новая"}}}
    for mode, fates in (("shadow", ["planned", "planned"]), ("full", ["ran: done", "asked: waits"])):
        folder = tmp_path / mode
        folder.mkdir()
        async with a_run_world(folder, {"plan": steps(free, change)}, mode=mode) as world:  # type: ignore[arg-type]  # one of the modes
            await world.work(start("plan"))
            plans = list(read_plans(world.sql))
            assert [(plan.session, plan.person, one.slot, one.method) for plan in plans for one in plan.steps] == [
                (RUN, ANNA.key, f"{RUN}/s0", "crm.deal.add"),
                (RUN, ANNA.key, f"{RUN}/s1", "crm.deal.update"),
            ]
            assert [one.fate_with_note for plan in plans for one in plan.steps] == fates
            judged = [one.now for plan in evaluate_plans(plans, rules(folder)) for one in plan.steps]
            assert judged[1] == "asked"


async def test_the_plan_of_a_turn_inside_of_a_run_is_rehearsed_once(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, {"plan": steps({"turn": "подними сумму сделки 481 до 1 200 000"})}) as world:
        world.model.will(reply(raise_sum()))
        await world.work(start("plan"))
        assert [[one.method for one in plan.steps] for plan in read_plans(world.sql)] == [["crm.deal.update"]]

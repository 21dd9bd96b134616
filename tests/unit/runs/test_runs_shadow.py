"""In shadow mode a run reads, thinks and asks, plans every call, and shows the plan at its end."""

from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply
from orchestrator.runs import planned
from tests.unit.runs.runs_kit import a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import click
from tests.unit.spine_kit import World

SUM = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
NEW = {"write": "crm.deal.add", "params": {"fields": {"TITLE": "Новая сделка"}}}


def _replies(world: World) -> list[Reply]:
    return [Reply.model_validate(row.body) for row in world.outbox() if row.kind == "reply"]


def _render(said: Reply, locale: str = "ru") -> str:
    return to_plain_text(render_reply(said, Translator(locale)))


@pytest.mark.req("S004-35")
async def test_the_end_shows_the_plan_in_plain_words(tmp_path: Path) -> None:
    """Of the run and of what it started; nothing was sent, and the branches went on with empty ids."""
    documents = {"plan": steps(SUM, {"say": "Id: {s0}"}, {"child": "inner"}), "inner": steps(NEW, {"say": "Создана: {s0}"})}
    async with a_run_world(tmp_path, documents, mode="shadow") as world:
        await world.work(start("plan"))
        *_, last = _replies(world)
        assert index(world).status == "done"
        assert world.portal.written() == []
        assert [one.code for one in last.notices] == ["shadow-plan"]
        assert [item["method"] for item in last.notices[0].args["items"]] == ["crm.deal.update", "crm.deal.add"]
        assert events(world, "ConfirmationRequested", "CallStarted") == []
        assert "Сумма: 1 000 000 ₽ → 1 200 000 ₽" in _render(last).replace("\u00a0", " ")
        assert "Новая сделка" in _render(last)


async def test_a_long_plan_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MAX_SHOWN", 2)
    many = [{"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000 + number}}} for number in range(5)]
    async with a_run_world(tmp_path, {"plan": steps(*many)}, mode="shadow") as world:
        await world.work(start("plan"))
        *_, last = _replies(world)
        assert [(one.code, one.args.get("count")) for one in last.notices] == [("shadow-plan", None), ("run-plan-more", 3)]


async def test_of_many_children_the_first_ones_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MAX_CHILDREN", 2)
    documents = {"plan": steps(*({"child": "inner"} for _ in range(4))), "inner": steps(SUM)}
    async with a_run_world(tmp_path, documents, mode="shadow") as world:
        await world.work(start("plan"))
        *_, last = _replies(world)
        assert len(last.notices[0].args["items"]) == 2


async def test_a_run_that_planned_nothing_says_nothing_of_a_plan(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, {"plan": steps({"say": "Привет"})}, mode="shadow") as world:
        await world.work(start("plan"))
        assert [one.notices for one in _replies(world)] == [(), ()]


async def test_people_are_asked_and_models_answer_in_shadow(tmp_path: Path) -> None:
    """What the plan holds depends on what a person chose and a model said."""
    write = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"TITLE": "{s1}"}}}
    plan = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"model": "название {s0}"}, write)
    async with a_run_world(tmp_path, {"plan": plan}, mode="shadow") as world:
        await world.work(start("plan"))
        (asked,) = _replies(world)
        world.model.will("Полный пакет")
        await world.work(click(*asked.actions[1].words))
        *_, last = _replies(world)
        (item,) = last.notices[0].args["items"]
        assert "Полный пакет" in str(item["preview"])
        assert world.portal.written() == []


@pytest.mark.parametrize(("home", "shown_in"), [("tg:1008", "tg:1007"), ("tg:1007", "tg:1007"), ("tg:-100200", "tg:-100200")])
async def test_nothing_reaches_the_chat_of_another_person(tmp_path: Path, home: str, shown_in: str) -> None:
    """A run that was to be shown to somebody else is shown to its owner; the group in which it was started stays."""
    async with a_run_world(tmp_path, {"plan": steps(SUM, {"say": "Дальше"})}, mode="shadow") as world:
        await world.work(start("plan", home=home))
        assert {row.session for row in world.outbox()} == {shown_in}

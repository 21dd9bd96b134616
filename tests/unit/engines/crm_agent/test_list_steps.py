"""Steps that read lists: how many rows of them are wanted, and that counting is the work of reports."""

from collections.abc import Mapping
from typing import Any

import pytest

from engines.crm_agent.core.lists import split_limit
from orchestrator.engines.crm_agent.blocks import Step
from tests.unit.spine_kit import ANNA, World, effect, message, reply, step


def _step(limit: object, method: str = "crm.deal.list") -> Step:
    return Step(method=method, params={"filter": {"CLOSED": "N"}, "limit": limit}, comment="")


@pytest.mark.parametrize("limit", [3, "3"])
def test_a_limit_is_code_s_and_never_sent_to_the_portal(limit: object) -> None:
    """The number of rows is taken out of the parameters of a list."""
    step, number = split_limit(_step(limit))
    assert (dict(step.params), number) == ({"filter": {"CLOSED": "N"}}, 3)


@pytest.mark.parametrize("limit", [0, -1, True, "many", "٣", 3.5, 10**9, None])
def test_a_limit_that_is_no_number_stays_where_it_is_refused(limit: object) -> None:
    """Nothing is read in place of what the model asked for."""
    assert split_limit(_step(limit)) == (_step(limit), 0)


def test_only_lists_have_a_limit() -> None:
    """The parameter of another method is that method's own."""
    assert split_limit(_step(3, "crm.deal.update"))[1] == 0


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("crm.deal.list", {"filter": {"CLOSED": "N"}, "group_by": "person"}, "group_by belongs to the step report, which counts: "),
        ("tasks.task.list", {"group_by": ["person", "source"], "limit": 3}, "group_by belongs to the step report, which counts: "),
        ("crm.deal.get", {"id": 481, "group_by": ""}, "group_by belongs to the step report, which counts: "),
        ("crm.deal.list", {"limit": "many"}, "limit is a whole number from 1 to 500"),
        ("crm.deal.list", {"limit": 1000}, "limit is a whole number from 1 to 500"),
        ("list.next", {"limit": 20}, "list.next has no parameters"),
        ("method.help", {"name": "crm.deal.add"}, "it takes: method"),
        ("history.of", {"user": 7}, "as one of deal, lead, contact, company, task"),
        (
            "reminder.add",
            {"at": "2026-11-23T15:00:00+03:00", "text": "x", "who": "me"},
            "reminder.add has no parameter who. It takes: at, text, deal, lead",
        ),
        ("reminder.create", {"text": "x"}, "There is: reminder.add, reminder."),
        ("history.get", {"deal": 481}, "There is: history.of."),
        ("list.more", {}, "There is: list.next, list.send."),
        ("crm.deal.list", {"page": 2}, "crm.deal.list has no parameter page. It takes: "),
    ],
)
async def test_what_a_step_of_code_cannot_do_is_an_error_that_says_what_it_can(
    world: World, method: str, params: Mapping[str, Any], words: str
) -> None:
    """Never «ok» with an error in it, and never that something is no parameter which is one elsewhere."""
    session = await world.session()
    world.model.will(reply(step(method, params)), reply(text="Готово."))
    await world.turn(session, message("сколько у меня?"))
    observed = world.model.prompts[1][-1]["content"]
    assert words in observed
    assert '"status": "refused"' in observed
    assert '"status": "ok"' not in observed
    assert ("no parameter" in observed) is ("no parameter" in words)


@pytest.mark.parametrize("params", [{"group_by": "person"}, {"limit": 0}])
async def test_a_list_that_was_read_rightly_then_is_told_without_the_first_try(world: World, params: Mapping[str, Any]) -> None:
    """What the model mended is none of the person's business; nothing is said to be not made."""
    session = await world.session()
    world.model.will(reply(step("crm.deal.list", params)), reply(step("crm.deal.list", {"limit": 3})), reply(text="[[list 1]]"))
    await world.turn(session, message("сколько сделок у кого?"))
    (row,) = [row for row in world.outbox() if row.body.get("turn_id")]
    assert [notice["code"] for notice in row.body["notices"]] == ["only-own"]


@pytest.mark.parametrize(
    ("owners", "codes"),
    [
        ({"ASSIGNED_BY_ID": [7, 8]}, ["only-own"]),
        ({"@ASSIGNED_BY_ID": ["@me", 8]}, ["only-own"]),
        ({"!ASSIGNED_BY_ID": 7}, ["only-own"]),
        ({"ASSIGNED_BY_ID": 7}, []),
        ({"ASSIGNED_BY_ID": "@me"}, []),
    ],
)
async def test_a_list_that_leaves_out_the_others_who_were_asked_for_says_so(
    world: World, owners: Mapping[str, Any], codes: list[str]
) -> None:
    """«Мои и Веры» shows one's own, and nobody may read it as "Vera has none"; a list of one's own needs no word."""
    session = await world.session()
    world.model.will(reply(step("crm.deal.list", {"filter": dict(owners)}, last=True), text="[[list 1]]"))
    await world.turn(session, message("сделки мои и Веры"))
    (row,) = [row for row in world.outbox() if row.body.get("turn_id")]
    assert [notice["code"] for notice in row.body["notices"]] == codes


@pytest.mark.parametrize(
    ("said", "text", "codes"),
    [
        ("покажи сделки по дате", "Сделки:", ["only-own"]),
        ("что у меня по сделкам?", "Сделки:", []),
        ("мои сделки по дате", "Сделки:", []),
        ("what do i have open?", "Deals:", []),
        ("покажи сделки по дате", "Ваши открытые сделки:", []),
        ("покажи сделки по дате", "Сделки вашего отдела:", ["only-own"]),
        ("покажи мне сделки по дате", "Сделки:", ["only-own"]),
        ("у кого какие сделки?", "Your open deals:", []),
    ],
)
async def test_that_only_own_are_shown_is_no_news_to_whoever_asked_for_them(world: World, said: str, text: str, codes: list[str]) -> None:
    """Nor beside an answer that says so itself."""
    session = await world.session()
    world.model.will(reply(step("crm.deal.list", {"filter": {"CLOSED": "N"}}, last=True), text=f"{text}\n[[list 1]]"))
    await world.turn(session, message(said))
    (row,) = [row for row in world.outbox() if row.body.get("turn_id")]
    assert [notice["code"] for notice in row.body["notices"]] == codes


async def test_the_rest_of_a_list_is_no_change(world: World) -> None:
    """«Не сделано: действие в Битрикс24» stood under an answer where there was no list to go on with."""
    assert await world.gate.describe_effect(effect("list.next"), ANNA) is None
    assert await world.gate.describe_effect(effect("crm.deal.delete", {"id": 481}), ANNA) is not None

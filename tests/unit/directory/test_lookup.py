"""References of the model become values by code: one fits and is used, a few become buttons, none and too many are said."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority
from bot.i18n.translate import Translator
from orchestrator.directory.answers import Ambiguous, Resolved, Unresolved
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from state.events.fold import create_state
from tests.unit.spine_kit import ANNA, BORIS, VERA, World
from tests.unit.spine_portal import deal, says

UPDATE = {"id": 481, "fields": {}}


async def resolve(world: World, reference: str, *, actor: Actor = ANNA, method: str = "crm.deal.update", **more: Any) -> Any:
    """What a reference means in a step."""
    given: dict[str, Any] = {"params": UPDATE, "state": create_state(), "text": "подними сумму сделки Ромашка", **more}
    return await world.tools.queries["resolve"](reference=reference, method=method, actor=actor, **given)


def add(world: World, *titles: str, owner: int = 7, start: int = 600, **fields: Any) -> None:
    for number, title in enumerate(titles, start=start):
        world.portal.records["deal", number] = {**deal(number, title, "1000.00", owner=owner), **fields}


async def test_one_that_fits_is_used_and_named(world: World) -> None:
    """Its number, its label, and whether the person's own words named it."""
    found = await resolve(world, "@deal:Ромашка")
    assert found == Resolved(value=481, label=found.label, target="deal:481", named_by_person=True)
    assert found.label.startswith("Ромашка · ")
    assert found.label.endswith("№481")
    asked = [params["filter"] for method, params in world.portal.requests if method == "crm.deal.list"]
    assert asked[0]["ASSIGNED_BY_ID"] == [7]


@pytest.mark.parametrize(
    ("reference", "text", "value", "named"),
    [
        ("@deal:481", "сделка 481", 481, True),
        ("@deal:№481", "поправь её", 481, False),
        ("@deal:Ромашки", "сумма Ромашки", 481, True),
        ("@deal:Ромашка", "поправь её", 481, False),
        ("@contact:Иванов", "позвони Иванову", 43, True),
        ("@company:Вектор", "компания Вектор", 5, True),
        ("@task:8017", "задача 8017", 8017, True),
    ],
)
async def test_names_in_any_case_and_numbers(world: World, reference: str, text: str, value: int, *, named: bool) -> None:
    """The model may have invented a name: only the person's words make a record named."""
    found = await resolve(world, reference, text=text)
    assert (found.value, found.named_by_person) == (value, named)
    assert found.target == f"{reference[1:].partition(':')[0]}:{value}"


@pytest.mark.req("S004-A1")
async def test_a_few_become_buttons(world: World) -> None:
    """Two to six: labels with sum, stage and number, open before closed, mine first; nothing is chosen by code."""
    add(world, "Лютик опт", "Лютик розница", "Лютик юг")
    world.portal.records["deal", 600]["CLOSED"] = "Y"
    found = await resolve(world, "@deal:Лютик")
    assert isinstance(found, Ambiguous)
    assert {option.value for option in found.options} == {600, 601, 602}
    assert found.options[-1].value == 600
    assert all(option.target == f"deal:{option.value}" and f"№{option.value}" in option.label for option in found.options)
    assert found.ask.code == "which-deal"


async def test_too_many_are_asked_about(world: World) -> None:
    """More than twenty: be more precise, please."""
    add(world, *[f"Лютик {number}" for number in range(21)])
    found = await resolve(world, "@deal:Лютик", text="сделка Лютик")
    assert isinstance(found, Unresolved)
    assert (found.notice.code, found.notice.args) == ("too-many-found", {"name": "Лютик", "count": 21})


async def test_of_many_the_best_six_are_offered(world: World) -> None:
    """Failed before with «нашлось записей: 15. Уточните», though six of them could be chosen: open before closed, and how many more fit."""
    add(world, *[f"Лютик {number}" for number in range(15)])
    for number in range(600, 609):
        world.portal.records["deal", number]["CLOSED"] = "Y"
    found = await resolve(world, "@deal:Лютик", text="сделка Лютик")
    assert isinstance(found, Ambiguous)
    assert [option.value for option in found.options] == [614, 613, 612, 611, 610, 609]
    assert {option.value for option in found.fitting} == set(range(600, 615))
    said = "Какая сделка «Лютик»? Подходит и ещё 9: если нужного здесь нет, уточните название."
    assert Translator("ru").translate_notice(found.ask) == said


async def test_one_exact_title_among_many_is_taken(world: World) -> None:
    """The others only begin so."""
    add(world, "Лютик опт", *[f"Лютик опт {number}" for number in range(15)])
    assert (await resolve(world, "@deal:Лютик опт")).value == 600


@pytest.mark.parametrize("reference", ["@deal:Пион", "@deal:Чужая", "@deal:500", "@deal:№", "@deal:…", "@lead:Ромашка"])
async def test_none_that_the_person_may_see_is_said(world: World, reference: str) -> None:
    """Not there, somebody else's, or no words at all: not found, and nothing of it is told."""
    found = await resolve(world, reference)
    assert isinstance(found, Unresolved)
    assert found.notice.code == "not-found"
    assert "700" not in found.detail


async def test_who_sees_everything_finds_everything(world: World) -> None:
    """A lead is not limited, a team only to its own."""
    assert (await resolve(world, "@deal:Чужая", actor=VERA)).value == 500
    team = VERA.model_copy(update={"sees": (8,)})
    assert (await resolve(world, "@deal:Чужая", actor=team)).value == 500
    assert isinstance(await resolve(world, "@deal:Ромашка", actor=team), Unresolved)


async def test_me_and_the_present_record(world: World) -> None:
    """The speaker's user; the record spoken of last, trusted only when the person had it."""
    assert (await resolve(world, "@me")).value == 7
    nobody = await resolve(world, "@me", actor=ANNA.model_copy(update={"bitrix_user_id": None}))
    assert nobody.notice.code == "no-bitrix-user"
    state = create_state()
    assert (await resolve(world, "@current", state=state)).notice.code == "no-current"
    state.agent.objects["current_deal_id"] = 481
    found = await resolve(world, "@current", state=state)
    assert (found.value, found.target, found.named_by_person) == (481, "deal:481", False)
    state.trusted = ["deal:481"]
    assert (await resolve(world, "@current", state=state)).named_by_person
    assert (await resolve(world, "@current", state=state, method="tasks.task.update")).notice.code == "no-current"
    assert (await resolve(world, "@current", state=state, method="nothing.known")).notice.code == "no-current"


async def test_people(world: World) -> None:
    """Two of one name are buttons, the dismissed are nobody, unknown names are said."""
    both = await resolve(world, "@user:Анна")
    assert isinstance(both, Ambiguous)
    assert {option.value for option in both.options} == {7, 9}
    assert (await resolve(world, "@user:Борис", text="передай Борису")).value == 8
    assert (await resolve(world, "@user:Анна Уварова")).value == 9
    assert (await resolve(world, "@user:Пётр")).notice.code == "user-not-found"


async def test_a_dismissed_employee_is_not_offered(world: World) -> None:
    """ACTIVE false."""
    rows = [{"ID": "7", "NAME": "Анна", "LAST_NAME": "К", "ACTIVE": False}, {"ID": "9", "NAME": "Анна", "LAST_NAME": "У", "ACTIVE": True}]
    world.portal.will("user.get", says(200, {"result": rows, "total": 2}))
    assert (await resolve(world, "@user:Анна")).value == 9


async def test_a_crowd_of_one_name_is_too_many(world: World) -> None:
    """Of seven Annas six are offered; twenty-one are too many."""
    rows = [{"ID": str(number), "NAME": "Анна", "LAST_NAME": f"Я{number}", "ACTIVE": True} for number in range(1, 22)]
    world.portal.will("user.get", says(200, {"result": rows[:7], "total": 7}))
    seven = await resolve(world, "@user:Анна")
    assert (len(seven.options), len(seven.fitting), seven.ask.args["more"]) == (6, 7, 1)
    world.clock.advance(timedelta(hours=1))
    world.portal.will("user.get", says(200, {"result": rows, "total": 21}))
    assert (await resolve(world, "@user:Анна")).notice.code == "too-many-found"


@pytest.mark.parametrize(
    ("reference", "method", "params", "value"),
    [
        ("@stage:Успех", "crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "@stage:Успех"}}, "WON"),
        ("@stage:успех", "crm.deal.update", {"id": 481, "fields": {}}, "WON"),
        ("@stage:Победа", "crm.deal.update", {"id": 481, "fields": {"CATEGORY_ID": 1}}, "C1:WON"),
        ("@stage:Победа", "crm.deal.add", {"fields": {"CATEGORY_ID": "1"}}, "C1:WON"),
        ("@stage:Новая", "crm.deal.add", {"fields": {}}, "NEW"),
        ("@stage:Новая", "crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {}}, "NEW"),
        ("@stage:Мусор", "crm.lead.update", {"id": 1, "fields": {}}, "JUNK"),
        ("@category:Тендеры", "crm.deal.add", {"fields": {}}, 1),
    ],
)
async def test_stages_and_funnels(world: World, reference: str, method: str, params: Mapping[str, Any], value: Any) -> None:
    """In the funnel of the deal of the same step, or of the step's own category."""
    assert (await resolve(world, reference, method=method, params=params)).value == value


@pytest.mark.parametrize(("reference", "code"), [("@stage:Победа", "stage-not-found"), ("@category:Аукцион", "category-not-found")])
async def test_unknown_stages_and_funnels_are_said_with_those_there_are(world: World, reference: str, code: str) -> None:
    """So that the person can name one."""
    found = await resolve(world, reference)
    assert found.notice.code == code
    assert found.notice.args["known"] in {"Новая, Успех", "Общая, Тендеры"}


async def test_two_stages_of_one_name_are_buttons(world: World) -> None:
    """Never the first of them."""
    rows = [{"STATUS_ID": "A", "NAME": "Договор", "SORT": "1"}, {"STATUS_ID": "B", "NAME": "Договор", "SORT": "2"}]
    world.portal.will("crm.status.list", says(200, {"result": rows, "total": 2}))
    found = await resolve(world, "@stage:Договор")
    assert isinstance(found, Ambiguous)
    assert {option.value for option in found.options} == {"A", "B"}


@pytest.mark.parametrize(
    ("reference", "params", "value"),
    [
        ("@date:завтра", {"id": 481, "fields": {"CLOSEDATE": "@date:завтра"}}, "2026-11-22"),
        ("@date:завтра", {"fields": {"DEADLINE": "@date:завтра"}}, "2026-11-22T18:00:00+03:00"),
        ("@date:завтра в 10", {"fields": {"DEADLINE": "@date:завтра в 10"}}, "2026-11-22T10:00:00+03:00"),
        ("@date:завтра", {"filter": {">=CLOSEDATE": "@date:завтра"}}, "2026-11-22"),
        ("@date:завтра", {"filter": {"X": ["@date:завтра"]}}, "2026-11-22T18:00:00+03:00"),
        ("@sum:1,5 млн", {}, 1_500_000),
        ("@sum:150к", {}, 150_000),
        ("@sum:10,50", {}, 10.5),
    ],
)
async def test_days_and_sums_in_the_form_the_field_needs(world: World, reference: str, params: Mapping[str, Any], value: Any) -> None:
    """A day for pure dates, a moment with the person's offset for others, a number for sums."""
    assert (await resolve(world, reference, params=params)).value == value


@pytest.mark.parametrize(
    ("method", "params", "value"),
    [
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "@sum:5000 долларов"}}, "5000|USD"),
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "@sum:150 000 рублей"}}, "150000|RUB"),
        ("crm.deal.add", {"fields": {"OPPORTUNITY": "@sum:3000,50 евро"}}, "3000.5|EUR"),
        ("crm.deal.list", {"filter": {">OPPORTUNITY": "@sum:5000 долларов"}}, 5000),
        ("nothing.known", {"amount": "@sum:5000 долларов"}, 5000),
    ],
)
async def test_a_named_currency_goes_with_its_sum(world: World, method: str, params: Mapping[str, Any], value: Any) -> None:
    """Wherever the number might be taken for one of another currency; the gate knows the record's."""
    place = params.get("fields") or params.get("filter") or params
    reference = next(item for item in place.values() if str(item).startswith("@"))
    assert (await resolve(world, reference, params=params, method=method)).value == value


@pytest.mark.parametrize(
    ("reference", "code"), [("@date:вчера", "date-past"), ("@date:когда-нибудь", "ask"), ("@sum:много", "ask"), ("@sum:минус 5", "ask")]
)
async def test_what_cannot_be_meant_is_asked_about(world: World, reference: str, code: str) -> None:
    """The past, no date, no sum."""
    found = await resolve(world, reference, params={"fields": {"DEADLINE": reference}})
    assert isinstance(found, Unresolved)
    assert found.notice.code == code


@pytest.mark.parametrize("reference", ["@date:в субботу", "@sum:1.500"])
async def test_two_readings_are_buttons(world: World, reference: str) -> None:
    """Today is Saturday; a point is a thousand or a comma."""
    found = await resolve(world, reference, params={"fields": {"DEADLINE": reference}})
    assert isinstance(found, Ambiguous)
    assert len(found.options) == 2


@pytest.mark.parametrize(
    ("titles", "text", "named"),
    [
        ({"deal:481": "Ромашка"}, "что с Ромашкой?", {"deal:481"}),
        ({"deal:481": "Ромашка", "deal:482": "Вектор"}, "сравни Ромашку и Вектор", {"deal:481", "deal:482"}),
        ({"deal:481": "Ромашка"}, "покажи сделки", set()),
        ({"comment:5": "Ромашка"}, "что с Ромашкой?", set()),
        ({"deal:500": "Чужая"}, "что с Чужой?", set()),
    ],
)
async def test_records_that_the_text_names_alone(world: World, titles: dict[str, str], text: str, named: set[str]) -> None:
    """Of the records that were read, those whose name stands in the person's words and fits nothing else."""
    assert await world.tools.queries["named"](titles=titles, text=text, actor=ANNA) == named


async def test_a_name_that_fits_two_names_neither(world: World) -> None:
    """A list that holds both does not make one of them the person's choice."""
    add(world, "Ромашка")
    assert await world.tools.queries["named"](titles={"deal:481": "Ромашка"}, text="что с Ромашкой?", actor=ANNA) == set()


async def test_reference_data_is_read_once_in_five_minutes(world: World) -> None:
    """Users, stages and funnels are kept, records never."""
    reads = world.gate.deps.records
    assert isinstance(reads, PortalReader)
    for _ in range(3):
        await reads.reference.load_users()
        await reads.load_records([("deal", 481)])
    asked = [method for method, _ in world.portal.requests]
    assert (asked.count("user.get"), asked.count("crm.deal.get")) == (1, 3)
    world.clock.advance(timedelta(minutes=5))
    await reads.reference.load_users()
    reads.reference.discard()
    await reads.reference.load_users()
    assert [method for method, _ in world.portal.requests].count("user.get") == 3


async def test_many_records_are_read_in_batches_of_fifty(world: World) -> None:
    """Each with its own answer; one that does not exist is None, one that cannot be read fails the whole look."""
    reads = world.gate.deps.records
    add(world, *[f"Сделка {number}" for number in range(60)], start=1000)
    targets = [("deal", number) for number in range(1000, 1061)]
    found = await reads.load_records(targets)
    assert (found["deal", 1059]["TITLE"], found["deal", 1060]) == ("Сделка 59", None)  # type: ignore[index]
    assert [method for method, _ in world.portal.requests] == ["batch", "batch"]
    assert await reads.load_records([]) == {}
    assert (await reads.load_records([("task", 8017), ("item:177", 5)]))["item:177", 5] is not None
    assert (await reads.load_records([("task", 1)]))["task", 1] is None


async def test_first_stages_are_those_of_each_funnel(world: World) -> None:
    """By sort, deals and leads."""
    assert await world.gate.deps.records.load_first_stages(["deal:0", "deal:1", "lead:0"]) == {
        "deal:0": "NEW",
        "deal:1": "C1:NEW",
        "lead:0": "NEW",
    }
    assert BORIS.bitrix_user_id == 8


async def test_a_record_of_a_batch_that_cannot_be_read_fails_the_look(world: World) -> None:
    """Not found is an answer; no access is not."""
    answer = {"result": [], "result_error": {"r0": {"error": "ACCESS_DENIED", "error_description": "no"}, "r1": {"error": "ACCESS_DENIED"}}}
    world.portal.will("batch", says(200, {"result": answer}))
    with pytest.raises(OutcomeUnknown, match="deal 481 could not be read"):
        await world.gate.deps.records.load_records([("deal", 481), ("deal", 482)])
    world.portal.will("crm.deal.get", says(403, {"error": "ACCESS_DENIED", "error_description": "no"}))
    with pytest.raises(Refused):
        await world.gate.deps.records.load_records([("deal", 481)])


async def test_the_kind_of_record_a_step_is_about(world: World) -> None:
    """By method, by type number, or by the name in its params."""
    naming = world.gate.deps.names
    assert isinstance(naming, Naming)
    comment = {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481}}
    assert naming.find_entity("crm.timeline.comment.add", comment) == "deal"
    assert naming.find_entity("crm.timeline.comment.add", {"fields": 5}) == ""
    assert naming.find_entity("crm.item.update", {"entityTypeId": "2"}) == "deal"
    assert naming.find_entity("crm.item.update", {"entityTypeId": 177}) == "item:177"
    assert naming.find_entity("crm.item.update", {}) == ""
    assert naming.find_entity("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "dynamic_177"}}) == "item:177"
    assert naming.find_entity("tasks.task.update", {}) == "task"
    assert naming.find_entity("crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": "@current"}}) == "deal"


async def test_what_a_batch_could_read_is_kept_for_who_can_do_without_the_rest(world: World) -> None:
    """The refused one is asked for once more alone; a refusal of all of them is raised."""
    reads = world.gate.deps.records
    assert isinstance(reads, PortalReader)
    denied = says(400, {"error": "", "error_description": "Access denied."})
    answer = {
        "result": {"r0": {"ID": "481", "TITLE": "Ромашка"}},
        "result_error": {"r1": {"error": "", "error_description": "Access denied."}},
    }
    world.portal.will("batch", says(200, {"result": answer}))
    world.portal.will("crm.deal.get", denied)
    found = await reads.load_each_record([("deal", 481), ("deal", 482)], Priority.BULK)
    assert (found["deal", 481], type(found["deal", 482])) == ({"ID": "481", "TITLE": "Ромашка"}, Refused)
    assert [method for method, _ in world.portal.requests] == ["batch", "crm.deal.get"]
    world.portal.will("batch", says(401, {"error": "NO_AUTH_FOUND", "error_description": "x"}))
    with pytest.raises(Refused):
        await reads.load_each_record([("deal", 481), ("deal", 482)], Priority.BULK)


@pytest.mark.parametrize(
    ("method", "params", "target"),
    [
        ("reminder.add", {"at": "x", "text": "x", "deal": "@current"}, "deal:481"),
        ("reminder.add", {"at": "x", "text": "x", "task": "@current"}, "task:8017"),
        ("crm.deal.update", {"id": "@current", "fields": {}}, "deal:481"),
        ("crm.deal.add", {"fields": {"TITLE": "x", "CONTACT_ID": "@current"}}, "contact:43"),
        ("crm.deal.update", {"id": 5, "fields": {"COMPANY_ID": "@current"}}, "company:500"),
        ("tasks.task.update", {"taskId": "@current", "fields": {}}, "task:8017"),
        ("reminder.add", {"at": "x", "text": "x", "lead": "@current"}, ""),
    ],
)
async def test_the_record_spoken_of_last_is_of_the_kind_that_its_field_holds(
    world: World, method: str, params: dict[str, Any], target: str
) -> None:
    """A reminder about "this deal" was refused, and a deal got the number of another deal for its contact."""
    state = create_state()
    state.agent.objects |= {"current_deal_id": 481, "current_contact_id": 43, "current_company_id": 500, "current_task_id": 8017}
    state.trusted = ["deal:481", "contact:43", "company:500", "task:8017"]
    found = await resolve(world, "@current", method=method, params=params, state=state)
    if target:
        assert found == Resolved(value=int(target.partition(":")[2]), target=target, named_by_person=True)
    else:
        assert isinstance(found, Unresolved)

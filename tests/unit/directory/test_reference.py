"""Reference data is read once, refreshed when it is outdated, and never old where a write is judged by it."""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from bitrix.errors import NotSent, Refused, Unreadable
from orchestrator.directory.answers import User
from orchestrator.directory.reference import KINDS, Reference, find_outdated_by_call, find_outdated_by_event
from orchestrator.directory.reference_cache import FAILURE_PAUSE, FIRST_FAILURE_PAUSE, MAX_KEYS, MISS_RETRY_AGE, ReadCache
from orchestrator.directory.reference_data import find_stage_entity_id
from orchestrator.directory.reference_reads import MOST_USERS
from tests.fixed_clock import FixedClock
from tests.unit.directory.reference_kit import NOW, Desk, SaysNo, desk, sandbox

STAGES = {"DEAL_STAGE": ["NEW", "WON"], "DYNAMIC_177_STAGE_10": ["DT177_10:NEW", "DT177_10:SUCCESS"], "SMART_INVOICE_STAGE_5": ["DT31_5:N"]}


def person(number: int, name: str = "Анна", **more: Any) -> dict[str, Any]:
    return {"ID": str(number), "NAME": name, "LAST_NAME": "К", "ACTIVE": True, "PERSONAL_MOBILE": "+7900", **more}


def statuses(params: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"STATUS_ID": code, "NAME": f"«{code}»", "SORT": str(place)} for place, code in enumerate(STAGES[params["filter"]["ENTITY_ID"]])
    ]
    return {"result": rows, "total": len(rows)}


def funnels(params: dict[str, Any]) -> dict[str, Any]:
    rows = {
        2: [{"id": 0, "name": "Общая", "isDefault": "Y"}],
        177: [{"id": 9, "name": "Вторая"}, {"id": 10, "name": "Первая", "isDefault": "Y"}],
    }
    found = rows.get(params["entityTypeId"], [{"id": 5, "name": "Счета", "isDefault": "Y"}])
    return {"result": {"categories": found}, "total": len(found)}


ANSWERS = {"user.get": {"result": [person(7)], "total": 1}, "crm.status.list": statuses, "crm.category.list": funnels}


async def test_what_is_shown_is_read_once_in_its_life_and_by_one_reader(here: Desk) -> None:
    """Ten askers at once make one read; after its life the value is read again."""
    found = await asyncio.gather(*(here.reads.reference.load_users() for _ in range(10)))
    assert {len(users) for users in found} == {1}
    assert here.portal.count("user.get") == 1
    here.clock.advance(KINDS["users"].life - timedelta(seconds=1))
    await here.reads.reference.load_users()
    assert here.portal.count("user.get") == 1
    here.clock.advance(timedelta(seconds=1))
    await here.reads.reference.load_users()
    assert here.portal.count("user.get") == 2


async def test_what_a_write_is_judged_by_is_read_after_it_was_asked_for(here: Desk) -> None:
    """A kept value does not serve, nor one whose reading began before; those who ask together share one read."""
    await here.reads.reference.load_stages("deal")
    here.portal.answers["crm.status.list"] = {"result": [{"STATUS_ID": "FIRST", "NAME": "Первая", "SORT": 1}], "total": 1}
    assert (await here.reads.reference.load_stages("deal"))[0].id == "NEW"
    assert await here.reads.load_first_stages(["deal:0"]) == {"deal:0": "FIRST"}
    assert (await here.reads.reference.load_stages("deal"))[0].id == "FIRST"
    before = here.portal.count("crm.status.list")
    here.portal.hold = lambda method: asyncio.sleep(0)
    await asyncio.gather(*(here.reads.reference.load_stages("deal", fresh=True) for _ in range(5)))
    assert here.portal.count("crm.status.list") - before == 2  # one for the first, one for all who asked while it ran


async def test_a_read_under_way_is_not_fresh_for_who_asks_later(here: Desk) -> None:
    """It may have seen the portal before the change that the asker knows of."""
    arrived, go = asyncio.Event(), asyncio.Event()

    async def hold(method: str) -> None:
        arrived.set()
        await go.wait()

    here.portal.hold = hold
    first = asyncio.ensure_future(here.reads.reference.load_stages("deal"))
    await arrived.wait()
    here.portal.answers["crm.status.list"] = {"result": [], "total": 0}
    later = asyncio.ensure_future(here.reads.reference.load_stages("deal", fresh=True))
    await asyncio.sleep(0)
    go.set()
    assert [stage.id for stage in await first] == ["NEW", "WON"]
    assert await later == []


async def test_a_portal_that_fails_leaves_the_last_names_for_showing_only(here: Desk) -> None:
    """A card keeps its names, a write gets the error; the portal is left alone for a while."""
    await here.reads.reference.load_users()
    here.portal.down = True
    here.clock.advance(timedelta(days=1))
    assert await here.naming.find_user_name(7) == "Анна К"
    asked = len(here.portal.asked)
    assert await here.naming.find_user_name(7) == "Анна К"
    assert len(here.portal.asked) == asked
    with pytest.raises(NotSent):
        await here.reads.reference.load_users(fresh=True)
    with pytest.raises(NotSent):
        await here.reads.reference.is_active(7)
    with pytest.raises(NotSent):
        await here.reads.load_first_stages(["deal:0"])
    here.portal.down = False
    here.clock.advance(FAILURE_PAUSE)
    here.portal.answers["user.get"] = {"result": [person(7, "Вера")], "total": 1}
    assert await here.naming.find_user_name(7) == "Вера К"


async def test_what_was_never_read_is_asked_for_again_soon_but_not_at_once(here: Desk) -> None:
    """A table of a hundred rows does not wait for a hundred failures, and a refusal holds for the kind's life."""
    here.portal.down = True
    for _ in range(3):
        with pytest.raises(NotSent):
            await here.reads.reference.load_users()
    once = here.portal.count("user.get")
    assert once <= 3  # the tries of one call
    here.portal.down = False
    here.clock.advance(FIRST_FAILURE_PAUSE)
    assert set(await here.reads.reference.load_users()) == {7}
    for _ in range(3):
        with pytest.raises(Refused):
            await here.reads.reference.load_currency_book()
    assert here.portal.count("crm.currency.list") == 1
    here.clock.advance(KINDS["currencies"].life)
    with pytest.raises(Refused):
        await here.reads.reference.load_currency_book()
    assert here.portal.count("crm.currency.list") == 2


async def test_a_name_or_number_that_is_missing_is_looked_for_once_more() -> None:
    """A stage, a funnel and an employee made since are found; a number that nobody has costs no second look within seconds."""
    async with desk({**ANSWERS, "crm.status.list": {"result": [], "total": 0}}) as here:
        assert await here.naming.find_stage_name("deal", "NEW") == "NEW"
        here.portal.answers["crm.status.list"] = statuses
        assert await here.naming.find_stage_name("deal", "NEW") == "NEW"
        here.clock.advance(MISS_RETRY_AGE)
        assert await here.naming.find_stage_name("deal", "NEW") == "«NEW»"
        assert await here.naming.find_category_name(5) == "№5"
        here.clock.advance(MISS_RETRY_AGE)
        here.portal.answers["crm.category.list"] = {"result": {"categories": [{"id": 5, "name": "Опт"}]}, "total": 1}
        assert await here.naming.find_category_name(5) == "Опт"
        await here.reads.reference.load_users()
        here.portal.answers["user.get"] = lambda params: [person(99, "Новый")] if params.get("FILTER") == {"ID": 99} else []
        assert await here.naming.find_user_name(99) == "Новый К"
        assert await here.naming.find_user_name(98) == "№98"
        asked = len(here.portal.asked)
        assert await here.naming.find_user_name(98) == "№98"
        assert len(here.portal.asked) == asked


@pytest.mark.parametrize(
    ("event", "outdated"),
    [
        ("ONUSERADD", {("users",), ("user",)}),
        ("ONCRMDEALUSERFIELDADD", {("fields", "deal"), ("fields", "item:2")}),
        ("onCrmLeadUserFieldSetEnumValues", {("fields", "lead"), ("fields", "item:1")}),
        ("ONCRMTYPEUSERFIELDUPDATE", {("fields",)}),
        ("ONCRMTYPEADD", {("types",), ("fields",), ("categories",), ("stages",)}),
        ("ONCRMCURRENCYUPDATE", {("currencies",)}),
        ("ONCRMDEALUPDATE", set()),
        ("ONCRMDEALMOVETOCATEGORY", set()),
        ("ONCRMDYNAMICITEMUPDATE_177", set()),
        ("", set()),
    ],
)
def test_an_event_outdates_what_it_is_about(event: str, outdated: set[tuple[str, ...]]) -> None:
    """Events about records outdate nothing: a busy portal would have nothing kept."""
    assert set(find_outdated_by_event(event)) == outdated


@pytest.mark.parametrize(
    ("method", "outdated"),
    [
        ("crm.status.update", {("stages",)}),
        ("crm.category.add", {("categories",), ("stages",)}),
        ("crm.deal.userfield.add", {("fields", "deal"), ("fields", "item:2")}),
        ("crm.currency.base.set", {("currencies",)}),
        ("user.update", {("users",), ("user",)}),
        ("crm.currency.list", set()),
        ("crm.deal.update", set()),
    ],
)
def test_a_call_of_our_own_outdates_what_it_changes(method: str, outdated: set[tuple[str, ...]]) -> None:
    """Statuses and funnels have no events."""
    assert set(find_outdated_by_call(method)) == outdated


async def test_an_event_during_a_read_makes_its_value_old_at_once(here: Desk) -> None:
    """It may be what was there before; and what was forgotten still serves for showing while the portal fails."""
    reference: Reference = here.reads.reference

    async def forget(method: str) -> None:
        reference.discard_for_event("ONUSERADD")

    here.portal.hold = forget
    await here.reads.reference.load_users()
    here.portal.hold = None
    await here.reads.reference.load_users()
    assert here.portal.count("user.get") == 2
    here.reads.reference.discard_for_event("ONUSERADD")
    await here.reads.reference.load_users()
    assert here.portal.count("user.get") == 3
    here.reads.discard_for_call("user.update")
    here.portal.down = True
    assert set(await here.reads.reference.load_users()) == {7}
    here.reads.reference.discard()
    with pytest.raises(NotSent):
        await here.reads.reference.load_users()


async def test_five_thousand_employees_cost_three_requests_and_keep_no_phones() -> None:
    """More are not kept; one beyond them is asked for alone."""

    def page(params: dict[str, Any]) -> dict[str, Any]:
        if "FILTER" in params:
            return {"result": [person(int(params["FILTER"]["ID"]), "Далёкий")], "total": 1}
        start = int(params.get("start", 0))
        return {"result": [person(number) for number in range(start + 1, start + 51)], "total": 6000, "next": start + 50}

    async with desk({}) as here:
        here.portal.answers["user.get"] = lambda params: page(params) if "start" not in params else page(params)["result"]
        users = await here.reads.reference.load_users()
        assert len(users) == MOST_USERS
        assert sorted(users) == list(range(1, MOST_USERS + 1))
        assert [method for method, _ in here.portal.asked] == ["user.get", "batch", "batch"]
        assert "+7900" not in str(users[5])
        assert await here.naming.find_user_name(5999) == "Далёкий К"


async def test_keys_named_from_outside_do_not_grow_without_bound() -> None:
    """The one asked for longest ago goes first."""
    shelf, life, read = ReadCache(FixedClock(NOW)), timedelta(minutes=5), []

    async def value(number: int) -> int:
        read.append(number)
        return number

    for number in range(MAX_KEYS + 50):
        await shelf.load(("user", str(number)), partial(value, number), life=life)
        await shelf.load(("users",), partial(value, -1), life=life)
    assert len(shelf._entries) == MAX_KEYS
    assert read.count(-1) == 1


@pytest.mark.parametrize(
    ("entity", "category", "book"),
    [
        ("lead", 0, "STATUS"),
        ("deal", 0, "DEAL_STAGE"),
        ("item:2", 3, "DEAL_STAGE_3"),
        ("item:177", 10, "DYNAMIC_177_STAGE_10"),
        ("item:31", 5, "SMART_INVOICE_STAGE_5"),
        ("item:7", 0, "QUOTE_STATUS"),
        ("contact", 0, ""),
        ("task", 0, ""),
        ("item", 0, ""),
    ],
)
def test_each_kind_has_its_book_of_stages(entity: str, category: int, book: str) -> None:
    """As the documentation of statuses lists them."""
    assert find_stage_entity_id(entity, category) == book


async def test_the_usual_funnel_of_a_smart_process_is_not_zero(here: Desk) -> None:
    """It is the one marked as default; a stage names its funnel itself."""
    wanted = ["deal:0", "item:177:0", "item:177:10", "item:31:0", "contact:0", "deal:x", "deal:", ":", ""]
    assert await here.reads.load_first_stages(wanted) == {
        "deal:0": "NEW",
        "item:177:0": "DT177_10:NEW",
        "item:177:10": "DT177_10:NEW",
        "item:31:0": "DT31_5:N",
    }
    stage = await here.reads.reference.find_stage("item:177", "DT177_10:SUCCESS", fresh=True)
    assert stage.name == "«DT177_10:SUCCESS»"
    assert await here.reads.reference.find_stage("item:177", "DT177_10:GONE", fresh=True) is None
    assert await here.naming.find_category_name(10, "item:177") == "Первая"


async def test_a_department_that_may_not_be_read_is_no_failure() -> None:
    """The right to departments is one of its own."""

    def refuses(params: dict[str, Any]) -> Any:
        raise SaysNo("insufficient_scope")

    async with desk({**ANSWERS, "department.get": refuses}) as here:
        assert await here.naming.find_department_name(User(id=7, departments=[1])) == ""
    async with desk(
        {"department.get": {"result": [{"ID": "3", "NAME": "Отдел продаж", "PARENT": "1", "UF_HEAD": "6"}], "total": 1}}
    ) as here:
        assert await here.naming.find_department_name(User(id=7, departments=[3])) == "Отдел продаж"
        found = (await here.reads.reference.load_departments())[3]
        assert (found.parent, found.head) == (1, 6)


async def test_the_sandbox_portal_answers_every_kind_it_knows() -> None:
    """People with departments and zones, funnels, stages, fields with titles, links."""
    async with sandbox() as naming:
        reference = naming._reference
        users = await reference.load_users()
        assert await naming.find_department_name(users[7]) in {"Отдел продаж", "Тендерный отдел"}
        assert (await reference.load_departments())[3].head == 6
        assert await naming.find_zone(7) == "Europe/Moscow"
        assert await naming.find_zone(1) == await naming.load_portal_zone() == "Europe/Moscow"
        assert await naming.find_zone(None) == "Europe/Moscow"
        assert await naming.find_category_name(1) == "Тендеры"
        assert await naming.find_stage_name("deal", "PREPARATION") == "Подготовка документов"
        assert (await reference.load_first_stages(["deal:1", "lead:0"])) == {"deal:1": "C1:NEW", "lead:0": "NEW"}
        assert await naming.find_field_title("deal", "UF_CRM_1747309879") == "Номер договора"
        assert await naming.find_field_title("deal", "ufCrm_1747309879") == "Номер договора"
        assert await naming.find_field_title("deal", "UF_CRM_NOPE") == ""
        fields = await reference.load_fields("deal", fresh=True)
        assert fields["ID"].read_only
        assert fields["CATEGORY_ID"].immutable
        assert (await reference.load_fields("item:2"))["opportunity"].upper_name == "OPPORTUNITY"
        assert await reference.load_fields("comment") == {}
        assert await naming.format_money("1234567.5", "RUB", "ru") == "1\u00a0234\u00a0567,50\u00a0₽"


@pytest.mark.parametrize("broken", [{"NAME": "без ключа"}, {}, None, "x", []])
async def test_a_row_without_its_key_stops_nobody(broken: Any) -> None:
    """One broken row of each kind of reference data is left out, and all others are there."""
    rows: dict[str, list[Any]] = {
        "user.get": [person(7), broken],
        "department.get": [{"ID": "1", "NAME": "Отдел"}, broken],
        "crm.category.list": [{"id": 0, "name": "Общая"}, broken],
        "crm.status.list": [{"STATUS_ID": "NEW", "NAME": "Новая"}, broken],
        "crm.currency.list": [{"CURRENCY": "RUB"}, broken],
        "crm.type.list": [{"entityTypeId": 177, "title": "Договоры"}, broken],
        "catalog.catalog.list": [{"iblockId": 3, "name": "Товары"}, broken],
    }
    async with desk({method: {"result": found, "total": len(found)} for method, found in rows.items()}) as here:
        reference = here.reads.reference
        assert list(await reference.load_users()) == [7]
        assert list(await reference.load_departments()) == [1]
        assert [funnel.id for funnel in await reference.load_categories()] == [0]
        assert [stage.id for stage in await reference.load_stages("deal", 0)] == ["NEW"]
        assert (await reference.load_currency_book()).keys() == {"RUB"}
        assert list(await reference.load_types()) == [177]
        assert 3 in {catalog.iblock for catalog in await reference.load_catalogs()}


async def test_a_list_without_any_key_is_unreadable() -> None:
    """It is no empty list: nobody is taken for dismissed."""
    async with desk({"user.get": {"result": [{"NAME": "Анна"}], "total": 1}}) as here:
        with pytest.raises(Unreadable):
            await here.reads.reference.load_users()


async def test_a_list_that_comes_as_a_map_of_numbers_is_a_list() -> None:
    """PHP writes a list so from which elements were taken."""
    rows = {"0": {"CURRENCY": "RUB"}, "1": {"CURRENCY": "USD"}}
    async with desk({"crm.currency.list": {"result": rows, "total": 2}, "user.get": {"result": {"0": person(7)}, "total": 1}}) as here:
        assert (await here.reads.reference.load_currency_book()).keys() == {"RUB", "USD"}
        assert list(await here.reads.reference.load_users()) == [7]

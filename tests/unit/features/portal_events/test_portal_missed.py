"""What was missed of leads, tasks and smart processes while nobody listened is told at the next start, as that of deals."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bitrix.catalogue.catalogue import load_catalogue
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition.installation import DATA
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.address import parse_target
from orchestrator.features.portal_events import catch_up
from orchestrator.reports.record_changes import KINDS, extract_values, read_employee_id
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from tests.fixed_clock import FixedClock
from tests.unit.features.portal_events.events_kit import Watch, start
from tests.unit.spine_kit import NOW
from tests.unit.spine_portal import html, says

EVENTS = {"lead:7": "", "task:8017": "ONTASKUPDATE", "item:177:5": "ONCRMDYNAMICITEMUPDATE"}


def lead(number: int, **more: str) -> dict[str, Any]:
    sums = {"OPPORTUNITY": "1", "CURRENCY_ID": "RUB"}
    return {
        "ID": str(number),
        "TITLE": f"Заявка {number}",
        "STATUS_ID": "NEW",
        "STATUS_SEMANTIC_ID": "P",
        "ASSIGNED_BY_ID": "7",
        **sums,
        **more,
    }


@pytest.fixture
def asked(watch: Watch) -> Iterator[list[str]]:
    """The requests of the start that follows, each command of a batch by itself."""
    records = watch.world.portal.records
    records["lead", 7] = lead(7)
    records["item:177", 5].update(currencyId="RUB")
    found: list[str] = []

    async def note(method: str, params: Any) -> None:
        found.extend(text.partition("?")[0] for text in params["cmd"].values()) if method == "batch" else found.append(method)

    watch.world.portal.watch = note
    yield found
    watch.world.portal.watch = None


async def heard(watch: Watch, *targets: str) -> None:
    """Events of these came once, so that the bot knows them; then it was away for an hour."""
    await watch.look(*(watch.event(target, name=EVENTS.get(target, "")) for target in targets))
    watch.world.clock.advance(timedelta(hours=1))


async def test_what_was_missed_of_every_kind_is_told_once(watch: Watch, asked: list[str]) -> None:
    """A lead that was thrown out, a task that got a new day, a sum of a smart process; the second start has nothing to tell."""
    await heard(watch, *EVENTS)
    records = watch.world.portal.records
    records["lead", 7].update(STATUS_ID="JUNK", STATUS_SEMANTIC_ID="F", MODIFY_BY_ID="9")
    records["task", 8017].update(deadline="2026-12-05T10:00:00+03:00", changedBy="9")
    records["item:177", 5].update(opportunity=250, updatedBy=9)
    told = (await start(watch))["tg:1007"]
    for words in ("Лид «Заявка 7»", "Задача «Счёт»", "«Договор 5»", "Сумма: 100 ₽ → 250 ₽"):
        assert words in told
    assert "изменено: Анна Уварова" in told
    watch.world.clock.advance(timedelta(minutes=1))
    assert await start(watch) == {}
    assert "crm.deal.list" in asked


async def test_open_ones_are_known_before_their_first_change(watch: Watch, asked: list[str]) -> None:
    """Once leads are heard of, all open ones are remembered: the first change of another is told as was → is."""
    watch.world.portal.records |= {
        ("lead", 8): lead(8),
        ("lead", 9): lead(9, STATUS_SEMANTIC_ID="S"),
        ("lead", 10): lead(10, ASSIGNED_BY_ID="99"),
    }
    await heard(watch, "lead:7")
    assert await start(watch) == {}
    assert {target for target in watch.state.seen if target.startswith("lead")} == {"lead:7", "lead:8"}
    watch.world.portal.records["lead", 8].update(OPPORTUNITY="5", MODIFY_BY_ID="9")
    watch.world.clock.advance(timedelta(hours=1))
    assert (await start(watch))["tg:1007"].endswith("Сумма: 1 ₽ → 5 ₽")
    assert "tasks.task.list" not in asked


async def test_kinds_of_which_no_event_ever_came_are_not_asked_for(watch: Watch, asked: list[str]) -> None:
    """Who subscribed to deals alone is told at a start of deals alone."""
    await heard(watch, "deal:481")
    asked.clear()
    assert await start(watch) == {}
    assert set(asked) == {"crm.deal.list"}


async def test_what_is_gone_is_forgotten_without_a_word(watch: Watch, asked: list[str]) -> None:
    """Whether a task was deleted or is hidden from the bot now, nobody can tell."""
    await heard(watch, *EVENTS)
    for kind, number in (("lead", 7), ("task", 8017), ("item:177", 5)):
        del watch.world.portal.records[kind, number]
    assert await start(watch) == {}
    assert not set(watch.state.seen) & set(EVENTS)
    assert watch.state.due == {}
    asked.clear()


@pytest.mark.parametrize("method", ["crm.deal.list", "crm.lead.list", "tasks.task.list"])
async def test_a_list_that_is_refused_holds_up_no_other(watch: Watch, asked: list[str], method: str) -> None:
    await heard(watch, *EVENTS)
    asked.clear()
    watch.world.portal.will(method, *[says(403, {"error": "ACCESS_DENIED", "error_description": "no"})] * 3)
    watch.world.portal.records["item:177", 5].update(opportunity=250, updatedBy=9)
    assert "Сумма: 100 ₽ → 250 ₽" in (await start(watch))["tg:1007"]
    assert {"crm.deal.list", "crm.lead.list", "tasks.task.list", "crm.item.get"} <= set(asked)


async def test_a_portal_that_is_down_is_not_asked_for_every_kind(watch: Watch, asked: list[str]) -> None:
    await heard(watch, *EVENTS)
    asked.clear()
    watch.world.portal.will("crm.deal.list", *[html] * 20)
    assert await start(watch) == {}
    assert set(asked) == {"crm.deal.list"}


@pytest.mark.parametrize(
    ("keep", "lists", "alone", "learned"),
    [(8, {"crm.lead.list", "tasks.task.list"}, ["crm.item.get"], {"lead:100"}), (6, set(), ["tasks.task.get", "crm.item.get"], set())],
)
async def test_what_is_new_pushes_out_nothing_that_is_known(
    watch: Watch, asked: list[str], monkeypatch: pytest.MonkeyPatch, *, keep: int, lists: set[str], alone: list[str], learned: set[str]
) -> None:
    """Beside three deals and three records known there is room for two (of the list's two one was known), or none; not all are read alone."""
    for target in EVENTS:
        await heard(watch, target)
    watch.world.portal.records |= {("lead", number): lead(number) for number in range(100, 150)}
    monkeypatch.setattr(catch_up, "KEEP_SEEN", keep)
    monkeypatch.setattr(catch_up, "MOST_ALONE", 2)
    asked.clear()
    assert await start(watch) == {}
    assert set(watch.state.seen) == {*EVENTS, "deal:481", "deal:482", "deal:500"} | learned
    assert {method for method in asked if method.endswith(".list")} == {"crm.deal.list"} | lists
    assert [method for method in asked if method.endswith(".get")] == alone


@pytest.fixture
async def sandbox() -> AsyncIterator[PortalReader]:
    """The sandbox portal, which answers as the documentation says."""
    app = create_app(Settings(bucket=None, clock=lambda: NOW))
    hook = "http://127.0.0.1:8080/rest/1/sandbox/"
    async with BitrixClient(hook, limiter=Limiter.create_unlimited(), transport=httpx.ASGITransport(app)) as client:
        yield PortalReader(client, load_catalogue(DATA / "catalogue"), FixedClock(NOW))
    await app.state.portal.events.aclose()
    app.state.portal.close()


async def test_open_records_of_the_people_are_listed_with_the_values_of_a_look(sandbox: PortalReader) -> None:
    """What is remembered from a list must not differ from what the first look reads: that would be told as a change."""
    seen = {"lead:999999": {"TITLE": "x"}, "task:999999": {"TITLE": "x"}}
    found = await catch_up.scan_records(sandbox, [7, 8], seen)
    assert sorted(found.gone) == sorted(seen)
    assert {parse_target(target)[0] for target in found.records} == {"deal", "lead", "task"}
    records = await sandbox.load_records([parse_target(target) for target in found.records])
    for target, values in found.records.items():
        kind, record = parse_target(target)[0], records[parse_target(target)]
        assert record is not None
        assert values == extract_values(kind, record)
        assert read_employee_id(kind, record, KINDS[kind].owner) in {7, 8}
        assert values.get("STATUS") != "5"
        assert record.get("STATUS_SEMANTIC_ID", "P") == "P"


async def test_a_record_that_is_refused_is_known_as_it_was(watch: Watch, asked: list[str]) -> None:
    """Nothing is told of it, and nothing is forgotten: the next change is told against what was seen."""
    await heard(watch, *EVENTS)
    before = watch.state.seen["item:177:5"]
    asked.clear()
    watch.world.portal.will("crm.item.get", *[says(400, {"error": "WRONG_STATE", "error_description": "no"})] * 3)
    watch.world.portal.records["lead", 7].update(OPPORTUNITY="5", MODIFY_BY_ID="9")
    assert (await start(watch))["tg:1007"].endswith("Сумма: 1 ₽ → 5 ₽")
    assert watch.state.seen["item:177:5"] == before
    assert "crm.item.get" in asked


@pytest.mark.parametrize(("kind", "number", "words"), [("lead", 7, "Лид удалён: «Заявка 7»"), ("deal", 481, "Сделка удалена: «Ромашка»")])
async def test_a_deletion_that_was_heard_of_before_the_stop_is_still_told(watch: Watch, asked: list[str], kind: str, number: int, words: str) -> None:  # fmt: skip
    """The start finds the record gone, and knows no better than the event that waits."""
    await heard(watch, f"{kind}:{number}")
    del watch.world.portal.records[kind, number]
    asked.clear()
    await watch.world.work(watch.event(f"{kind}:{number}", "delete"))
    assert words in (await start(watch))["tg:1007"]

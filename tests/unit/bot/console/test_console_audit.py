"""The search of the audit in the console, and the page that tells why a call was made: what they find, for whom, and what is saved."""

import csv
import io
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from nicegui import ui

from bot.console.audit import page as audit_page
from bot.console.audit.page import keep_text, write_csv
from bot.console.audit.query import AuditSearch, find_begin, find_end, parse_search
from bot.console.audit.search import AuditRow, ChangedField
from bot.console.widgets import LONGEST
from orchestrator.features.history import call_audit
from orchestrator.reports.why import call_search
from state.events.conversation import MessageReceived, StepRefused
from state.events.portal import RecordsSeen
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, ConsoleWorld, OpenPage, Person, a_console
from tests.unit.bot.console.talk_kit import HOSTILE, ask, decide, put, put_turn
from tests.unit.spine_kit import BORIS as BORIS_ACTOR
from tests.unit.spine_kit import CHAT, until


def outcomes(page: OpenPage) -> list[str]:
    """The outcomes of the calls that were found, in the order of the page."""
    rows = [one for one in page.elements if "audit-row" in one._classes]
    return [next(one.text for one in row.descendants() if "badge" in one._classes) for row in rows]  # type: ignore[attr-defined]


async def make_calls(made: ConsoleWorld) -> None:
    """Anna's call that was done, one of Boris that was denied, and one of Anna that waits."""
    await decide(made.world, await ask(made.world))
    made.world.portal.records["deal", 500] = {**made.world.portal.records["deal", 481], "ID": "500", "ASSIGNED_BY_ID": "8"}
    card = await ask(made.world, actor=BORIS_ACTOR, key="tg:1008", text="сумма сделки 500 теперь 7", amount=7, deal=500)
    await decide(made.world, card, approve=False, actor=BORIS_ACTOR, key="tg:1008")
    await ask(made.world, amount=900_000, text="поставь сделке 481 сумму 900 000")


@pytest.mark.req("C-18")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["ждёт решения", "отклонено", "выполнено"]),
        ("?person=tg:1008", ["отклонено"]),
        ("?record=481", ["ждёт решения", "выполнено"]),
        ("?record=482", []),
        ("?record=«ромашк»", ["ждёт решения", "отклонено", "выполнено"]),
        ("?record=сделка Ромашка&outcome=succeeded", ["выполнено"]),
        ("?record=Поставка кофе", []),
        ("?record=https://portal.example/crm/deal/details/481/&outcome=succeeded", ["выполнено"]),
        ("?method=изменить сделку&outcome=waiting", ["ждёт решения"]),
        ("?method=crm.deal.update&person=tg:1007", ["ждёт решения", "выполнено"]),
        ("?method=crm.deal.delete", []),
        ("?from=2026-11-21&outcome=denied", ["отклонено"]),
        ("?from=2026-11-22", []),
        ("?to=2026-11-20", []),
        ("?from=gestern&outcome=nothing", ["ждёт решения", "отклонено", "выполнено"]),
    ],
)
async def test_calls_are_found_by_person_record_method_time_and_outcome(made: ConsoleWorld, query: str, found: list[str]) -> None:
    """Each alone and together, the newest first; what is no time and no outcome is left out."""
    await make_calls(made)

    assert outcomes(await made.open(f"/audit{query}")) == found


@pytest.mark.req("C-18")
async def test_words_that_mean_nothing_are_told(made: ConsoleWorld) -> None:
    """Nothing is searched for then, and the page says what to write."""
    await make_calls(made)

    record, method = await made.open("/audit?record=«»"), await made.open("/audit?method=испечь пирог")

    assert record.has("Не понял, какая это запись")
    assert method.has("Нет действия с такими словами")
    assert outcomes(record) == outcomes(method) == []


@pytest.mark.req("C-18")
async def test_a_manager_finds_their_own_calls_a_lead_those_of_all(made: ConsoleWorld) -> None:
    """Whoever is named in the address; a manager cannot choose a person."""
    await make_calls(made)

    assert outcomes(await made.open("/audit", ANNA)) == ["ждёт решения", "выполнено"]
    assert outcomes(await made.open("/audit?person=tg:1008", ANNA)) == []
    assert outcomes(await made.open("/audit?record=481", BORIS)) == []
    assert outcomes(await made.open("/audit?record=500", BORIS)) == ["отклонено"]
    assert not (await made.open("/audit", BORIS)).has("Человек")
    assert len(outcomes(await made.open("/audit", VERA))) == 3


@pytest.mark.req("C-18")
async def test_a_screenful_comes_with_the_page_and_the_rest_when_it_has_connected(
    made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order, each call once, and without a press; nothing more is offered when all are there."""
    await make_calls(made)
    every = outcomes(await made.open("/audit"))
    monkeypatch.setattr(audit_page, "AT_ONCE", 1)
    page = await made.open("/audit")
    assert outcomes(page) == every[:1]
    assert not page.find("Показать ещё").visible

    await page.connect()

    assert outcomes(page) == every
    assert len(every) > 1
    assert not page.find("Показать ещё").visible


@pytest.mark.req("C-18")
async def test_more_is_shown_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that ends because it has looked at enough goes on where it stopped."""
    monkeypatch.setattr(call_audit, "MAX_SCANNED", 2)
    async with a_console(tmp_path) as made:
        await make_calls(made)
        page = await made.open("/audit?outcome=succeeded")
        assert outcomes(page) == []
        assert page.has("просмотрена только часть журнала")

        while page.find("Показать ещё").visible:
            before = page.find("Показать ещё").visible, outcomes(page)
            await page.press("Показать ещё")
            await until(lambda before=before: (page.find("Показать ещё").visible, outcomes(page)) != before)  # type: ignore[misc]

        assert outcomes(page) == ["выполнено"]


@pytest.mark.req("C-18")
def test_a_search_is_an_address_and_back() -> None:
    """What stands in the form stands in the address, with days of the person's own zone."""
    search = AuditSearch(person="tg:1007", record="сделка 481", method="изменить", outcome="denied", since="2026-11-20", until="2026-11-21")
    query = dict(part.split("=") for part in search.to_address().partition("?")[2].split("&"))

    assert parse_search({name: unquote_plus(value) for name, value in query.items()}) == search
    begin, end = find_begin(search, "Europe/Moscow"), find_end(search, "Europe/Moscow")
    assert begin is not None
    assert end is not None
    assert (begin.isoformat(), end - begin) == ("2026-11-20T00:00:00+03:00", timedelta(days=2))
    assert AuditSearch().to_address() == "/audit"


@pytest.mark.req("C-19")
async def test_why_tells_a_call_from_the_words_to_what_came_back(made: ConsoleWorld) -> None:
    """Who asked with which words, what the model thought, why the gate asked, who approved how, what was sent, what changed."""
    card = await ask(made.world)
    made.world.clock.advance(timedelta(minutes=3))
    await decide(made.world, card)

    page = await made.open(f"/audit/{card.effect_id}", ANNA)

    for text in ("подними сумму сделки 481", "думаю", "так попросили", "Спросить человека", "Одобрено: Анна, кнопкой", "Ждали 3 мин"):
        assert page.has(text), text
    for text in ("crm.deal.update", '"OPPORTUNITY": 1200000', "выполнено", "Сумма", "1 200 000 ₽", "Этих полей с тех пор никто не менял."):
        assert page.has(text), text


@pytest.mark.req("C-19")
async def test_why_tells_what_happened_to_the_fields_later(made: ConsoleWorld) -> None:
    """A later call that writes the same field, and a change that the bot saw in the portal."""
    card = await ask(made.world)
    await decide(made.world, card)
    made.world.clock.advance(timedelta(hours=1))
    later = await ask(made.world, amount=900_000, text="поставь сделке 481 сумму 900 000")
    await decide(made.world, later)
    for sum_ in ("900000.00", "5000.00"):
        made.world.clock.advance(timedelta(hours=1))
        put(made.world, "portal:x", RecordsSeen(records={"deal:481": {"OPPORTUNITY": sum_, "TITLE": "Ромашка"}}))

    page = await made.open(f"/audit/{card.effect_id}", OLGA)

    assert not page.has("Этих полей с тех пор никто не менял.")
    assert page.has("в Битрикс24, не через меня")
    assert f"/audit/{later.effect_id}" in [one.props.get("href") for one in page.elements]


@pytest.mark.req("C-19")
async def test_why_is_told_to_those_who_may_see_the_call(made: ConsoleWorld) -> None:
    """A lead sees the call without the words of the conversation; a colleague and a wrong number get the same answer."""
    card = await ask(made.world)

    [[_, _, began, _]] = made.world.sql.list_index_entries(card.effect_id, "began")

    lead = await made.open(f"/audit/{card.effect_id}", VERA)
    assert lead.has("Слова разговора видят только сам человек и администратор.")
    for hidden in ("подними сумму сделки 481", "думаю", "так попросили"):
        assert not lead.has(hidden), hidden
    assert (await made.open(f"/audit/{card.effect_id}", OLGA)).has("подними сумму сделки 481")
    for path, person in ((card.effect_id, BORIS), ("f" * 32, OLGA), ("x", OLGA), (f"{'f' * 32}?at={began}", OLGA)):
        assert (await made.open(f"/audit/{path}", person)).has("Такой записи нет, или вам её не видно."), path


@pytest.mark.req("C-19")
async def test_why_tells_a_call_that_was_refused_at_once(made: ConsoleWorld) -> None:
    """No table names it: the search leads to it with the event that says so; without that event it is not found."""
    refused = StepRefused(turn_id="t1", slot="t1/1/1", method="crm.deal.delete", params={"id": 481}, code="gate-delete")
    put(made.world, CHAT, MessageReceived(turn_id="t1", text="удали"), refused, actor=CHAT)
    found = await made.open("/audit", ANNA)
    [address] = [str(one.props["href"]) for one in found.elements if "audit-what" in one._classes]

    page = await made.open(address.removeprefix("/console"), ANNA)
    without = await made.open(address.removeprefix("/console").partition("?")[0], ANNA)

    assert page.has("Не пропущено, ничего не отправлено")
    assert page.has("удали")
    assert without.has("Такой записи нет, или вам её не видно.")


@pytest.mark.req("C-19")
async def test_why_reads_a_long_stream_near_the_call_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the conversation was and will be, the page of a call costs the same, and tells the same."""
    monkeypatch.setattr(call_search, "_BEFORE", 20)
    monkeypatch.setattr(call_search, "_AFTER", 30)
    async with a_console(tmp_path) as made:
        for number in range(100):
            put_turn(made.world, CHAT, f"до {number}")
        card = await ask(made.world)
        await decide(made.world, card)
        for number in range(100):
            put_turn(made.world, CHAT, f"после {number}")
        read: list[int] = []
        wrapped = made.world.sql.read_encrypted

        def count(stream: str, after: int, limit: int) -> list[tuple[int, str, str]]:
            found = wrapped(stream, after, limit)
            read.append(len(found))
            return found

        monkeypatch.setattr(made.world.sql, "read_encrypted", count)
        page = await made.open(f"/audit/{card.effect_id}", ANNA)

        for text in ("подними сумму сделки 481", "думаю", "Одобрено: Анна, кнопкой", "выполнено"):
            assert page.has(text), text
        assert 0 < sum(read) <= 2 * (20 + 30)


@pytest.mark.req("C-20")
async def test_what_is_shown_is_saved_as_a_table_and_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each call that the person sees, none for others; the table opens in a spreadsheet with its letters."""
    saved: dict[str, bytes] = {}
    monkeypatch.setattr(ui.download, "content", lambda content, name, kind: saved.update({kind.partition(";")[0]: content}))
    async with a_console(tmp_path) as made:
        await make_calls(made)
        page = await made.open("/audit", ANNA)

        await page.press("CSV")
        await page.press("JSON")

        assert saved["text/csv"].startswith(b"\xef\xbb\xbf")
        head, *rows = csv.reader(io.StringIO(saved["text/csv"].decode("utf-8-sig")))
        assert head[:3] == ["Время (UTC)", "Кто попросил", "Что"]
        assert [row[1] for row in rows] == ["Анна (tg:1007)"] * 2
        assert [one["outcome"] for one in json.loads(saved["application/json"])] == ["waiting", "succeeded"]


@pytest.mark.req("C-20")
@pytest.mark.parametrize("cell", ["=1+1", "+7 900", "-5", "@SUM(A1)", "\t=1", " =1", "\r=1", "\n@x"])
def test_no_cell_is_a_formula(cell: str) -> None:
    """A spreadsheet shows it as it stands, whatever a customer wrote."""
    row = AuditRow(
        effect_id="e",
        session=cell,
        event_id="v",
        at="2026-11-21",
        asked_by=cell,
        asked_by_name=cell,
        what=cell,
        method=cell,
        records=[cell],
        changes=[ChangedField(record="", name=cell, before="", after=cell)],
        outcome="succeeded",
        decision="",
    )
    _, *rows = csv.reader(io.StringIO(write_csv([row], str).decode("utf-8-sig"), newline=""))

    assert not [one for one in rows[0] if one.strip().startswith(("=", "+", "-", "@"))]
    assert keep_text("Ромашка - юг") == "Ромашка - юг"


@pytest.mark.long
@pytest.mark.req("C-39")
async def test_hostile_text_is_text_in_the_audit(tmp_path: Path) -> None:
    """As a name, as the value of a field, as the words of a request, and in the address; a long one is cut."""
    long = HOSTILE + "я" * 1_000_000
    people = (Person(telegram_id=1001, name=HOSTILE.strip()[:60], role="admin", bitrix_user_id=1),)
    async with a_console(tmp_path, people=people) as made:
        refused = StepRefused(
            turn_id="t1", slot="t1/1/1", method=HOSTILE, params={"id": 481, "fields": {"TITLE": long}}, code="x", detail=long
        )
        put(made.world, "tg:1001", MessageReceived(turn_id="t1", text=long), refused)
        found = await made.open("/audit", people[0])
        [address] = [str(one.props["href"]) for one in found.elements if "audit-what" in one._classes]
        pages = [
            found,
            await made.open(address.removeprefix("/console"), people[0]),
            await made.open(f"/audit?record={HOSTILE}", people[0]),
        ]

        assert pages[1].has("<img src=x onerror=alert(1)>")
        for page in pages:
            _check_harmless(page)


def _check_harmless(page: OpenPage) -> None:
    assert max(len(text) for text in page.read_texts()) <= LONGEST + 1
    for one in page.elements:
        props: Mapping[str, object] = one.props
        assert type(one).__name__ not in {"Html", "Markdown", "Mermaid"}
        assert "innerHTML" not in props
        assert str(props.get("href", "/")).startswith(("/", "#", "https://portal.example/"))

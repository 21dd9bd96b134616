"""What the card of an order says, what is refused before anybody is asked, and how orders are listed, paused, changed, removed."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.effect import Outcome
from orchestrator.domain.standing_orders import MOST_ORDERS, WATCHED_FIELDS, OrderTerms
from orchestrator.language.lexicon import load_lexicon
from tests.unit.features.orders.orders_kit import Bench, a_bench, command
from tests.unit.features.orders.test_looking import add
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, card, effect, press

MONDAYS = {"cron": "0 9 * * MON", "text": "сдать отчёт"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as made:
        yield made


async def propose(bench: Bench, params: Mapping[str, Any], *, method: str = "order.add", slot: str = "t/9/1") -> Any:
    """The card's lines by name, or the code of the refusal."""
    session = await bench.world.session()
    result = await bench.world.submit(session, effect(method, params, slot=slot))
    await session.close()
    if isinstance(result, Outcome):
        return result.reason.code if result.reason is not None else result.status
    return {line["name"]: line["after"] for line in (card(session, result.confirmation_id).preview or {})["lines"]}


async def test_the_card_says_when_what_to_whom_in_whose_rights_until_when_and_last_week(bench: Bench) -> None:
    """And that it could look back only as far as it has watched."""
    lines = await propose(bench, {"deal": 481, "changes": ["OPPORTUNITY"], "if": "now.OPPORTUNITY > 5"})
    assert lines["Когда"] == "изменится сумма, при условии now.OPPORTUNITY > 5"
    assert "Ромашка" in lines["О чём"]
    assert lines["Кому"] == "вам"
    assert lines["Права"] == "ваши на тот момент"
    assert lines["До"] == "вс, 21 ноября 2027"
    assert "знаю только с" in lines["За последнюю неделю"]


async def test_last_week_is_counted_from_the_history_of_stages_and_from_silence(bench: Bench) -> None:
    """Both are known of the time before anybody watched."""
    stages = await propose(bench, {"of": "deals", "where": "open", "changes": "STAGE_ID"}, slot="t/9/1")
    assert "знаю только" not in stages["За последнюю неделю"]
    silent = await propose(bench, {"of": "deals", "where": "open", "quiet": 2}, slot="t/9/2")
    assert "всего сейчас молчат" in silent["За последнюю неделю"]
    weekly = await propose(bench, MONDAYS, slot="t/9/3")
    assert weekly["За последнюю неделю"] == "сработало бы раз: 1"


REFUSED = [
    ({"deal": 999_999, "changes": "OPPORTUNITY"}, "order-refused-unclear"),
    ({"of": "deals", "filter": {"NO_SUCH": 1}, "changes": "OPPORTUNITY"}, "order-refused-unclear"),
    ({"cron": "0 9 * * MON", "report": {"of": "dealz"}}, "order-refused-unclear"),
    ({"at": "2020-01-01T09:00:00+03:00", "text": "x"}, "order-refused-past"),
    ({**MONDAYS, "until": "2020-01-01"}, "order-refused-past"),
    ({"deal": 481, "changes": "COMMENTS"}, "gate-order-unwatched"),
    ({"company": 12, "changes": "PHONE"}, "gate-order-unwatched"),
    ({"of": "companies", "filter": {"ID": 12}, "changes": "PHONE"}, "gate-order-unwatched"),
    ({"deal": 481, "changes": "OPPORTUNITY", "quiet": 3}, "gate-order-unclear"),
    ({"deal": 481, "changes": "OPPORTUNITY", "if": "__import__('os')"}, "gate-kind-params"),
    ({"deal": 481, "changes": "OPPORTUNITY", "if": "now.NO_SUCH > 1"}, "gate-order-unclear"),
    ({"deal": 481, "changes": "OPPORTUNITY", "if": "now.OPPORTUNITY > 'text'"}, "gate-order-unclear"),
    ({"at": "2027-01-01T09:00:00+03:00", "text": "x", "until": "2026-12-01"}, "order-refused-past"),
    ({"cron": "0 9 * * MON"}, "gate-order-unclear"),
    ({"cron": "* * * * *", "text": "x"}, "gate-order-unclear"),
    ({"quiet": 3}, "gate-order-unclear"),
    ({"of": "deals", "quiet": 3, "write": True}, "gate-kind-params"),
    ({"of": "deals", "quiet": 3, "propose": {"method": "x.y.z"}, "to": ["owner"]}, "gate-order-unclear"),
]


@pytest.mark.parametrize(("params", "code"), REFUSED)
async def test_what_could_not_work_is_refused_before_anybody_is_asked(bench: Bench, params: Mapping[str, Any], code: str) -> None:
    """With a sentence for the person, and with what is possible for the model."""
    assert await propose(bench, params) == code


async def test_what_can_be_watched_is_said_as_the_card_names_it(bench: Bench) -> None:
    """Every field that is watched stands in the sentence, in both languages."""
    for locale in ("ru", "en"):
        sentence = Translator(locale).translate("gate-order-unwatched").lower()
        named = load_lexicon("standing_orders").read_table("fields", locale).items()
        watched = {name for names in WATCHED_FIELDS.values() for name in names}
        assert [
            words
            for name, words in named
            if name in watched and words.removeprefix("предполагаемая ").removeprefix("expected ") not in sentence
        ] == []


async def test_a_record_of_others_cannot_be_watched(bench: Bench) -> None:
    """Its title is not told either."""
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 9}})
    assert await propose(bench, {"deal": 481, "changes": "OPPORTUNITY"}) == "order-refused-unclear"


async def test_orders_are_listed_paused_resumed_and_removed_by_buttons(bench: Bench) -> None:
    """Only by the person themselves."""
    order = await bench.give(MONDAYS)
    await bench.world.work(command("orders"))
    assert any("1. по понедельникам в 9:00 → пришлю «сдать отчёт»" in text for text in bench.told())
    await bench.click("order", order, "pause", actor=BORIS)
    assert bench.orders()[order].status == "waiting"
    await bench.click("order", order, "pause")
    assert bench.orders()[order].why == "person"
    await bench.until(9)
    assert not any("⏰" in text for text in bench.told())
    await bench.click("order", order, "resume")
    assert bench.orders()[order].due == "2026-12-07T06:00:00.000000Z"
    await bench.click("order", order, "remove")
    assert (bench.orders(), bench.timers()) == ({}, [])


async def test_by_words_an_order_is_changed_paused_and_removed(bench: Bench) -> None:
    """A new time asks, a pause and the end do not."""
    order = await bench.give(MONDAYS)
    lines = await propose(bench, {"order": order, "cron": "0 18 * * FRI"}, method="order.change")
    assert lines["Ближайшие разы"].startswith("пт, 27 ноября, 18:00")
    await bench.give({"order": order, "cron": "0 18 * * FRI"}, method="order.change")
    assert bench.orders()[order].due == "2026-11-27T15:00:00.000000Z"
    assert await propose(bench, {"order": order, "status": "pause"}, method="order.change", slot="t/9/2") == "succeeded"
    await bench.world.work()
    assert bench.orders()[order].status == "paused"
    assert await propose(bench, {"order": order}, method="order.remove", slot="t/9/3") == "succeeded"
    await bench.world.work()
    assert bench.orders() == {}
    assert await propose(bench, {"order": order}, method="order.remove", slot="t/9/4") == "order-refused-gone"


async def test_an_end_is_a_day_of_the_person(bench: Bench) -> None:
    """The last minute of it in their zone, in a new order and in a changed one: a day of UTC would be shown as the one behind it."""
    assert (await propose(bench, {**MONDAYS, "quiet": None, "deal": None, "until": "2026-12-31"}))["До"] == "чт, 31 декабря"
    order = await bench.give({"deal": 481, "changes": ["OPPORTUNITY"], "until": "2026-12-31"})
    assert bench.orders()[order].until == "2026-12-31T20:59:00.000000Z"
    assert (await propose(bench, {"order": order, "until": "2027-01-31"}, method="order.change", slot="t/9/2"))[
        "До"
    ] == "вс, 31 января 2027"
    assert await propose(bench, {"order": order, "until": "31 January"}, method="order.change", slot="t/9/3") == "gate-order-unclear"


async def test_nobody_has_more_orders_than_the_limit(bench: Bench) -> None:
    """Also if two were allowed at the same time."""
    terms = OrderTerms(cron="0 9 * * *", text="x", zone="Europe/Moscow")
    await bench.world.work(*[add(terms) for _ in range(MOST_ORDERS + 1)])
    assert len(bench.orders()) == MOST_ORDERS
    assert any("больше нельзя" in text for text in bench.told())
    assert await propose(bench, MONDAYS) == "order-refused-many"


async def test_a_group_is_not_shown_what_a_person_watches(bench: Bench) -> None:
    """The list is for the private chat."""
    await bench.give(MONDAYS)
    bench.told()
    await bench.world.work(command("orders", actor=ANNA, chat="tg:-100500"))
    (text,) = bench.told("tg:-100500")
    assert "сдать отчёт" not in text


async def test_the_model_is_told_the_orders_with_their_references(bench: Bench) -> None:
    """Of the person who asks, and nobody else's."""
    await bench.give(MONDAYS)
    await bench.give(MONDAYS, actor=VERA)
    session = await bench.world.session(CHAT)
    result = await bench.world.submit(session, effect("order.list", {}, slot="t/9/1"))
    await session.close()
    assert isinstance(result, Outcome)
    (listed,) = result.result["orders"]  # type: ignore[index]
    assert (listed["order"], listed["cron"], listed["text"]) == ("@order:1", "0 9 * * MON", "сдать отчёт")


async def test_what_changes_in_the_portal_while_the_card_waits_does_not_draw_it_anew(bench: Bench) -> None:
    """The last week is told to think by; what the order is stays the same."""
    session = await bench.world.session()
    wish = effect("order.add", {"of": "deals", "where": "open", "changes": "STAGE_ID"}, slot="t/9/1")
    result = await bench.world.submit(session, wish)
    await session.close()
    assert not isinstance(result, Outcome)
    shown = card(session, result.confirmation_id)
    for stage in ("PREPARATION", "NEW"):
        bench.world.clock.advance(timedelta(hours=1))
        await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": stage}})
    bench.world.clock.advance(timedelta(hours=1))
    await bench.world.work(press(shown))
    assert len(bench.orders()) == 1


async def test_an_order_whose_moment_passed_in_its_pause_does_not_say_that_it_works(bench: Bench) -> None:
    """It would wait for nothing until it ends."""
    order = await bench.give({"at": "2026-11-21T18:00:00+03:00", "text": "Позвонить Ромашке"})
    await bench.click("order", order, "pause")
    await bench.until(0.5)
    bench.outbox()
    await bench.click("order", order, "resume")
    assert [row.body["notice"]["code"] for row in bench.outbox() if row.kind == "toast"] == ["order-past"]
    assert bench.only().status == "paused"

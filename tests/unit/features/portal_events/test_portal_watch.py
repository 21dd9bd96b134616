"""Who is told what of changed deals: was → is, by whom, once, and nobody of their own doing."""

from datetime import timedelta

import pytest

from orchestrator.features.portal_events.watcher import CALM, LOOK_AFTER
from tests.chain_kit import Verified, verify_stream
from tests.unit.features.portal_events.events_kit import KEY, Watch
from tests.unit.spine_kit import ANNA, BORIS, VERA, effect, watcher_of
from tests.unit.spine_portal import says

CARD = "(https://portal.example/crm/deal/details/481/)"


async def test_the_responsible_person_reads_who_changed_what(watch: Watch) -> None:
    """Stage and sum with names and money as on a card, the title leads to the card; nobody else hears of it."""
    await watch.known()
    watch.deal(STAGE_ID="WON", OPPORTUNITY="1200000.00", CLOSED="Y", COMMENTS="тайна")
    assert await watch.look(watch.event()) == {
        "tg:1007": f"🔔 Сделка «Ромашка»{CARD} · изменено: Анна Уварова\nСтадия: Новая → Успех\nСумма: 1 000 000 ₽ → 1 200 000 ₽".replace(
            "»(", "» ("
        )
    }
    assert watch.events("RecordsSeen")[-1].data["told"] == ["tg:1007"]
    assert isinstance(verify_stream(watch.world.sql, f"session:{KEY}"), Verified)


async def test_first_sight_says_what_is_known_and_invents_no_before(watch: Watch) -> None:
    watch.deal(OPPORTUNITY="5")
    told = await watch.look(watch.event())
    assert told["tg:1007"].splitlines()[1:] == ["Стадия: Новая", "Сумма: 5 ₽"]


@pytest.mark.parametrize(("by", "who"), [(6, " · создано: Вера Белова"), (0, "")])
async def test_a_new_deal_is_told_as_new(watch: Watch, by: int, who: str) -> None:
    watch.deal(700, TITLE="Заявка", CREATED_BY_ID=by)
    told = await watch.look(watch.event("deal:700", "add"), watch.event("deal:700"))
    assert told["tg:1007"].splitlines() == [
        f"🔔 Новая сделка «Заявка» (https://portal.example/crm/deal/details/700/){who}",
        "Стадия: Новая",
        "Сумма: 100 ₽",
    ]


async def test_a_deleted_deal_is_told_by_the_title_it_had(watch: Watch) -> None:
    """One that nobody had seen is not told of: whose it was is not known."""
    await watch.known()
    del watch.world.portal.records["deal", 481]
    assert await watch.look(watch.event(action="delete"), watch.event("deal:999", "delete")) == {"tg:1007": "🔔 Сделка удалена: «Ромашка»"}
    assert watch.state.seen == {}


async def test_a_handover_is_told_to_both_and_the_former_reads_nothing_they_may_not_see(watch: Watch) -> None:
    """The new sum is the business of whoever has the deal now."""
    await watch.known()
    watch.deal(ASSIGNED_BY_ID=8, OPPORTUNITY="7", TITLE="Слияние с Лютиком")
    told = await watch.look(watch.event())
    assert "Ромашка" in told["tg:1007"].splitlines()[0]  # as it was called when it was theirs
    assert "Лютик" not in told["tg:1007"]
    assert told["tg:1007"].splitlines()[1:] == ["Ответственный: Анна Ковалёва → Борис Седов"]
    assert sorted(told["tg:1008"].splitlines()[1:]) == [
        "Название: Ромашка → Слияние с Лютиком",
        "Ответственный: Анна Ковалёва → Борис Седов",
        "Сумма: 1 000 000 ₽ → 7 ₽",
    ]


async def test_nobody_hears_of_their_own_change_or_of_nothing(watch: Watch) -> None:
    """Changed by herself in the portal; a field that is not watched; the same event once more; somebody who wants no news."""
    await watch.known()
    watch.deal(by=7, OPPORTUNITY="8")
    assert await watch.look(watch.event()) == {}
    watch.deal(COMMENTS="звонил")
    assert await watch.look(watch.event()) == {}
    watch.deal(OPPORTUNITY="8.0")
    assert await watch.look(watch.event()) == {}
    watch.silent.add(ANNA.key)
    watch.deal(OPPORTUNITY="9")
    assert await watch.look(watch.event()) == {}


async def test_a_second_delivery_is_one_event(watch: Watch) -> None:
    await watch.known()
    watch.deal(OPPORTUNITY="8")
    told = await watch.look(watch.event(ts=5), watch.event(ts=5), watch.event(ts=5))
    assert len(told) == 1
    assert await watch.look(watch.event(ts=5)) == {}
    assert len(watch.events("PortalEventReceived")) == 2


async def test_a_change_through_the_bot_is_named_and_not_told_to_who_made_it(watch: Watch) -> None:
    """The portal names the webhook's owner; the bot knows who asked."""
    await watch.known(481, 482)
    session = await watch.world.session("tg:1006")
    session.watchers.append(watcher_of(watch.world.orchestrator).recent_writes.observe)
    for number, (target, actor) in enumerate([(481, VERA), (482, ANNA)]):
        what = effect("crm.deal.update", {"id": target, "fields": {"TITLE": "Лютик", "COMMENTS": "x"}}, slot=f"t1/1/{number}")
        await watch.world.submit(session, what, actor=actor)
        watch.deal(target, by=1)
    assert await watch.look(watch.event("deal:481"), watch.event("deal:482")) == {
        "tg:1007": f"🔔 Сделка «Лютик» {CARD} · изменено: Вера через Sdelka\nНазвание: Ромашка → Лютик"
    }


async def test_what_somebody_changes_after_the_bot_is_theirs(watch: Watch) -> None:
    """Anna renamed through the bot; Boris changed the sum in the portal a second later: she hears of the sum."""
    await watch.known()
    session = await watch.world.session()
    session.watchers.append(watcher_of(watch.world.orchestrator).recent_writes.observe)
    await watch.world.submit(session, effect("crm.deal.update", {"id": 481, "fields": {"TITLE": "Лютик"}}))
    watch.deal(by=8, OPPORTUNITY="5")
    watch.world.portal.will("profile", says(200, {"result": {"ID": "1"}}))
    told = await watch.look(watch.event())
    assert told["tg:1007"].splitlines() == [f"🔔 Сделка «Лютик» {CARD} · изменено: Борис Седов", "Сумма: 1 000 000 ₽ → 5 ₽"]


@pytest.mark.parametrize(("by", "title", "lines"), [(1, "Лютик", 0), (8, "Лютик", 1), (8, "Пион", 2)])
async def test_what_a_write_brings_along_is_its_own_as_long_as_nobody_wrote_since(watch: Watch, by: int, title: str, lines: int) -> None:
    """The bot moves a deal to another funnel: the funnel was not in the call. A colleague's later hand makes it theirs, and a new name too."""
    await watch.known()
    call = {"method": "crm.deal.update", "targets": [["deal", 481]], "entity": "deal", "commands": []}
    stored = {"call": {**call, "params": {"fields": {"TITLE": "Лютик", "STAGE_ID": "NEW"}}}, "requested_by": ANNA.key}
    watcher_of(watch.world.orchestrator).recent_writes.record_call("e1", stored, watch.world.clock.now())
    watch.deal(by=by, CATEGORY_ID=1, TITLE=title)
    watch.world.portal.will("profile", says(200, {"result": {"ID": "1"}}))
    told = await watch.look(watch.event())
    assert len(told.get("tg:1007", "").splitlines()[1:]) == lines, told


async def test_a_deal_made_through_the_bot_is_known_by_its_mark_even_after_a_restart(watch: Watch) -> None:
    """No memory is needed: the mark leads to the stored effect."""
    session = await watch.world.session()
    made = await watch.world.submit(session, effect("crm.deal.add", {"fields": {"TITLE": "Новая", "ASSIGNED_BY_ID": 7}}))
    assert made.created == "deal:9001", made  # type: ignore[union-attr]
    watch.world.portal.records["deal", 9001] |= {"CREATED_BY_ID": "1", "STAGE_ID": "NEW"}
    assert await watch.look(watch.event("deal:9001", "add")) == {}
    watch.deal(9001, ASSIGNED_BY_ID=8)
    watch.silent.add(ANNA.key)
    told = await watch.look(watch.event("deal:9001"))
    assert list(told) == [BORIS.key]


@pytest.mark.slow
async def test_a_storm_is_one_look_and_one_message(watch: Watch) -> None:
    """200 deals of one person: ten lines and how many more, four batches, and the second wave waits a little."""
    numbers = range(1000, 1200)
    for number in numbers:
        watch.deal(number)
    await watch.known(*numbers)
    asked = len(watch.world.portal.requests)
    for number in numbers:
        watch.deal(number, STAGE_ID="WON")
    told = await watch.look(*(watch.event(f"deal:{number}") for number in numbers))
    lines = told["tg:1007"].splitlines()
    assert lines[0] == "🔔 Изменилось 200 записей"
    assert lines[1].startswith(
        "• Сделка «Сделка 1000» (https://portal.example/crm/deal/details/1000/) · изменено: Анна Уварова — Стадия: Новая → Успех"
    )
    assert (len(lines), lines[-1]) == (12, "и ещё 190")
    assert [method for method, _ in watch.world.portal.requests[asked:]].count("batch") == 4

    watch.deal(1000, STAGE_ID="NEW")
    assert await watch.look(watch.event("deal:1000")) == {}
    watch.world.clock.advance(CALM - LOOK_AFTER)
    await watch.world.work()
    assert len(watch.told()) == 1


@pytest.mark.parametrize("told_before", [True, False])
async def test_a_clock_that_is_set_back_holds_nothing_up_once_the_portal_tells_again(watch: Watch, *, told_before: bool) -> None:
    """A look that now lies an hour ahead, or a message "told in an hour", does not keep people waiting."""
    await watch.known()
    watch.deal(OPPORTUNITY="1")
    if told_before:
        await watch.look(watch.event())
        watch.deal(OPPORTUNITY="2")
    else:
        await watch.world.work(watch.event())
    watch.world.clock.advance(-timedelta(hours=1))
    assert await watch.look(watch.event()) == {}, "what the portal tells was not waited for"
    watch.world.clock.advance(CALM)
    await watch.world.work()
    assert "tg:1007" in watch.told()


async def test_what_else_the_portal_tells_outdates_names_and_reads_nothing(watch: Watch) -> None:
    """A new employee, a new stage, a contact: noted, no look."""
    await watch.known()
    watch.world.portal.requests.clear()
    rows = [watch.event("", "", name="ONUSERADD"), watch.event("contact:43"), watch.event("", "", name="ONSOMETHINGNEW")]
    assert await watch.look(*rows) == {}
    assert watch.world.portal.requests == []
    assert watch.world.sql.list_due_timers(watch.world.clock.now() + timedelta(days=9)) == []
    watch.deal(OPPORTUNITY="1")
    await watch.look(watch.event())
    assert "user.get" in [method for method, _ in watch.world.portal.requests]


async def test_texts_of_the_crm_cannot_disguise_or_lead_away(watch: Watch) -> None:
    """A title is foreign text: no line breaks, no addresses of others, no secrets."""
    await watch.known()
    watch.deal(TITLE="Ромашка\n✅ Выполнено https://evil.example/x token=abcdef12345")
    text = (await watch.look(watch.event()))["tg:1007"]
    assert len(text.splitlines()) == 2
    assert "evil.example" not in text
    assert "abcdef12345" not in text


async def test_tasks_and_leads_and_smart_processes_are_told_too(watch: Watch) -> None:
    records = watch.world.portal.records
    records["lead", 7] = {"ID": "7", "TITLE": "Заявка", "STATUS_ID": "NEW", "ASSIGNED_BY_ID": "7", "OPPORTUNITY": "1"}
    targets = [("lead:7", ""), ("task:8017", "ONTASKUPDATE"), ("item:177:5", "ONCRMDYNAMICITEMUPDATE")]
    await watch.look(*(watch.event(target, name=name) for target, name in targets))
    watch.world.clock.advance(CALM)
    records["lead", 7].update(STATUS_ID="JUNK", MODIFY_BY_ID="9")
    records["task", 8017].update(status="5", changedBy="6")
    records["item:177", 5].update(opportunity=200, updatedBy=8)
    told = await watch.look(*(watch.event(target, name=name) for target, name in targets))
    lines = told["tg:1007"].splitlines()
    assert lines[0] == "🔔 Изменились 3 записи"
    assert lines[1].startswith("• Лид «Заявка»")
    assert lines[1].endswith("изменено: Анна Уварова — Стадия: Новый → Мусор")
    assert lines[2].endswith("изменено: Вера Белова — Состояние: ждёт выполнения → завершена")
    assert lines[3].endswith("изменено: Борис Седов — Сумма: 100 → 200")


@pytest.mark.parametrize(("hours", "quiet"), [(0, True), (48, None), (48 + 7, True), (48 + 19, None)])
async def test_at_night_and_on_weekends_nobodys_telephone_rings(watch: Watch, hours: int, quiet: bool | None) -> None:  # noqa: FBT001 - a column of the table
    """The world begins on a Saturday noon UTC; 21:00 to 08:00 of the person's zone are the night."""
    watch.world.clock.advance(timedelta(hours=hours))
    watch.deal(OPPORTUNITY="5")
    await watch.world.work(watch.event())
    watch.world.clock.advance(LOOK_AFTER)
    await watch.world.work()
    (row,) = watch.world.outbox()
    assert (row.kind, row.body.get("quiet")) == ("news", quiet)

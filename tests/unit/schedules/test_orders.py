"""Schedules are made, listed, cancelled, paused and resumed by those who may, and what is wrong with a request is said."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.telegram.intake.callbacks import ActionClick, pack, unpack
from orchestrator.domain.actor import Actor
from orchestrator.domain.run_inputs import MOST
from orchestrator.language import schedule_terms
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.reading.sentences import describe_event
from orchestrator.runtime.dispatch import collect_due_rows
from orchestrator.schedules.feature import LISTED
from state.journal.schedule_index import PARKED, collect_schedules
from tests.unit.schedules.schedules_kit import ID, QUIET, SECOND, a_bench, add, click, order
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, VERA, command

DAILY = "0 9 * * *"
FIRST = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
OTHER = "0190aaaa-0000-7000-8000-0000000000bb"
GROUP = "tg:-100200300"


@pytest.mark.parametrize(("asked", "said"), [
    ({}, "Не указано, когда запускать."),
    ({"at": "2026-12-01T09:00Z", "cron": DAILY}, "Укажите что-то одно: время или расписание."),
    ({"at": "2026-12-01T09:00"}, "Не указан часовой пояс времени."),
    ({"at": "завтра"}, "Непонятно, когда запускать."),
    ({"at": "2026-11-21T11:58:59Z"}, "Это время уже прошло."),
    ({"at": "9999-12-31T00:00Z"}, "Это слишком нескоро"),
    ({"cron": DAILY, "zone": "../etc/passwd"}, "Такого часового пояса нет."),
    ({"cron": "1," * 5000}, "Строка расписания слишком длинная."),
    ({"cron": "60 * * * *"}, "В строке расписания минута не может быть «60»."),
    ({"cron": "*/0 9 * * *"}, "минута не может быть «*/0»"),
    ({"cron": "0 ٣ * * *"}, "час не может быть «٣»"),
    ({"cron": "* * * * *"}, "можно не больше 288"),
    ({"cron": "0 0 31 2 *"}, "ничего никогда не запустится"),
    ({"cron": "каждый день"}, "должно быть пять полей"),
    ({"cron": DAILY, "definition": "нет такого"}, "«нет такого» здесь нет"),
    ({"cron": DAILY, "engine": "none"}, "Такое здесь больше не выполняется"),
])  # fmt: skip
async def test_what_cannot_be_scheduled_is_said_and_leaves_nothing(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(**asked))
        assert said in bench.told()[0]
        assert (bench.state(), bench.timers()) == ({}, [])


async def test_a_moment_that_passes_while_the_bot_is_down_is_accepted_and_starts_late(tmp_path: Path) -> None:
    """The request came in time; what came too late was the bot."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.put(add(at="2026-11-21T13:00Z"))
        await bench.until(NOW + timedelta(hours=5))
        await bench.until(NOW + timedelta(hours=5, seconds=1))
        told = bench.told()
        assert "Бот тогда не работал" in told[1]
        assert len(bench.runs()) == 1


async def test_a_schedule_is_made_once_however_often_its_input_comes(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        again = add(cron=DAILY)
        await bench.world.work(again, type(again)(**{**again.__dict__, "source": "another", "id": "x1"}))
        assert len(bench.told()) == 1
        assert bench.world.types().count("ScheduleAdded") == 1


async def test_a_person_has_a_limit_over_all_chats(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        ids = [f"0190aaaa-0000-7000-8000-{number:012x}" for number in range(MOST + 1)]
        homes = [CHAT, GROUP]
        await bench.world.work(*(add(cron=DAILY, schedule=one, home=homes[number % 2]) for number, one in enumerate(ids[:MOST])))
        assert len(bench.timers()) == MOST
        bench.all_told()
        await bench.world.work(add(cron=DAILY, schedule=ids[MOST]))
        assert "больше нельзя" in bench.told()[0]
        await bench.world.work(add(cron=DAILY, schedule=OTHER, actor=BORIS))
        assert len(bench.timers()) == MOST + 1


async def test_runs_work_with_the_rights_that_the_owner_has_at_the_moment(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.people.actors[ANNA.key] = ANNA.model_copy(update={"max_mode": "shadow", "bitrix_user_id": 77})
        await bench.until(FIRST)
        (begun,) = bench.world.sql.read_events(f"run:{bench.runs()[0].run_id}", limit=1)
        assert (begun.data["actor"]["bitrix_user_id"], begun.data["mode"]) == (77, "shadow")


async def test_the_list_has_the_next_moments_in_the_readers_zone_and_a_button_each(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        bench.people.actors[ANNA.key] = ANNA.model_copy(update={"time_zone": "Asia/Vladivostok"})
        await bench.world.work(add(cron="0 9 * * 1-5", note="для Ромашки"), add(at="2026-11-21T20:00Z", schedule=OTHER, actor=ANNA))
        bench.all_told()
        await bench.world.work(command("schedules"))
        (row,) = [one for one in bench.world.sql.list_due_outbox("tg", NOW + timedelta(days=1)) if one.kind == "reply"]
        assert [tuple(one["words"]) for one in row.body["actions"]] == [("schedule", OTHER, "cancel"), ("schedule", ID, "cancel")]
        (said,) = bench.told()
        assert said == (
            "По расписанию запускается:\n\n"
            "• «plan» · 0000bb: один раз, вс, 22 ноября, 06:00\n"
            "• «plan» · 0000aa — для Ромашки: по будням в 9:00 (по времени Europe/Moscow). Следующий запуск: пн, 23 ноября, 16:00"
        )


async def test_a_note_may_hold_no_link_that_can_be_tapped(tmp_path: Path) -> None:
    """An engine may have written it from what it read."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY, note="см. https://evil.example/x"))
        bench.told()
        await bench.world.work(command("schedules"))
        assert "https://evil.example" not in bench.told()[0]


async def test_a_schedule_in_a_zone_that_is_gone_from_the_machine_is_still_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron="0 9 29 2 *"))
        bench.told()
        monkeypatch.setattr(schedule_terms, "is_plain_zone", lambda _: False)
        await bench.world.work(command("schedules"))
        assert "ближайшие запуски: 0 9 29 2 *" in bench.told()[0]


async def test_an_empty_list_says_so(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(command("schedules"))
        assert bench.told() == ["По расписанию ничего не запускается."]


async def test_a_manager_sees_own_schedules_a_lead_those_of_others_and_a_group_its_own(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY), add(cron=DAILY, actor=BORIS, schedule=OTHER, home=GROUP))
        bench.all_told()
        await bench.world.work(command("schedules"))
        assert [one[1] for one in bench.buttons()] == [ID]
        await bench.world.work(command("schedules", actor=BORIS, key=BORIS.key))
        assert [one[1] for one in bench.buttons(BORIS.key)] == [OTHER], "their own, wherever it is shown"
        await bench.world.work(command("schedules", actor=VERA, key=VERA.key))
        assert sorted(one[1] for one in bench.buttons(VERA.key)) == [ID, OTHER]
        await bench.world.work(command("schedules", actor=ANNA, key=GROUP))
        row = next(one for one in bench.world.sql.list_due_outbox("tg", NOW + timedelta(days=1)) if one.session == GROUP)
        assert row.body["actions"] == [], "a manager cannot cancel what is somebody else's"
        assert "(Борис)" in bench.told(GROUP)[0]


async def test_a_lead_sees_only_schedules_of_people_whose_records_they_see(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        bench.people.actors[VERA.key] = VERA.model_copy(update={"sees": (8,)})
        await bench.world.work(add(cron=DAILY), add(cron=DAILY, actor=BORIS, schedule=OTHER))
        bench.all_told()
        await bench.world.work(command("schedules", actor=VERA, key=VERA.key))
        assert [one[1] for one in bench.buttons(VERA.key)] == [OTHER]


async def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        ids = [f"0190aaaa-0000-7000-8000-{number:012x}" for number in range(LISTED + 3)]
        await bench.world.work(*(add(cron=DAILY, schedule=one) for one in ids))
        bench.told()
        await bench.world.work(command("schedules"))
        first = bench.buttons()
        assert (len(first), first[-1]) == (LISTED + 1, ("schedule", "page", str(LISTED)))
        await bench.world.work(click(*first[-1][1:]))
        assert [one[1] for one in bench.buttons()] == ids[LISTED:]


@pytest.mark.parametrize("words", [(), ("x",), (ID, "retry"), ("page", "-1"), ("page", "9" * 30), (OTHER, "cancel"), (ID, "cancel", "x")])
async def test_a_click_that_is_none_of_ours_is_answered_and_changes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.all_told()
        await bench.world.work(click(*words))
        assert ("tg:1007:toast", "toast:schedule-gone") in bench.all_told()
        assert list(bench.state()) == [ID]


async def test_a_cancelled_schedule_is_over_and_the_chat_hears_who_did_it(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.all_told()
        await bench.world.work(click(ID, "cancel", actor=VERA))
        said = "✖ Запусков «plan» по расписанию больше не будет. Отменил(а) Вера."
        assert bench.all_told() == [("tg:1006:toast", "toast:schedule-passed"), (CHAT, said), (VERA.key, said)]
        assert (bench.state(), bench.timers()) == ({}, [])
        await bench.until(FIRST)
        assert bench.runs() == []
        await bench.world.work(order("cancel"))
        assert bench.told() == ["Этого расписания уже нет"]


@pytest.mark.parametrize("what", ["cancel", "pause", "resume"])
async def test_a_colleague_controls_nothing_of_others(tmp_path: Path, what: Any) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.all_told()
        await bench.world.work(order(what, actor=BORIS, chat=BORIS.key))
        assert bench.all_told() == [(BORIS.key, "Этим расписанием управляет тот, чьи это запуски, или руководитель")]
        assert bench.entry().status == "waiting"


async def test_a_paused_schedule_starts_nothing_and_is_found(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.all_told()
        await bench.world.work(order("pause"))
        assert [one.due_at.replace(microsecond=0) for one in bench.timers()] == [PARKED]
        await bench.until(FIRST + timedelta(days=3))
        assert bench.runs() == []
        await bench.world.work(order("pause"))
        await bench.world.work(command("schedules"))
        told = bench.told()
        assert told[0] == "⏸ Запуски «plan» по расписанию на паузе: так решил(а) Анна."
        assert told[1] == "Расписание уже на паузе"
        assert "каждый день в 9:00. На паузе" in told[2]


async def test_a_resumed_schedule_goes_on_with_the_next_moment_and_runs_none_of_those_that_passed(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        await bench.world.work(order("pause"))
        await bench.until(FIRST + timedelta(days=3, hours=1))
        bench.told()
        await bench.world.work(order("resume"))
        assert bench.told() == ["▶ Запуски «plan» снова идут по расписанию: каждый день в 9:00. Следующий: чт, 26 ноября, 09:00."]
        await bench.until(FIRST + timedelta(days=4))
        assert [one.data["late"] for one in bench.fired()] == [1]


async def test_resumed_before_its_moment_it_still_starts_at_it(tmp_path: Path) -> None:
    """The timer is set to the same moment again; its input must not be taken for the one that came while the schedule was paused."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        due = await collect_due_rows(bench.world.store, FIRST + SECOND)
        await bench.world.work(order("pause"), *due)
        assert bench.entry().status == "paused"
        await bench.world.work(order("resume"))
        await bench.until(FIRST)
        assert len(bench.runs()) == 1


async def test_a_stranger_makes_and_controls_nothing(tmp_path: Path) -> None:
    stranger = Actor(key="tg:999", name="Никто")
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        await bench.world.work(
            add(cron=DAILY, actor=stranger, schedule=OTHER), click(ID, "cancel", actor=stranger), order("cancel", actor=stranger)
        )
        assert [one.schedule for one in collect_schedules(bench.world.sql)] == [ID]


async def test_a_token_has_schedules_in_a_session_of_its_own(tmp_path: Path) -> None:
    token = Actor(key="http:site", name="site", role="manager")
    async with a_bench(tmp_path, QUIET) as bench:
        bench.people.actors[token.key] = token
        await bench.world.work(add(cron=DAILY, actor=token, home="http:site:runs"))
        await bench.until(FIRST)
        (run,) = bench.runs()
        assert (run.owner, run.home, run.status) == ("http:site", "http:site:runs", "done")
        assert [one.type for one in bench.world.events(key="http:site:runs")][:2] == ["ScheduleAdded", "AnswerGiven"]
        await bench.until(FIRST + timedelta(days=1))
        assert len(bench.runs()) == 2


async def test_the_journal_tells_everything_in_sentences(tmp_path: Path) -> None:
    """Nothing is shown as the bare name of its type."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY, by="cli:ops"), add(at="2026-11-22T09:00+03:00", schedule=OTHER))
        await bench.world.work(order("pause"), order("resume"))
        await bench.until(FIRST + timedelta(days=2))
        bench.documents.documents = {}
        await bench.until(FIRST + timedelta(days=3))
        del bench.people.actors[ANNA.key]
        await bench.until(FIRST + timedelta(days=4))
        told = [describe_event(one, Narrator(lambda code, _: code)) for one in bench.world.events() if one.type.startswith("Schedule")]
        assert told[0] == (
            f"the schedule {ID} is to start plan (steps) for tg:1007 at each moment of 0 9 * * * (Europe/Moscow), "
            "first at 2026-11-22T06:00:00.000000Z, made by cli:ops"
        )
        for part in (
            "paused the schedule",
            "resumed the schedule",
            "2 later moments",
            "there is no such definition",
            "has no access",
            "is over",
        ):
            assert any(part in one for one in told), told


@pytest.mark.parametrize("what", ["cancel", "resume", "pause"])
def test_a_button_fits_into_a_message_of_telegram(what: str) -> None:
    """Its data is what a click brings back."""
    click_ = ActionClick(words=("schedule", ID, what))
    assert unpack(pack(click_)) == click_

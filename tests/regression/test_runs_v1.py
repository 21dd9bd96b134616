"""Runs that the version of the corpus left waiting are resumed by the program of today, each in the way in which it waits.

What was done before is not done again: the model is not asked what it has answered, and the definitions are those of that day.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.reports.consistency import EffectChecker
from orchestrator.runtime import worker
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunFilter
from state.model.run_state import RunWait
from state.sql import build_sqlite_url, open_store
from state.verify.journal import verify_journal
from tests.corpus.runs_corpus_kit import LARGE, RUNS, click, copy_corpus, opened_runs
from tests.unit.spine_kit import World, message, press
from tests.unit.spine_portal import Portal


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the corpus."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    return copy_corpus(tmp_path / "house")


@pytest.fixture
async def world(folder: Path) -> AsyncIterator[World]:
    """The program at work on it: the run whose process died has gone on by itself."""
    async with opened_runs(folder) as made:
        made.model.will("два сделано")
        await made.work()
        assert _said(made) == ["Доехал: два сделано", "Готово."]
        yield made


def _said(world: World) -> list[str]:
    """The texts of replies that wait to be delivered; takes them off."""
    return [part["text"] for row in world.outbox() if row.kind == "reply" for part in row.body["parts"] if "text" in part]


def _waits(world: World, key: str) -> dict[str, RunWait]:
    state, _ = load_state(world.sql, key)
    assert state.run is not None
    return dict(state.run.waits)


def _status(world: World, way: str) -> str:
    (row,) = world.sql.list_runs(RunFilter(run_id=RUNS[way].removeprefix(PREFIX)))
    return row.status


async def _press_card(world: World, key: str) -> None:
    state, _ = load_state(world.sql, key)
    (card,) = [one for one in state.cards.values() if one.is_waiting]
    await world.work(press(card, key=key))


async def _answer(world: World, key: str, *, option: str = "0") -> None:
    (wait,) = _waits(world, key).values()
    await world.work(click(key, wait.waits_for, option))


@pytest.mark.req("G2")
def test_the_corpus_is_whole_and_its_runs_wait_in_every_way(folder: Path) -> None:
    """By the check of today; the index says of each run what it waited for on that day."""
    store = open_store(build_sqlite_url(folder / "sdelka.db"))
    statuses = {PREFIX + row.run_id: row.status for row in store.list_runs(RunFilter())}
    store.close()
    assert {way: statuses[key] for way, key in RUNS.items()} == {
        **dict.fromkeys(RUNS, "waiting"), "paused": "paused", "failed": "failed", "killed": "running",
    }  # fmt: skip
    checked = verify_journal(build_sqlite_url(folder / "sdelka.db"), judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert [one for one in checked.findings if one.kind != "note"] == []


async def test_a_pressed_button_lets_it_go_on_with_what_the_model_said_then(world: World) -> None:
    await _answer(world, RUNS["input"], option="1")
    assert f"Тариф: Полный, {LARGE}".strip() in [one.strip() for one in _said(world)]
    assert _status(world, "input") == "done"


async def test_typed_words_are_the_answer(world: World) -> None:
    await world.work(message("Ольга"))
    assert (_said(world)[-2:], _status(world, "text")) == (["Клиент: Ольга", "Готово."], "done")


async def test_a_word_leaves_one_run_that_waited_before_the_word_was_known(world: World) -> None:
    """The one that asked last; the others wait as before, and go on."""
    before = {way: _status(world, way) for way in RUNS}
    await world.work(message("отмена"))
    (left,) = [way for way in RUNS if _status(world, way) != before[way]]
    assert _status(world, left) == "cancelled"
    await world.work(message("Ольга"))
    assert (_said(world)[-2:], _status(world, "text")) == (["Клиент: Ольга", "Готово."], "done")


async def test_a_request_is_asked_back_by_a_run_that_waited_before(world: World) -> None:
    """As the answer it lets the run go on."""
    await world.work(message("покажи мои сделки"))
    (buttons,) = [row.body["actions"] for row in world.outbox() if row.kind == "reply" and row.body["actions"]]
    assert _status(world, "text") == "waiting"
    pressed = click(RUNS["text"])
    await world.work(replace(pressed, body={**pressed.body, "words": buttons[0]["words"]}))
    assert (_said(world)[-2:], _status(world, "text")) == (["Клиент: покажи мои сделки", "Готово."], "done")


async def test_an_approved_card_is_carried_out_once(world: World) -> None:
    await _press_card(world, RUNS["effect"])
    assert (_said(world), _status(world, "effect")) == (["Сумма: succeeded", "Готово."], "done")
    assert len(world.portal.written("crm.deal.update")) == 1


async def test_times_come(world: World) -> None:
    """A question that nobody answered, and a sleep."""
    world.clock.advance(timedelta(hours=3))
    await world.work()
    said = _said(world)
    assert {"Дальше без ответа", "Проснулся"} <= set(said)
    assert (_status(world, "timeout"), _status(world, "timer")) == ("done", "done")


@pytest.mark.parametrize("happened", [True, False])
async def test_a_change_of_unknown_outcome_is_looked_up_and_never_sent_again(folder: Path, *, happened: bool) -> None:
    """If the portal shows it, the run goes on; if not, the run says so and fails, and its person may retry it."""
    portal = Portal()
    if happened:
        portal.records["deal", 482]["COMMENTS"] = "Перезвонить"
    async with opened_runs(folder, portal=portal) as world:
        world.model.will("два сделано")
        await world.work()
        assert _status(world, "unknown") == "waiting"
        world.outbox()
        world.clock.advance(timedelta(seconds=80))
        await world.work()
        assert portal.written() == []
        assert (_status(world, "unknown"), _said(world)) == (("done", ["Записано: succeeded", "Готово."]) if happened else ("failed", []))


async def test_a_child_that_had_not_begun_executes_the_text_of_that_day(world: World) -> None:
    """Its definition says something else now."""
    world.clock.advance(timedelta(hours=4))
    await world.work()
    assert {"Старый текст", "Дальше по старому плану"} <= set(_said(world))
    assert _status(world, "pinned") == "done"


async def test_the_end_of_a_child_wakes_its_parent(world: World) -> None:
    (wait,) = _waits(world, RUNS["child"]).values()
    await _answer(world, wait.waits_for)
    assert _said(world)[-3:] == ["Внутри: Да", "Вернулся", "Готово."]
    assert _status(world, "child") == "done"


async def test_a_paused_run_is_resumed_and_answered(world: World) -> None:
    await world.work(click(RUNS["paused"], "resume"))
    await _answer(world, RUNS["paused"])
    assert (_said(world)[-2:], _status(world, "paused")) == (["Снят с паузы: Да", "Готово."], "done")


async def test_a_failed_run_is_retried_from_where_it_failed(world: World) -> None:
    """Its first question to the model is not asked again."""
    world.model.will("два сделано")
    await world.work(click(RUNS["failed"], "retry"))
    assert (_said(world), _status(world, "failed")) == (["Со второй попытки: два сделано", "Готово."], "done")


async def test_a_turn_inside_of_a_run_goes_on_with_its_card(world: World) -> None:
    await _press_card(world, RUNS["turn"])
    assert (_said(world)[-1], _status(world, "turn")) == ("Готово.", "done")
    assert len(world.portal.written("crm.deal.update")) == 1

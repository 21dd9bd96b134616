"""Counters: a projection of what was stored, in labels of ours only; a meter that breaks disturbs no turn."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from bot.monitoring.meters import MOST_MODELS, Meters
from orchestrator.domain.errors import ModelClientError
from orchestrator.runtime.metrics import CommitCounter, count_commit
from state.events.calls import CallSucceeded
from state.events.conversation import ModelAnswered, StepRefused
from state.journal.store import Commit
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost

NOW = datetime(2026, 11, 22, tzinfo=UTC)
HOSTILE = ["crm.deal.get\nsdelka_up 1", 'a"b\\c', "Иван Петров", "+79001234567", "x" * 5000, "", *(f"m.{n}.{n:032x}" for n in range(200))]


def samples(meters: Meters) -> dict[tuple[str, ...], float]:
    """Every sample of ours by name and label values."""
    text = generate_latest(meters.registry).decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("sdelka_")
    }


def commit(*events: Any, earlier: tuple[Commit, ...] = ()) -> Commit:
    return Commit(stream="session:tg:1", epoch=1, actor="tg:1", now=NOW, events=events, earlier=earlier)


def test_no_hostile_name_becomes_a_label() -> None:
    """Of methods, classes, reasons, models, routes and verbs: whatever comes, the series stay few and hold only words of ours."""
    meters = Meters()
    for name in HOSTILE:
        refused = StepRefused(turn_id=name, slot=name, method=name, params={}, code=name, detail=name)
        done = CallSucceeded(effect_id=name, turn_id=name, slot=name, method=name, call_class=name)
        said = ModelAnswered(turn_id=name, iteration=1, text=name, model=name, prompt_tokens=-5, seconds=-1)
        count_commit(commit(refused, done, said), meters)
        meters.count_request(name, "", 404, 0.1)
    found = samples(meters)

    assert len(found) < 700
    words = " ".join(" ".join(key) for key in found)
    assert not any(bad in words for bad in ("\n", "Иван", "+7900", "xxxxx", '"'))
    assert {key[1] for key in found if key[0] == "sdelka_gate_refused_total"} == {"other"}
    assert len({key[2] for key in found if key[0] == "sdelka_model_tokens_total"}) <= MOST_MODELS + 1
    assert found["sdelka_http_requests_total", "other", "none", "404"] == len(HOSTILE)


def test_a_step_counts_with_those_stored_along_and_a_batch_as_its_gravest_class() -> None:
    """An answer with its tokens, its seconds and, where a price is known, its cost."""
    meters = Meters(price=lambda _, prompt, completion: ((prompt + completion) / 100, "USD"))
    said = ModelAnswered(turn_id="t", iteration=1, text="", model="gpt-5", prompt_tokens=70, completion_tokens=30, seconds=3.0)
    batch = CallSucceeded(effect_id="e", turn_id="t", slot="s", method="batch", call_class="RWM")
    refused = StepRefused(turn_id="t", slot="s", method="x", params={}, code="gate-delete")
    count_commit(commit(batch, earlier=(commit(said), commit(refused))), meters)
    found = samples(meters)

    assert found["sdelka_calls_total", "money", "succeeded"] == 1
    assert found["sdelka_gate_refused_total", "gate-delete"] == 1
    assert found["sdelka_model_tokens_total", "prompt", "gpt-5"] == 70
    assert found["sdelka_model_cost_total", "USD", "gpt-5"] == 1
    assert found["sdelka_model_answer_seconds_sum", "gpt-5"] == 3


@pytest.mark.req("S004-58")
async def test_a_conversation_is_counted_as_it_was(tmp_path: Path) -> None:
    """A read, a change approved, one denied, a refusal, an unheard outcome: each once, under its own word."""
    meters = Meters()
    async with a_world(tmp_path) as world:
        world.store.watchers.append(lambda stored: count_commit(stored, meters))
        world.model.will(reply(step("crm.deal.list", {"filter": {"CLOSED": "N"}}), step("crm.deal.nosuch")), reply())
        await world.work(message("мои сделки"))
        for approve in (True, False):
            world.model.will(reply(raise_sum(1_200_000 + approve)))
            await world.work(message(f"подними сумму сделки 481 до {1_200_000 + approve}"))
            await world.work(press([row.body for row in world.outbox() if row.kind == "card"][-1], approve=approve))
        world.portal.will("tasks.task.add", lost)
        world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Счёт"}})))
        await world.work(message("создай задачу"))
    found = samples(meters)

    assert found["sdelka_calls_total", "read", "succeeded"] >= 1
    assert found["sdelka_calls_total", "write", "succeeded"] == 1
    assert found["sdelka_calls_total", "write", "unknown"] == 1
    assert found["sdelka_gate_refused_total", "gate-method-unknown"] == 1
    assert {key[1]: value for key, value in found.items() if key[0] == "sdelka_confirmations_total"} == {
        "requested": 2,
        "approved": 1,
        "denied": 1,
    }
    assert found["sdelka_turns_total", "waiting"] == 2
    assert found["sdelka_iterations_total", "answered"] >= 5


async def test_a_turn_that_goes_on_is_one_turn(tmp_path: Path) -> None:
    """However often it waits for cards, also when a crash lies between two of its parts, and when it fails in a later one."""
    meters = Meters()
    async with a_world(tmp_path) as world:
        world.store.watchers.append(CommitCounter(meters).count)
        world.model.will(reply(raise_sum(), text="Прошу подтвердить."))
        await world.work(message("сумму 481, потом 482"))
        world.model.will_go_on(*[reply(raise_sum(deal=482), text="И вторая.")] * 2)  # the first answer dies with its process
        first = world.events("ConfirmationRequested")[-1].data
        await work_killed(world, press({**first, "status": "requested"}), kept=2)
        assert not world.model.after_cards
        world.model.will_go_on(ModelClientError("down"))
        second = world.events("ConfirmationRequested")[-1].data
        await world.work(press({**second, "status": "requested"}))
        assert [event.data["reason"] for event in world.events("TurnFinished")] == ["waiting", "waiting", "degraded"]
        assert [event.data.get("resumed", False) for event in world.events("TurnFinished")] == [False, True, True]
    assert {key[1:]: value for key, value in samples(meters).items() if key[0] == "sdelka_turns_total"} == {("waiting",): 1.0}


async def test_a_meter_that_breaks_disturbs_no_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the answer comes."""

    def broken(_: Commit) -> None:
        raise RuntimeError("no counter")

    async with a_world(tmp_path) as world:
        world.store.watchers.append(broken)
        world.model.will(reply())
        await world.work(message("привет"))
        assert [row for row in world.outbox() if row.kind == "reply"]
    assert {getattr(record, "action", "") for record in caplog.records} >= {"watcher_failed"}

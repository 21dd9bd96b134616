"""What is counted over the journal, and the newest events as they come."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.reports.conversations import read_last_events, read_positions, watch_events
from state.events.conversation import MessageReceived
from state.journal.store import Commit, Store
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, Told, rows_of
from tests.unit.spine_kit import memory_store

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.req("S004-36")
def test_everything_is_counted_once(run: Run) -> None:
    """Turns, messages by person, calls by class, method and outcome, decisions with their waiting time, refusals, tokens, days, sizes."""
    report = json.loads(run("stats", "--json").output)
    assert report["messages"] == {"total": 10, "by_person": {"Анна (tg:1007)": 9, "Борис (tg:1008)": 1}}
    assert report["turns"] == {"total": 10, "ended": {"answered": 9, "waiting": 1}}
    calls = {(call["method"], call["outcome"]): call["count"] for call in report["calls"]}
    assert calls == {
        ("crm.deal.update", "succeeded"): 2,
        ("crm.deal.update", "unknown"): 1,
        ("batch", "succeeded"): 1,
        ("tasks.task.add", "succeeded"): 1,
    }
    cards = report["cards"]
    assert {name: cards[name] for name in ("requested", "approved", "denied", "superseded", "open")} == {
        "requested": 7,
        "approved": 5,
        "denied": 1,
        "superseded": 1,
        "open": 1,
    }
    assert cards["median_wait_seconds"] == {"approved": 40.0, "denied": 180.0}
    assert report["refused"] == {"gate-delete": 1}
    assert report["unknown"] == {"open": [], "oldest": "", "looks": {"done": 1}}
    assert (report["model"]["answers"], report["model"]["prompt_tokens"], report["model"]["completion_tokens"]) == (17, 170, 85)
    assert report["days"]["2026-11-21"]["messages"] == 10
    journal = report["journal"]
    assert journal["records"] == report["events"] == sum(stream["records"] for stream in journal["streams"])
    assert journal["bytes"] == sum(stream["bytes"] for stream in journal["streams"]) > journal["largest_record"]["bytes"] > 500


def test_counting_may_begin_later(run: Run) -> None:
    """What was before is not counted; what stands open is, and so is the size."""
    between = json.loads(run("stats", "--since", "2026-11-21 12:01:30", "--json").output)
    assert between["turns"]["ended"] == {"answered": 9, "waiting": 1}  # the first turn had ended with a card before, and goes on later
    report = json.loads(run("stats", "--since", "2026-11-21 14:13", "--json").output)
    assert report["cards"]["approved"] == 1
    assert report["cards"]["median_wait_seconds"] == {"approved": 20.0}
    assert "denied" not in report["cards"]
    assert report["journal"]["records"] > report["events"]
    text = run("stats").output
    assert "the oldest since 2026-11-21 14:15:23Z" in text
    assert "approved after 40.0 s, denied after 3 min" in text
    assert "Deleting is switched off. An administrator can switch it on (gate-delete) 1" in text
    assert not any(line.startswith(("W ", "R ")) for line in rows_of(text))
    assert any(line.startswith("write") for line in rows_of(text))
    assert run("stats", "--since", "whenever").exit_code == 2


def add(store: Store, *texts: str, key: str = "tg:1") -> None:
    """Messages as another process would store them."""
    lease = store.acquire(key, "writer", NOW, NOW + timedelta(minutes=1))
    assert lease is not None
    for text in texts:
        said = MessageReceived(turn_id=text, text=text)
        store.commit(Commit(stream=f"session:{key}", epoch=lease.epoch, actor=key, now=NOW, events=[said]))


def waiting(*steps: Callable[[], None]) -> Callable[[], bool]:
    """Between two looks one of these happens; after the last it ends."""
    left = list(steps)

    def wait() -> bool:
        if not left:
            return False
        left.pop(0)()
        return True

    return wait


def test_each_new_event_comes_once_and_in_order() -> None:
    """Whatever is added between two looks, also by a session that is new; what was shown before does not come again."""
    store = memory_store()
    add(store, "before")
    shown = read_positions(store)
    wait = waiting(
        lambda: add(store, "1", "2"), lambda: None, lambda: (add(store, "3"), add(store, "4", "5", key="tg:2"))[0], lambda: add(store, "6")
    )
    found = [(event.stream, event.data["text"]) for event in watch_events(store, shown, wait)]
    assert [text for stream, text in found if stream == "session:tg:1"] == ["1", "2", "3", "6"]
    assert [text for stream, text in found if stream == "session:tg:2"] == ["4", "5"]
    assert len(found) == 6
    store.close()


def test_only_the_sessions_that_are_asked_for() -> None:
    """Others are not followed."""
    store = memory_store()
    add(store, "before")
    wait = waiting(lambda: add(store, "other", key="tg:2"), lambda: add(store, "own"))
    found = [event.data["text"] for event in watch_events(store, read_positions(store, ["session:tg:1"]), wait, ["session:tg:1"])]
    assert found == ["own"]
    store.close()


@pytest.mark.parametrize("count", [0, 1, 3, 500])
def test_the_newest_of_all_sessions_together(store: Store, count: int) -> None:
    """As many as there are, in the order of time."""
    newest = read_last_events(store, read_positions(store), count)
    every = sorted(event.ts for stream in store.list_streams() for event in store.read_events(stream))
    assert [event.ts for event in newest] == every[len(every) - min(count, len(every)) :]


def test_tail_ends_with_ctrl_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the journal first; Ctrl-C is no error."""

    def interrupted(seconds: float) -> None:
        assert seconds == 0.5
        raise KeyboardInterrupt

    monkeypatch.setattr("bot.cli.journal.activity.time.sleep", interrupted)
    result = run("tail", "-f", "-n", 2, CHAT)
    assert result.exit_code == 0
    assert [line.split()[2] for line in rows_of(result.output)] == [CHAT, CHAT]
    assert run("tail", "nobody").exit_code == 1


def test_sizes_are_of_what_is_stored(run: Run, told: Told, store: Store) -> None:
    """Every record's exact bytes."""
    stored = sum(len(raw.encode()) for stream in store.list_streams() for _, raw, _ in store.read_records(stream))
    assert told.cards
    assert json.loads(run("stats", "--json").output)["journal"]["bytes"] == stored

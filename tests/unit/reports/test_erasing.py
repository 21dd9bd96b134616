"""A person is erased: what they said is nowhere any more, what others said stays, and what was decided can still be proven."""

import gzip
import json
import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import erase_name
from orchestrator.reports.erasure.trace_search import search_file
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.reports.log_rebuild.verify import verify_logs
from orchestrator.reports.reading.journal_reader import scan_events
from state.audit_log import interaction_log
from state.audit_log.interaction_log import InteractionLogger, list_users, read_records
from state.clock import generate_id
from state.journal import journal
from state.journal.store import Commit, OutboxRow
from state.sql import open_store
from state.verify.journal import verify_journal
from tests import chain_kit
from tests.fixed_clock import FixedClock
from tests.unit.reports.erasing_kit import LATER, REFUSED_WISH, SECRETS, THEIRS, WISH, Home, a_home, everything, often, opened, run, talk  # noqa: F401 - fixtures among them
from tests.unit.spine_kit import BORIS, CHAT, VERA, a_world, message, press, reply
from tests.unit.spine_portal import Portal


def structure(home: Home) -> dict[str, Any]:
    """What the state says of cards and calls without anybody's words."""
    with opened(home) as store:
        state, seq = journal.load_state(store, f"session:{CHAT}")
        agent = state.agent
        told = ("status", "method", "call_class", "fingerprint", "essence", "requested_by", "approved_by", "denied_by", "executed_at")
        cards = {
            key: {name: getattr(entry, name) if entry.has(name) else None for name in told} for key, entry in agent.confirmations.items()
        }
        return {
            "seq": seq,
            "cards": cards,
            "denied": list(state.denied),
            "unknown": state.unknown,
            "head": store.read_head(f"session:{CHAT}"),
        }


def archive(home: Home, user: str) -> None:
    """Make the user's log so long that it is packed."""
    logger = InteractionLogger(home.folder / "logs", clock=FixedClock(LATER), limit=2000)
    for number in range(3):
        logger.record(user, {"type": "iteration", "session": user, "user_message": f"{WISH} {number}" + "x" * 1500})


@pytest.mark.long
@pytest.mark.parametrize("home", ["file", "postgresql"], indirect=True)
async def test_what_a_person_said_is_gone_everywhere_and_the_journal_still_holds(home: Home) -> None:
    """Texts, names, values, large answers: found in the files before, in none after; cards, hashes and the chain are as they were."""
    await talk(home)
    archive(home, CHAT)
    before, whole = everything(home), structure(home)
    found, done = run(home)
    after = everything(home)

    assert [text for text in SECRETS if text.encode() not in before] == []
    assert [text for text in SECRETS if text.encode() in after] == []
    assert set(found.names) == {"Анна"}
    assert found.obstacles == ()
    assert done.remains == ()
    assert done.searched == (CHAT, "Анна")
    assert done.kept["events"] > 10
    assert structure(home) == whole
    checked = verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert checked.findings == []
    with opened(home) as store:
        assert [one for one in verify_logs(store, home.folder / "logs", now=LATER) if one.kind != "note"] == []
        events = store.read_events(f"session:{CHAT}")
        assert {item.actor for item in events if item.data != {} and not item.erased and "text" in item.data} <= {VERA.key}
        assert all(isinstance(chain_kit.verify_stream(store, stream), chain_kit.Verified) for stream in store.list_streams())
        [told] = store.read_events("session:ops")
        assert (told.type, told.data["person"], told.data["by"], told.data["remains"]) == ("PersonErased", CHAT, "cli:ops", 0)
        assert told.data["keys"] == 1
        [gone] = [row for row in store.open_erasure().list_keys() if row.erased_at]
        assert gone.person == CHAT
        assert [row.body for row in store.list_due_outbox("tg", LATER)] == []
    assert list_users(home.folder / "logs") == [VERA.key, BORIS.key]


async def test_what_others_said_and_did_stays(home: Home) -> None:
    """Boris's talk and Vera's decisions are theirs: who decided what can be shown, only not what Anna had wanted."""
    await talk(home)
    run(home)

    with opened(home) as store:
        boris = [item for item in store.read_events(f"session:{BORIS.key}") if item.type == "MessageReceived"]
        assert [item.data["text"] for item in boris] == [THEIRS]
        [approved] = [item for item in store.read_events(f"session:{CHAT}") if item.type == "ConfirmationApproved"]
        assert (approved.erased, approved.data["approved_by_name"]) == (False, VERA.name)
    [record, *_] = list(read_records(home.folder / "logs", VERA.key))
    assert record["decided_by"] == {"key": VERA.key, "name": VERA.name}
    assert record["confirmation"]["requested_by"] == CHAT
    assert record["confirmation"]["params"] == {}
    assert record["rebuilt"] is True
    assert THEIRS in json.dumps(list(read_records(home.folder / "logs", BORIS.key)), ensure_ascii=False)


@pytest.mark.long
async def test_the_next_message_begins_anew(home: Home) -> None:
    """Who still has access may go on: a new key, a conversation without a past, nothing of the old one in a prompt."""
    await talk(home)
    run(home)
    async with a_world(home.folder, store=open_store(home.url)) as world:
        world.model.will(reply(text="Слушаю."))
        await world.work(message("здравствуй ещё раз"))
        prompt = json.dumps(world.model.prompts, ensure_ascii=False)

    assert [text for text in SECRETS[:-1] if text in prompt] == []
    with opened(home) as store:
        assert sorted(bool(row.erased_at) for row in store.open_erasure().list_keys() if row.person == CHAT) == [False, True]
        assert [item.data["text"] for item in store.read_events(f"session:{CHAT}") if item.type == "MessageReceived"][
            -1
        ] == "здравствуй ещё раз"


async def test_what_waits_is_named_and_withdrawn_before_anything_is_erased(home: Home) -> None:
    """An open card is an obstacle; erased all the same it can never be approved, and nobody is sent the card any more."""
    await talk(home, decide=False)
    found, done = run(home)

    assert [text.split(" (")[0] for text in found.obstacles] == ["a card waits for a decision"]
    assert done.remains == ()
    with opened(home) as store:
        assert erase.inspect_person(store, CHAT, home.place).obstacles == ()
        state, _ = journal.load_state(store, f"session:{CHAT}")
        [entry] = state.agent.confirmations.values()
        assert (entry.status, entry.why) == ("superseded", "erased")
        row = store.find_effect(entry.effect_id)
        assert row is not None
        assert (row.status, "call" in row.call, row.outcome) == ("superseded", False, None)
        assert store.list_due_timers(LATER + timedelta(days=9)) == []
    portal = Portal()
    async with a_world(home.folder, store=open_store(home.url), portal=portal) as world:
        await world.work(press(entry))
        assert world.codes() == ["card:superseded"] or portal.ledger == []
    assert portal.ledger == []


async def test_what_still_stands_somewhere_is_named(home: Home) -> None:
    """A name in nobody's row, a stray file that names her, a name in another's record: the first two are failures, the third is not."""
    await talk(home)
    (home.folder / "logs" / "copy of a log.txt").write_text(f'{{"session": "{CHAT}"}}\n', encoding="utf-8")
    (home.folder / "state" / "note.tmp").write_text("от имени Анна", encoding="utf-8")
    with opened(home) as store:
        store.set_value("draft", "Анна")
        held = store.acquire(BORIS.key, "x", LATER, LATER + timedelta(minutes=1))
        assert held is not None
        row = OutboxRow(
            id=generate_id(),
            session=BORIS.key,
            channel="tg",
            kind="reply",
            body={"text": WISH, "who": "Анна"},
            created_at=LATER,
            due_at=LATER,
        )
        store.commit(Commit(stream=f"session:{BORIS.key}", epoch=held.epoch, actor=BORIS.key, now=LATER, outbox=[row]))
    _, done = run(home)

    assert {trace.place for trace in done.remains} == {"copy of a log.txt", "values draft"}
    assert {(trace.place, trace.owner) for trace in done.held_by_others} >= {(f"outbox {row_position(home)}", BORIS.key)}
    with opened(home) as store:
        [told] = store.read_events("session:ops")
        assert told.data["remains"] == len(done.remains)


def row_position(home: Home) -> int:
    with opened(home) as store, store._database.read() as transaction:
        return int(transaction._cursor.execute("SELECT pos FROM outbox WHERE session = ?", (BORIS.key,)).fetchone()[0])


@pytest.mark.long
async def test_erasing_twice_finds_nothing(home: Home) -> None:
    """The second time there is nothing of the person; somebody who was never there is nobody."""
    await talk(home)
    run(home)
    with opened(home) as store:
        again = erase.inspect_person(store, CHAT, home.place)
        assert (again.empty, again.in_clear, again.secrets, again.log_records) == (True, 0, (), 0)
        people = erase.list_people(store, home.place, lambda _: "")
        assert erase.find_candidates(people, "анна") == []
        assert erase.find_candidates(people, "1007") == [CHAT]
        assert erase.find_candidates(people, "Борис") == [BORIS.key]
        people = erase.list_people(store, home.place, lambda _: "кто")
        assert erase.find_candidates(people, "кто") == sorted([CHAT, BORIS.key, VERA.key])


def test_a_name_is_found_by_a_part_of_it_in_any_case() -> None:
    """ё is е, whole names go before parts, and a part that two have finds both."""
    people = {"tg:1": {"Анна Ковалёва"}, "tg:2": {"Анна"}, "tg:3": {"Пётр Ким", "Petr"}}

    assert erase.find_candidates(people, "АННА") == ["tg:2"]
    assert erase.find_candidates(people, "петр ким") == ["tg:3"]
    assert erase.find_candidates(people, "Ковалева") == []
    assert erase.find_similar(people, "Ковалева") == ["tg:1"]
    assert erase.find_similar(people, "анн") == ["tg:1", "tg:2"]
    assert erase.find_similar(people, "") == []


def test_a_name_is_taken_out_where_it_stands_for_the_person() -> None:
    """Beside the key, or where no key tells whose name it is; a namesake keeps theirs, and so does the text of a deal."""
    said = {
        "requested_by": CHAT,
        "requested_by_name": "Анна",
        "approved_by": VERA.key,
        "approved_by_name": "Анна",
        "denied_by_name": "Анна",
        "actor": {"key": CHAT, "name": "Анна"},
        "other": [{"key": BORIS.key, "name": "Анна"}],
        "notice": {"code": "card-already-approved", "args": {"who": "Анна", "title": "Анна и Ко"}},
    }
    bare = erase_name(said, CHAT, {"Анна"})

    assert bare["approved_by_name"] == "Анна"
    assert (bare["requested_by_name"], bare["denied_by_name"], bare["actor"]["name"]) == ("", "", "")
    assert bare["other"] == said["other"]
    assert bare["notice"]["args"] == {"who": "", "title": "Анна и Ко"}


def test_what_is_looked_for_is_found_as_a_whole_word(tmp_path: Path) -> None:
    """In archives, across the border of two reads, and in what can be read of a damaged one; the number of another person is none."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"x" * ((1 << 22) - 7) + ' "Анна Ковалёва" tg:71 http:site:42'.encode()))

    assert search_file(path, ["Анна Ковалёва", "tg:7", "tg:71", "http:site"]) == ["Анна Ковалёва", "tg:71", "http:site"]
    path.write_bytes(path.read_bytes()[:-20])
    assert search_file(path, ["чего там нет"]) == []


async def test_who_denies_keeps_nothing_of_who_asked(home: Home) -> None:
    """Vera denied what Anna had asked for: without Anna's key nobody reads what it was, nor what any other call of hers was to change."""
    await talk(home)
    with opened(home) as store:
        before = [event for event in scan_events(store) if "WON" in json.dumps(event.data)]
    run(home)
    with opened(home) as store:
        after = list(scan_events(store))

    assert before
    assert [event.type for event in after if {"WON", "1200000"} & set(re.findall(r"\w+", json.dumps(event.data)))] == []
    assert "ConfirmationDenied" in {event.type for event in after if event.actor == VERA.key and not event.erased}


@pytest.mark.parametrize("step", range(6))
async def test_a_kill_while_logs_are_written_anew_is_made_good_by_the_next_run(
    home: Home, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it falls: no record of the others is lost or doubled once the command was run again and the logs were rebuilt."""
    await talk(home)
    archive(home, VERA.key)
    replace, left = interaction_log.replace_file, iter(range(step))

    def die(*args: Any, **more: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        replace(*args, **more)

    monkeypatch.setattr(interaction_log, "replace_file", die)
    with suppress(KeyboardInterrupt):
        run(home)
    monkeypatch.undo()
    _, done = run(home)
    assert done.remains == ()
    with opened(home) as store:
        rebuild_logs(store, home.folder / "rebuilt")
        assert [one for one in verify_logs(store, home.folder / "rebuilt", now=LATER) if one.kind != "note"] == []

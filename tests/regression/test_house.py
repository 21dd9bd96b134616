"""Data written by versions of the corpus opens, verifies, folds and goes on, whatever was moved or renamed since.

What of the product these tests touch is imported by `house_kit` alone.
"""

import asyncio
import gzip
import json
import shutil
import zipfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.corpus.house_kit import (
    CHAT,
    CORPUS,
    GROUP,
    HOUSES,
    House,
    all_events,
    answer,
    as_then,
    copied,
    digest,
    encoded_again,
    folded,
    journal,
    load_access,
    logs_of,
    opened_rules,
    ordered,
    read_json,
    reopened,
    same_version,
    store_of,
    stored_data,
    told_by_commands,
    told_in_chats,
    told_of,
)
from tests.unit.spine_kit import reply


@pytest.fixture(params=HOUSES)
def corpus(request: pytest.FixtureRequest) -> Path:
    """A house of the corpus, as it was stored."""
    return CORPUS / request.param


@pytest.fixture
def folder(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in a place without settings of its own."""
    monkeypatch.chdir(tmp_path)
    return copied(corpus.name, tmp_path / "house")


@pytest.fixture
def expected(corpus: Path) -> dict[str, Any]:
    """What must be read from it."""
    return cast("dict[str, Any]", read_json(corpus / "expected.json"))


@pytest.fixture
async def house(folder: Path, expected: dict[str, Any]) -> AsyncIterator[House]:
    """The bot on that copy eleven hours after its death; everything that waited has been worked."""
    async with reopened(folder, expected["died_at"]) as made:
        yield made


async def released(house: House) -> None:
    """An administrator lets writes start again."""
    dina = house.actor(1001)
    await house.work(house.command(dina, "unfreeze"))
    (button,) = [action for row in await house.told() for action in row.body.get("actions", ()) if action["words"][0] == "unfreeze"]
    await house.work(house.button(dina, *button["words"]))


async def card_of(house: House, number: int, session: str = CHAT) -> dict[str, Any]:
    """The open card about that deal."""
    (found,) = [card for card in await house.cards(session) if card["params"].get("id") == number]
    return found


def sums(house: House, number: int) -> list[Any]:
    """What the bot wrote into the sum of that deal since it was started."""
    calls = house.portal.written("crm.deal.update")
    return [params["fields"]["OPPORTUNITY"] for _, params in calls if params["id"] == number and "OPPORTUNITY" in params["fields"]]


def test_everything_reads_as_it_read_when_it_was_written(folder: Path, expected: dict[str, Any]) -> None:
    """Folded states, open cards, events, effects, timers, inputs, letters, used budgets and erased people are those of the day of the corpus."""
    found = json.loads(json.dumps(told_of(folder)))
    for part in sorted(found.keys() & expected.keys()):
        assert found[part] == expected[part], part
    assert expected["blobs"]
    assert told_by_commands(folder, expected["commands"]) == expected["commands"]


def test_a_fold_from_zero_gives_what_snapshot_and_rest_give(folder: Path, expected: dict[str, Any]) -> None:
    """For every stream, to the byte of the canonical form."""
    with store_of(folder) as store:
        assert sorted(store.list_streams()) == sorted(expected["streams"])
        for stream in expected["streams"]:
            state, seq = journal.load_state(store, stream)
            whole = folded(store, stream)
            assert state.to_stored() == whole.to_stored(), stream
            assert digest(as_then(state)) == expected["streams"][stream]["state"], stream
            assert seq == expected["streams"][stream]["records"]
        assert expected["streams"][f"session:{CHAT}"]["snapshot"] > 50


def test_what_is_decoded_is_encoded_to_the_same_bytes(folder: Path, expected: dict[str, Any]) -> None:
    """Every record whose class still has the version it was written with; what is sealed stays as it lies there."""
    with store_of(folder) as store:
        for stream in expected["streams"]:
            stored = stored_data(store, stream)
            for event, text in zip(all_events(store, stream), stored, strict=True):
                if same_version(event):
                    assert encoded_again(event, text) == text, (stream, event.seq, event.type)


def bring_back_lost_records(folder: Path) -> None:
    """The death at the end of the second house took what the log of that day had not written yet: it is named, and written anew."""
    told = ordered(folder, "logs", "verify", "--json")
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    lost = [row["place"] for row in rows if row.get("kind") == "missing"]
    assert {row["kind"] for row in rows if "kind" in row} <= {"note", "missing"}, told.output
    for person in lost:
        assert ordered(folder, "logs", "rebuild", person, "--replace").exit_code == 0
    assert lost == (["tg:1001"] if (folder / "crashed_logs").exists() else []), told.output


def test_journal_and_logs_are_whole(folder: Path) -> None:
    """By the commands that ops use, once a start has upgraded it; also against the anchors that were taken when it was written."""
    with store_of(folder):
        pass
    bring_back_lost_records(folder)
    for words in (["journal", "verify"], ["journal", "verify", "--anchor", str(folder / "anchors.txt")], ["logs", "verify"]):
        done = ordered(folder, *words)
        assert done.exit_code == 0, done.output
    assert len(list((folder / "logs").glob("*.gz"))) > 1


def test_an_export_says_what_it_said(folder: Path) -> None:
    """Every line as it was written, apart from what tells of the program that wrote it."""
    with store_of(folder):  # a start upgrades the database
        pass
    was = gzip.decompress((folder / "events.jsonl.gz").read_bytes()).decode().splitlines()
    now = ordered(folder, "journal", "export").stdout.splitlines()
    assert [json.loads(line) for line in now] == [json.loads(line) for line in was]


def test_rules_and_people_load(folder: Path) -> None:
    """The files of owner and operator in the form of that day."""
    assert ordered(folder, "policy", "check").exit_code == 0
    policy, _ = opened_rules(folder)
    (rule,) = policy.rules
    assert (rule.entity, rule.field, rule.above, rule.then) == (("deal",), ("OPPORTUNITY",), 2_000_000, "lead")
    assert (policy.caps.records_per_batch, policy.caps.writes_per_day, policy.four_eyes_above) == (20, 50, 5_000_000)
    access = load_access(folder / "access.yaml")
    shown = {actor.key: (actor.name, actor.role, actor.locale, actor.sees) for actor in access.list_people()}
    assert shown == {
        "tg:1001": ("Dina Ilyina", "admin", "en", "all"),
        "tg:1006": ("Вера Белова", "lead", "ru", "all"),
        "tg:1007": ("Анна Ковалёва", "manager", "ru", "own"),
        "tg:1008": ("Борис Седов", "manager", "ru", (8,)),
    }
    assert access.find_grant("site").customers


def test_the_backup_comes_back(folder: Path, tmp_path: Path, expected: dict[str, Any]) -> None:
    """Into an empty place, upgraded; what it then holds verifies, and every event of the corpus is in it."""
    place = copied_settings(folder, tmp_path / "restored")
    done = ordered(place, "restore", "--from", str(folder / "house.backup"))
    assert done.exit_code == 0, done.output
    if (folder / "crashed_logs").exists():
        assert ordered(place, "logs", "rebuild", "tg:1001", "--replace").exit_code == 0
    assert ordered(place, "journal", "verify").exit_code == 0
    assert ordered(place, "logs", "verify").exit_code == 0
    found = told_of(place)
    for stream in expected["streams"]:
        assert found["streams"][stream]["records"] >= expected["streams"][stream]["records"]
    assert found["erased"] == expected["erased"]
    due = [timer for timer in expected["timers"] if timer[1] != "schedule"]  # schedules are paused until somebody says which go on
    assert [timer for timer in due if timer not in found["timers"]] == []
    assert {status for _, _, status, *_ in found["schedules"]} <= {"paused"}
    assert asyncio.run(_list_writes(place, expected)) == []


async def _list_writes(place: Path, expected: dict[str, Any]) -> list[Any]:
    """What the bot on these files writes to the portal by itself."""
    (place / "portal.json").write_bytes((CORPUS / "house_v1" / "portal.json").read_bytes())
    async with reopened(place, expected["died_at"]) as house:
        return house.portal.written()


def copied_settings(folder: Path, place: Path) -> Path:
    """An empty place with the rules and people of the house."""
    place.mkdir()
    for name in ("policy.yaml", "access.yaml"):
        (place / name).write_bytes((folder / name).read_bytes())
    return place


def test_nobody_reads_what_the_erased_person_wrote(folder: Path, expected: dict[str, Any]) -> None:
    """Neither in the records, which are blank, nor in any file; what others wrote is read as before."""
    with store_of(folder) as store:
        gone = all_events(store, "session:tg:1009")
        assert gone
        assert all(event.erased for event in gone if event.type == "MessageReceived")
        kept = all_events(store, f"session:{CHAT}")
        assert not any(event.erased for event in kept)
        assert "подними сумму сделки 481 до 1 200 000" in [event.data.get("text") for event in kept]
    words = expected["secret"].encode()
    for name, content in contents(folder):
        assert words not in content, name


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """What every file of the corpus holds, unpacked; `portal.json` is the portal's own, `expected.json` tells the words."""
    with zipfile.ZipFile(folder / "house.backup") as backup:
        for name in backup.namelist():
            yield name, unpacked(name, backup.read(name))
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in {"portal.json", "expected.json"}:
            yield path.name, unpacked(path.name, path.read_bytes())


def unpacked(name: str, content: bytes) -> bytes:
    return gzip.decompress(content) if name.endswith(".gz") else content


async def test_a_restart_sends_nothing_and_names_what_is_unknown(house: House) -> None:
    """What was under way becomes unknown, what was approved waits again since writes are frozen, and no press gets past the freeze."""
    assert house.portal.ledger == []
    assert len(await house.events("CallOutcomeUnknown")) == 1
    assert [event.data["why"] for event in await house.events("ConfirmationReopened", session=GROUP)] == ["frozen"]
    await house.work(house.pressed(house.actor(1007), await card_of(house, 609)))
    assert (await card_of(house, 609))["status"] == "requested"
    assert house.portal.ledger == []


async def test_unknown_outcomes_are_settled_by_a_look_at_the_portal(house: House, expected: dict[str, Any]) -> None:
    """One call had happened, one had not: each is told so, neither is sent again."""
    house.clock.advance(timedelta(minutes=3))
    await house.work()
    (settled,) = [event for event in await house.events("OutcomeReconciled", session="tg:1008") if event.ts > expected["died_at"]]
    assert settled.data["verdict"] == "done"
    (settled,) = await house.events("OutcomeReconciled")
    assert settled.data["verdict"] == "not_done"
    assert house.portal.ledger == []


async def test_an_open_card_runs_once_and_another_is_denied(house: House) -> None:
    """Five presses are one call; a card with two taps needs both; what is denied is not sent."""
    await released(house)
    anna = house.actor(1007)
    once, batch, jump, denied = [await card_of(house, number) for number in (609, None, 608, 611)]
    await house.work(*(house.pressed(anna, once) for _ in range(5)))
    await house.work(house.pressed(anna, {**jump, "taps": 1}))
    assert (sums(house, 609), sums(house, 608)) == ([80_900], [])
    await house.work(house.pressed(anna, jump), house.pressed(anna, batch), house.pressed(anna, denied, approve=False))
    assert sums(house, 608) == [808_000]
    assert house.portal.records["deal", 606]["OPPORTUNITY"] == "333003"
    assert not [params for _, params in house.portal.written("crm.deal.update") if params.get("id") == 611]
    ends = {card["params"].get("id"): card["status"] for card in await house.cards(CHAT, "executed") + await house.cards(CHAT, "denied")}
    assert (ends[609], ends[608], ends[None], ends[611]) == ("executed", "executed", "executed", "denied")


async def test_cards_of_leads_wait_for_leads(house: House) -> None:
    """Whoever asked cannot approve; a lead can."""
    await released(house)
    card = await card_of(house, 603)
    await house.work(house.pressed(house.actor(1007), card))
    assert sums(house, 603) == []
    await house.work(house.pressed(house.actor(1006), card, session=CHAT))
    assert sums(house, 603) == [2_200_000]


async def test_timers_ring_and_inputs_that_waited_are_worked(house: House, expected: dict[str, Any]) -> None:
    """A reminder comes late but comes, the portal's change is told, the queue is empty, and what was asked for has an answer."""
    (known,) = [event.data["effect_id"] for event in await house.events("ReminderMoved")]
    assert known in [event.data["effect_id"] for event in await house.events("ReminderFired")]
    said = [event for event in await house.events("TurnFinished") if event.ts > expected["died_at"]]
    assert [event.data["text"] for event in said] == ["Хорошо."]
    assert await house.store.list_ready_sessions() == []
    assert {"reminder", "reply", "card"} <= {row.kind for row in await house.told()}


async def test_what_was_done_before_is_taken_back(house: House) -> None:
    """The button of an undo that was offered leads to a card, the card to the value of before."""
    await released(house)
    anna = house.actor(1007)
    (done,) = [card for card in await house.cards(CHAT, "executed") if card["params"].get("id") == 612]
    await house.work(house.button(anna, "undo", done["effect_id"]))
    await house.work(house.pressed(anna, await card_of(house, 612)))
    assert [str(amount) for amount in sums(house, 612)] == ["61200.00"]


async def test_after_all_that_everything_is_whole(house: House, folder: Path) -> None:
    """What this version writes behind the records of that day continues their chains, once the unknown outcomes are settled."""
    house.clock.advance(timedelta(minutes=3))
    await released(house)
    house.model.will(reply(text="Слушаю."))
    await house.work(house.message(house.actor(1007), "ты здесь?"))
    house.orchestrator.tools.audit.wait()
    if (folder / "crashed_logs").exists():
        assert ordered(folder, "logs", "rebuild", "tg:1001", "--to", str(folder / "anew")).exit_code == 0
        shutil.copytree(folder / "anew", folder / "logs", dirs_exist_ok=True)
    for words in (["journal", "verify", "--anchor", str(folder / "anchors.txt")], ["logs", "verify"]):
        done = ordered(folder, *words)
        assert done.exit_code == 0, done.output


later = pytest.mark.parametrize("corpus", HOUSES[1:], indirect=True)
"""For what the first house does not hold."""


@later
def test_every_finished_record_of_the_logs_is_found(folder: Path, expected: dict[str, Any]) -> None:
    """In archives and live files, whatever their chain says; the oldest archive of a person is gone, as their limit has it."""
    assert logs_of(folder / "logs") == expected["logs"]


@later
async def test_people_read_of_what_was_and_what_waits(folder: Path, expected: dict[str, Any]) -> None:
    """The history of a person's changes, the cards that wait, runs and schedules are listed in the chats as the program of that day did."""
    found = json.loads(json.dumps(await told_in_chats(folder, expected["died_at"])))
    # Cards of several sessions are shown in the order in which these were worked, and that is no promise.
    assert {key: sorted(map(json.dumps, said)) for key, said in found.items()} == {
        key: sorted(map(json.dumps, said)) for key, said in expected["chats"].items()
    }


@later
async def test_logs_that_a_crash_left_lose_no_finished_record(folder: Path, expected: dict[str, Any]) -> None:
    """Half an archive is beside the whole file, half a record ends another: what comes next stands behind all of the others, each once."""
    for user in expected["crashed"]:
        for path in (folder / "logs").glob(f"*{user.replace(':', '%3a')}*"):
            path.unlink()
    shutil.copytree(folder / "crashed_logs", folder / "logs", dirs_exist_ok=True)
    async with reopened(folder, expected["died_at"]) as house:
        for number in (1007, 1008):
            house.model.will(answer)
            await house.work(house.message(house.actor(number), "ты здесь?"))
        house.orchestrator.tools.audit.wait()
    found = logs_of(folder / "logs")
    for user, records in expected["crashed"].items():
        assert found[user][: len(records)] == records
        assert len(found[user]) > len(records)
        assert len(set(found[user])) == len(found[user])
    told = ordered(folder, "logs", "verify", "--json").stdout.splitlines()
    assert [row["place"] for row in map(json.loads, told) if row.get("kind") not in {None, "note"}] == ["tg:1001"]  # what the death took


def statuses(house: House) -> dict[str, list[str]]:
    """The states of the runs of each definition."""
    found: dict[str, list[str]] = {}
    for engine, definition, _, status, *_ in told_of(house.folder)["runs"]:
        found.setdefault(f"{engine}/{definition}", []).append(status)
    return found


async def open_cards(house: House, run: str) -> list[dict[str, Any]]:
    state, _ = await house.store.read(journal.load_state, f"run:{run}")
    return [card.to_stored() for card in state.agent.confirmations.values() if card.status == "requested"]


@later
async def test_runs_go_on_in_each_state(folder: Path, expected: dict[str, Any]) -> None:
    """What waits for words takes them, a card is carried out once, what failed is tried again, what was killed goes on: by the old text."""
    with store_of(folder):  # a start upgrades the database
        pass
    assert (await asyncio.to_thread(ordered, folder, "freeze", "--off")).exit_code == 0
    plans = ("scenario/plan", "flow/plan", "workflow/plan")
    async with reopened(folder, expected["died_at"]) as house:
        dina = house.actor(1001)
        assert [statuses(house)[plan] for plan in plans] == [["done", "failed", "waiting", "waiting", "waiting"]] * 3
        assert statuses(house)["scenario/nap"] == ["done"]
        for _ in plans:
            house.model.will(answer)
            await house.work(house.message(dina, "70004"))
        for _, plan, _, status, run, _ in told_of(folder)["runs"]:
            if plan == "plan" and status == "failed":
                house.model.will(answer)
                await house.work(house.button(dina, "run", run, "retry", session="tg:1001"))
        house.clock.advance(timedelta(minutes=1))  # a flow pauses before it asks its model again
        await house.work()
        for _, plan, _, status, run, _ in told_of(folder)["runs"] * 4:  # what one changes makes a new card of the next
            if plan == "plan" and status == "waiting":
                await house.work(*(house.pressed(dina, card, session=f"run:{run}") for card in await open_cards(house, run) * 3))
        assert (sums(house, 616), sums(house, 617)) == (["70002", "70003", "70004"], ["70002", "70004"])
        assert [statuses(house)[plan] for plan in plans[:2]] == [["done"] * 5] * 2
        assert statuses(house)["workflow/plan"] == ["done"] * 4 + ["failed"]  # the answer that it cannot use is kept as it was
        said = [part["text"] for row in await house.told() for part in row.body.get("parts", ()) if "text" in part]
        assert "Новая версия" not in said
        assert "Доброе утро" in said

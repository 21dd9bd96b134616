"""One page answers: who changed the sum of deal 481, and who approved it, in which words, and what Bitrix24 said."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bot.cli.journal.why import _render_changes
from orchestrator.gate.call.policy import SHIPPED
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.why.call_search import CallTrail, find_by_record
from orchestrator.reports.why.call_story import build_story
from orchestrator.reports.why.touched_records import find_created_record, find_touched_records, parse_record
from state.journal.store import StoredEvent
from state.sql.dialect import build_sqlite_url
from state.sql.search_encrypted import open_search
from state.sql.store import open_reader
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, Told, rows_of
from tests.unit.spine_kit import memory_store


def load() -> Catalogue:
    return load_catalogue(SHIPPED.parent / "catalogue")


def refusal() -> StoredEvent:
    """The gate turned a change of the sum down."""
    data = {"turn_id": "t", "slot": "t/1/1", "method": "crm.deal.update", "code": "gate-not-yours", "detail": "not theirs"}
    params = {"id": 481, "fields": {"OPPORTUNITY": 170000}}
    place = {
        "stream": "session:tg:1",
        "seq": 1,
        "id": "0",
        "ts": "2026-11-21T12:00:00Z",
        "actor": "tg:1",
        "raw": "",
        "hash": "",
    }
    return StoredEvent(type="StepRefused", v=1, data={**data, "params": params}, **place)


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load()


def stories(run: Run, *what: Any) -> list[dict[str, Any]]:
    """What `why` tells machines."""
    result = run("why", *what, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in rows_of(result.output)]


def page(text: str, number_of: str) -> str:
    """The page of one call."""
    return next(part for part in text.replace("\xa0", " ").split("\n\n") if number_of in part)


@pytest.mark.req("S004-36", "S004-51")
def test_who_changed_the_sum_and_who_approved_it(run: Run, told: Told) -> None:
    """Asker with words, model with step, gate with reason, the card's text, approver with way and wait, start and answer: on one page."""
    card = told.cards["approved"]
    text = page(run("why", "deal", 481).output, card["effect_id"])
    for part in (
        "Change of deal 481: done · crm.deal.update · 2026-11-21 12:01:43Z",
        "change     deal:481 Сумма (OPPORTUNITY): 1 000 000 ₽ → 1 200 000 ₽",
        "asked by   Анна (tg:1007), 2026-11-21 12:01:03Z: “подними сумму сделки 481 до 1 200 000”",
        "proposed   by scripted, iteration 1",
        "step: crm.deal.update id=481 OPPORTUNITY=1200000",
        "comment: так попросили",
        "thought: думаю",
        "gate       asked (mode full; write): This changes the amount",
        f"card       {card['confirmation_id']}, shown 2026-11-21 12:01:03Z, here in English and UTC:",
        "answer by 2026-11-22 12:01:03Z",
        "│ Change the deal “Ромашка” (https://portal.example/crm/deal/details/481/)",
        "│ Сумма: 1 000 000 ₽ → 1 200 000 ₽",
        "decision   approved by Вера (tg:1006) by button, 2026-11-21 12:01:43Z, after 40.0 s",
        "Bitrix24   called 2026-11-21 12:01:43Z; answered after",
        f"session {CHAT}, call {card['effect_id']}",
    ):
        assert part in text, part


def test_all_that_happened_to_a_record_newest_first(run: Run, told: Told) -> None:
    """Approved, denied, superseded, run again, in a batch, refused; and what the portal's side saw in between."""
    found = stories(run, "deal", 481)
    assert [one["at"] for one in found] == sorted((one["at"] for one in found), reverse=True)
    calls = {one["effect_id"]: one for one in found if one["kind"] == "call"}
    expected = {"approved": "succeeded", "denied": "denied", "drifted": "superseded", "again": "succeeded", "batch": "succeeded"}
    assert {name: calls[told.cards[name]["effect_id"]]["outcome"] for name in expected} == expected
    refused = next(one for one in calls.values() if one["outcome"] == "refused")
    assert refused["method"] == "crm.deal.delete"
    assert refused["judged"]["codes"] == ["gate-delete"]
    assert refused["asked"]["words"] == "удали сделку 481"
    assert refused["run"] is None
    assert len(calls) == 6


def test_a_refused_call_does_not_make_up_an_old_value(run: Run) -> None:
    """The gate turned it down before a look at the record: what stood there is not known, and is not shown as nothing."""
    kit = CallTrail(stream="session:tg:1", effect_id="e" * 32, events=[refusal()])
    (change,) = build_story(kit, memory_store(), voice=Narrator(lambda code, args: code), catalogue=load()).changes
    assert change.before_recorded is False
    (line,) = _render_changes([change])
    assert line == "deal:481 Amount (OPPORTUNITY): → 170000 (old value not recorded)"
    task = run("why", "task", 9001).output
    assert "old value not recorded" not in task


def test_a_batch_tells_of_the_record_only_what_is_its_own(run: Run, told: Told) -> None:
    """The same call under two records, each with its own change."""
    for number, after in ((481, "1 600 000 ₽"), (482, "70 000 ₽")):
        batch = next(one for one in stories(run, "deal", number) if one.get("effect_id") == told.cards["batch"]["effect_id"])
        assert batch["records"] == [f"deal:{number}"]
        assert [change["after"].replace("\xa0", " ") for change in batch["changes"]] == [after]


def test_a_card_that_drifted_says_what_took_its_place(run: Run, told: Told) -> None:
    """Approved after two hours, not run, because the record had changed; the new card names the old one."""
    old = page(run("why", told.cards["drifted"]["effect_id"]).output, "superseded")
    assert "approved by Анна (tg:1007) by button, 2026-11-21 14:07:46Z, after 2 h: " not in old
    assert "approved by Анна (tg:1007) by button, 2026-11-21 14:07:46Z, after 2 h" in old
    assert "but not run: The record was changed meanwhile" in old
    assert "nothing was sent" in old
    new = run("why", told.cards["again"]["confirmation_id"]).output
    assert f"instead of card {told.cards['drifted']['confirmation_id']}" in new


def test_an_unknown_outcome_is_told_with_its_end(run: Run, told: Told) -> None:
    """No answer, since when, and what the later look at the portal showed."""
    text = page(run("why", "deal", 482).output, told.cards["lost"]["effect_id"])
    assert "Change of deal 482: done ·" in text
    assert "no answer came: the answer was lost: connection reset" in text
    assert "outcome unknown since 2026-11-21 14:10:00Z" in text
    assert "looked up 2026-11-21 14:13:00Z: it was done (the record has the new values)" in text


def test_the_portals_side_names_the_bot_or_nobody(run: Run, told: Told) -> None:
    """A value that a call of the bot wrote is the bot's; one that none wrote was changed in Bitrix24, and nobody is accused."""
    looks = [one for one in stories(run, "deal", 481) if one["kind"] == "seen"]
    by_field = {change["field"]: change for look in looks[:1] for change in look["changes"]}
    assert by_field["STAGE_ID"] == {**by_field["STAGE_ID"], "before": "NEW", "after": "WON", "by": "", "through": ""}
    assert by_field["OPPORTUNITY"]["through"] == told.cards["batch"]["effect_id"]
    assert looks[1]["changes"][0]["by"] == "Анна (tg:1007)"
    text = run("why", "deal", 481).output
    assert "no call of the bot wrote this: changed in Bitrix24 itself" in text
    assert "the portal posted: a deal was changed (deal:481)" in text


def test_one_field_only(run: Run, told: Told) -> None:
    """In either spelling; a field nobody wrote is not found, and the answer says where was looked."""
    sums = {one["effect_id"] for one in stories(run, "deal", 481, "--field", "opportunity") if one["kind"] == "call"}
    assert told.cards["approved"]["effect_id"] in sums
    assert all(one["method"] != "crm.deal.delete" for one in stories(run, "deal", 481, "--field", "OPPORTUNITY") if one["kind"] == "call")
    nothing = run("why", "deal", 481, "--field", "COMMENTS")
    assert nothing.exit_code == 1
    assert (
        "nothing in the journal about deal:481 of COMMENTS: looked through the calls, cards, plans and looks of 3 sessions"
        in nothing.stderr
    )


def test_only_lately(run: Run, told: Told) -> None:
    """What happened before is left out."""
    late = {one.get("effect_id") for one in stories(run, "deal", 481, "--since", "2026-11-21 14:13")}
    assert told.cards["batch"]["effect_id"] in late
    assert told.cards["approved"]["effect_id"] not in late


def test_a_record_that_the_bot_made_is_found_by_its_number(run: Run) -> None:
    """The number is in no parameter of the call, only in the portal's answer."""
    (made_,) = stories(run, "task", 9001)
    assert made_["asked"]["words"] == "создай задачу"
    assert made_["judged"]["decision"] == "allowed"
    assert [one[:2] for one in made_["judged"]["reasons"]] == ["1.", "2.", "3.", "4.", "5.", "6."]
    assert made_["judged"]["reasons"][1] == "2. was it ordered: yes; the message gives 1 order"
    assert {change["field"]: change["after"] for change in made_["changes"]}["TITLE"] == "Позвонить"


@pytest.mark.parametrize("cut", [slice(None), slice(8), slice(-8, None)])
def test_a_call_is_found_by_its_id_or_its_ends(run: Run, told: Told, cut: slice) -> None:
    """Effect and card, whole, by the first or by the last characters."""
    for name in ("effect_id", "confirmation_id"):
        (story,) = stories(run, told.cards["open"][name][cut])
        assert story["effect_id"] == told.cards["open"]["effect_id"]
    assert "nobody has decided yet; open until 2026-11-22 14:15:23Z" in run("why", told.cards["open"]["effect_id"]).output


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        (("deal", "4810"), 1, "nothing in the journal about deal:4810"),
        (("ffffffffffff",), 1, "nothing in the journal about ffffffffffff"),
        (("ab",), 1, "too short"),
        (("the", "sum"), 2, "names no record"),
        (("deal", "abc"), 2, "names no record"),
        (("deal", "481", "--since", "whenever"), 2, "is no moment"),
    ],
)
def test_what_is_not_found_is_said(run: Run, what: tuple[str, ...], code: int, said: str) -> None:
    """In one sentence, with the exit code."""
    result = run("why", *what)
    assert result.exit_code == code
    assert said in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1}}, [("deal:481", "")]),
        ("CRM.Deal.Update", {"id": "481", "fields": {}}, [("deal:481", "")]),
        ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 1}}, [("deal:481", "")]),
        ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {}}, [("item:177:5", "")]),
        ("tasks.task.update", {"taskId": 5, "fields": {"TITLE": "x"}}, [("task:5", "")]),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x"}}, [("deal:481", "comment")]),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, [("", "deal")]),
        ("batch", {"cmd": {"a": "crm.deal.update?id=1", "b": "tasks.task.add?fields[TITLE]=x"}}, [("deal:1", ""), ("", "task")]),
        ("crm.deal.forgotten", {"id": 481}, [("deal:481", "")]),
        ("batch", {"cmd": "nonsense"}, []),
        ("crm.deal.update", "nonsense", [("", "")]),
    ],
)
def test_which_record_a_call_touches(catalogue: Catalogue, method: str, params: Any, expected: list[tuple[str, str]]) -> None:
    """By the catalogue's rows, command by command; of a method that no row knows by its name and id."""
    assert [(touch.target, touch.created_kind) for touch in find_touched_records(method, params, catalogue)] == expected


@pytest.mark.parametrize(
    ("words", "record"),
    [
        (("deal", "481"), "deal:481"),
        (("Deal:481",), "deal:481"),
        (("contacts", "12"), "contact:12"),
        (("item", "177", "5"), "item:177:5"),
        (("smart:177:5",), "item:177:5"),
        (("item", "2", "481"), "deal:481"),
        (("task", "x"), ""),
        (("a1b2c3d4e5",), ""),
        (("planet", "9"), ""),
    ],
)
def test_how_people_name_records(catalogue: Catalogue, words: tuple[str, ...], record: str) -> None:
    """By the words of the catalogue."""
    assert parse_record(words, catalogue) == record


@pytest.mark.parametrize(
    ("result", "record"), [(77, "deal:77"), ("77", "deal:77"), ({"item": {"id": 77}}, "deal:77"), (True, ""), (None, ""), ({}, "")]
)
def test_the_number_of_a_new_record(catalogue: Catalogue, result: Any, record: str) -> None:
    """In whichever box the portal puts it; a plain yes is no number."""
    (touch,) = find_touched_records("crm.deal.add", {"fields": {}}, catalogue)
    assert find_created_record(touch, result) == record


def test_only_what_may_fit_is_read(told: Told, catalogue: Catalogue) -> None:
    """The sieve leaves out most of the journal and nothing that belongs to a record: the same trails and looks with it and without."""
    url = build_sqlite_url(told.folder / "sdelka.db")
    with closing(open_reader(url)) as store, open_search(url) as sift:
        for record in ("deal:481", "deal:482", "task:8029", "deal:1", "contact:5"):
            for name in ("", "OPPORTUNITY"):
                every = find_by_record(store, record, catalogue, field_name=name)
                assert find_by_record(store, record, catalogue, field_name=name, sift=sift) == every
        held = list(sift({"ConfirmationRequested": lambda text: '"id":481' in text}))
        assert {place.why for place in held} == {"found"}
        assert 0 < len(held) < len(list(sift({"ConfirmationRequested": lambda _: True})))


def test_what_nobody_can_open_may_hold_anything(told: Told, tmp_path: Path) -> None:
    """A record of an erased person and one whose seal is damaged are named as such, whatever is looked for."""
    database = tmp_path / "copy" / "sdelka.db"
    shutil.copytree(told.folder, database.parent)
    for secret, why in (("AAAA", "damaged"), ("", "erased")):
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE person_keys SET secret=? WHERE person=?", (secret, CHAT))
        with open_search(build_sqlite_url(database)) as sift:
            assert {place.why for place in sift({"CallStarted": lambda _: False})} == {why}

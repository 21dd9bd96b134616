"""The buttons under a report: another question, the way back, its records, how it was counted; each with the rights of the presser."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from orchestrator.domain.actor import Actor
from orchestrator.performers import numbers
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.clock import generate_id
from state.journal.store import OutboxRow
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.spine_kit import ANNA, BORIS, CHAT, World, _row, a_world, message, reply, step
from tests.unit.spine_portal import Portal

OPEN = {"of": "deals", "where": "open", "group_by": "stage", "measures": ["count"]}


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[World]:
    """The product over the sample firm."""
    app = create_app(Settings(bucket=None, clock=clock))
    async with a_world(tmp_path, portal=cast("Portal", Wire(httpx.ASGITransport(app)))) as world:
        yield world
    await app.state.portal.events.aclose()
    app.state.portal.close()


async def _ask(world: World, question: dict[str, Any], text: str = "Вот.") -> list[OutboxRow]:
    world.model.will(reply({**step("report", question), "last": True}, text=text))
    await world.work(message("сколько?"))
    return [row for row in world.outbox() if row.key.startswith("report:")]


async def _press(world: World, report_id: str, wish: str, *, actor: Actor = ANNA) -> tuple[str, list[OutboxRow]]:
    """The toast's code and what was sent."""
    words = ["report", report_id, wish]
    await world.work(_row("press", "express", {"words": words, "callback_id": generate_id(), "message_id": 5}, actor, CHAT))
    rows = world.outbox()
    (toast,) = [row for row in rows if row.kind == "toast"]
    return toast.body["notice"]["code"], [row for row in rows if row.kind != "toast"]


def _find_report(rows: Sequence[OutboxRow]) -> dict[str, Any]:
    (part,) = [part for row in rows for part in row.body["parts"] if part["kind"] == "report"]
    return cast("dict[str, Any]", part)


async def test_a_report_is_a_message_of_its_own_with_two_sentences_of_the_model(office: World) -> None:
    """Without a second call of the model, and without its own numbers."""
    (row,) = await _ask(office, OPEN, "Больше всего новых. Это 77 сделок. И ещё слово.")
    text, report = row.body["parts"]
    assert text["text"] == "Больше всего новых. И ещё слово."
    assert report["answer"]["records"] == report["answer"]["total"][0]["value"]
    assert len(office.model.prompts) == 1


async def test_of_five_reports_three_are_pictures_and_the_others_become_some_when_asked(office: World) -> None:
    """Each is a message of its own with its buttons; the same numbers come in place of the words."""
    questions = [{**OPEN, "top": top} for top in range(1, 6)]
    office.model.will(reply(*(step("report", question) for question in questions[:-1]), {**step("report", questions[-1]), "last": True}))
    await office.work(message("сколько, пять раз?"))
    rows = [row for row in office.outbox() if row.key.startswith("report:")]
    assert [_find_report([row])["is_text"] for row in rows] == [False, False, False, True, True]
    report = _find_report(rows[-1:])
    code, drawn = await _press(office, report["report_id"], "picture")
    assert (code, drawn[0].key) == ("report-changed", rows[-1].key)
    assert _find_report(drawn) == {**report, "is_text": False}


async def test_a_press_changes_the_same_message_and_the_way_back_leads_to_the_first_numbers(office: World) -> None:
    """No model is asked; the message has the same key, so it is edited in place."""
    (row,) = await _ask(office, OPEN)
    first = _find_report([row])
    wish = next(f"v{place}" for place, variant in enumerate(first["answer"]["variants"]) if variant["change"] == {"group_by": ["person"]})
    code, changed = await _press(office, first["report_id"], wish)
    other = _find_report(changed)
    assert (code, changed[0].key, other["has_way_back"]) == ("report-changed", row.key, True)
    assert [dimension["code"] for dimension in other["answer"]["dimensions"]] == ["person"]
    assert other["answer"]["records"] == first["answer"]["records"]
    code, back = await _press(office, first["report_id"], "back")
    assert code == "report-changed"
    assert _find_report(back)["answer"]["rows"] == first["answer"]["rows"]
    assert not _find_report(back)["has_way_back"]
    assert (await _press(office, first["report_id"], "back"))[0] == "report-gone"


async def test_the_records_behind_a_number_are_exactly_those_it_counts(office: World) -> None:
    """They become the list that row numbers of later words mean."""
    (row,) = await _ask(office, OPEN)
    report = _find_report([row])
    code, (listed,) = await _press(office, report["report_id"], "list")
    (table,) = listed.body["parts"]
    assert (code, table["total"]) == ("report-records", report["answer"]["records"])
    session = await office.session()
    assert session.state.last_shown is not None
    assert [shown.record for shown in session.state.last_shown.rows][:2] == [line["target"] for line in table["rows"][:2]]


async def test_a_record_that_went_to_somebody_else_since_it_was_counted_is_not_listed(office: World) -> None:
    """The mirror may be a minute old; whose a record is, the portal says."""
    (row,) = await _ask(office, OPEN)
    report = _find_report([row])
    _, (listed,) = await _press(office, report["report_id"], "list")
    before = [line["target"] for line in listed.body["parts"][0]["rows"]]
    gone = before[0].partition(":")[2]
    await office.client.call("crm.deal.update", {"id": gone, "fields": {"ASSIGNED_BY_ID": 9}}, repeatable=False)
    _, (listed,) = await _press(office, report["report_id"], "list")
    assert [line["target"] for line in listed.body["parts"][0]["rows"]] == before[1:]


async def test_how_a_number_was_counted_and_its_file_stand_beside_it(office: World) -> None:
    """The message itself stays."""
    (row,) = await _ask(office, OPEN)
    report_id = _find_report([row])["report_id"]
    code, (how,) = await _press(office, report_id, "how")
    assert (code, how.key) == ("report-how-shown", "")
    assert next(notice["code"] for notice in how.body["notices"]) == "report-how-definition"
    code, (file,) = await _press(office, report_id, "file")
    assert (code, _find_report([file])["is_file"]) == ("report-file", True)


@pytest.mark.parametrize("wish", ["v0", "back", "list", "file", "how", "v99", "", "nonsense"])
async def test_the_buttons_act_only_for_who_asked(office: World, wish: str) -> None:
    """Another person of the chat is told so, and nothing is sent."""
    (row,) = await _ask(office, OPEN)
    code, sent = await _press(office, _find_report([row])["report_id"], wish or "x", actor=BORIS)
    assert (code, sent) == ("report-of-another", [])


@pytest.mark.parametrize("report_id", ["nothing", "0" * 12])
async def test_a_report_that_is_no_longer_kept_cannot_be_changed(office: World, report_id: str) -> None:
    """The press is answered."""
    assert await _press(office, report_id, "v0") == ("report-gone", [])


async def test_the_records_of_the_last_report_are_listed_when_words_ask_for_them(office: World) -> None:
    """«Покажи эти сделки»: the step becomes their list, so that the marker shows them and row numbers mean them."""
    (row,) = await _ask(office, OPEN)
    report = _find_report([row])
    office.model.will(reply({**step("report", {"again": {"show": "records"}}), "last": True}, text="Вот они:\n[[list 1]]"))
    await office.work(message("покажи эти сделки"))
    (table,) = [part for sent in office.outbox() for part in sent.body.get("parts", ()) if part["kind"] == "table"]
    _, (listed,) = await _press(office, report["report_id"], "list")
    (by_button,) = listed.body["parts"]
    assert [line["target"] for line in table["rows"]] == [line["target"] for line in by_button["rows"]][: len(table["rows"])]
    assert table["total"] == report["answer"]["records"]


@pytest.mark.parametrize(
    ("question", "words"),
    [({**OPEN, "filter": {"ID": 999_999}}, ""), ({"of": "companies"}, "there is no list"), ({**OPEN, "where": "opened"}, "where")],
)
async def test_records_that_are_none_or_cannot_be_listed_list_nothing_else(office: World, question: dict[str, Any], words: str) -> None:
    """No records are not all records; of what cannot be listed the model reads why."""
    office.model.will(reply(step("report", {**question, "show": "records"})), reply(text="Больше ничего."))
    await office.work(message("покажи"))
    observed = office.model.prompts[-1][-1]["content"]
    assert words in observed
    assert "Ромашка" not in observed
    assert ('"total": 0' in observed or '"total":0' in observed) == (not words)


async def test_a_list_of_the_first_records_tells_how_many_there_are(office: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The button lists the first ones, without their sum; words are told that the list would be too long."""
    (row,) = await _ask(office, OPEN)
    report = _find_report([row])
    monkeypatch.setattr(numbers, "MOST_LISTED", 2)
    _, (listed,) = await _press(office, report["report_id"], "list")
    (table,) = listed.body["parts"]
    assert (len(table["rows"]), table["total"], table["sum_text"]) == (2, report["answer"]["records"], "")
    office.model.will(reply(step("report", {"again": {"show": "records"}})), reply(text="Слишком много."))
    await office.work(message("покажи эти сделки"))
    assert f"these are {report['answer']['records']} records" in office.model.prompts[-1][-1]["content"]

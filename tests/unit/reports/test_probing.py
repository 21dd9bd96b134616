"""What an erasure looks for afterwards: what a person said, and none of the ids that stay by design."""

import pytest

from orchestrator.reports.erasure.trace_search import Probes

EFFECT = "ca5eeb51043f29bad74d99e58dea6c9e"


@pytest.mark.parametrize(
    "body",
    [
        {"words": ["undo", EFFECT], "callback_id": "3052959563171811156"},
        {"words": ["edit", "8f8f8e2f05"]},
        {"params": {"ORIGIN_ID": EFFECT, "asked": "tg:1234567890"}},
        {"turn": "01a2030b-90be-799d-b898-6bb62976bc1e"},
    ],
)
def test_ids_that_stay_are_not_looked_for(body: object) -> None:
    """Whoever pressed «undo» or set a reminder could else never be proven to be erased: the rows of calls keep their ids."""
    probes = Probes()
    probes.add_texts(body)
    assert probes.all == []


def test_a_key_in_place_of_a_name_is_none() -> None:
    """It stays as who acted, like every key; real names are looked for."""
    probes = Probes()
    for name in ("tg:1007", "cli:7", "Ян", "Анна Ковалёва"):
        probes.add_name(name)
    assert probes.all == ["Анна Ковалёва"]


def test_what_people_write_is_looked_for() -> None:
    """A phone is no id, neither is a word in Latin letters; what a voice message was heard as counts too."""
    probes = Probes()
    probes.add_texts([{"text": "79161234567"}, {"text": "deadbeef-cafe"}, {"args": {"words": "позвонить Ромашке"}}])
    assert probes.all == ["79161234567", "deadbeef-cafe", "позвонить Ромашке"]


def test_what_the_program_noted_for_itself_is_not_looked_for() -> None:
    """Ids, hashes and times that stay in the records, repeated in an answer; a text beside them and a phone are looked for."""
    probes = Probes()
    kept = {
        "confirmation_id": "582b1b23af",
        "fingerprint": "ab" * 32,
        "expires_at": "2026-11-22T12:00:00.000000Z",
        "title": "Поставка шкафов",
    }
    for name, value in kept.items():
        probes.add_kept(name, value)
    probes.add_texts({"body": [*kept.values(), "79161234567"]})
    assert probes.all == ["Поставка шкафов", "79161234567"]


def test_codes_nodes_and_days_that_stay_in_the_records_are_not_looked_for() -> None:
    """The code with which a call was refused, repeated in the result of a workflow; the name of a node; a day that a time begins with."""
    probes = Probes()
    probes.add_kept("code", "gate-batch-delete")
    probes.add_kept("until", "2026-11-25T06:00:00.000000Z")
    probes.add_kept("node", "work/1/operations")
    probes.add_texts([{"pause": "work/1/operations", "step": "operations"}])
    probes.add_texts({"result": {"told": "gate-batch-delete", "day": "2026-11-25", "born": "1980-05-17", "said": "stop-it-now-please"}})
    assert probes.all == ["1980-05-17", "stop-it-now-please"]

"""The journal for other systems: nothing missing, nothing torn, nothing that breaks out of its field."""

import json
import re

import pytest

from orchestrator.reports.export import (
    NAMES,
    build_cef_formatter,
    build_redacted_cef_formatter,
    format_redacted_json_line,
    list_personal_fields,
)
from orchestrator.reports.reading.journal_reader import Narrator
from state.events.base import type_names
from state.journal.store import Store, StoredEvent
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, HOSTILE, Told, rows_of

_PART = re.compile(r"(?<!\\)(?:\\\\)*\|")
_KEY = re.compile(r"(?:^| )([A-Za-z0-9]+)=")


def read_cef(line: str) -> tuple[list[str], dict[str, str]]:
    """A CEF line as a SIEM reads it: seven header fields, then the extension."""
    parts, rest = [], line
    for _ in range(7):
        found = re.match(r"((?:[^|\\]|\\.)*)\|", rest)
        assert found, line
        parts.append(re.sub(r"\\(.)", r"\1", found[1]))
        rest = rest[found.end() :]
    bare = re.sub(r"\\.", "··", rest)  # an escaped sign is never the one after a key
    keys = list(_KEY.finditer(bare))
    ends = [*(key.start() for key in keys[1:]), len(rest)]
    told = {key[1]: rest[key.end() : end] for key, end in zip(keys, ends, strict=True)}
    return parts, {name: value.replace("\\n", "\n").replace("\\=", "=").replace("\\\\", "\\") for name, value in told.items()}


@pytest.fixture
def voice() -> Narrator:
    return Narrator(lambda code, args: code)


@pytest.mark.req("S004-36")
def test_json_lines_hold_every_event_with_its_hash(run: Run, store: Store) -> None:
    """Each record of each stream once, all its fields, the stored hash."""
    lines = [json.loads(line) for line in run("export").output.splitlines()]
    stored = {(stream, seq): digest for stream in store.list_streams() for seq, _, digest in store.read_records(stream)}
    assert {(line["stream"], line["seq"]): line["hash"] for line in lines} == stored
    assert len(lines) == len(stored)
    assert {"stream", "seq", "id", "ts", "type", "v", "actor", "hash", "data"} == set(lines[0])
    assert "topsecretcode17" not in run("export").output


def test_only_what_is_asked_for(run: Run) -> None:
    """By type and time; a type that there is not is told."""
    lines = [
        json.loads(line)
        for line in run("export", "--types", "CallStarted, CallSucceeded", "--since", "2026-11-21 14:13").output.splitlines()
    ]
    assert {line["type"] for line in lines} == {"CallStarted", "CallSucceeded"}
    assert min(line["ts"] for line in lines) >= "2026-11-21T14:13"
    early = [json.loads(line) for line in run("export", "--until", "2026-11-21 14:13").output.splitlines()]
    assert max(line["ts"] for line in early) < "2026-11-21T14:13"
    wrong = run("export", "--types", "CallStartet")
    assert wrong.exit_code == 2
    assert "no type of event: CallStartet" in wrong.stderr
    assert run("export", "--since", "whenever").exit_code == 2


def test_redacted_lines_hold_nobodys_words(run: Run, told: Told) -> None:
    """No message, title, name or value of the CRM; ids, methods, codes and moments stay, so that records still join."""
    for kind in ("jsonl", "cef"):
        output = run("export", "--redact", "--format", kind).output
        for text in ("подними", "Ромашка", "Анна", "Вера", "1200000", "Позвонить", "думаю", HOSTILE[:6]):
            assert text not in output, (kind, text)
        for text in (
            told.cards["approved"]["effect_id"],
            told.cards["approved"]["confirmation_id"],
            "crm.deal.update",
            "tg:1007",
            "gate-delete",
        ):
            assert text in output, (kind, text)
    line = json.loads(run("export", "--redact", "--types", "MessageReceived").output.splitlines()[0])
    assert line["redacted"] is True
    assert set(line["data"]) == {"turn_id", "origin", "answers", "ref", "by"}


def test_every_type_has_a_name_and_what_is_personal_is_known() -> None:
    """A new event is named for the SIEM, too."""
    assert set(NAMES) == set(type_names) & set(NAMES)
    assert set(type_names) - set(NAMES) == set()
    assert "text" in list_personal_fields("MessageReceived")


def test_cef_says_who_did_what_with_which_outcome(run: Run, told: Told) -> None:
    """Header and extension as docs/journal.md maps them."""
    lines = [read_cef(line) for line in run("export", "--format", "cef").output.splitlines()]
    card = told.cards["approved"]
    started = next(told_ for head, told_ in lines if head[4] == "CallStarted" and told_["cs3"] == card["effect_id"])
    assert (started["suid"], started["suser"], started["duid"], started["duser"]) == ("tg:1007", "Анна", "tg:1006", "Вера")
    assert (started["act"], started["cs1"], started["cs1Label"], started["cs4"]) == (
        "crm.deal.update",
        CHAT,
        "session",
        card["confirmation_id"],
    )
    assert started["rt"] == "1795262503000"
    heads = {head[4]: head for head, _ in lines}
    assert heads["CallOutcomeUnknown"][:3] == ["CEF:0", "Sdelka", "sdelka"]
    assert heads["CallOutcomeUnknown"][5:] == ["Call outcome unknown", "8"]
    outcomes = {head[4]: told_["outcome"] for head, told_ in lines if "outcome" in told_}
    assert outcomes["CallSucceeded"] == "success"
    assert outcomes["StepRefused"] == "failure"
    assert outcomes["ConfirmationDenied"] == "denied"
    assert outcomes["OutcomeReconciled"] == "success"
    refused = next(told_ for head, told_ in lines if head[4] == "StepRefused")
    assert refused["reason"] == "gate-delete"


@pytest.mark.long
@pytest.mark.parametrize("nasty", ["a|b", "a=b", "a\\b", "a\nb", "a\r\nb", "a\\|b cs1=root", "a suser=root", "x\x1b[31m\u202ey", "\\", "="])
def test_nothing_breaks_out_of_its_field(store: Store, voice: Narrator, nasty: str) -> None:
    """A session, a method and a code of any signs make one line of seven header fields, and come back as they were."""
    event = next(event for event in store.read_events(f"session:{CHAT}") if event.type == "StepRefused")
    odd = event._replace(stream=f"session:{nasty}", data={**event.data, "method": nasty, "code": nasty})
    for line in (build_cef_formatter(voice, nasty)(odd), build_redacted_cef_formatter("1|2")(odd)):
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line
        parts, told = read_cef(line)
        assert len(parts) == 7
        assert parts[4] == "StepRefused"
        if "\x1b" not in nasty:
            assert told["act"] == told["reason"] == told["cs1"] == nasty.replace("\r\n", "\n")


def test_an_erased_person_stays_erased(store: Store, voice: Narrator) -> None:
    """What is blank because a person was erased is said so, and not shown as if nothing had been said."""
    event: StoredEvent = next(iter(store.read_events(f"session:{CHAT}")))
    gone = event._replace(data={**event.data, "text": ""}, erased=True)
    assert "asked: (erased)" in read_cef(build_cef_formatter(voice, "1")(gone))[1]["msg"]
    assert json.loads(format_redacted_json_line(gone))["erased"] is True
    assert rows_of("a\n\nb") == ["a", "b"]

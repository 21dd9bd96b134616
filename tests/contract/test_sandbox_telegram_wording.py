"""The words of the demo's page: both languages say everything, and what the audit log and the portal hold in codes is told in words."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.telegram.audit import _APPROVED, _CALL_STATES, _CLOSED, _DECISIONS, judge_decision, read_audit
from sandbox.telegram.wording import LANGUAGES, _load_calls, describe_call, load_texts

STATIC = Path("sandbox/telegram/static")
DENIED = {
    "timestamp": "2026-11-23T06:27:01Z",
    "user": "tg:1007",
    "type": "decision",
    "decided_by": {"key": "tg:1007", "name": "Борис Смирнов"},
    "user_message": "card-denied",
    "executed_actions": [{"method": "crm.deal.update", "status": "denied"}],
    "confirmation": {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 150000}}, "status": "denied"},
    "outcome": {"notice": "card-denied"},
}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The texts under a value with their keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def test_both_languages_have_the_same_texts_with_the_same_values() -> None:
    """No text is missing in one of them, each {value} stands in both, and only data of the CRM is Russian in the English one."""
    ru, en = (dict(leaves(load_texts(language))) for language in LANGUAGES)
    assert set(ru) == set(en)
    for key, text in ru.items():
        if isinstance(text, str):
            assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", en[key])), key
    of_the_crm = ("chat.examples", "voice.samples", "page.language")
    russian = [key for key, text in en.items() if re.search("[а-яё]", str(text), re.IGNORECASE) and not key.startswith(of_the_crm)]
    assert russian == []


def test_the_page_has_no_words_of_its_own() -> None:
    """Scripts and page name texts by keys that exist; no Russian word stands in a script."""
    known = dict(leaves(load_texts("ru")))
    scripts = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("js/*.js")}
    named = {(name, key) for name, text in scripts.items() for key in re.findall(r'\bt\("([\w.]+)"', text)}
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    named |= {("index.html", key) for key in re.findall(r'data-(?:text|label|hint|placeholder)="([\w.]+)"', page)}
    assert len(named) > 80
    assert [pair for pair in sorted(named) if pair[1] not in known] == []
    assert [name for name, text in scripts.items() if re.search("[а-яё]", text, re.IGNORECASE)] == []


def test_every_code_that_the_server_sends_has_its_words() -> None:
    """Kinds and verbs of calls, states of calls, outcomes of decisions, in both languages."""
    table = _load_calls()
    kinds = {kind for forms in table["kinds"].values() for kind in forms.values()} | {"other"}
    for language in LANGUAGES:
        texts = load_texts(language)
        assert kinds == set(texts["calls"]["kinds"])
        assert {*table["verbs"].values(), "other"} <= set(texts["calls"]["verbs"])
        assert {*_CALL_STATES.values(), "withdrawn", "other"} == set(texts["audit"]["call_states"])
        assert {*_DECISIONS.values(), *_APPROVED.values(), *_CLOSED.values(), "late", "void"} <= set(texts["audit"]["decisions"])


@pytest.mark.parametrize(
    ("notice", "status", "told"),
    [
        ("card-denied", "denied", "denied"),
        ("", "succeeded", "approved"),
        ("", "refused", "approved_refused"),
        ("", "unknown", "approved_unknown"),
        ("card-second-tap", "requested", "second_tap"),
        ("card-expired", "requested", "expired"),
        ("card-already-expired", "expired", "expired"),
        ("card-already-superseded", "superseded", "superseded"),
        ("card-already-executed", "executed", "late"),
        ("card-already-denied", "denied", "late"),
        ("card-outdated", "requested", "outdated"),
        ("changed-meanwhile", "superseded", "superseded"),
        ("stricter-meanwhile", "superseded", "superseded"),
        ("not-your-card", "requested", "not_entitled"),
        ("lead-only", "requested", "not_entitled"),
        ("four-eyes", "requested", "not_entitled"),
        ("frozen-card", "requested", "frozen"),
        ("some-day-new", "requested", "waits"),
        ("some-day-new", "refused", "void"),
    ],
)
def test_a_decision_is_told_as_what_it_came_to(notice: str, status: str, told: str) -> None:
    """Seen: a denial stood there as «подтвердил(а)». Only an approval that ran is one."""
    raw = {**DENIED, "outcome": {"notice": notice}, "executed_actions": [{"method": "crm.deal.update", "status": status}]}
    assert judge_decision(raw) == told
    approving = {language: load_texts(language)["audit"]["decisions"][told] for language in LANGUAGES}
    assert ("подтвердил" in approving["ru"]) == (told in _APPROVED.values()) == ("approved" in approving["en"])


def test_a_record_of_a_denial_holds_no_code_to_be_read(tmp_path: Path) -> None:
    """The row says who denied the change of which deal; codes stand in the folded record alone."""
    (tmp_path / "tg%3a1007.jsonl").write_text(json.dumps(DENIED, ensure_ascii=False) + "\n", encoding="utf-8")
    (record,) = read_audit(tmp_path, 10, "481")
    raw = record.pop("raw")
    assert raw == DENIED
    assert record == {
        "time": "2026-11-23T06:27:01Z",
        "user": "Борис Смирнов",
        "kind": "decision",
        "text": "",
        "decision": {"code": "denied", "by": "Борис Смирнов"},
        "calls": [{"kind": "deal", "verb": "change", "number": 481, "state": "denied"}],
    }


def test_an_approval_that_a_restart_interrupted_is_one(tmp_path: Path) -> None:
    """The log has it as a press on an executed card; only the next press is late, and a program of the API keeps its key."""
    late = {
        **DENIED,
        "outcome": {"notice": "card-already-executed"},
        "executed_actions": [{"method": "crm.deal.update", "status": "executed"}],
    }
    late["confirmation"] = {"confirmation_id": "ab", "method": "crm.deal.update", "status": "executed"}
    second = {**late, "timestamp": "2026-11-23T07:00:00Z", "decided_by": {"key": "http:site", "name": "site"}}
    lines = [json.dumps(record) for record in (late, second)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    told = [record["decision"] for record in read_audit(tmp_path, 10, "")]
    assert told == [{"code": "late", "by": "http:site"}, {"code": "approved", "by": "Борис Смирнов"}]


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("crm.deal.list", {}, ("deals", "list", None)),
        ("crm.deal.get", {"id": "481"}, ("deal", "read", 481)),
        ("crm.item.update", {"entityTypeId": 2, "id": 481}, ("deal", "change", 481)),
        ("crm.item.add", {"entityTypeId": 177}, ("item", "create", None)),
        ("tasks.task.add", {"fields": {}}, ("task", "create", None)),
        ("crm.timeline.comment.add", {"fields": {}}, ("comment", "create", None)),
        ("user.get", {"ID": 8}, ("user", "read", 8)),
        ("batch", {"cmd": {}}, ("batch", "run", None)),
        ("event.get", None, ("subscription", "read", None)),
        ("crm.status.list", {}, ("stages", "list", None)),
        ("CRM.DEAL.DELETE", {"id": 5}, ("deal", "delete", 5)),
        ("some.new.thing", [], ("other", "other", None)),
        ("", None, ("other", "other", None)),
    ],
)
def test_a_call_is_told_in_words(method: str, params: object, told: tuple[str, str, int | None]) -> None:
    """Whatever the method, kind and verb are words of the page; the record is named by its number."""
    assert tuple(describe_call(method, params).values()) == told


def test_the_texts_say_where_they_are_kept_in_order() -> None:
    """Both files list their texts in the same order, so that they can be read side by side."""
    ru, en = ([key for key, _ in leaves(load_texts(language))] for language in LANGUAGES)
    assert ru == en

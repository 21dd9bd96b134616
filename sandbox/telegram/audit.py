"""Reads the newest records of the bot's audit log (one file `<user>.jsonl` per person) to show them on the page.

A field of a record is found under any of several names. Lines that are not valid JSON are skipped.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from sandbox.telegram.wire import JsonObject
from sandbox.telegram.wording import describe_call

_TAIL_BYTES = 512 * 1024
_NAMES = {
    "time": ("timestamp", "ts", "time", "at", "started_at"),
    "user": ("requested_by", "decided_by", "user", "user_id", "actor"),
    "text": ("user_message", "input", "user_input", "message", "text"),
    "decider": ("decided_by", "approved_by", "approver"),
}
_CALLS = ("executed_actions", "requests", "bitrix_requests", "calls", "actions")
_ANSWERS = ("answers", "bitrix_answers", "responses", "results")
_KINDS = ("trouble", "rewritten", "decision")
_CALL_STATES = {"ok": "succeeded", "success": "succeeded", "executed": "succeeded"} | {
    name: name for name in ("succeeded", "waiting", "planned", "refused", "unknown", "denied")
}
_WITHDRAWN = "denied-by-model"
_DECISIONS = {
    "card-denied": "denied",
    "card-second-tap": "second_tap",
    "card-expired": "expired",
    "card-already-expired": "expired",
    "card-already-superseded": "superseded",
    "card-outdated": "outdated",
    "may-not-approve": "not_entitled",
    "four-eyes": "not_entitled",
    "lead-only": "not_entitled",
    "lead-nobody": "not_entitled",
    "not-your-card": "not_entitled",
    "frozen": "frozen",
    "frozen-card": "frozen",
}
"""What a decision came to, by the code of the sentence that the person got."""
_APPROVED = {"succeeded": "approved", "refused": "approved_refused", "unknown": "approved_unknown", "planned": "approved_planned"}
"""What an approval came to, by the outcome of its call."""
_CLOSED = {"denied": "denied", "expired": "expired", "superseded": "superseded", "requested": "waits"}
"""What a decision came to, by the state of its card, where nothing else says it."""


def read_audit(folder: Path, limit: int, find: str) -> list[JsonObject]:
    """Return at most `limit` records of all people that contain the words `find`, newest first; an empty list if there is no folder."""
    if not folder.is_dir():
        return []
    wanted = find.casefold()
    found = [_shaped(path.stem, line) for path in sorted(folder.glob("*.jsonl")) for line in _tail(path)]
    records = sorted((record for record in found if record is not None), key=lambda record: str(record["time"]))
    _recognize_interrupted(records)
    return [record for record in reversed(records) if _holds(record, wanted)][:limit]


def _recognize_interrupted(records: Iterable[JsonObject]) -> None:
    """Change decisions from "late" to "approved" where a restart interrupted the approval.

    Of such an approval the bot's log says only that the card was executed already, as it does of a click that comes too late. It is
    recognized by being the first decision to approve its card in `records`, which must be sorted by time.
    """
    known: set[str] = set()
    for record in records:
        decision, card = record["decision"], record["raw"].get("confirmation")
        number = str(card.get("confirmation_id") or "") if isinstance(card, dict) else ""
        if not decision or not number:
            continue
        if decision["code"] == "late" and number not in known and card.get("status") == "executed":
            decision["code"] = "approved"
        if decision["code"] in _APPROVED.values():
            known.add(number)


def judge_decision(raw: JsonObject) -> str:
    """Return how the decision in the record `raw` ended, as a key of `audit.decisions` in the page's texts; "" if it has no decision."""
    if raw.get("type") != "decision":
        return "approved" if _first(raw, ("approved_by", "approver")) else ""
    outcome = raw.get("outcome")
    notice = str(outcome.get("notice") or "") if isinstance(outcome, dict) else ""
    status = next((str(call.get("status") or "") for call in _listed(raw.get("executed_actions"))), "")
    if notice in _DECISIONS:
        return _DECISIONS[notice]
    if notice.startswith("card-already-"):
        return "late"
    if notice:
        return _CLOSED.get(status, "void")
    return _APPROVED.get(status) or _CLOSED.get(status, "void")


def _tail(path: Path) -> Iterable[bytes]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().split(b"\n")
    except OSError:
        return []


def _shaped(user: str, line: bytes) -> JsonObject | None:
    try:
        raw = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(raw, dict):
        return None
    kind = raw.get("type")
    decision = judge_decision(raw)
    return {
        "time": str(_first(raw, _NAMES["time"]) or ""),
        "user": _person(_first(raw, _NAMES["user"]) or user),
        "kind": kind if kind in _KINDS else "message",
        "text": "" if kind in _KINDS else _readable(_first(raw, _NAMES["text"])),
        "decision": {"code": decision, "by": _person(_first(raw, _NAMES["decider"]))} if decision else None,
        "calls": _calls(raw),
        "raw": raw,
    }


def _holds(record: JsonObject, wanted: str) -> bool:
    # The rendered text is searched, not the file: a writer may escape every Russian letter.
    return not wanted or wanted in orjson.dumps(record).decode().casefold()


def _first(raw: JsonObject, names: Iterable[str]) -> Any:
    return next((raw[name] for name in names if raw.get(name) not in (None, "", [], {})), None)


def _readable(value: Any) -> str:
    """Return the value as text. Of an object, this is its name, text, message, id or key, whichever it has."""
    if isinstance(value, dict):
        value = _first(value, ("name", "text", "message", "id", "key"))
    return "" if value is None else str(value)


def _person(value: Any) -> str:
    """Return a person's name; for a program that uses the API its key ("http:site"), for which the page has words."""
    key = str(value.get("key") or "") if isinstance(value, dict) else ""
    return key if key.startswith("http:") else _readable(value)


def _listed(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _calls(raw: JsonObject) -> list[JsonObject]:
    """Return the calls of the record `raw`, each as the words for it (see `describe_call`) and its `state`.

    If a call has no params, as in the record of a decision, they are taken from the record's card, since they name the changed record.
    """
    calls = _first(raw, _CALLS)
    answers = _first(raw, _ANSWERS)
    if not isinstance(calls, list):
        return []
    card = raw.get("confirmation")
    shaped = []
    for index, call in enumerate(calls):
        answer = answers[index] if isinstance(answers, list) and index < len(answers) else {}
        both = {
            **(answer if isinstance(answer, dict) else {}),
            **(card if isinstance(card, dict) else {}),
            **(call if isinstance(call, dict) else {"method": call}),
        }
        shaped.append(describe_call(_readable(both.get("method")), _first(both, ("params", "proposed"))) | {"state": _state(both)})
    return shaped


def _state(call: JsonObject) -> str:
    """Return the state of a call, a key of `audit.call_states` in the page's texts."""
    if call.get("reason") == _WITHDRAWN:
        return "withdrawn"
    return _CALL_STATES.get(_readable(_first(call, ("status", "outcome"))).lower(), "other")

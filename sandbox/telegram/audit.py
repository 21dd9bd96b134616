"""Reads the newest records of the bot's audit log (one file `<user>.jsonl` per person) to show them on the page.

It accepts several names for each field, and skips lines that are not valid JSON.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from sandbox.telegram.wire import JsonObject

_TAIL_BYTES = 512 * 1024
_NAMES = {
    "time": ("timestamp", "ts", "time", "at", "started_at"),
    "user": ("requested_by", "decided_by", "user", "user_id", "actor"),
    "text": ("user_message", "input", "user_input", "message", "text"),
    "approved_by": ("approved_by", "decided_by", "approver"),
}
_CALLS = ("executed_actions", "requests", "bitrix_requests", "calls", "actions")
_ANSWERS = ("answers", "bitrix_answers", "responses", "results")


def read_audit(folder: Path, limit: int, find: str) -> list[JsonObject]:
    """Return at most `limit` records of all people that contain the words `find`, newest first; an empty list if there is no folder."""
    if not folder.is_dir():
        return []
    wanted = find.casefold()
    records = [_shaped(path.stem, line) for path in sorted(folder.glob("*.jsonl")) for line in _tail(path)]
    readable = [record for record in records if record is not None and _holds(record, wanted)]
    readable.sort(key=lambda record: str(record["time"]), reverse=True)
    return readable[:limit]


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
    return {
        "time": str(_first(raw, _NAMES["time"]) or ""),
        "user": _readable(_first(raw, _NAMES["user"]) or user),
        "text": _readable(_first(raw, _NAMES["text"])),
        "approved_by": _readable(_first(raw, _NAMES["approved_by"])),
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


def _calls(raw: JsonObject) -> list[JsonObject]:
    calls = _first(raw, _CALLS)
    answers = _first(raw, _ANSWERS)
    if not isinstance(calls, list):
        return []
    shaped = []
    for index, call in enumerate(calls):
        answer = answers[index] if isinstance(answers, list) and index < len(answers) else {}
        both = {
            **(answer if isinstance(answer, dict) else {}),
            **(call if isinstance(call, dict) else {"method": call}),
        }
        shaped.append({"method": _readable(both.get("method")), "status": _readable(_first(both, ("status", "outcome")))})
    return shaped

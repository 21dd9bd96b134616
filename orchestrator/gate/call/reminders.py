"""Normalizes a reminder to one exact call: when, what text, which record. It goes only to the person who requested it. Pure."""

import re
from datetime import datetime
from typing import Final

from orchestrator.gate.call.params import build_hint, build_refusal
from state.clock import format_iso
from state.stored import JsonObject

ADD: Final = "reminder.add"
MOVE: Final = "reminder.move"
CANCEL: Final = "reminder.cancel"
CHANGES: Final = frozenset({MOVE, CANCEL})
WHICH: Final = "reminder"
_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
PERSON: Final = "person"
"""The parameter that holds for whom the reminder is: always set here to the requester, whatever was written."""
MARK: Final = "ORIGIN_ID"
"""The parameter that holds the id of the effect that sets the reminder; it is not part of the request itself."""
LONGEST: Final = 500
_RECORDS: Final = ("deal", "lead", "contact", "company", "task")
_KNOWN: Final = ("at", "text", *_RECORDS)
_GIVEN: Final = frozenset({PERSON, MARK, "record"})
_LONGEST_ID: Final = 9


def normalize_reminder(given: JsonObject, *, person: str, effect_id: str) -> dict[str, object]:
    """Return the parameters of a reminder in their only form, with person and effect id. Idempotent. Raises Refusal."""
    for name in given:
        if name not in _KNOWN and name not in _GIVEN:
            raise build_refusal("gate-param-unknown", method=ADD, param=name, hint=build_hint(name, _KNOWN))
    record = _parse_record(given)
    found: dict[str, object] = {"at": _parse_moment(given.get("at")), "text": _parse_text(given.get("text"))}
    return found | ({"record": record} if record else {}) | {PERSON: person, MARK: effect_id}


def normalize_change(method: str, given: JsonObject, *, person: str, effect_id: str) -> dict[str, object]:
    """Return the parameters of a change of the person's own reminder in their only form. Idempotent. Raises Refusal."""
    known = (WHICH, "at") if method == MOVE else (WHICH,)
    for name in given:
        if name not in known and name not in {PERSON, MARK}:
            raise build_refusal("gate-param-unknown", method=method, param=name, hint=build_hint(name, known))
    which = given.get(WHICH)
    if not isinstance(which, str) or not _ID.fullmatch(which):
        raise build_refusal("gate-param-invalid", param=WHICH, expected="a reference to a reminder of STATE.reminders, such as @reminder:1")
    moment = {"at": _parse_moment(given.get("at"))} if method == MOVE else {}
    return {WHICH: which, **moment, PERSON: person, MARK: effect_id}


def _parse_moment(value: object) -> str:
    """Return an ISO text with an offset as one in UTC without fractions of seconds. Raises Refusal for anything else."""
    try:
        found = datetime.fromisoformat(value if isinstance(value, str) else "")
        if found.tzinfo is not None:
            return format_iso(found.replace(microsecond=0))
    except (ValueError, OverflowError):
        pass
    raise build_refusal("gate-param-invalid", param="at", expected="a moment: write @date: and the person's words")


def _parse_text(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or len(text) > LONGEST or not text.isprintable():
        raise build_refusal("gate-param-invalid", param="text", expected=f"a short text, up to {LONGEST} characters")
    return text


def _parse_record(given: JsonObject) -> str:
    written = {name: given[name] for name in _RECORDS if given.get(name) is not None}
    if "record" in given:
        kind, _, number = str(given["record"]).partition(":")
        written[kind] = number
    if not written:
        return ""
    kind, value = written.popitem()
    number = str(value) if not isinstance(value, bool) else ""
    if written or kind not in _RECORDS or not (number.isascii() and number.isdecimal() and 0 < len(number) <= _LONGEST_ID and int(number)):
        raise build_refusal("gate-param-invalid", param=kind, expected="the number of one record")
    return f"{kind}:{int(number)}"

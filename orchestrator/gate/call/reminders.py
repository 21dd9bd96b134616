"""A reminder as one exact call. Pure."""

import re
from datetime import datetime
from typing import Final

from orchestrator.gate.call.params import build_param_hint, build_refusal
from state.clock import format_iso
from state.stored import JsonObject

ADD: Final = "reminder.add"
MOVE: Final = "reminder.move"
CANCEL: Final = "reminder.cancel"
CHANGES: Final = frozenset({MOVE, CANCEL})
WHICH: Final = "reminder"
TEXT: Final = "text"
_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
PERSON: Final = "person"
"""Always the requester, whatever was written."""
MARK: Final = "ORIGIN_ID"
"""No part of the request."""
LONGEST: Final = 500
_RECORDS: Final = ("deal", "lead", "contact", "company", "task")
_KNOWN: Final = ("at", "text", *_RECORDS)
_GIVEN: Final = frozenset({PERSON, MARK, "record"})
_LONGEST_ID: Final = 9


def normalize_reminder(proposed: JsonObject, *, person: str, effect_id: str) -> dict[str, object]:
    """Idempotent. Raises Refusal."""
    for name in proposed:
        if name not in _KNOWN and name not in _GIVEN:
            raise build_refusal("gate-param-unknown", method=ADD, param=name, hint=build_param_hint(name, _KNOWN))
    record = _parse_record(proposed)
    moment_and_text: dict[str, object] = {"at": _parse_moment(proposed.get("at")), "text": _parse_text(proposed.get("text"))}
    return moment_and_text | ({"record": record} if record else {}) | {PERSON: person, MARK: effect_id}


def normalize_change(method: str, proposed: JsonObject, *, person: str, effect_id: str) -> dict[str, object]:
    """Of the person's own reminder. Idempotent. Raises Refusal."""
    known = (WHICH, "at") if method == MOVE else (WHICH,)
    for name in proposed:
        if name not in known and name not in {PERSON, MARK}:
            raise build_refusal("gate-param-unknown", method=method, param=name, hint=build_param_hint(name, known))
    which = proposed.get(WHICH)
    if not isinstance(which, str) or not _ID.fullmatch(which):
        raise build_refusal("gate-param-invalid", param=WHICH, expected="a reference to a reminder of STATE.reminders, such as @reminder:1")
    moment = {"at": _parse_moment(proposed.get("at"))} if method == MOVE else {}
    return {WHICH: which, **moment, PERSON: person, MARK: effect_id}


def _parse_moment(value: object) -> str:
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else "")
        if moment.tzinfo is not None:
            return format_iso(moment.replace(microsecond=0))
    except (ValueError, OverflowError):
        pass
    raise build_refusal("gate-param-invalid", param="at", expected="a moment: write @date: and the person's words")


def _parse_text(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or len(text) > LONGEST or not text.isprintable():
        raise build_refusal("gate-param-invalid", param="text", expected=f"a short text, up to {LONGEST} characters")
    return text


def _parse_record(proposed: JsonObject) -> str:
    by_kind = {name: proposed[name] for name in _RECORDS if proposed.get(name) is not None}
    if "record" in proposed:
        kind, _, number = str(proposed["record"]).partition(":")
        by_kind[kind] = number
    if not by_kind:
        return ""
    kind, value = by_kind.popitem()
    number = str(value) if not isinstance(value, bool) else ""
    if by_kind or kind not in _RECORDS or not (number.isascii() and number.isdecimal() and 0 < len(number) <= _LONGEST_ID and int(number)):
        raise build_refusal("gate-param-invalid", param=kind, expected="the number of one record")
    return f"{kind}:{int(number)}"

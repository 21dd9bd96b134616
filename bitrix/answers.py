"""Parses an HTTP answer of the portal into an `Answer`, or raises an error that says whether the portal may have executed the call."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import orjson

from bitrix.errors import RATE_LIMIT, TIME_LIMIT, BitrixError, NotSent, OutcomeUnknown, Refused, Unreadable

_BOM = b"\xef\xbb\xbf"
_DATA_STARTS = (b'{"result"', b'{"error"')
_BLOCKED = ("OVERLOAD_LIMIT", 503)
"""Bitrix24 has stopped all programs of the portal: nothing was executed, and repeating does not help."""
_NOT_EXECUTED = {RATE_LIMIT: frozenset({429, 503}), TIME_LIMIT: frozenset({429, 503})}
_REQUEST_TIMEOUT = 408  # a proxy stopped waiting: the portal may still be executing the call


@dataclass(frozen=True, slots=True)
class Answer:
    result: Any
    total: int | None = None
    next: int | None = None
    time: Mapping[str, Any] = field(default_factory=dict)


def parse(status: int, body: bytes, *, location: str = "", setting: str = "BITRIX_WEBHOOK_URL") -> Answer:
    """Raises `NotSent`, `Refused` or `OutcomeUnknown`, by what status and body prove (S004-X8)."""
    if 300 <= status < 400:  # noqa: PLR2004 - the redirect class of HTTP
        raise _build_moved_error(status, location, setting)
    data = _load_data(body)
    away = OutcomeUnknown if status >= 500 else Unreadable  # noqa: PLR2004 - the fault class of HTTP: a page that says so is as expected
    if not isinstance(data, dict):
        raise away("the portal's answer is not the JSON object that was expected", status=status)
    if "error" in data:
        raise _build_error(status, data)
    if not 200 <= status < 300 or "result" not in data:  # noqa: PLR2004 - the success class of HTTP
        raise away("the portal's answer holds neither a result nor an error", status=status)
    time = data.get("time")
    return Answer(data["result"], _parse_count(data.get("total")), _parse_count(data.get("next")), time if isinstance(time, dict) else {})


def _load_data(body: bytes) -> object:
    """A portal on a server of its own may write a BOM or warnings of PHP before its answer."""
    body = body.strip(_BOM + b" \t\r\n")
    begins = sorted(at for mark in _DATA_STARTS if (at := body.find(mark)) > 0)
    for at in (0, *begins):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(memoryview(body)[at:])
    return None


def parse_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def parse_reset_time(data: Mapping[str, Any]) -> datetime | None:
    """When the portal next frees part of a method's time budget: the running time that it allows within ten minutes."""
    reset = parse_number(data.get("operating_reset_at"))
    try:
        return datetime.fromtimestamp(reset, UTC) if reset else None
    except (OverflowError, OSError, ValueError):
        return None


def _find_free_time(data: Mapping[str, Any]) -> datetime | None:
    time = data.get("time")
    return (parse_reset_time(time) if isinstance(time, dict) else None) or parse_reset_time(data)


def _build_error(status: int, data: Mapping[str, Any]) -> BitrixError:
    error = data["error"]
    if isinstance(error, dict):  # REST v3 nests error details
        code, description = str(error.get("code", "")), str(error.get("message", ""))
    else:
        code, description = "" if error is None else str(error), str(data.get("error_description") or "")
    if status in _NOT_EXECUTED.get(code, ()):
        return NotSent(description or "the portal's limit is reached", code=code, status=status, free_at=_find_free_time(data))
    if (code, status) == _BLOCKED or (400 <= status < 500 and status != _REQUEST_TIMEOUT):  # noqa: PLR2004 - the refusal class of HTTP
        return Refused(code, description, status)
    return OutcomeUnknown(description or "the portal failed", code=code, status=status)


def _build_moved_error(status: int, location: str, setting: str) -> OutcomeUnknown:
    try:
        host = urlsplit(location).hostname or ""
    except ValueError:
        host = ""
    where = f" to {host}" if host else ""
    return OutcomeUnknown(
        f"the portal redirects{where}: it was probably renamed, put its new address into {setting}",
        status=status,
        transient=False,
    )


def _parse_count(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None

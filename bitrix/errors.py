"""Errors of the portal, sorted by the one question that matters: may it have executed the call?"""

import html
import re
from datetime import datetime

from bitrix.masking import mask

MAX_TEXT = 300
RATE_LIMIT = "QUERY_LIMIT_EXCEEDED"
TIME_LIMIT = "OPERATION_TIME_LIMIT"
_SCAN = 8 * MAX_TEXT
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}:\\?/\\?/[^\s\"'<>]+", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>", re.IGNORECASE)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class BitrixError(Exception):
    """The portal could not be used."""

    def __init__(self, detail: str = "", *, code: str = "", status: int | None = None) -> None:
        self.detail = to_safe_line(detail) or (self.__doc__ or "").partition("\n")[0]
        self.code = to_safe_line(code)
        self.status = status
        super().__init__(self.detail)

    def __str__(self) -> str:
        head = f"{self.code}: {self.detail}" if self.code and self.code != self.detail else self.detail
        return head if self.status is None else f"{head} (HTTP {self.status})"


class NotSent(BitrixError):
    """Nothing was executed: the request did not reach the portal or was turned away by a limit.

    Even a write may be sent again. `free_at`: when a retry is worthwhile.
    """

    def __init__(self, detail: str = "", *, code: str = "", status: int | None = None, free_at: datetime | None = None) -> None:
        super().__init__(detail, code=code, status=status)
        self.free_at = free_at


class NoAccess(NotSent):
    """Nothing was executed, and nothing will be until somebody renews the application's access."""


class Refused(BitrixError):
    """The portal refused the call and changed nothing.

    `code` and `description` are the portal's own words.
    """

    def __init__(self, code: str, description: str = "", status: int | None = None) -> None:
        super().__init__(description or code, code=code, status=status)
        self.description = to_safe_line(description)


class OutcomeUnknown(BitrixError):
    """The request was sent and nothing proves whether the portal acted.

    Look it up, and never send a write again. `transient`: repeating may help a read.
    """

    def __init__(self, detail: str = "", *, code: str = "", status: int | None = None, transient: bool = True) -> None:
        super().__init__(detail, code=code, status=status)
        self.transient = transient


class Unreadable(OutcomeUnknown):
    """An answer came, but it is not the data that was expected: a page, a part of an answer, or another shape."""


ACCESS_OR_METHOD_CODES = frozenset(
    {"ERROR_METHOD_NOT_FOUND", "INVALID_REQUEST", "NO_AUTH_FOUND", "INVALID_CREDENTIALS", "EXPIRED_TOKEN", "INSUFFICIENT_SCOPE"}
)
"""Error codes, in upper case, that concern the access or the method, never a record."""


def is_missing(code: str, description: str) -> bool:
    """The portal says that the record does not exist, in English or Russian."""
    if code.upper() in ACCESS_OR_METHOD_CODES:
        return False  # "Method not found!" says nothing about the record
    text = description.lower()
    return code == "NOT_FOUND" or "not found" in text or "не найден" in text


class QueryError(ValueError):
    """The query string has no single reading."""

    def __init__(self, why: str) -> None:
        self.why = to_safe_line(why)
        super().__init__(self.why)


class BatchError(ValueError):
    """The batch cannot be parsed into commands."""

    def __init__(self, key: str, why: str) -> None:
        self.key = to_safe_line(key)
        self.why = to_safe_line(why)
        super().__init__(f"batch command {self.key!r}: {self.why}" if self.key else f"batch: {self.why}")


def to_safe_line(text: str) -> str:
    """One line of at most 300 characters without tags, addresses or secrets; never raises."""
    plain = html.unescape(_TAG.sub(" ", text[:_SCAN]))
    plain = _ADDRESS.sub("[address]", mask(_TAG.sub(" ", plain)))
    plain = _BLANK.sub(" ", plain).strip()
    return plain if len(plain) <= MAX_TEXT else plain[: MAX_TEXT - 1] + "…"

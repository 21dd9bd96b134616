"""Ring 1. What can go wrong with the portal, sorted by the only question that matters: may it have acted?

BitrixError
├── NotSent          nothing was executed: never sent, or refused before execution (rate or time limit)
│   └── NoAccess     the same, and no repetition helps: the application has to be put in order by a person
├── Refused          the portal answered an error that proves it did not act
└── OutcomeUnknown   sent, and no proof either way: never send a write again, look it up
ValueError
├── QueryError       a query string that PHP and we could read differently
└── BatchError       a batch that cannot be taken apart into commands

No text here can hold an address, a webhook code or a token: every sentence passes `clean`, and nothing keeps a cause.
"""

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
    """The portal could not be used.

    Base of the tree, never raised itself. Speaks to whoever asked; the subclasses say more.
    """

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

    Speaks to the person who asked: the same call may be made again, even a write. `code` names the limit, if one, and
    `free_at` the moment from which it is worth trying, if that is known.
    """

    def __init__(self, detail: str = "", *, code: str = "", status: int | None = None, free_at: datetime | None = None) -> None:
        super().__init__(detail, code=code, status=status)
        self.free_at = free_at


class NoAccess(NotSent):
    """Nothing was executed, and nothing will be until somebody renews the application's access.

    Speaks to those who run the program: the sentence names the setting. `code` is the authorization server's.
    """


class Refused(BitrixError):
    """The portal refused the call and changed nothing.

    Speaks to the person and to the model: `code` and `description` are the portal's own words.
    """

    def __init__(self, code: str, description: str = "", status: int | None = None) -> None:
        super().__init__(description or code, code=code, status=status)
        self.description = to_safe_line(description)


class OutcomeUnknown(BitrixError):
    """The request was sent and nothing proves whether the portal acted.

    Speaks to recovery: look the object up, never send again. `transient` says whether asking again may help a read.
    """

    def __init__(self, detail: str = "", *, code: str = "", status: int | None = None, transient: bool = True) -> None:
        super().__init__(detail, code=code, status=status)
        self.transient = transient


ACCESS_OR_METHOD_CODES = frozenset(
    {"ERROR_METHOD_NOT_FOUND", "INVALID_REQUEST", "NO_AUTH_FOUND", "INVALID_CREDENTIALS", "EXPIRED_TOKEN", "INSUFFICIENT_SCOPE"}
)
"""Codes, in upper case, that say something of our access or of the method, and nothing of a record."""


def is_missing(code: str, description: str) -> bool:
    """Whether a refusal says that there is no such record; the texts are partly localised (error-codes, crm pages)."""
    if code.upper() in ACCESS_OR_METHOD_CODES:
        return False  # "Method not found!" says nothing of the record
    text = description.lower()
    return code == "NOT_FOUND" or "not found" in text or "не найден" in text


class QueryError(ValueError):
    """The query string has no single reading.

    Speaks to the model: `why` says which part to write differently.
    """

    def __init__(self, why: str) -> None:
        self.why = to_safe_line(why)
        super().__init__(self.why)


class BatchError(ValueError):
    """The batch cannot be taken apart.

    Speaks to the model: `key` is the command at fault, empty when it is the batch as a whole.
    """

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

"""Signs login links and cookies. They name a person alone: rights are looked up at each request.

A link works once (the caller sees to `login_id`) for minutes, a cookie for a working day.
"""

import base64
import binascii
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal

import orjson
from pydantic import SecretStr

from state.clock import format_iso, generate_id, parse_iso

LINK_LIFE: Final = timedelta(minutes=5)
SESSION_LIFE: Final = timedelta(hours=12)
_LONGEST: Final = 1000

_Use = Literal["link", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Which person, when, and the id of the login."""

    person: str
    login_id: str
    since: datetime


class ConsoleKeys:
    """Signs with CONSOLE_SECRET; a link is never taken for a cookie or the other way round."""

    def __init__(self, secret: SecretStr) -> None:
        whole = secret.get_secret_value().encode()
        self._keys: dict[_Use, bytes] = {
            "link": hmac.digest(whole, b"console link", sha256),
            "session": hmac.digest(whole, b"console session", sha256),
        }

    def sign_link(self, person: str, now: datetime) -> str:
        """For the person with this key, such as "tg:1007"."""
        return self._sign("link", Pass(person=person, login_id=generate_id(), since=now))

    def sign_session(self, login: Pass, now: datetime) -> str:
        """For a browser that has logged in with the link of `login`."""
        return self._sign("session", Pass(person=login.person, login_id=login.login_id, since=now))

    def read_link(self, token: str, now: datetime) -> Pass | None:
        """None if it is not ours, or too old."""
        return self._read("link", token, now, LINK_LIFE)

    def read_session(self, cookie: str, now: datetime) -> Pass | None:
        """None if it is not ours, or too old."""
        return self._read("session", cookie, now, SESSION_LIFE)

    def _sign(self, use: _Use, what: Pass) -> str:
        body = orjson.dumps([what.person, what.login_id, format_iso(what.since)])
        return _encode(body + hmac.digest(self._keys[use], body, sha256))

    def _read(self, use: _Use, token: str, now: datetime, life: timedelta) -> Pass | None:
        whole = _decode(token)
        body, proof = whole[: -sha256().digest_size], whole[-sha256().digest_size :]
        if not hmac.compare_digest(proof, hmac.digest(self._keys[use], body, sha256)):
            return None
        person, login_id, since = orjson.loads(body)
        login = Pass(person=person, login_id=login_id, since=parse_iso(since))
        return login if timedelta(0) <= now - login.since < life else None


def _encode(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def _decode(token: str) -> bytes:
    """Empty for a text that is no token."""
    if len(token) > _LONGEST or not token.isascii():
        return b""
    try:
        return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (ValueError, binascii.Error):
        return b""

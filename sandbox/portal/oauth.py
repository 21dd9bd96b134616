"""Sandbox portal, OAuth: token pairs of the one local application; they live in memory and in no ledger."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sandbox.portal.schema import Row

LIFETIME = 3600


@dataclass(frozen=True)
class Token:
    """Whose access it is and until when."""

    user_id: int
    expires: datetime


class Tokens:
    """Issued pairs; a refresh token works once."""

    def __init__(self) -> None:
        self._access: dict[str, Token] = {}
        self._refresh: dict[str, int] = {}
        self.application_token = secrets.token_hex(16)
        self.member_id = secrets.token_hex(16)

    def issue(self, user_id: int, now: datetime, lifetime: int = LIFETIME) -> Row:
        """A fresh pair for one user."""
        access, refresh = secrets.token_hex(24), secrets.token_hex(24)
        self._access[access] = Token(user_id, now + timedelta(seconds=lifetime))
        self._refresh[refresh] = user_id
        return {
            "access_token": access,
            "refresh_token": refresh,
            "expires_in": lifetime,
            "expires": int(now.timestamp()) + lifetime,
            "member_id": self.member_id,
            "application_token": self.application_token,
            "status": "L",
            "user_id": user_id,
        }

    def refresh(self, token: str, now: datetime) -> Row | None:
        """A new pair for an unused refresh token, else nothing; the old one is spent."""
        user_id = self._refresh.pop(token, None)
        return None if user_id is None else self.issue(user_id, now)

    def find(self, access: str) -> Token | None:
        """The token behind an access token, also an expired one."""
        return self._access.get(access)

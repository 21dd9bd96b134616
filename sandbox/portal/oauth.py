"""Sandbox portal, OAuth: token pairs of the one local application; stored among the store's secrets, never in the log of calls."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sandbox.portal.errors import PortalError
from sandbox.portal.schema import Row
from sandbox.portal.store import Store

LIFETIME = 3600
CLIENT_ID = "local.sandbox"
CLIENT_SECRET = "sandbox-client-secret"  # noqa: S105  (the sandbox application is open to everybody on this machine)
_IDENTITY = "application"
_REFRESH_DAYS = 180


@dataclass(frozen=True)
class Token:
    """What the portal knows about a token: its user and the time when it expires."""

    user_id: int
    expires: datetime


class Tokens:
    """All issued access and refresh tokens. A refresh token works once. A portal with a data folder keeps the tokens over a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._access: dict[str, Token] = {}
        self._refresh: dict[str, Token] = {}
        kept = store.secrets()
        identity = kept.pop(_IDENTITY, None)
        if identity is None:
            identity = {"application_token": secrets.token_hex(16), "member_id": secrets.token_hex(16)}
            store.keep_secret(_IDENTITY, identity)
        self.application_token: str = identity["application_token"]
        self.member_id: str = identity["member_id"]
        for name, body in kept.items():
            kind, _, token = name.partition(":")
            book = self._access if kind == "access" else self._refresh
            book[token] = Token(body["user"], datetime.fromtimestamp(body["until"], UTC))

    def issue(self, user_id: int, now: datetime, lifetime: int = LIFETIME) -> Row:
        """Issue an access token and a refresh token for one user; the access token lives `lifetime` seconds. Return the token answer."""
        access, refresh = secrets.token_hex(24), secrets.token_hex(24)
        self._keep("access", access, Token(user_id, now + timedelta(seconds=lifetime)))
        self._keep("refresh", refresh, Token(user_id, now + timedelta(days=_REFRESH_DAYS)))
        return {**self.access_of(access, now), "refresh_token": refresh, "user_id": user_id}

    def event_access(self, user_id: int, now: datetime) -> Row:
        """Return an access token to be sent with an event, in the form that `access_of` gives it.

        It has no refresh token and is not kept over a restart.
        """
        access = secrets.token_hex(24)
        self._access[access] = Token(user_id, now + timedelta(seconds=LIFETIME))
        return self.access_of(access, now)

    def access_of(self, access: str, now: datetime) -> Row:
        """Return an access token as a token answer contains it, with its expiry and the ids of the portal and the application."""
        expires = self._access[access].expires
        return {
            "access_token": access,
            "expires_in": int((expires - now).total_seconds()),
            "expires": int(expires.timestamp()),
            "member_id": self.member_id,
            "application_token": self.application_token,
            "status": "L",
        }

    def refresh(self, token: str, now: datetime) -> Row:
        """Return a new pair of tokens in exchange for the refresh token `token`, which becomes invalid.

        Raises PortalError `invalid_grant` for a token that is unknown, used or expired.
        """
        known = self._refresh.pop(token, None)
        self._store.drop_secret(f"refresh:{token}")
        if known is None or known.expires <= now:
            raise PortalError(400, "invalid_grant", "Invalid grant")
        return self.issue(known.user_id, now)

    def find(self, access: str) -> Token | None:
        """Return user and expiry of an access token, even of an expired one; None for an unknown token."""
        return self._access.get(access)

    def expire(self, now: datetime) -> int:
        """Expire every access token now and return how many; refresh tokens stay valid."""
        living = [access for access, token in self._access.items() if token.expires > now]
        for access in living:
            self._keep("access", access, Token(self._access[access].user_id, now))
        return len(living)

    def _keep(self, kind: str, value: str, token: Token) -> None:
        (self._access if kind == "access" else self._refresh)[value] = token
        self._store.keep_secret(f"{kind}:{value}", {"user": token.user_id, "until": token.expires.timestamp()})


def check_grant(given: Row) -> None:
    """Check the parameters of a token request: client id, client secret and grant type. Raises PortalError if one is wrong."""
    if (given.get("client_id"), given.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
        raise PortalError(400, "invalid_client", "Invalid client")
    if given.get("grant_type") != "refresh_token":
        raise PortalError(400, "invalid_request", "Invalid grant type")

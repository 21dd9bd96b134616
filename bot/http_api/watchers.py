"""Who may see how the program does: METRICS_TOKEN as a bearer, or the token of an admin. Ring 3; nobody by default, loopback is no proof.

A proxy on the same machine makes every caller look local, so where a request comes from gives no rights.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from fastapi import Request
from pydantic import SecretStr

from bot.http_api.errors import ApiError
from bot.http_api.identity import Authenticator

MonitoringCheck = Callable[[Request], bool]
"""Whether the request may see all; False where it presents nothing. Raises ApiError 401, 403 or 429 for a token that may not."""
_UNAUTHORIZED: Final = "A valid token is needed."


def build_monitoring_check(token: SecretStr | None) -> MonitoringCheck:
    """By `Authorization: Bearer METRICS_TOKEN`, or an admin's token as bearer or X-API-Key."""
    wanted = _hash_metrics_token(token.get_secret_value()) if token is not None else None

    def may(request: Request) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        presented = request.headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
        if not presented:
            return False
        if wanted is not None and hmac.compare_digest(_hash_metrics_token(presented), wanted):
            return True
        identity: Authenticator | None = getattr(request.app.state, "identity", None)
        if identity is None:
            raise ApiError(401, "unauthorized", _UNAUTHORIZED)
        if identity.check(request, presented).actor.role != "admin":
            raise ApiError(403, "forbidden", "This token may not see that.")
        return True

    return may


def _hash_metrics_token(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()

import asyncio
import re
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeGuard

import httpx
import orjson
from pydantic import SecretStr

from bitrix.auth.auth import is_loopback, read_url
from bitrix.errors import NoAccess, NotSent

PUBLIC_SERVER = "https://oauth.bitrix.info"
TIMEOUT_SECONDS = 15.0
_TOKEN = re.compile(r"[\x21-\x7e]{1,2000}", re.ASCII)
_ASK_LATER = frozenset({httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS})
_WHAT_TO_DO = {
    "invalid_grant": "the application must be authorized anew: put its new refresh token into BITRIX_OAUTH_REFRESH_TOKEN",
    "invalid_client": "the application is not known: check BITRIX_OAUTH_CLIENT_ID, BITRIX_OAUTH_CLIENT_SECRET and that the portal has it",
    "invalid_request": "the authorization server did not understand the request: check the BITRIX_OAUTH_ settings",
    "invalid_scope": "the application asks for more rights than its card on the portal names",
    "insufficient_scope": "the application asks for more rights than its card on the portal names",
    "payment_required": "the subscription of the application or the plan of the portal has run out",
}


@dataclass(frozen=True, slots=True)
class TokenPair:
    access: SecretStr
    refresh: SecretStr


class TokenServer:
    """Renews the tokens of one application. Raises ValueError if `base` is neither https nor http on loopback."""

    def __init__(
        self,
        client_id: str,
        client_secret: SecretStr,
        *,
        base: str = PUBLIC_SERVER,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        url = read_url(base)
        if url is None:
            msg = "the authorization server's address must look like https://<host>"
            raise ValueError(msg)
        self.client_id = client_id
        self._secret = client_secret
        self._address = f"{str(url).rstrip('/')}/oauth/token/"
        self._http = httpx.AsyncClient(
            transport=transport,
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=5.0),
            follow_redirects=False,
            trust_env=not is_loopback(url),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={"Accept": "application/json"},
        )

    async def refresh(self, token: SecretStr) -> TokenPair:
        params = {
            "grant_type": "refresh_token",
            "client_id": self.client_id,
            "client_secret": self._secret.get_secret_value(),
            "refresh_token": token.get_secret_value(),
        }
        # Raised outside of `except`: the error of httpx holds the request, whose address contains the secrets.
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await self._http.get(self._address, params=params)
        except TimeoutError:
            why = "no answer in time"
        except (httpx.HTTPError, OSError, RuntimeError) as error:
            why = str(error) or type(error).__name__
        else:
            return _parse_pair(response)
        raise NotSent(f"the access could not be renewed, the authorization server was not reached: {why}")

    async def aclose(self) -> None:
        await self._http.aclose()

    def __repr__(self) -> str:
        return f"<TokenServer {httpx.URL(self._address).host}>"


def _parse_pair(response: httpx.Response) -> TokenPair:
    status = response.status_code
    data = _parse_object(response.content)
    access, refresh = data.get("access_token"), data.get("refresh_token")
    if status == httpx.codes.OK and _is_token(access) and _is_token(refresh):
        return TokenPair(SecretStr(access), SecretStr(refresh))
    code = data.get("error")
    if isinstance(code, str) and code and status < httpx.codes.INTERNAL_SERVER_ERROR and status not in _ASK_LATER:
        known = _WHAT_TO_DO.get(code.lower())
        raise NoAccess(known or "the authorization server refuses to renew the access of the application", code=code, status=status)
    raise NotSent("the access could not be renewed: the authorization server's answer holds no pair of tokens", status=status)


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}

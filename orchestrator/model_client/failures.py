"""Failures of the model service as ModelClientError, without key or address, and when a request is repeated."""

import json
import re
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from email.utils import parsedate_to_datetime

import httpx
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_before_delay

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ProviderUnavailable
from state.canonical import to_storable_text

Scrub = Callable[[str], str]

NOT_UTF8 = "The model service sent bytes that are not UTF-8."

_KEY_LIKE = re.compile(r"(?:\bsk-|\bBearer\s+)[^\s\"',]{4,}", re.IGNORECASE)
_ADDRESS = re.compile(r"\bhttps?://[^\s\"']+", re.IGNORECASE)
_LONGEST = 300
_READ_OF_TEXT = 4_000
_TOO_MANY = 429
_TIMED_OUT = 408
_UNPAID = 402
_NOT_FOUND = frozenset({404, 405})
_KEY_REFUSED = frozenset({401, 403})
_NEVER_HELPS = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_BUSY = frozenset(
    {"server_error", "rate_limit_error", "rate_limit_exceeded", "overloaded_error", "service_unavailable"}
    | {str(status) for status in (_TOO_MANY, *range(500, 600))}
)
"""What a status would say, in an answer."""
_FAULTS_OF_CERTIFICATES = {9: "is not valid yet", 10: "has expired", 62: "is for another host", 64: "is for another address"}
"""By OpenSSL's numbers; others come from an authority that is not trusted."""
_NO_SUCH_ADDRESS = "check the base address, which for most services ends in /v1."
PLAIN = {"Accept-Encoding": "identity"}
"""A small compressed answer can fill the memory before its size is known."""


class RejectedRequest(ModelClientError):
    """The request cannot be sent, or the service does not accept it: nothing is wrong with the service."""

    def __init__(self, reason: str | None = None, *, status: int = 0) -> None:
        """`status` is 0 for a request that was not sent."""
        super().__init__(reason)
        self.status = status


class KeyRefused(ProviderUnavailable):
    """The service does not accept the key."""


class Unreachable(ProviderUnavailable):
    """No connection to the service came about, or it broke."""


class TryAgainError(ProviderUnavailable):
    """A temporary failure of the model service: the same request may succeed later."""

    def __init__(self, reason: str, *, after: float | None = None) -> None:
        """`after`: seconds that the service asked to wait."""
        super().__init__(reason)
        self.after = after


def build_scrubber(key: SecretStr | None, list_tokens: Callable[[], Iterable[str]] = tuple) -> Scrub:
    """Masks the key, what looks like a key, and addresses; one short line that can be stored."""
    secret = key.get_secret_value().strip() if key else ""

    def scrub(text: str) -> str:
        for hidden in filter(None, (secret, *list_tokens())):
            text = text.replace(hidden, "***")
        text = " ".join(to_storable_text(_ADDRESS.sub("***", _KEY_LIKE.sub("***", text))).split())
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"

    return scrub


def find_reported_error(body: Mapping[str, object]) -> object:
    """In an answer with status 200. Older vLLM and GigaChat write its fields at the top."""
    if body.get("error"):
        return body["error"]
    is_bare = isinstance(body.get("message"), str) and not body.keys() & {"choices", "data", "usage"}
    return {name: body.get(name) for name in ("code", "status", "type", "message")} if is_bare else None


def build_reported_error(error: object, scrub: Scrub) -> ModelClientError:
    """A `TryAgainError` if the service is busy."""
    reason = f"The model service reports an error: {_format_error(error, scrub)}."
    fields: dict[str, object] = error if isinstance(error, dict) else {}
    codes = [fields.get(name) for name in ("code", "status", "type")]
    words = {str(one) for one in codes if isinstance(one, int | str)}
    return TryAgainError(reason) if words & _BUSY and not words & _NEVER_HELPS else ModelClientError(reason)


def build_status_failure(response: httpx.Response, body: bytes, scrub: Scrub, key_name: str = "OPENAI_API_KEY") -> ModelClientError:
    """A `TryAgainError` if another attempt may help. `key_name` is the setting of the key."""
    if response.status_code in _KEY_REFUSED:  # the body is not used: some services quote the key, even in part
        return KeyRefused(f"The model service answers {response.status_code}: check {key_name}.")
    if response.is_redirect:  # it is not followed: it may lead to an address inside the company's network
        return ProviderUnavailable(f"The model service answers {response.status_code}: it redirects, which is not followed.")
    error = _parse_error(body)
    reason = f"The model service answers {response.status_code}: {_format_error(error, scrub)}."
    code = error.get("code") if isinstance(error, dict) else None
    busy = response.status_code in {_TOO_MANY, _TIMED_OUT} and code not in _NEVER_HELPS
    if busy or response.is_server_error:
        return TryAgainError(reason, after=_parse_retry_after(response.headers))
    if response.status_code in _NOT_FOUND and not isinstance(error, dict):  # a service that knows the address explains itself in JSON
        return RejectedRequest(f"{reason.rstrip('.')}; {_NO_SUCH_ADDRESS}")
    if response.status_code in {_TOO_MANY, _UNPAID}:
        return ProviderUnavailable(reason)
    return RejectedRequest(reason, status=response.status_code)


def build_wire_failure(error: httpx.HTTPError | httpx.InvalidURL | httpx.StreamError) -> ModelClientError:
    """Without the text of httpx, which may quote the request."""
    match error:
        case httpx.ConnectError() if (refused := _find_certificate_error(error)) is not None:
            fault = _FAULTS_OF_CERTIFICATES.get(refused.verify_code, "comes from an authority that this machine does not trust")
            return ProviderUnavailable(f"The certificate of the model service {fault}.")
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return TryAgainError("The model service cannot be reached.")
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return TryAgainError("The connection to the model service broke.")
        case httpx.TimeoutException():
            return ProviderUnavailable("The model service did not answer in time.")
        case _:
            return ProviderUnavailable(f"The request to the model service failed ({type(error).__name__}).")


def check_encoding(response: httpx.Response) -> None:
    """Raises ProviderUnavailable: no compression was asked for."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise ProviderUnavailable("The model service sends a compressed answer, although it was asked not to.")


def _find_certificate_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """None if the certificate is not the reason."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _parse_error(body: bytes) -> object:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed.get("error", parsed)
    return body[:_READ_OF_TEXT].decode(errors="replace")


def _format_error(error: object, scrub: Scrub) -> str:
    """Masked; "no explanation" if there is none."""
    fields: dict[str, object] = error if isinstance(error, dict) else {"message": error}
    texts = [fields.get(name) for name in ("code", "type", "message")]
    parts = [str(part) for part in texts if isinstance(part, str | int) and part != ""]
    return scrub(", ".join(dict.fromkeys(parts))).rstrip(".") or "no explanation"


def _parse_retry_after(headers: httpx.Headers) -> float | None:
    """Seconds (RFC 9110, 10.2.3); a date is compared with the service's own. None without a valid one."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,3})?", value):
        return float(value)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return max(wait.total_seconds(), 0.0)


Sleep = Callable[[float], Awaitable[None]]

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0


def build_retry_policy(*, attempts: int, deadline: float, sleep: Sleep) -> AsyncRetrying:
    """Gives up if the next attempt would begin after `deadline` seconds; then the last error is raised."""
    return AsyncRetrying(
        sleep=sleep,
        stop=stop_after_attempt(attempts) | stop_before_delay(deadline),
        wait=_calculate_pause,
        retry=retry_if_exception_type(TryAgainError),
        reraise=True,
    )


def _calculate_pause(state: RetryCallState) -> float:
    """As the service asked, else doubling up to a maximum."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, TryAgainError) and error.after is not None:
        return error.after
    return min(_FIRST_PAUSE * 2.0 ** (state.attempt_number - 1), _LONGEST_PAUSE)

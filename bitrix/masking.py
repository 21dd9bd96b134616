"""Ring 1. Hides secrets in text, in JSON-like data and in log records; never raises and refuses nothing."""

import logging
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
_MAX_DEPTH = 60
_SECRET_KEYS = frozenset(
    {
        "accesstoken",
        "apikey",
        "applicationtoken",
        "auth",
        "authid",
        "authorization",
        "bottoken",
        "clientsecret",
        "credentials",
        "password",
        "refreshid",
        "refreshtoken",
        "secret",
        "secrettoken",
        "token",
        "urlmachine",
        "xapikey",
    }
)
_NAMES = (
    r"auth(?:_?id|orization)?|(?:access|refresh|application|bot|secret)_?token|refresh_?id|client_?secret|"
    r"(?:x[-_])?api[-_]?key|credentials|password|secret|token|url_?machine"
)
_SLASH = r"(?:\\?/|%(?:25)*2F)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # A webhook address of any portal, plain, JSON-escaped or percent-encoded: /rest/<user>/<code>/
    (
        re.compile(rf"(?i)(?:(?<=2F)|(?<![a-z0-9]))(rest{_SLASH}(?:api{_SLASH})?[0-9]+{_SLASH})[^\s\"'\\/%?#&<>,;)\]}}]+"),
        rf"\1{HIDDEN}",
    ),
    # https://user:password@host, as in a database address
    (re.compile(r"(://[^\s:/@\"']*:)[^\s/@\"']+(?=@)"), rf"\1{HIDDEN}"),
    # "token": "value" of JSON and of Python's repr
    (
        re.compile(rf"(?i)(?<![a-z0-9])((?:{_NAMES})(?:\\?[\"'])\s*:\s*b?(\\?[\"'])).*?(?=\2)"),
        rf"\1{HIDDEN}",
    ),
    # token=value of a query or a form, also auth[application_token]=value
    (
        re.compile(rf"(?i)(?:(?<=5B)|(?<![a-z0-9]))((?:{_NAMES})(?:\]|%5D)?=)[^\s&\"'<>,;)\]}}]+"),
        rf"\1{HIDDEN}",
    ),
    # X-API-Key: value and Authorization: value of headers
    (
        re.compile(r"(?i)(?<![a-z0-9])((?:x-api-key|x-telegram-bot-api-secret-token):\s*)[^\s\"',;]+"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(?i)(?<![a-z0-9])((?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}"), rf"\1{HIDDEN}"),
    # A Telegram bot token: the number of the bot stays, it is public
    (re.compile(r"(?i)((?:\bbot|(?<![a-z0-9]))[0-9]{6,12}(?::|%3A))[a-z0-9_-]{30,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(/bot[0-9]+:)[^\s/\"']+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?<![A-Za-z0-9])(sk-)[A-Za-z0-9_-]{8,}"), rf"\1{HIDDEN}"),
)


def mask(text: str) -> str:
    """The text with webhook codes, tokens and keys replaced by `***`; the same text when applied twice (S004-A12)."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def mask_value(value: Any) -> Any:
    """A copy of JSON-like data with secrets hidden, by key and inside every string; too deep parts vanish whole."""
    return _mask_value(value, 0)


def _mask_value(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return HIDDEN
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask(key) if isinstance(key, str) else key: _mask_item(key, item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_value(item, depth + 1) for item in value]
    return value


def _mask_item(key: object, value: Any, depth: int) -> Any:
    if _is_secret_name(key) and value not in (None, "", [], {}):
        return HIDDEN
    return _mask_value(value, depth)


def _is_secret_name(key: object) -> bool:
    return isinstance(key, str) and key.lower().replace("_", "").replace("-", "") in _SECRET_KEYS


class MaskingFilter(logging.Filter):
    """Rewrites each record so that neither its message nor its traceback holds a secret; drops none."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record in place."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a badly written log call must not break the work it reports
            message = f"{record.msg} {record.args}"
        record.msg, record.args = mask(message), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = mask(record.exc_text)
        if record.stack_info:
            record.stack_info = mask(record.stack_info)
        return True


def install_log_filter() -> None:
    """Mask every log handler that exists now and silence the libraries that log addresses; harmless when repeated.

    Call it after logging is configured: a handler added later is not covered until the next call.
    """
    loggers = [
        logging.getLogger(),
        *(x for x in logging.root.manager.loggerDict.values() if isinstance(x, logging.Logger)),
    ]
    handlers = [handler for logger in loggers for handler in logger.handlers]
    for handler in [*handlers, logging.lastResort]:
        if handler is not None and not any(isinstance(present, MaskingFilter) for present in handler.filters):
            handler.addFilter(MaskingFilter())
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))

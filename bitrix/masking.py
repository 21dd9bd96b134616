"""Hides secrets in text, in JSON-like data and in log records."""

import logging
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final
from urllib.parse import quote

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
# Each without its first letter.
_NAMES = (
    r"(?i:uth(?:_?id|orization)?|(?:ccess|efresh|pplication|ot|ecret)_?token|efresh_?id|lient_?secret|"
    r"(?:[-_]?api|pi)[-_]?key|redentials|assword|ecret|oken|rl_?machine)"
)
_SLASH = r"(?:\\?/|%(?:25)*2[Ff])"
# Patterns begin with a set of first letters, then look back over that letter: `re` can skip quickly only to such a set.
_FIRST = "[AaBbCcPpRrSsTtUuXx]"
_ALONE = r"(?<![A-Za-z0-9].)"
_NAME_HINTS = ("auth", "token", "refresh", "secret", "api", "credentials", "password", "machine")
# A text is searched with a pattern only if it contains one of the pattern's hints: most texts contain none.
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    # A webhook address of any portal, plain, JSON-escaped or percent-encoded: /rest/<user>/<code>/
    (
        ("rest",),
        re.compile(rf"(?a)([Rr](?:(?<=2F.)|{_ALONE})(?i:est){_SLASH}(?:(?i:api){_SLASH})?[0-9]+{_SLASH})[^\s\"'\\/%?#&<>,;)\]}}]+"),
    ),
    # https://user:password@host, as in a database address
    (("@",), re.compile(r"(?a)(://[^\s:/@\"']*:)[^\s/@\"']+(?=@)")),
    # "token": "value" of JSON and of Python's repr
    (_NAME_HINTS, re.compile(rf"(?a)({_FIRST}{_ALONE}{_NAMES}(?:\\?[\"'])\s*:\s*b?(\\?[\"'])).*?(?=\2)")),
    # token=value of a query or a form, also auth[application_token]=value
    (
        _NAME_HINTS,
        re.compile(rf"(?a)({_FIRST}(?:(?<=5B.)|{_ALONE}){_NAMES}(?:\]|%5D)?=)[^\s&\"'<>,;)\]}}]+"),
    ),
    # X-API-Key: value of a header
    (
        ("x-api-key", "secret-token"),
        re.compile(r"(?ai)(?<![a-z0-9])((?:x-api-key|x-telegram-bot-api-secret-token):\s*)[^\s\"',;]+"),
    ),
    (("bearer", "basic"), re.compile(r"(?ai)(?<![a-z0-9])((?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}")),
    # A Telegram bot token: the bot's id stays, it is public
    ((":", "%3a"), re.compile(r"(?a)([0-9]{6,12}(?::|%3A))[A-Za-z0-9_-]{30,}")),
    (("/bot",), re.compile(r"(?a)(/bot[0-9]+:)[^\s/\"']+")),
    (("sk-",), re.compile(r"(?a)(?<![A-Za-z0-9])(sk-)[A-Za-z0-9_-]{8,}")),
)


# Every rule above needs one of these characters; most texts have none, and this is checked for every key and value of a record.
_SUSPECT = re.compile(r"[/@=:%]|sk-|bearer|basic", re.IGNORECASE)


def mask(text: str) -> str:
    """Replace webhook codes, tokens, keys and the installed secrets by `***`. Masking twice changes nothing more (S004-A12)."""
    text = _installed.hide(text)
    if _SUSPECT.search(text) is None:
        return text
    lowered = text.lower()
    for hints, pattern in _RULES:
        for hint in hints:  # not any(): a generator would take longer than what it looks for
            if hint in lowered:
                text = pattern.sub(rf"\1{HIDDEN}", text)
                break
    return text


# Each hint of a name with what is looked for once a text contains it: the name with the quote or sign behind it, as JSON text has it, and
# the secret keys that contain the hint, as they stand in JSON text without separators.
_NAME_END = rb"(?:\\*[\"']|\]|%5d|=)"
_NAME_CHECKS: tuple[tuple[bytes, re.Pattern[bytes], tuple[bytes, ...]], ...] = tuple(
    (
        hint.encode(),
        re.compile(name + _NAME_END),
        tuple(f'"{key}":'.encode() for key in sorted(_SECRET_KEYS) if hint in key),
    )
    for hint, name in zip(
        _NAME_HINTS,
        (rb"auth(?:_?id|orization)?", b"token", rb"refresh_?id", b"secret", rb"api[-_]?key", b"credentials", b"password", rb"rl_?machine"),
        strict=True,
    )
)
_SEPARATORS = b"_-"
_COUNTED_TOKENS = b'"tokens":'
_SLASHED_HINTS = (b"rest", b"@", b"/bot")
_OTHER_HINTS = tuple(
    hint.encode()
    for hints, _ in _RULES
    if hints not in {_NAME_HINTS, (":", "%3a")}
    for hint in hints
    if hint.encode() not in _SLASHED_HINTS
)
# The least that the rule for bot tokens needs. The key of a run, "run:<uuid>", has no number before its colon.
_LONG_AFTER_COLON = re.compile(rb":(?<=[0-9]{6}:)[A-Za-z0-9_-]{30}")
_LOWERED_TO_ASCII = ("\u212a".encode(), "\u0130".encode())
"""The two letters beyond ASCII whose lower case is ASCII, so that `bytes.lower` is not enough."""


def _holds_any(text: bytes, characters: Iterable[bytes]) -> bool:
    """The first byte is looked for first, which takes a hundredth."""
    return any(character[:1] in text and character in text for character in characters)


def is_free_of_secrets(document: bytes) -> bool:
    """Whether `mask_value` would certainly leave this JSON unchanged; it must be compact and must not escape "/"."""
    lowered = document.lower()
    if _holds_any(document, _LOWERED_TO_ASCII) or _installed.may_stand_in_lowered(lowered):
        return False
    if any(hint in lowered for hint in _OTHER_HINTS) or _LONG_AFTER_COLON.search(document):
        return False
    if (b"/" in lowered or b"%" in lowered) and (b"%3a" in lowered or any(hint in lowered for hint in _SLASHED_HINTS)):
        return False
    joined = lowered.translate(None, _SEPARATORS).replace(_COUNTED_TOKENS, b"")
    return not any(
        hint in joined and (name.search(lowered) is not None or any(key in joined for key in keys)) for hint, name, keys in _NAME_CHECKS
    )


def mask_value(value: Any) -> Any:
    """Hide the values of secret keys, and secrets inside any string."""
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
    if (isinstance(key, str) and key.lower().replace("_", "").replace("-", "") in _SECRET_KEYS) and value not in (None, "", [], {}):
        return HIDDEN
    return _mask_value(value, depth)


_LONG: Final = 4_000
"""Characters from which a text searched lately is not searched again: every prompt begins with the same ones."""
_LONG_TEXTS: Final = 16
SHORTEST_SECRET: Final = 8
"""A shorter value would also hide ordinary words."""
_FILLERS = "*_~`\\\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad"
_COMMON_FILLERS = b"*_~`\\"
_GENERAL_FILLER = re.compile(rb"\xe2(?:\x80[\x8b-\x8f]|\x81[\xa0-\xa4])")
_RARE_FILLERS = ("\ufeff".encode(), "\u00ad".encode())
_BETWEEN = rf"[{re.escape(_FILLERS)}]{{0,4}}"


class SecretMask:
    """Hides the known secrets even with formatting or invisible characters between their letters."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        """Values under eight characters are left out: they would hide ordinary words."""
        own = {value for value in values if len(value) >= SHORTEST_SECRET}
        self._own = own | {form for value in own for form in (quote(value, safe=""), value.replace("/", "\\/"))}
        self._hints = sorted({_strip_fillers(value) for value in self._own}, key=len)
        self._shortest = min(map(len, self._hints), default=0)
        self._is_plain = all(map(str.isascii, self._hints))
        self._unquoted_hints = [hint.encode() for hint in self._hints if "%" not in hint]
        self._quoted_hints = [hint.encode() for hint in self._hints if "%" in hint]
        self._search_long = lru_cache(maxsize=_LONG_TEXTS)(self._search)

    def mask(self, text: str) -> str:
        return mask(self.hide(text))

    def hide(self, text: str) -> str:
        """Hide these secrets and no others."""
        return self._pattern.sub(HIDDEN, text) if self.may_stand_in(text) else text

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = (_BETWEEN.join(map(re.escape, value)) for value in sorted(self._own, key=len, reverse=True))
        return re.compile("|".join(forms), re.IGNORECASE)

    def hide_in(self, value: Any) -> Any:
        """As `hide`, in every text of JSON-like data and in keys."""
        if not self._hints:
            return value
        match value:
            case str():
                return self.hide(value)
            case Mapping():
                return {self.hide(key) if isinstance(key, str) else key: self.hide_in(item) for key, item in value.items()}
            case list() | tuple():
                return [self.hide_in(item) for item in value]
        return value

    def may_stand_in(self, text: str) -> bool:
        """In a tenth of the time of a thorough search."""
        if not self._hints or len(text) < self._shortest:
            return False
        return self._search_long(text) if len(text) >= _LONG else self._search(text)

    def _search(self, text: str) -> bool:
        plain = _strip_fillers(text)
        return any(hint in plain for hint in self._hints)

    def may_stand_in_lowered(self, text: bytes) -> bool:
        """For UTF-8 whose ASCII letters are in lower case, in a tenth of that time."""
        if not self._hints or len(text) < self._shortest:
            return False
        if not self._is_plain or _holds_rare_filler(text):
            return self.may_stand_in(text.decode(errors="replace"))
        plain = text.translate(None, _COMMON_FILLERS)
        hints = [*self._unquoted_hints, *self._quoted_hints] if b"%" in plain else self._unquoted_hints
        return any(hint in plain for hint in hints)


def _holds_rare_filler(text: bytes) -> bool:
    return _holds_any(text, _RARE_FILLERS) or (b"\xe2" in text and _GENERAL_FILLER.search(text) is not None)


def _strip_fillers(text: str) -> str:
    for filler in _FILLERS:  # str.translate takes ten times as long
        text = text.replace(filler, "")
    return text.lower()


_installed = SecretMask()


def install_secrets(values: Iterable[str]) -> None:
    """They take the place of those installed before."""
    global _installed  # noqa: PLW0603 - a program has one installation, and whoever writes a text must not have to know its secrets
    _installed = SecretMask(values)


def hide_installed(value: Any) -> Any:
    return _installed.hide_in(value)


class MaskingFilter(logging.Filter):
    """Masks message and traceback of each log record; drops none."""

    def filter(self, record: logging.LogRecord) -> bool:
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
    """Cover every present log handler, and silence libraries that log addresses."""
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

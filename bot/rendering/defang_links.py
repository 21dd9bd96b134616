"""Makes foreign texts show no clickable link, mention or command. Pure. Stored texts stay as they are.

On cards an address stays readable, since a person decides about it; elsewhere it is removed.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from bot.rendering.spans import Span, Spans, build_spans
from orchestrator.language.links import extract_hosts, strip_unknown_links
from state.stored import JsonObject

JOINER: Final = "\u2060"
"""WORD JOINER; a zero-width joiner could be part of an address."""
_URL_FIELDS: Final = frozenset({"url", "made_url", "links"})
"""The bot's own addresses stay clickable."""
_CODE_FIELDS: Final = _URL_FIELDS | {"method", "commands"}
_ADDRESSES_SHOWN: Final = frozenset({"card", "details", "edit", "waiting", "people", "sent"})
_ADDRESSES_HIDDEN: Final = frozenset({"history", "news", "daily", "reminder"})
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://\S+|www\.\S+"
    r"|(?:(?<![\w@.-])|(?<=(?<![\w.%+-])@))(?:[\w-]+\.)+(?:xn--[a-z0-9-]+|[^\W\d_]{2,})(?![\w@-])(?:[/:?#]\S*)?"
    r"|(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)(?:[/:?#]\S*)?",
    re.IGNORECASE,
)
_STOP = re.compile(r":(?=//)|\.(?=\w)")
_CASHTAG: Final = r"\$(?=[A-Z]|1INCH)"
_MENTION = re.compile(rf"(?<!\w)@(?=\w)|(?<![\w/<>])/(?=\w)|(?<![\w&])#(?=\w*[^\W\d])|{_CASHTAG}")
_MENTION_SIGNS: Final = frozenset("@/#$")
_ANY_STOP = re.compile(
    r":(?=//)|(?<=[\w-])\.(?=[^\W\d]{2})|(?<=\d)\.(?=(?:\d{1,3}\.){2}\d{1,3}(?!\w|\.\d))"
    rf"|@(?=\w)|(?<!\w)/(?=\w)|#(?=\w*[^\W\d])|{_CASHTAG}"
)
"""Where something clickable can be ended."""
_CONTACT = re.compile(
    r"[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,20}[^\W\d_]{2,24}"  # an e-mail address
    r"|(?<![\w+])\+\d(?:[ \u00a0().-]{0,2}\d){8,16}(?!\w)"  # +7 901 123-45-67
    r"|(?<![\w.,+-])[78][ \u00a0-]?\(?\d{3}\)?[ \u00a0-]?\d{3}[ \u00a0-]?\d{2}[ \u00a0-]?\d{2}(?![\w,.]\d|\w)"  # 8 (901) 123-45-67
    r"|(?<![\w.,])\d{4}[ \u00a0-]\d{4}[ \u00a0-]\d{4}[ \u00a0-]\d{4,7}(?!\w)"  # the number of a bank card
    r"|(?<![\w.,-])\d{11,19}(?!\w)",
)
"""What Telegram would dial, write to or search for, and a person may copy."""


def disable_message_links(kind: str, body: JsonObject, *, locale: str) -> JsonObject:
    """Not texts of the model, whose unknown links were removed before. `locale` is of the word for an address."""
    if kind == "reply":
        lists, others = _Defanger(body, locale), _Defanger(body, locale="")
        # the text of a model stays: its links were checked before
        texts: dict[str, object] = {"parts": [part if "text" in part else lists.disable("", part) for part in body.get("parts") or ()]}
        texts |= {name: others.disable("", body[name]) for name in ("notices", "sections") if name in body}
        return {name: texts.get(name, value) for name, value in body.items()}
    if kind in _ADDRESSES_SHOWN or kind in _ADDRESSES_HIDDEN:
        defanger = _Defanger(body, locale if kind in _ADDRESSES_HIDDEN else "")
        return {name: defanger.disable(name, value) for name, value in body.items()}
    return body


def disable_links(text: str, hosts: AbstractSet[str] = frozenset()) -> str:
    """Only addresses of `hosts` stay clickable."""
    return _disable_addresses(text, lambda: hosts)


def _disable_addresses(text: str, get_hosts: Callable[[], AbstractSet[str]]) -> str:
    if "." in text or "://" in text:  # every address has one of them
        text = _ADDRESS.sub(
            lambda address: address[0] if extract_hosts(address[0]) & get_hosts() else _STOP.sub(_add_joiner, address[0]), text
        )
    return _MENTION.sub(_add_joiner, text) if not _MENTION_SIGNS.isdisjoint(text) else text


def _add_joiner(match: re.Match[str]) -> str:
    return match[0] + JOINER


@dataclass(frozen=True, slots=True)
class _Findings:
    """Offsets in the joined text of all spans."""

    text: str
    contacts: tuple[tuple[int, int], ...]
    stops: tuple[int, ...]


def disarm_spans(text: Spans) -> Spans:
    """Except `Span.url`. A tap on a contact copies it.

    The joined text is searched, since formatting may divide an address.
    """
    joined = "".join(span.text for span in text)
    contacts = tuple(found.span() for found in _CONTACT.finditer(joined))
    findings = _Findings(joined, contacts, tuple(stop.end() for stop in _ANY_STOP.finditer(joined)))
    spans: list[Span] = []
    start = 0
    for span in text:
        end = start + len(span.text)
        if span.url or not (contacts or (span.is_foreign and findings.stops)) or span.is_code:
            spans.append(span)
        else:
            spans.extend(_divide_span(span, start, findings))
        if span.url and span.is_foreign and joined[end : end + 1].strip():  # what follows would continue the address
            spans.append(Span(JOINER, is_foreign=True))
        start = end
    return build_spans(*spans)


def _divide_span(span: Span, start: int, findings: _Findings) -> Iterator[Span]:
    """`start` is an offset in the joined text."""
    place, end = start, start + len(span.text)
    for first, last in findings.contacts:
        if first < end and last > place:
            yield replace(span, text=_add_joiners(span, place, max(first, place), findings))
            quoted = tuple(style for style in span.styles if style in {"quote", "block"})
            yield replace(span, text=findings.text[max(first, place) : min(last, end)], style="code", more=quoted)
            place = min(last, end)
    yield replace(span, text=_add_joiners(span, place, end, findings))


def _add_joiners(span: Span, start: int, end: int, findings: _Findings) -> str:
    """Not in texts of the program itself."""
    if not span.is_foreign:
        return findings.text[start:end]
    stops = findings.stops[bisect_right(findings.stops, start) : bisect_right(findings.stops, end)]
    return JOINER.join(findings.text[a:b] for a, b in pairwise((start, *stops, end)))


class _Defanger:
    """Without `locale` addresses stay readable.

    A text counts as foreign unless its key says otherwise: stored messages have no types.
    """

    def __init__(self, body: JsonObject, locale: str) -> None:
        self._body = body
        self._locale = locale

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return frozenset(host for address in _find_own_addresses(self._body) for host in extract_hosts(address))

    def disable(self, name: str, value: object) -> object:
        if isinstance(value, str):
            return value if name in _CODE_FIELDS else self._disable_text(value)
        if isinstance(value, Mapping):
            return {key: self.disable(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.disable(name if name in _URL_FIELDS else "", item) for item in value]
        return value

    def _disable_text(self, text: str) -> str:
        if self._locale and ("." in text or "://" in text):
            text = strip_unknown_links(text, self._hosts, locale=self._locale)
        return _disable_addresses(text, lambda: self._hosts)


def _find_own_addresses(value: object, name: str = "") -> Iterator[str]:
    """Recognized by their keys."""
    if isinstance(value, str) and name in _URL_FIELDS:
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _find_own_addresses(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_own_addresses(item, name)

"""Recognizes lines that programs write above or below somebody else's words: a messenger's sender and hour, a signature. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.foreign_words import COLONS, WORDS
from orchestrator.language.text import fold

_DAY: Final = (
    r"(?:[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4}|[0-9]{1,2} [^\W\d]{3,9}\.? [0-9]{2,4}),?\s+"
    rf"(?:{WORDS.join_patterns('before_hour')})?"
    r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?"
)
_HOUR: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
_CHAT_HEAD: Final = re.compile(
    rf"\s*\[?{_HOUR}\]?\s+[^\W\d]\w*(?: \w+)?[{COLONS}]|[^\[\n]{{1,40}}[\[(]{_HOUR}[\])]|"
    rf"\s*(?:\[{_DAY}\]|{_DAY}\s?[-–—]).{{1,80}}|.{{1,80}}\[{_DAY}\][{COLONS}]?\s*$"
)
"""A message as messengers copy it: «Пётр, [23.11.2026 10:00]» or «[23.11.2026, 10:00] Пётр: …»."""
_NAME: Final = r"[^\W\d_]\w+"
_SENDER: Final = re.compile(rf"\s*({_NAME})(?: ({_NAME}\.?)){{0,2}}(?P<role> \([^()\n]{{1,30}}\))?(?P<comma>,)?\s+(?P<when>.{{4,40}}?)\s*")
_WHEN: Final = re.compile(rf"(?:{_DAY}|(?:(?:{WORDS.join_patterns('sent_days')}),?\s+(?:{WORDS.join_patterns('before_hour')})?)?{_HOUR})")
_THANKS: Final = re.compile(rf"(?:{WORDS.join_patterns('thanks')})[\s,.!]*")
_SIGNED: Final = re.compile(rf"\s*[—–-]{{0,2}}\s*{_NAME}(?: {_NAME}){{0,2}}[\s.]*")


def is_chat_head(folded: str) -> bool:
    """Return whether a line (in folded letters) is a message with its sender and hour, as messengers copy it."""
    return _CHAT_HEAD.match(folded) is not None


def is_sender_line(line: str) -> bool:
    """Return whether a line holds nothing but a sender and when they wrote: «Пётр Клиентов 10:45», «Пётр, вчера в 10:45»."""
    found = _SENDER.fullmatch(line)
    if found is None or _WHEN.fullmatch(fold(found["when"])) is None:
        return False
    names = [name for name in found.group(1, 2) if name]
    return all(name[0].isupper() for name in names) and (len(names) > 1 or bool(found["comma"] or found["role"]))


def is_signature(lines: Sequence[str]) -> bool:
    """Return whether the last two of `lines` are thanks and a name, as letters end; `lines` has no blank lines."""
    if len(lines) <= 2 or _THANKS.fullmatch(fold(lines[-2].strip())) is None:  # noqa: PLR2004 - a text, the thanks and the name
        return False
    return _SIGNED.fullmatch(lines[-1]) is not None and all(word[0].isupper() for word in re.findall(r"\w+", lines[-1]))

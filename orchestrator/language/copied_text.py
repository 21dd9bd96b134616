"""Recognizes what programs write around somebody else's words: a messenger's sender and hour, speakers of a transcript, buttons. Pure.

Where capital letters matter, a line is given as it was written (`spoken`), else in folded letters.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from orchestrator.language.foreign_words import COLONS, COPIED, GREETING, LIST_MARK, WORD, Line, compile_words
from orchestrator.language.text import fold

_BEFORE_HOUR: Final = rf"(?:{COPIED.join_patterns('before_hour')})?"
_HOUR: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?"
_YEAR_WORD: Final = rf"(?:{COPIED.join_patterns('year_words')})?"
_DATE: Final = (
    rf"(?:[0-9]{{1,4}}[./-][0-9]{{1,2}}[./-][0-9]{{2,4}}|[0-9]{{1,2}} [^\W\d]{{3,9}}\.? [0-9]{{2,4}}{_YEAR_WORD}"
    r"|[^\W\d]{3,9} [0-9]{1,2}, [0-9]{4})"
)
_DAY: Final = rf"{_DATE},?\s+{_BEFORE_HOUR}{_HOUR}"
_CHAT_HEAD: Final = re.compile(
    rf"\s*\[?{_HOUR}\]?\s+[^\W\d]\w*(?: \w+)?[{COLONS}]|[^\[\n]{{1,40}}[\[(]{_HOUR}[\])]|"
    rf"\s*(?:\[{_DAY}\]|{_DAY}\s?[-–—]).{{1,80}}|.{{1,80}}\[{_DAY}\][{COLONS}]?\s*$|"
    r"\s*(?:[↩↪➡⤵🔁🔄]\ufe0f?_?\s*\w|[^\w\s]{1,3}_?\s+[0-9]{1,2}:[0-9]{2}\s*$|[★⭐☆]{2})"
)
"""A message as messengers copy it: «Пётр, [23.11.2026 10:00]», «[23.11.2026, 10:00] Пётр: …», «🎤 0:45»; or the stars of a review."""
_NAME: Final = r"[^\W\d_][\w-]+"
_NAMES: Final = rf"{_NAME}(?: (?:{_NAME}|[^\W\d_])\.?){{0,2}}"
_GIVEN_NAME: Final = compile_words("given_names", source=COPIED)
_SENDER: Final = re.compile(rf"\s*(?P<name>{_NAMES})(?P<role> \([^()\n]{{1,30}}\))?(?P<comma>,| [—–·|-])?\s+(?P<when>.{{4,40}}?)\s*")
_SENT_FIRST: Final = re.compile(rf"\s*(?P<bracket>\[)?{_HOUR}\]?\s+(?P<name>{_NAMES})\s*")
_DAY_ALONE: Final = rf"(?:{COPIED.join_patterns('sent_days')}|[0-9]{{1,2}} [^\W\d]{{3,9}}\.?|[0-9]{{1,2}}\.[0-9]{{1,2}}\.?)"
_WHEN: Final = re.compile(rf"(?:{_DAY}|(?:{_DAY_ALONE},?\s+{_BEFORE_HOUR})?{_HOUR}|{COPIED.join_patterns('ago')})(?: \([^()]{{1,30}}\))?")
_CAPTION: Final = re.compile(rf"\s*(?:[\[(<](?P<name>[^\[\]()<>\n]{{1,40}})[\])>]\s+\w|(?P<before>{_NAMES})\s?>\s)")
_GIVEN: Final = rf"(?:{COPIED.join_patterns('given_names')})(?: \w+)?"
_SENT_INLINE: Final = re.compile(
    rf"(?<!\w)(?:{_HOUR}\W{{1,3}}{_GIVEN}?|{_GIVEN}\W{{1,3}}{_HOUR})\W{{1,3}}(?=\w{{2,}}(?:{COPIED.join_patterns('polite_endings')}))"
)
"""A sender, an hour and a polite order on one line: «20.11 10:05 Пётр Клиентов закройте …»."""
_SOURCE_WORDS: Final = re.compile(rf"(?:{COPIED.join_patterns('speakers')})\s|(?:{COPIED.join_patterns('source_starts')}) \w+")
_ADDRESS: Final = r"(?:\+?[0-9][0-9 ()-]{8,18}[0-9]|@\w{3,32}|[\w.+-]+@[\w-]+\.[\w.-]+)"
_NICKNAME: Final = re.compile(r"\s*@?(?=[a-z0-9.]*_)[a-z][a-z0-9._]{2,31}\s*")
_ADDRESS_LABEL: Final = re.compile(rf"\s*{_ADDRESS}\s?[{COLONS}]\s*\w")
_THANKS: Final = re.compile(rf"(?:{COPIED.join_patterns('thanks')})[\s,.!]*")
_SIGNED: Final = re.compile(rf"\s*[—–-]{{0,2}}\s*{_NAMES}[\s.]*")
_STRONG_SPEAKER: Final = re.compile(
    rf"\s*\[?(?:{_HOUR}\]?\s+)?(?:{COPIED.join_patterns('speakers')})(?:\s?[№#]?[0-9]{{1,2}}\s*(?:[{COLONS}]|$)|\s?[{COLONS}])"
)
_WEAK_SPEAKER: Final = re.compile(rf"\s*(?P<who>{COPIED.join_patterns('weak_speakers')})\s?[{COLONS}]\s*\w")
_TO_ME: Final = re.compile(COPIED.join_patterns("to_me"))
_BUTTON: Final = compile_words("page_buttons", source=COPIED)
_TALK: Final = re.compile(rf"(?:{COPIED.join_patterns('talk')})[\s.,!…]*")
_FEW_TURNS: Final = 2


def is_name(text: str, *, least: int = 1) -> bool:
    """Return whether the text may be a person's name: one to three words with capitals, of which one word must be a given name.

    From `least` words on, any words with capitals may be a name.
    """
    words = re.findall(r"[\w-]+", text)
    if not words or not re.fullmatch(rf"\s*{_NAMES}\s*", text) or not all(word[0].isupper() for word in words):
        return False
    return len(words) >= least > 1 or any(_GIVEN_NAME.fullmatch(fold(word)) for word in words)


def find_chat(lines: Sequence[Line]) -> int | None:
    """Return the offset of the first line that a messenger, a transcript or a web page put above somebody's words; None without one."""
    spoken = [line for line in lines if not line.is_blank]
    spoken = [line for line in spoken if not _TO_ME.fullmatch(line.folded.strip())]
    for line, below in zip_longest(spoken, spoken[1:]):
        if (
            is_chat_head(line.folded)
            or _is_sender_line(line.spoken)
            or _ADDRESS_LABEL.match(line.folded)
            or _STRONG_SPEAKER.match(line.folded)
        ):
            return line.start
        if _SENT_INLINE.search(line.folded):
            return line.start
        caption = _CAPTION.match(line.spoken)
        if caption is not None and _names_speaker(caption["name"] or caption["before"]):
            return line.start
        if below is not None and (_is_sender_above(line, below) or (line is spoken[0] and _NICKNAME.fullmatch(line.folded))):
            return line.start
    if spoken and any(_BUTTON.fullmatch(line.folded.strip()) for line in spoken[1:]):
        return spoken[0].start
    turns = [(line.start, found["who"]) for line in spoken if (found := _WEAK_SPEAKER.match(line.folded))]
    if len({who for _, who in turns}) >= _FEW_TURNS:
        return turns[0][0]
    return _find_dialogue(spoken)


def is_chat_head(folded: str) -> bool:
    """Return whether a line begins as messengers copy a message, with its sender and the hour: «[23.11.2026, 10:00] Пётр: …».

    The line must be as `text.fold` (lower case, ё as е, plain spaces) spells it.
    """
    return _CHAT_HEAD.match(folded) is not None


def is_signature(lines: Sequence[str]) -> bool:
    """Return whether a text ends like a letter: the second last of `lines` is thanks, and the last one a name.

    `lines` must contain no blank lines. If there are fewer than three, the result is False.
    """
    if len(lines) <= 2 or _THANKS.fullmatch(fold(lines[-2].strip())) is None:  # noqa: PLR2004 - a text, the thanks and the name
        return False
    return _SIGNED.fullmatch(lines[-1]) is not None and all(word[0].isupper() for word in re.findall(r"\w+", lines[-1]))


def _is_sender_line(line: str) -> bool:
    """Return whether a line holds nothing but a sender and when they wrote: «Пётр Клиентов 10:45», «Пётр, вчера в 10:45», «10:45 Пётр»."""
    first = _SENT_FIRST.fullmatch(line)
    if first is not None:
        return is_name(first["name"], least=2 if first["bracket"] else 1)
    found = _SENDER.fullmatch(line)
    if found is None or _WHEN.fullmatch(fold(found["when"])) is None:
        return False
    if found["comma"] or found["role"]:
        return all(word[0].isupper() for word in re.findall(r"[\w-]+", found["name"]))
    return is_name(found["name"], least=2)


def _names_speaker(words: str) -> bool:
    return is_name(words) or _SOURCE_WORDS.match(fold(words)) is not None


def _is_sender_above(line: Line, below: Line) -> bool:
    """Return whether `line` holds nothing but a sender, and `below` nothing but the hour of their message."""
    if not _WHEN.fullmatch(below.folded.strip()):
        return False
    named = re.fullmatch(rf"\s*{_NAMES}\s*", line.spoken) and all(word[0].isupper() for word in re.findall(r"[\w-]+", line.spoken))
    return bool(named or _NICKNAME.fullmatch(line.folded) or re.fullmatch(rf"\s*{_ADDRESS}\s*", line.folded))


def _find_dialogue(spoken: Sequence[Line]) -> int | None:
    """Return the offset of the first of several lines with dashes that are a talk: one of them asks, or only says «да» or «алло»."""
    turns = [line for line in spoken if LIST_MARK.match(line.folded) and line.folded.lstrip()[0] in "-–—"]
    if len(turns) < _FEW_TURNS:
        return None
    said = [LIST_MARK.sub("", line.folded).strip() for line in turns]
    talks = (
        any(one.endswith("?") or _TALK.fullmatch(re.sub(r"[,.!] ?", " ", one)) for one in said)
        or _TALK.match(said[0])
        or GREETING.match(said[0])
    )
    return turns[0].start if talks and WORD.search(said[0]) else None

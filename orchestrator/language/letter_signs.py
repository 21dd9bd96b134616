"""Finds letters by how they begin and end: a greeting or an order to somebody by name, «с уважением», a signature. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.copied_text import is_name, is_signature
from orchestrator.language.foreign_words import (
    ACTS,
    COMMANDS,
    COPIED,
    GREETING,
    NUMBERED_RECORD,
    ORDERS,
    OUTWARD,
    POLITE,
    STARTS_ACT,
    WORDS,
    Line,
    compile_line_start,
    compile_words,
    is_instruction,
)
from orchestrator.language.lead_lines import is_lead_in
from orchestrator.language.text import fold

MAX_GREETED: Final = 600
"""A longer text that begins with a greeting is a letter: nobody writes to the bot like that."""
MAX_SIGNATURE_LINES: Final = 5
_LETTER_START: Final = compile_line_start(f"{WORDS.join_patterns('greetings')}|{WORDS.join_patterns('requests_of_letters')}")
_FORMAL_GREETING: Final = compile_line_start(WORDS.join_patterns("formal_greetings"))
_NAMES: Final = r"[^\W\d_][\w-]+(?: [^\W\d_][\w-]+\.?){0,2}"
_GREETED: Final = re.compile(rf"[\s,]*(?P<name>{_NAMES})\s*(?:[!,.)]|$)")
_CALLED: Final = re.compile(rf"[\s\"'«*]*(?P<name>{_NAMES})\s*(?P<mark>[,!])\s*")
_TITLED: Final = compile_line_start(COPIED.join_patterns("titles"))
_POLITENESS: Final = re.compile(rf"(?:{COPIED.join_patterns('politeness')})[\s,]*")
_BOT: Final = compile_words("bot_names", source=COPIED)
_ADDRESSEES: Final = re.compile(rf"[\s,]*(?:{COPIED.join_patterns('addressees')})(?!\w)")
_SIGN_OFF: Final = compile_line_start(WORDS.join_patterns("sign_offs"), after="")
_SIGN_OFF_INLINE: Final = re.compile(rf"[.,!?…;—–-]\s+(?:{WORDS.join_patterns('sign_offs')})(?!\w)")
_THANKS_INLINE: Final = re.compile(rf"[.,!?…;—–-]\s+(?:{COPIED.join_patterns('thanks')})[\s,.!—–-]+(?P<name>\S.{{1,60}})$")
_CLOSING: Final = re.compile(
    rf"\s*[—–-]{{0,2}}\s*(?:{COPIED.join_patterns('closings')}|{COPIED.join_patterns('thanks')})[\s,.!]*(?P<name>.{{0,60}})"
)
_DASHED_NAME: Final = re.compile(rf"\s*[-–—]{{1,2}}\s*(?P<name>{_NAMES})[\s.]*")
_CONTACT: Final = re.compile(
    rf"\s*(?:(?:{COPIED.join_patterns('contact_lines')})(?!\w)|https?://|www\.)|\s*\+?[0-9][0-9 ()-]{{8,18}}[0-9]\s*$|.*\w@\w|\s*$"
)
_POSITION: Final = re.compile(rf"\s*(?:{COPIED.join_patterns('contact_lines')})(?: \w+){{0,3}}\s*")
_CREATING: Final = compile_words("creating", source=COPIED)


def find_greeting(lines: Sequence[Line]) -> int | None:
    """Return the offset of a line that begins a letter with a greeting or a person's name; None if there is none.

    A greeting on the first line counts only if it is formal, greets somebody who is not the bot, or begins a long text, since people also
    greet the bot.
    """
    spoken = [line for line in lines if not line.is_blank]
    if not spoken:
        return None
    first = spoken[0]
    is_long = GREETING.match(first.folded) is not None and lines[-1].end - first.start > MAX_GREETED
    if _FORMAL_GREETING.match(first.folded) or is_long:
        return first.start
    by_name = (line.start for line in spoken if _greets_somebody(line) or _calls_somebody(line, is_last=line is spoken[-1]))
    below = (line.start for line in spoken[1:] if _LETTER_START.match(line.folded))
    return min([*by_name, *below], default=None)


def find_signed(lines: Sequence[Line]) -> int | None:
    """Return the offset of a text that ends as letters do; None without one. A first line that only announces the letter is left out."""
    spoken = [line for line in lines if not line.is_blank]
    if not spoken or not (_has_sign_off(spoken) or is_signature([line.spoken for line in spoken]) or _has_contacts(lines)):
        return None
    first = spoken[0].folded
    of_letter = len(spoken) == 1 or GREETING.match(first) or COMMANDS.search(first) or NUMBERED_RECORD.search(first)
    return spoken[1].start if not of_letter and is_lead_in(first) else spoken[0].start


def _greets_somebody(line: Line) -> bool:
    """Return whether the line greets a person by name, or several people: «Добрый день, Иван!», «Коллеги, привет»."""
    greeting = GREETING.match(line.folded)
    if greeting is None:
        called = _CALLED.match(line.spoken)
        return called is not None and _is_addressee(called["name"]) and GREETING.match(line.folded, called.end()) is not None
    if _ADDRESSEES.match(line.folded, greeting.end()):
        return True
    greeted = _GREETED.match(line.spoken, greeting.end())
    return greeted is not None and _is_addressee(greeted["name"])


def _calls_somebody(line: Line, *, is_last: bool) -> bool:
    """Return whether the line calls a person by name: alone above a text («Анна!»), or with an order («Анна, закройте сделку»)."""
    called = _CALLED.match(line.spoken)
    if called is None or not _is_addressee(called["name"]):
        return False
    known = is_name(called["name"]) or _TITLED.match(line.folded) is not None
    if called.end() == len(line.spoken):
        return not is_last and (known or " " in called["name"].strip())
    if known and called["mark"] == "!":
        return True
    start = called.end()
    while polite := _POLITENESS.match(line.folded, start):
        start = polite.end()
    if not STARTS_ACT.match(line.folded, start) or not is_instruction(line.folded[start:]):
        return False
    return known or POLITE.match(line.folded, start) is not None


def _is_addressee(name: str) -> bool:
    """Return whether the words may name whom a letter speaks to: each with a capital, none the bot's name or an order."""
    words = re.findall(r"[\w-]+", name)
    folded = fold(name)
    orders = any(pattern.search(folded) for pattern in (ORDERS, ACTS, COMMANDS, GREETING, _BOT, _POLITENESS))
    return all(word[0].isupper() for word in words) and not orders


def _has_sign_off(spoken: Sequence[Line]) -> bool:
    """Return whether a line below the first is a letter's ending, or the last line ends so («…, с уважением, Пётр»)."""
    below = spoken if len(spoken) > 1 else []
    if any(_SIGN_OFF.match(line.folded) for line in below) or (len(below) > 1 and _is_card(spoken[0].spoken)):
        return True
    if len(spoken) > 1 and (signed := _DASHED_NAME.fullmatch(spoken[-1].spoken)) and is_name(signed["name"]):
        return True
    if any(POLITE.search(line.folded) for line in spoken[:-1]) and " " in spoken[-1].spoken.strip() and is_name(spoken[-1].spoken):
        return True
    for line in spoken[1:]:
        closing = _CLOSING.fullmatch(line.folded)
        name = line.spoken[closing.start("name") : closing.end("name")].strip(" .,!") if closing else ""
        if closing and (_is_signer(name) if name else line is not spoken[-1]):
            return True
    if OUTWARD.match(spoken[0].folded.lstrip()):  # a letter that the person dictates
        return False
    last = spoken[-1]
    if _SIGN_OFF_INLINE.search(last.folded):
        return True
    thanks = _THANKS_INLINE.search(last.folded)
    return thanks is not None and _is_signer(last.spoken[thanks.start("name") : thanks.end("name")])


def _is_card(line: str) -> bool:
    """Return whether the line is a name and a position, as a program writes them above a text: «John Brown, CEO»."""
    name, _, position = line.partition(",")
    return is_name(name.strip(), least=2) and _POSITION.fullmatch(fold(position)) is not None


def _is_signer(name: str) -> bool:
    """Return whether the words after thanks are a name, perhaps with a firm: capitals only, and no order."""
    words = re.findall(r"[\w-]+", name)
    return 0 < len(words) <= MAX_SIGNATURE_LINES and _is_addressee(name)


def _has_contacts(lines: Sequence[Line]) -> bool:
    """Return whether the last paragraph is a signature: a name, a position, a firm, a telephone.

    Below an order to create something these are values.
    """
    blank = max((number for number, line in enumerate(lines) if line.is_blank and number < len(lines) - 1), default=-1)
    above, block = lines[: max(blank, 0)], [line for line in lines[blank + 1 :] if not line.is_blank]
    if not block or len(block) > MAX_SIGNATURE_LINES or not any(not line.is_blank for line in above):
        return False
    if any(_CREATING.search(line.folded) for line in above) or any(is_instruction(line.folded) for line in block):
        return False
    named = is_name(re.split(r"\s[|/·•]\s", block[0].spoken)[0].strip(" .,—–-"), least=2)
    return (named or _CONTACT.match(block[0].folded) is not None) and all(_CONTACT.match(line.folded) for line in block[1:])

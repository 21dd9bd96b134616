"""Holds what the readers of pasted text share: the words of data/language/foreign_text.yaml as patterns, places and lines. Pure.

All patterns are matched against folded text (`orchestrator/language/text.py`).
"""

import re
from typing import Final, NamedTuple

from orchestrator.language.lexicon import Lexicon, load_lexicon

MAX_VALUE_LINE: Final = 80
CONTEXT: Final = 200
"""How many characters before a quotation say what it is."""
WORDS: Final = load_lexicon("foreign_text")
COPIED: Final = load_lexicon("copied_text")


def compile_words(*keys: str, source: Lexicon = WORDS) -> re.Pattern[str]:
    """Return the pattern of any word in the lists `keys` of `source`, as a whole word."""
    joined = "|".join(source.join_patterns(key) for key in keys)
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)")


def compile_line_start(pattern: str, after: str = r"(?!\w)") -> re.Pattern[str]:
    """Return the pattern of a line that begins with `pattern`, perhaps after quotation or emphasis marks; `after` must follow."""
    return re.compile(rf"[\s\"'«“*_.]*(?:{pattern}){after}")


COLONS: Final = ":：∶︓꞉"
REPORTING: Final = compile_words("reporting")
LETTERS: Final = compile_words("letters")
REPORTING_OR_LETTERS: Final = compile_words("reporting", "letters")
OUTWARD: Final = compile_words("outward")
ORDERS: Final = compile_words("orders", "outward", "readings")
ORDERS_FOLLOW: Final = re.compile(rf"(?:{WORDS.join_patterns('orders_follow')})[\s{COLONS}]*")
ACTS: Final = compile_words("acts")
ACT_STEMS: Final = re.compile(rf"(?<!\w)\w{{0,3}}(?:{WORDS.join_patterns('act_stems')})")
COMMANDS: Final = compile_words("commands")
RECORDS: Final = compile_words("records")
NUMBERED_RECORD: Final = re.compile(rf"(?:{WORDS.join_patterns('records')})\W{{0,3}}(?:id\W?)?[0-9]|[№#]\s?[0-9]")
GREETING: Final = compile_line_start(WORDS.join_patterns("greetings"))
LEAD_END: Final = re.compile(rf"[{COLONS}]+[\s*_)👇⬇️↓]*$|\s[–—-]+>?\s*$|[👇⬇↓→]️?\s*$")
SENTENCE_BREAK: Final = re.compile(r"[.!?…]\s+\S")
CLAUSE_END: Final = re.compile(rf"[.!?…;\n](?=\s)|,(?! (?:{WORDS.join_patterns('going_on')})\b)")
WORD: Final = re.compile(r"\w")
POLITE: Final = re.compile(
    rf"(?<!\w)(?!(?:{COPIED.join_patterns('not_polite')})(?!\w))\w{{2,}}(?:{COPIED.join_patterns('polite_endings')})(?!\w)"
)
"""An order in the form for several people or a stranger; most people say «ты» to the bot."""
LIST_MARK: Final = re.compile(r"^\s*(?:[0-9]{1,2}[.)]|[-–—*•])\s+")
STARTS_ACT: Final = compile_words("acts", "commands")
QUOTED_LINE: Final = re.compile(r"\s{0,3}(?:(?:[-*•+]\s+|\|)?[>＞❯›〉》▌▎│┃]|»\s*\w|&gt;|\|\s(?!.*\|))")
SYMMETRIC: Final = frozenset("\"`'＂″")
OPENERS: Final = {"„": "“”"} | dict(zip("«“‹‘「『❝❮" + "".join(SYMMETRIC), "»”›’」』❞❯" + "".join(SYMMETRIC), strict=True))


class Span(NamedTuple):
    """A part of the message, by its offsets."""

    start: int
    end: int


class Line(NamedTuple):
    """A line of the message with its offsets, in folded letters and as it was written (`spoken`)."""

    start: int
    end: int
    folded: str
    spoken: str

    @property
    def is_blank(self) -> bool:
        """Whether the line is empty."""
        return not self.folded.strip()


def is_instruction(text: str) -> bool:
    """Whether the text tells somebody to change something in the CRM."""
    if COMMANDS.search(text) or (ACTS.search(text) and RECORDS.search(text)):
        return True
    return ACT_STEMS.search(text) is not None and NUMBERED_RECORD.search(text) is not None

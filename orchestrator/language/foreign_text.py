"""Divides a message into the person's own words and the lines that are marked as somebody else's. Pure."""

import re
from typing import Final, NamedTuple

_MARKED: Final = re.compile(r"\s{0,3}(?:>|＞|&gt;)")


class SplitText(NamedTuple):
    """A message divided into the person's own words and the text of others (`foreign`); either may be ""."""

    own: str
    foreign: str


def split_foreign_text(text: str) -> SplitText:
    """Divide a message: lines that begin with ">" are text of others, as front ends write quotations and blocks of code."""
    own, foreign = list[str](), list[str]()
    for line in text.split("\n"):
        (foreign if _MARKED.match(line) else own).append(line)
    if not foreign:
        return SplitText(own=text, foreign="")
    return SplitText(own="\n".join(own).strip(), foreign="\n".join(foreign).strip())

import re
from typing import Final, NamedTuple

_MARKED: Final = re.compile(r"\s{0,3}(?:>|＞|&gt;)")


class SplitText(NamedTuple):
    own: str
    foreign: str


def split_foreign_text(text: str) -> SplitText:
    """Lines that begin with ">" are text of others."""
    own, foreign = list[str](), list[str]()
    for line in text.split("\n"):
        (foreign if _MARKED.match(line) else own).append(line)
    if not foreign:
        return SplitText(own=text, foreign="")
    return SplitText(own="\n".join(own).strip(), foreign="\n".join(foreign).strip())

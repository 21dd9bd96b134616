"""Fences around text that is not the person's: a marker nobody can foresee, and header words made harmless inside (DESIGN §4)."""

import re
import secrets
import unicodedata

_WORDS = "THOUGHT|ACTION INPUT|ACTION|ASSISTANT|SYSTEM|OBSERVATION|STATE|FINAL ANSWER|НАБЛЮДЕНИЕ"
_HEADER = re.compile(rf"(?im)^([\s*#>_\"'`]*)((?:{_WORDS})[ \t*#_`]*(?:[:：]|$))")
_MARKER = re.compile(r"<<<|>>>")
_INVISIBLE = {"Cf", "Cc", "Co", "Cs", "Zl", "Zp"}
_RARE = re.compile(r"[^\n\t -~А-яЁё«»–—…№₽]")
"""What has to be looked at one by one: all that is not certainly visible."""


class Fence:
    """One marker per request."""

    def __init__(self, marker: str | None = None) -> None:
        """Draw a marker; tests may give one."""
        self.marker = marker or secrets.token_hex(6)

    def wrap(self, text: str) -> str:
        """`text` between the fence lines, defused."""
        return f"<<<DATA {self.marker}\n{escape_headers(text)}\nDATA {self.marker}>>>"


def escape_headers(text: str) -> str:
    """`text` in which no line can pass for a header or a fence, and nothing is invisible."""
    visible = _RARE.sub(lambda rare: "·" if unicodedata.category(rare[0]) in _INVISIBLE else rare[0], text)
    return _HEADER.sub(r"\1·\2", _MARKER.sub("‹›", visible))

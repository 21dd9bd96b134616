"""Paths inside the one folder that effects may touch. A path has one spelling; any other is refused, and nothing is corrected."""

import re
import unicodedata
from typing import Final

MAX_PATH: Final = 500
MAX_PART: Final = 200
"""UTF-8 bytes; file systems allow 255, of which some are left to suffixes."""
MAX_DEPTH: Final = 12
_FOREIGN: Final = frozenset('<>"|?*')
"""Windows does not take them."""
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])( *\..*)?", re.IGNORECASE)
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Nobody sees them on a card, such as NUL and the signs of writing direction."""
_BLANK: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_SLASH_LIKE: Final = frozenset("\u2044\u2215\u2216\u2571\u2572\u29f5\u29f8\u29f9\ua789\u2236")
"""Read as a slash, a backslash or a colon."""
_SHORT: Final = re.compile(r"[^.]{1,6}~[0-9]{1,4}(\.[^.]{0,3})?", re.ASCII)
"""Second names on Windows: notewi~1.txt."""


class PathRefused(ValueError):
    """`code` is that of a message to people; the text is English."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def parse_path(text: str) -> tuple[str, ...]:
    """Raises PathRefused."""
    parts = parse_folder(text)
    if not parts:
        raise PathRefused("gate-file-path-empty", "name a file, such as reports/july.txt")
    return parts


def parse_folder(text: str) -> tuple[str, ...]:
    """() for the folder itself (""). Raises PathRefused."""
    if len(text) > MAX_PATH:
        raise PathRefused("gate-file-path-long", f"a path has at most {MAX_PATH} characters")
    path = unicodedata.normalize("NFC", text)
    hidden = next((char for char in path if unicodedata.category(char) in _INVISIBLE or _BLANK.match(char)), None)
    if hidden is not None:
        raise PathRefused("gate-file-path-invisible", f"the path contains the invisible character U+{ord(hidden):04X}")
    if path.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", path):
        raise PathRefused("gate-file-path-outside", "give a path inside the folder, without a leading slash, drive or ~")
    if not path:
        return ()
    parts = tuple(path.split("/"))
    if len(parts) > MAX_DEPTH:
        raise PathRefused("gate-file-path-long", f"a path has at most {MAX_DEPTH} parts")
    for part in parts:
        _check_part(part)
    return parts


def format_path(text: str) -> str:
    """Raises PathRefused."""
    return "/".join(parse_path(text))


def format_folder(text: str) -> str:
    """Raises PathRefused."""
    return "/".join(parse_folder(text))


def may_name(part: str) -> bool:
    """A name that was found can be used, in this spelling."""
    try:
        return parse_path(part) == (part,)
    except PathRefused:
        return False


def to_comparable(name: str) -> str:
    """Equal for names that some system takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _check_part(part: str) -> None:
    """Raises PathRefused."""
    plain = unicodedata.normalize("NFKC", part)  # the full-width and small forms of dots and slashes become the usual ones
    if not part:
        raise PathRefused("gate-file-path-odd", "the path has an empty part: a slash at its end, or two in a row")
    if not plain.strip(". "):
        raise PathRefused("gate-file-path-outside", "the path contains a part of dots or spaces only")
    if any(char in plain for char in "/\\") or ":" in plain:
        raise PathRefused("gate-file-path-outside", "only / separates the parts of a path; no name contains a backslash or a colon")
    if any(char in _SLASH_LIKE for char in part):
        raise PathRefused("gate-file-path-odd", "a character of the name looks like one that separates the parts of a path")
    if plain.startswith("."):
        raise PathRefused("gate-file-path-hidden", "files whose name begins with a dot are not touched")
    if plain != plain.strip() or plain.endswith("."):
        raise PathRefused("gate-file-path-odd", "no name begins or ends with a space, or ends with a dot")
    if unicodedata.category(plain[0]) in _MARKS or _SHORT.fullmatch(plain):
        raise PathRefused(
            "gate-file-path-odd", "no name begins with a mark for the letter before it, or is a short one such as notewi~1.txt"
        )
    if any(char in _FOREIGN for char in plain) or _DEVICE.fullmatch(plain):
        raise PathRefused("gate-file-path-odd", "the name is one that some systems do not take, such as con or a?b")
    if len(part.encode()) > MAX_PART:
        raise PathRefused("gate-file-path-long", f"a name has at most {MAX_PART} bytes, which is {MAX_PART // 2} Russian letters")

"""The portal's own words about an error, cut for the model, and whether they may hold anybody's text. Ring 2, pure.

A sentence that is not one of the system's quotes a record, a robot or a person, so it counts as free text of others (DESIGN §3).
"""

import re
from dataclasses import dataclass

from bitrix.errors import BitrixError, NoAccess, Refused
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import trim_text

MAX_TEXT = 200
_CODE = re.compile(r"[A-Za-z0-9_.-]{0,60}", re.ASCII)
_SYSTEM = frozenset(load_lexicon("portal_errors").read_words("system"))


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """What the model may read of an error, and whether others may have written it."""

    text: str
    foreign: bool


def describe_error(error: BitrixError) -> ErrorText:
    """The words of an error: ours unless the portal gave a code or refused."""
    from_portal = (bool(error.code) and not isinstance(error, NoAccess)) or isinstance(error, Refused)
    return ErrorText(text=trim_text(str(error), limit=MAX_TEXT), foreign=from_portal and is_foreign(error.code, error.detail))


def describe_command_error(code: str, text: str) -> ErrorText:
    """The words about one command of a batch."""
    said = f"{code}: {text}" if code and text and code != text else code or text
    return ErrorText(text=trim_text(said, limit=MAX_TEXT), foreign=is_foreign(code, text))


def is_foreign(code: str, text: str) -> bool:
    """Whether an error says anything but a plain code and a sentence of the system."""
    plain = " ".join(text.casefold().split()).strip(".! ")
    return _CODE.fullmatch(code) is None or (plain not in _SYSTEM and plain != code.casefold())

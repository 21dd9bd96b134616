"""Prepares error messages of the portal for the model; what is no known system message may quote people, so it is foreign. Pure."""

import re
from dataclasses import dataclass

from bitrix.errors import BitrixError, NoAccess, Refused
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import trim_text

MAX_TEXT = 200
_CODE = re.compile(r"[A-Za-z0-9_.-]{0,60}", re.ASCII)
_SYSTEM = frozenset(load_lexicon("portal_errors").read_words("system"))
_SLOTS = {r"\{name\}": "[a-z0-9_.]{1,40}", r"\{number\}": "[0-9]{1,15}"}


def _compile_template(text: str) -> str:
    pattern = re.escape(text)
    for slot, words in _SLOTS.items():
        pattern = pattern.replace(slot, words)
    return pattern


_TEMPLATES = re.compile("|".join(map(_compile_template, load_lexicon("portal_errors").read_words("templates"))))


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """`foreign`: people may have written parts of it."""

    text: str
    foreign: bool


def describe_error(error: BitrixError) -> ErrorText:
    """Only errors of the portal can be foreign, not those of the bot."""
    from_portal = (bool(error.code) and not isinstance(error, NoAccess)) or isinstance(error, Refused)
    return ErrorText(text=trim_text(str(error), limit=MAX_TEXT), foreign=from_portal and is_foreign(error.code, error.detail))


def describe_command_error(code: str, text: str) -> ErrorText:
    """ "" if both `code` and `text`, as the portal sent them, are empty."""
    sentence = f"{code}: {text}" if code and text and code != text else code or text
    return ErrorText(text=trim_text(sentence, limit=MAX_TEXT), foreign=is_foreign(code, text))


def is_foreign(code: str, text: str) -> bool:
    """Return False only for a plain code and a known system message."""
    plain = " ".join(text.casefold().removesuffix("<br>").split()).strip(".! ")
    if _CODE.fullmatch(code) is None:
        return True
    return plain not in _SYSTEM and plain != code.casefold() and _TEMPLATES.fullmatch(plain) is None

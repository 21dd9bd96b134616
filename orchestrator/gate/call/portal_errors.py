"""Errors in this program's words; Russian sentences are written for people, and are quoted. Pure."""

import re
from typing import Final

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.language.lexicon import load_lexicon

_LEXICON: Final = load_lexicon("portal_errors")
_KINDS: Final = {said.casefold(): kind for kind, sentences in _LEXICON.read_lists("explained").items() for said in sentences}
CLOSED: Final = frozenset({"tariff", "unpaid", "blocked", "deleted"})
"""The person hears of it wherever the portal is asked."""
_EMPTY_FIELDS: Final = [
    re.compile(re.escape(said).replace(r"\{field\}", "(?P<field>.{1,120}?)"), re.IGNORECASE) for said in _LEXICON.read_words("empty_fields")
]
_CODE: Final = re.compile(r"(?P<code>[^\w\s]{1,3}|[A-Za-z][A-Za-z0-9_.-]{0,60}|[0-9]{1,5}): (?P<said>.+)", re.ASCII | re.DOTALL)
_STATUS: Final = re.compile(r" \(HTTP [0-9]{3}\)$", re.ASCII)
_RUSSIAN: Final = re.compile(r"[\u0410-\u044f\u0401\u0451]{2}")
_LONGEST: Final = 300


def explain_portal_error(text: str, *, code: str = "", method: str = "", reference: str = "") -> Notice:
    wording = _STATUS.sub("", text).strip()
    if (coded := _CODE.fullmatch(wording)) is not None:
        code, wording = code or coded["code"], coded["said"].strip()
    if kind := find_error_kind(code, wording):
        return Notice(code=f"portal-error-{kind}")
    if field := next((match["field"] for sentence in _EMPTY_FIELDS if (match := sentence.fullmatch(wording.strip(".! ")))), ""):
        return Notice(code="portal-error-field", args={"field": escape_text(field, limit=_LONGEST)})
    if _RUSSIAN.search(wording):
        return Notice(code="portal-error-said", args={"said": escape_text(wording, limit=_LONGEST)})
    return Notice(code="portal-error-other", args={"method": method, "reference": reference or "none"})


def find_error_kind(code: str, sentence: str) -> str:
    """What the error is about ("tariff"), by its sentence or code; "" if it is not known."""
    return _KINDS.get(_fold(sentence)) or _KINDS.get(_fold(code)) or ""


def _fold(text: str) -> str:
    return " ".join(text.casefold().split()).strip(".! ")

"""Names for people what a refusal is about: the parameter of a call, by its title or by the words that cards show for it. Pure.

A path such as "fields.UF_CRM_1", or the key of a command in a batch, means nothing to a manager.
"""

import re
from typing import Final, Literal

from orchestrator.gate.call.param_words import find_common_words, find_param_words

_TITLE: Final = re.compile(r"«([^«»]{1,200})»")
_COMMAND: Final = re.compile(r"[^:\s]{1,100}: ")


def find_param_name(param: str, method: str, locale: Literal["ru", "en"]) -> str:
    """Return the name of a parameter that a refusal of a call of `method` gives as its path, "" if there is none.

    A title in quotation marks that the path comes with is its name: "c1: UF_CRM_1 «Площадка»" is «Площадка».
    """
    titled = _TITLE.search(param)
    if titled is not None:
        return titled[1]
    leaf = re.split(r"[.\[]", _COMMAND.sub("", param, count=1))[-1].rstrip("]")
    words = find_param_words(method, method.split(".")[-2] if "." in method else "", leaf) or find_common_words(leaf)
    name = words.names[locale] if words is not None else ""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]  # an abbreviation keeps its capitals


def split_method(method: str) -> tuple[str, str]:
    """Return (verb, kind of record) as the name of a portal method says them: ("update", "deal") for crm.deal.update; else ("", "")."""
    *_, entity, verb = ("", "", *method.lower().split("."))
    return verb, entity

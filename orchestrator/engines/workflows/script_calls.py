"""Tells from the text of a script what it may do to the portal, without running it. What cannot be told for certain counts as anything."""

import re
import unicodedata
from typing import Final

from orchestrator.engines.workflows.script_functions import EMIT, QUERY

_DYNAMIC: Final = ("eval", "exec", "compile", "locals", "globals", "vars", "__")
"""With these a script could reach a function whose name does not stand in it."""
_ANY: Final = re.compile(rf"\b{QUERY}\b")
_PLAIN: Final = re.compile(rf"""\b{QUERY}\(\s*(?P<quote>["'])(?P<method>[A-Za-z][\w.]*)(?P=quote)\s*[,)]""")
"""A call whose method stands in it as a text."""


def list_queries(source: str) -> tuple[str, ...] | None:
    """Return the methods with which a script reads; None if it might call others, or propose operations.

    A name may be spelled with other signs that the language reads as the same, so these are looked for in its plain spelling.
    """
    written = unicodedata.normalize("NFKC", source)
    if EMIT in written or any(name in written for name in _DYNAMIC):
        return None
    methods = [found["method"] for found in _PLAIN.finditer(written)]
    return tuple(dict.fromkeys(methods)) if len(methods) == len(_ANY.findall(written)) else None

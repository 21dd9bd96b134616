"""Tells from the text of a script what it may do to the portal, without running it."""

import re
import unicodedata
from typing import Final

from engines.workflows.core.script_functions import EMIT, QUERY

_DYNAMIC: Final = ("eval", "exec", "compile", "locals", "globals", "vars", "__")
"""With these a script could reach a function whose name does not stand in it."""
_QUERY: Final = re.compile(rf"""\b{QUERY}\(\s*(?P<quote>["'])(?P<method>[A-Za-z][\w.]*)(?P=quote)\s*[,)]""")
"""A query whose method stands in the script itself."""


def may_emit(source: str) -> bool:
    """Return whether a script might propose operations; True where it cannot be told for certain.

    A name may be spelled with other signs that the language reads as the same, so it is looked for in its plain spelling.
    """
    written = unicodedata.normalize("NFKC", source)
    return any(name in written for name in (EMIT, *_DYNAMIC))


def list_queries(source: str) -> tuple[str, ...]:
    """Return the methods of the queries of a script, as far as they stand in it as texts."""
    return tuple(dict.fromkeys(found["method"] for found in _QUERY.finditer(unicodedata.normalize("NFKC", source))))

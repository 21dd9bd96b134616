"""Finds the name that a misspelt one was probably meant to be."""

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Final

_LIKE: Final = 0.6
"""The least likeness, from 0 to 1, with which a name is suggested."""
_LONGEST: Final = 100
_MOST: Final = 2000
"""How many known names are compared: a document may hold any number of them, and likeness is slow to compute."""


def suggest_name(wrong: str, known: Iterable[str]) -> str:
    """Return the one of the known names that `wrong` was probably meant to be, "" if none is near.

    A name that differs only in case, hyphens, underscores and spaces comes first.
    """
    if not wrong or len(wrong) > _LONGEST:
        return ""
    names = list(islice((name for name in known if 0 < len(name) <= _LONGEST and name != wrong), _MOST))
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(_to_plain(name), name)
    plain = _to_plain(wrong)
    if plain in by_plain:
        return by_plain[plain]
    near = difflib.get_close_matches(plain, by_plain, n=1, cutoff=_LIKE)
    return by_plain[near[0]] if near else ""


def _to_plain(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign not in "-_ .")

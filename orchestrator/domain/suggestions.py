import difflib
import heapq
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

_LIKE: Final = 0.6
_LONGEST: Final = 100
_MOST: Final = 2000
_SEPARATORS: Final = str.maketrans("", "", "-_ .")
_COMPARED: Final = 40
"""Likeness is slow, so only the names that share most pairs of letters."""


def suggest_name(wrong: str, known: Iterable[str]) -> str:
    """Empty if none is near. Case, hyphens and spaces count least."""
    if not wrong or len(wrong) > _LONGEST:
        return ""
    names = list(islice((name for name in known if 0 < len(name) <= _LONGEST and name != wrong), _MOST))
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(_to_plain(name), name)
    plain = _to_plain(wrong)
    if plain in by_plain:
        return by_plain[plain]
    near = difflib.get_close_matches(plain, _pick_likely(plain, by_plain), n=1, cutoff=_LIKE)
    return by_plain[near[0]] if near else ""


def _pick_likely(wrong: str, names: Collection[str]) -> Collection[str]:
    if len(names) <= _COMPARED:
        return names
    pairs = {wrong[at : at + 2] for at in range(max(len(wrong) - 1, 1))}
    return heapq.nlargest(_COMPARED, names, key=lambda name: sum(pair in name for pair in pairs) / (len(pairs) + len(name)))


def _to_plain(name: str) -> str:
    return name.casefold().translate(_SEPARATORS)

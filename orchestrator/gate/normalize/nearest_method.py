"""Finds the method of the catalogue that a wrong method name most likely means, for the sentence that is told to the model.

A name is read by its words, since names that look alike may do different things: crm.task.add means tasks.task.add, and not the similar
crm.status.add. Nothing is ever run in place of what was written.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.language.lexicon import load_lexicon

_LEXICON = load_lexicon("method_names")
_VERBS: Final = {word: tuple(meant.split()) for word, meant in _LEXICON.read_table("verbs").items()}
_FAMILIES: Final = _LEXICON.read_table("families")
_NAMES: Final = _LEXICON.read_table("names")
_ATTRIBUTES: Final = frozenset(_LEXICON.read_words("attributes"))
_NOISE: Final = frozenset(_LEXICON.read_words("noise"))
_KNOWN: Final = frozenset({*_VERBS, *_ATTRIBUTES, *(word for family in _FAMILIES for word in family.split("."))})
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_MISSPELT: Final = 0.65
"""The least likeness of letters with which a word counts as a misspelt one."""


def find_nearest_method(written: str, catalogue: Catalogue) -> str:
    """Return the name of the method that `written` most likely means, "" if no method is near.

    A method that deletes is returned only if `written` itself ends with a word for deleting.
    """
    offered = [method for method in catalogue if method.verb != "delete" or _reads_as_deletion(written)]
    return _find_misspelt(written, offered) or _find_renamed(written, offered)


def _reads_as_deletion(written: str) -> bool:
    """Return whether the last word of the name means "delete", also if this word is misspelt."""
    words = _split_words(written)
    return "delete" in _VERBS.get(words[-1], ()) or bool(difflib.get_close_matches(words[-1], ("delete", "remove"), cutoff=0.6))


def _find_misspelt(written: str, methods: Iterable[Method]) -> str:
    """Return the method that equals `written` but for one part between the dots, which is no known word and looks much alike."""
    ours = written.lower().split(".")
    by_parts = {tuple(method.name.lower().split(".")): method.name for method in methods}
    known = {part for parts in by_parts for part in parts} | _KNOWN
    likeness = {
        name: difflib.SequenceMatcher(None, *differing[0]).ratio()
        for parts, name in by_parts.items()
        if len(parts) == len(ours)
        and len(differing := [pair for pair in zip(ours, parts, strict=True) if pair[0] != pair[1]]) == 1
        and not {differing[0][0], _to_singular(differing[0][0])} & known
    }
    best = max(likeness, key=lambda name: likeness[name], default="")
    return best if best and likeness[best] >= _MISSPELT else ""


def _find_renamed(written: str, methods: Sequence[Method]) -> str:
    """Return the method that `written` means, found by replacing its family and its verb as the data file says; "" if there is none.

    The family is the beginning of the name and the verb its end; the longest family that gives a method counts, and one that is not in the
    data file stays as it is. A few whole names are there, too.
    """
    words = _split_words(written)
    by_lower = {method.name.lower(): method.name for method in methods}
    if (whole := _NAMES.get(".".join(words), "")) in by_lower:
        return whole
    for length in range(len(words) - 1, 0, -1):
        family = ".".join(words[:length])
        for verb in _list_verbs(words[length:]):
            name = f"{_FAMILIES.get(family, family)}.{verb}"
            if name in by_lower:
                return by_lower[name]
    return ""


def _list_verbs(words: Sequence[str]) -> tuple[str, ...]:
    """Return the verbs that `words`, the end of a method name, may mean, for example for "remove", or for "update" with "stage"."""
    said = [word for word in words if word in _VERBS]
    verb = "fields" if "fields" in said else said[-1] if said else ""
    verbs = _VERBS.get(verb, ())
    rest = set(words) - set(said)
    return verbs if not rest or ("update" in verbs and rest <= _ATTRIBUTES) else ()


@cache
def _split_words(name: str) -> tuple[str, ...]:
    """Return the words of a method name in small letters and in the singular; a verb that is written together with a noun is split off."""
    words: list[str] = []
    for part in re.split(r"[._]", name):
        if part.lower() in _VERBS:
            words.append(part.lower())
            continue
        for piece in _WORD.findall(part) or [part]:
            words.extend(_split_verb(piece.lower()))
    kept = [word for word in words if word not in _NOISE]
    kept = kept[: kept.index("by")] if "by" in kept else kept  # "find by phone" is "find"
    return tuple(kept) or (name.lower(),)


def _split_verb(word: str) -> tuple[str, ...]:
    if word in _VERBS:
        return (word,)
    rests = (word.removeprefix(verb) for verb in _VERBS if word.startswith(verb))
    rest = next((rest for rest in rests if rest in _ATTRIBUTES), "")
    return (word.removesuffix(rest), rest) if rest else (_to_singular(word),)


def _to_singular(word: str) -> str:
    if word in {"tasks", "status", "address", "events"}:
        return {"tasks": "task", "events": "event"}.get(word, word)
    if word.endswith("ies"):
        return f"{word.removesuffix('ies')}y"
    return word.removesuffix("s") if not word.endswith("ss") else word

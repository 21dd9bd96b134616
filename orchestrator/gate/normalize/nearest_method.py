"""By words, not letters: crm.task.add means tasks.task.add. Nothing is ever run in place of what was written."""

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


def find_nearest_method(wrong_name: str, catalogue: Catalogue) -> str:
    """Empty if no method is near. One that deletes only if the name itself ends with a word for deleting."""
    offered = [method for method in catalogue if method.verb != "delete" or _reads_as_deletion(wrong_name)]
    return _find_misspelt(wrong_name, offered) or _find_renamed(wrong_name, offered)


def _reads_as_deletion(wrong_name: str) -> bool:
    words = _split_words(wrong_name)
    return "delete" in _VERBS.get(words[-1], ()) or bool(difflib.get_close_matches(words[-1], ("delete", "remove"), cutoff=0.6))


def _find_misspelt(wrong_name: str, methods: Iterable[Method]) -> str:
    ours = wrong_name.lower().split(".")
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


def _find_renamed(wrong_name: str, methods: Sequence[Method]) -> str:
    """By replacing family (the beginning) and verb (the end) as the data file says."""
    words = _split_words(wrong_name)
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
    verbs_in_name = [word for word in words if word in _VERBS]
    verb = "fields" if "fields" in verbs_in_name else verbs_in_name[-1] if verbs_in_name else ""
    verbs = _VERBS.get(verb, ())
    rest = set(words) - set(verbs_in_name)
    return verbs if not rest or ("update" in verbs and rest <= _ATTRIBUTES) else ()


@cache
def _split_words(name: str) -> tuple[str, ...]:
    words: list[str] = []
    for part in re.split(r"[._]", name):
        if part.lower() in _VERBS:
            words.append(part.lower())
            continue
        for piece in _WORD.findall(part) or [part]:
            words.extend(_split_verb(piece.lower()))
    plain_words = [word for word in words if word not in _NOISE]
    plain_words = plain_words[: plain_words.index("by")] if "by" in plain_words else plain_words  # "find by phone" is "find"
    return tuple(plain_words) or (name.lower(),)


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

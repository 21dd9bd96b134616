"""Finds people and record titles in a message and returns them in the nominative. It does not look them up in the portal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from sandbox.model.lexicon import load
from sandbox.model.text import Span, capitalised, fold, mask, quotes

Gender = Literal["male", "female"]
Case = Literal["nom", "gen", "dat", "acc", "ins"]

_WORD = re.compile(r"[A-Za-zА-Яа-яЁё][\w-]*(?:['’]s\b)?")
_SURNAME = re.compile(r"(?P<stem>[А-ЯЁ][а-яё]+(?:ов|ев|ёв|ин|ын))(?P<end>ым|ой|а|у|е|)")
_SURNAME_ADJ = re.compile(r"(?P<stem>[А-ЯЁ][а-яё]+(?:ск|цк))(?P<end>ого|ому|ий|им|ом|ая|ой|ую)")
_ENGLISH_AFTER = re.compile(r"\b(?:to|of|for|from|by|owner|assign|is)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Person:
    """A person named in a message: where the name stands in it, the name in the nominative, and the cases that its form may have.

    `before` is the word before the name, in the spelling that `fold` gives it (lower case, ё as е).
    """

    span: Span
    cases: frozenset[Case]
    before: str = ""
    """The previous word, folded: «на», «от», "to"."""

    @property
    def name(self) -> str:
        """The name in the nominative."""
        return self.span.text


@cache
def _forms() -> Mapping[str, tuple[str, Gender, frozenset[Case]]]:
    """Return a mapping of every known form of a first name → its nominative, gender and possible cases."""
    table: dict[str, tuple[str, Gender, frozenset[Case]]] = {}
    genders: tuple[Gender, Gender] = ("female", "male")
    for gender in genders:
        for word in load("words")["names"][gender].split():
            name, _, stem = word.partition(":")
            for case, form in _decline(name, stem):
                _, _, cases = table.get(fold(form), (name, gender, frozenset[Case]()))
                table.setdefault(fold(form), (name, gender, cases))
                table[fold(form)] = (table[fold(form)][0], gender, cases | {case})
    return table


def _decline(name: str, stem: str) -> list[tuple[Case, str]]:
    cases: tuple[Case, ...] = ("nom", "gen", "dat", "acc", "ins")
    last, body = name[-1], stem or name[:-1]
    if last == "а":
        hushing = body[-1] in "гкхжчшщ"
        ends = ["а", "и" if hushing else "ы", "е", "у", "ей" if hushing and body[-1] in "жчшщ" else "ой"]
    elif last == "я":
        ends = ["я", "и", "и" if body.endswith("и") else "е", "ю", "ей"]
    elif last in "йь":
        ends = [last, "я", "ю", "я", "ем"]
    else:
        body, ends = stem or name, ["", "а", "у", "а", "ом"]
    forms = [body + end for end in ends]
    forms[0] = name
    return list(zip(cases, forms, strict=True))


@cache
def _english() -> Mapping[str, str]:
    pairs = (word.partition(":") for word in load("words")["names"]["english"].split())
    return {latin.lower(): russian for latin, _, russian in pairs}


def _cyrillic(surname: str) -> str:
    """Return a surname as the portal probably writes it: Smirnov is Смирнов."""
    letters: dict[str, str] = load("words")["letters"]
    longest = sorted(letters, key=len, reverse=True)
    return capitalised(re.sub("|".join(longest), lambda found: letters[found[0]], surname.lower()))


def people(text: str) -> tuple[Person, ...]:
    """Return all people named in a text, in order. Text in quotes is ignored."""
    text = mask(text, quotes(text))
    words = list(_WORD.finditer(text))
    found: list[Person] = []
    taken = 0
    for index, match in enumerate(words):
        if match.start() < taken:
            continue
        following = words[index + 1] if index + 1 < len(words) else None
        person = _first_name(text, match, following) or _english_name(text, match, following) or _surname(text, match)
        if person:
            found.append(person)
            taken = person.span.end
    return tuple(found)


def _before(text: str, start: int) -> str:
    words = fold(text[:start]).split()
    return words[-1] if words else ""


def _first_name(text: str, match: re.Match[str], following: re.Match[str] | None) -> Person | None:
    known = _forms().get(fold(match[0]))
    if known is None:
        return None
    name, gender, cases = known
    end = match.end()
    if following and text[end : following.start()] == " " and (last := nominative_surname(following[0], gender)):
        name, end = f"{name} {last}", following.end()
    return Person(Span(match.start(), end, name), cases, _before(text, match.start()))


def _english_name(text: str, match: re.Match[str], following: re.Match[str] | None) -> Person | None:
    owned = re.sub(r"['’]s$", "", match[0])
    capital_after = match[0][0].isupper() and bool(_ENGLISH_AFTER.search(text[: match.start()]))
    known = _english().get(owned.lower())
    if known is None and not (capital_after and owned.isascii()):
        return None
    name, end = known or capitalised(owned), match.end()
    surname = re.fullmatch(r"([A-Z][a-z]+(?:ov|ev|in|sky|ova|eva|ina|skaya))(?:['’]s)?", following[0]) if following else None
    if known and owned == match[0] and following and surname:
        name, end = f"{name} {_cyrillic(surname[1])}", following.end()
        owned = owned if following[0] == surname[1] else ""
    cases: frozenset[Case] = frozenset({"gen"}) if owned != match[0] else frozenset()
    return Person(Span(match.start(), end, name), cases, _before(text, match.start()))


def _surname(text: str, match: re.Match[str]) -> Person | None:
    before = _before(text, match.start())
    found = _SURNAME.fullmatch(match[0]) or _SURNAME_ADJ.fullmatch(match[0])
    if found is None:
        return None
    end = found["end"]
    accusative_woman = end in {"у", "ую"} and before in {"на", "за"}
    gender: Gender = "female" if end in {"ой", "ую", "ая"} or accusative_woman else "male"
    if end == "а" and not before:
        gender = "female"
    cases: frozenset[Case] = frozenset({"dat"}) if end in {"у", "ому"} else frozenset({"gen", "acc"})
    name = nominative_surname(match[0], gender)
    return Person(Span(match.start(), match.end(), name or match[0]), cases, before)


def nominative_surname(word: str, gender: Gender) -> str:
    """Return the surname in the nominative for a man or a woman; empty if the word is no known surname."""
    plain, adjective = _SURNAME.fullmatch(word), _SURNAME_ADJ.fullmatch(word)
    if plain:
        return plain["stem"] + ("а" if gender == "female" else "")
    if adjective:
        return adjective["stem"] + ("ая" if gender == "female" else "ий")
    return ""


def nominative_title(words: str) -> str:
    """Return a record's title as it is probably written; words without a known nominative are kept."""
    folded = fold(words)
    for title, pattern in load("words")["titles"].items():
        if re.fullmatch(pattern, folded):
            return str(title)
    if " " not in words:
        words = re.sub(r"(?<=[бвгджзлмнпрстфхцчшщ]к)(?:у|е|и|ой)$", "а", words)
        words = re.sub(r"и(?:ю|и|ей)$", "ия", words)
    return capitalised(words)


def known_title(words: str) -> bool:
    """Whether the words are the title of a record in the sample portal, in any grammatical case."""
    return any(re.fullmatch(pattern, fold(words)) for pattern in load("words")["titles"].values())

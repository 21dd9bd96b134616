"""Defines which case endings one Russian word may have, for `title_matching`: nouns, names and adjectives only.

Genders are separate rows, so Достоевский and Достоевская are two words. The genitive plural in -ов and -ев is only listed with plural
nominatives, so Иван and Иванов are two words.
"""

from functools import lru_cache
from typing import Final, NamedTuple

_HARD: Final = "бвдзлмнпрстф"
_BACK: Final = "гкх"
_HUSH: Final = "жшчщ"
_VOWELS: Final = "аеиоуыэюя"
_SURNAME: Final = ("ов", "ев", "ин", "ын")


class Paradigm(NamedTuple):
    """One declension: the letters that its stem may end in, and its endings, the dictionary form first."""

    finals: tuple[str, ...]
    endings: tuple[str, ...]


class Reading(NamedTuple):
    """One analysis of a word: its stem, the row of the table, and whether it is the dictionary form."""

    stem: str
    row: int
    nominative: bool


def _build_paradigm(finals: str, endings: str) -> Paradigm:
    return Paradigm(tuple(finals), tuple("" if ending == "-" else ending for ending in endings.split()))


_PLURAL: Final = "ам ами ах"
_SOFT_PLURAL: Final = "ям ями ях"
PARADIGMS: Final[tuple[Paradigm, ...]] = (
    # Вектор, Банк, Кирпич, Месяц; also Системы / Систем
    _build_paradigm(_HARD, f"- а у ом е ы {_PLURAL}"),
    _build_paradigm(_BACK, f"- а у ом е и {_PLURAL}"),
    _build_paradigm(_HUSH, f"- а у ем ом е и {_PLURAL}"),
    _build_paradigm("ц", f"- а у ем ом е ы {_PLURAL}"),
    Paradigm(_SURNAME, ("", "а", "у", "ым", "е", "ы", "ых", "ыми")),
    # Анна, Ромашка, Саша, Птица
    _build_paradigm(_HARD, f"а ы е у ой ою {_PLURAL}"),
    _build_paradigm(_BACK, f"а и е у ой ою {_PLURAL}"),
    _build_paradigm(_HUSH, f"а и е у ей ой ею {_PLURAL}"),
    _build_paradigm("ц", f"а ы е у ей ой ею {_PLURAL}"),
    # Оля, Мария, Наталья, Заря; Сталь; Игорь; Алексей, Ремстрой, Евгений, and Инвестиции / Инвестиций
    _build_paradigm(_HARD + _VOWELS + "ь", f"я и е ю ей ею {_SOFT_PLURAL}"),
    _build_paradigm(_HARD + _HUSH, f"ь и ью {_SOFT_PLURAL} {_PLURAL}"),
    _build_paradigm(_HARD, f"ь я ю ем е и {_SOFT_PLURAL}"),
    _build_paradigm(_VOWELS, f"й я ю ем е и {_SOFT_PLURAL}"),
    # Окно; Поле, Предприятие; Солнце
    _build_paradigm(_HARD + _BACK, f"о а у ом е {_PLURAL}"),
    _build_paradigm(_HARD + "иь", f"е я ю ем и {_SOFT_PLURAL}"),
    _build_paradigm("ц" + _HUSH, f"е а у ем {_PLURAL}"),
    # Продукты / Продуктов, Банки / Банков, Двери / Дверей
    _build_paradigm(_HARD + "ц", f"ы ов ев {_PLURAL}"),
    _build_paradigm(_BACK, f"и ов {_PLURAL}"),
    _build_paradigm(_HARD + _HUSH, f"и ей {_SOFT_PLURAL} {_PLURAL}"),
    # Северный, Золотой, Северная, Северное, Северные
    _build_paradigm(_HARD, "ый ого ому ым ом"),
    _build_paradigm(_HARD, "ой ого ому ым ом"),
    _build_paradigm(_HARD, "ая ой ую ою"),
    _build_paradigm(_HARD, "ое ого ому ым ом"),
    _build_paradigm(_HARD, "ые ых ым ыми"),
    # Достоевский, Морской, Русская, Русское, Русские
    _build_paradigm(_BACK, "ий ого ому им ом"),
    _build_paradigm(_BACK + _HUSH, "ой ого ому им ом"),
    _build_paradigm(_BACK, "ая ой ую ою"),
    _build_paradigm(_BACK, "ое ого ому им ом"),
    _build_paradigm(_BACK + _HUSH + _HARD, "ие их им ими"),
    # Рабочий, Синий; Рабочая; Синяя; Хорошее
    _build_paradigm(_HUSH + _HARD, "ий его ему им ем"),
    _build_paradigm(_HUSH, "ая ей ой ую ею"),
    _build_paradigm(_HARD, "яя ей юю ею"),
    _build_paradigm(_HUSH + _HARD, "ее его ему им ем"),
    # Latin names: Acme / Acmes
    _build_paradigm("abcdefghijklmnopqrtuvwxyz", "- s"),
)
_SHORTEST_STEM: Final = 2
# Ветер, Павел, Купец, Рынок, Огонёк: the vowel before the last consonant falls out as soon as an ending is added.
_FLEETING: Final = ("ел", "ен", "ер", "ек", "ец", "ок", "он", "ол")
_BEFORE_LAST: Final = "лнркц"
_IRREGULAR: Final = {"лев": "льв"}
_FLED_ROWS: Final = tuple(
    number
    for number, paradigm in enumerate(PARADIGMS)
    if paradigm.endings[0] in {"", "а", "ь"} and set(paradigm.finals) & set(_BEFORE_LAST)
)


@lru_cache(maxsize=8192)
def find_readings(word: str) -> frozenset[Reading]:
    """Return every analysis of a folded word as stem and ending; empty for short words and words with digits."""
    if not word.isalpha():
        return frozenset()
    found = {
        Reading(word[: len(word) - len(ending)], number, index == 0)
        for number, paradigm in enumerate(PARADIGMS)
        for index, ending in enumerate(paradigm.endings)
        if word.endswith(ending) and _is_fitting(word[: len(word) - len(ending)], paradigm.finals)
    }
    return frozenset(found | _find_fleeting_readings(word))


def _is_fitting(stem: str, finals: tuple[str, ...]) -> bool:
    return len(stem) >= _SHORTEST_STEM and stem.endswith(finals)


def _find_fleeting_readings(word: str) -> set[Reading]:
    """Return the analyses of a form that keeps its fleeting vowel: Ветер as a form of «ветр-», Ромашек as one of «ромашк-»."""
    body = word.removesuffix("ь")
    if body in _IRREGULAR:
        stems = [_IRREGULAR[body]]
    elif body.endswith(_FLEETING) and len(body) > _SHORTEST_STEM:
        before, last = body[:-2], body[-1]
        stems = [before + joint + last for joint in (("й",) if before[-1] in _VOWELS else ("", "ь"))]
    else:
        return set()
    return {
        Reading(stem, number, PARADIGMS[number].endings[0] == word[len(body) :])
        for stem in stems
        for number in _FLED_ROWS
        if _is_fitting(stem, PARADIGMS[number].finals)
    }


def find_shared_start(word: str) -> str:
    """Return the beginning that all case forms of the word share; the whole word if it has only one form."""
    length = len(word)
    for reading in find_readings(word):
        if word.startswith(reading.stem):
            length = min(length, len(reading.stem) - _count_moving_letters(word, reading))
        else:
            length = min(length, _count_common(word, reading.stem))
    return word[:length]


def _count_common(word: str, stem: str) -> int:
    pairs = enumerate(zip(word, stem, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(word), len(stem)))


def _count_moving_letters(word: str, reading: Reading) -> int:
    """Return how many last letters of the stem change when a vowel appears between them: ветр-а, ветер; огоньк-а, огонек."""
    stem = reading.stem
    if len(word) == len(stem) or reading.row not in _FLED_ROWS:
        return 0
    if stem in _IRREGULAR.values():
        return 2
    if stem[-1] not in _BEFORE_LAST or stem[-2] in _VOWELS or stem[-2] == stem[-1]:
        return 0
    return 2 if stem[-2] in "ьй" else 1

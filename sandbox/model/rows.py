"""Finds the rows of the list shown last that a message names by number, such as «третью», «первые две» or "the last one"."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from sandbox.model.lexicon import load
from sandbox.model.names import people
from sandbox.model.text import Lang, fold, mask, quotes


@dataclass(frozen=True, slots=True)
class NamedRow:
    """One row that a part of a message names.

    `text` is that part with the kind of the row's record in place of its number: «третью переведи …» becomes «сделку переведи …».
    """

    number: int
    kind: str
    text: str

    @property
    def reference(self) -> str:
        """The value that stands for the record of the row in a step."""
        return f"@shown:{self.number}"


def find_rows(text: str, lang: Lang, shown: Mapping[int, str], *, limit: int) -> tuple[NamedRow, ...]:
    """Return the rows that the first `limit` characters of a text name, in the order in which it names them.

    `shown` holds the record of each row by its number, such as "deal:481". The result is empty if no list was shown, if the text names no
    row, or if one that it names is not in the list: then the words mean something else. Quoted text names no row.
    """
    if not shown:
        return ()
    folded = fold(mask(text, quotes(text)))
    for found in _phrase().finditer(folded, 0, limit):
        numbers = list(dict.fromkeys(_list_numbers(found, shown)))
        if numbers and all(number in shown for number in numbers) and _ends(text, folded, found):
            return tuple(_name_row(text, lang, found, number, shown[number]) for number in numbers)
    return ()


def _name_row(text: str, lang: Lang, found: re.Match[str], number: int, record: str) -> NamedRow:
    words, kind = load("rows"), record.partition(":")[0]
    dative, plain = words["kinds"][kind][lang]
    before = text[: found.start()]
    noun = dative if re.search(words["dative"], fold(before)) else plain
    return NamedRow(number, kind, f"{before}{noun}{text[found.end() :]}")


def _list_numbers(found: re.Match[str], shown: Mapping[int, str]) -> Iterator[int]:
    """Yield the numbers of the rows that a phrase names."""
    last = max(shown)
    for item in _item().finditer(found[0]):
        few = next((number for number, word in _counts().items() if re.fullmatch(word, item["few"] or "")), 0)
        if few:
            yield from range(1, few + 1) if item["first"] else range(last - few + 1, last + 1)
        elif item["last"]:
            yield last
        elif item["both"]:
            yield from (1, 2) if last == 2 else (0,)
        else:
            yield next((number for number, word in _ordinals().items() if item[0] == word or re.fullmatch(word, item[0])), _digits(item[0]))


def _digits(words: str) -> int:
    digits = re.search(r"\d+", words)
    return int(digits[0]) if digits else 0


def _ends(text: str, folded: str, found: re.Match[str]) -> bool:
    """Return whether the phrase is complete: no noun of another kind follows it, and an English ordinal has its article or its noun."""
    words = load("rows")
    item, rest = found["items"], folded[found.end() :]
    if item.isascii() and item.replace(" ", "").isalpha() and not (found["the"] or found["noun"]) and not _item_is_few(item):
        return False
    if found["noun"] or found["list"] or re.match(r"\W*$|\s*[,.:;!?—–-]", rest):
        return True
    if found.start() and text[found.start()].isupper():
        return False  # «Первая Строительная» is a name
    following = rest.lstrip()
    place = len(text) - len(following)
    named = any(person.span.start == place for person in people(text))
    return named or text[place].isupper() or bool(re.match(rf"(?:{words['next']}|{_imperatives()})(?!\w)", following))


def _item_is_few(item: str) -> bool:
    found = _item().fullmatch(item)
    return bool(found and (found["few"] or found["both"]))


def _imperatives() -> str:
    return "|".join(load("words")["stop"]["imperatives"].split())


@cache
def _ordinals() -> Mapping[int, str]:
    return {int(number): pattern for number, pattern in load("rows")["ordinals"].items()}


@cache
def _counts() -> Mapping[int, str]:
    return {int(number): pattern for number, pattern in load("rows")["counts"].items()}


def _build_item(*, is_named: bool) -> str:
    words = load("rows")
    counts = "|".join(_counts().values())
    groups = ("?P<first>", "?P<few>", "?P<last>", "?P<both>") if is_named else ("?:",) * 4
    few = rf"(?:({groups[0]}{words['first_few']})|(?:{words['last_few']}))\s({groups[1]}{counts})(?!\w)"
    single = "|".join((*_ordinals().values(), words["digits"], words["line"]))
    return rf"(?:{few}|({groups[3]}{words['both']})|({groups[2]}{words['last']})|{single})"


@cache
def _item() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){_build_item(is_named=True)}(?!\w)")


@cache
def _phrase() -> re.Pattern[str]:
    words, item = load("rows"), _build_item(is_named=False)
    return re.compile(
        rf"(?<![\w-])(?P<the>the\s)?(?P<items>{item}(?!\w)(?:{words['joint']}(?:the\s)?{item}(?!\w))*)"
        rf"(?P<noun>\s{words['noun']}(?!\w))?(?P<list>{words['of_list']}(?!\w))?"
    )

"""Splits a message into wishes and finds the record that each one is about. A wish is one thing that the person asks for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from sandbox.model.answers import say
from sandbox.model.lexicon import load
from sandbox.model.names import nominative_title
from sandbox.model.reading import Request
from sandbox.model.rows import find_rows
from sandbox.model.slots import numbers
from sandbox.model.text import HOLE, Lang, Span, fold, mask, quotes

Target = int | str
CREATED = "@created:"
_SHOWN = "@shown:"

_TOKEN = re.compile(rf"{HOLE}+|[^\W_](?:[\w'’.&+-]*\w)?|[^\s]")
_DICTATED = re.compile(r"(?<!\w)(?:коммент\w*|заметк\w+|примечани\w+|задач\w+|дело|comment|note|task|todo)(?!\w)[^:]*:\s")
_WHENEVER = re.compile(r"(?:если|когда|if|when)\s")
"""What follows the comma is what is then to be done: one wish."""
_CONJUNCTION = re.compile(r"(?:\s*,)?\s+(?:и|а также|а потом|затем|потом|and then|and also|and|then)\s+|\s*[;\n]\s*|[.!]\s+|,\s+")


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a person asks for: a part of a message, with its language and the whole request."""

    text: str
    lang: Lang
    request: Request
    inherited: Target | None = None
    """The record that an earlier wish of the same message was about, one that it creates, or a row of a list that this wish names."""
    kind: str = "deal"
    """The kind of the record in `inherited`."""
    said: str = ""
    """The words of the person, if `text` has other words in place of the number of a row."""
    title: str = ""
    """The title of the record in `inherited` if the same message creates it."""

    @property
    def words(self) -> str:
        """The words of the person, without the full stop at their end."""
        return (self.said or self.text).strip(" .")

    @property
    def row(self) -> int | None:
        """The number of the row that the wish is about, or None."""
        return int(self.inherited[len(_SHOWN) :]) if isinstance(self.inherited, str) and self.inherited.startswith(_SHOWN) else None

    @property
    def is_about_created(self) -> bool:
        """Whether the wish is about a record that an earlier wish of the same message creates."""
        return isinstance(self.inherited, str) and self.inherited.startswith(CREATED)

    @property
    def folded(self) -> str:
        """The text of the wish as `fold` spells it (lower case, ё as е), to compare it with patterns."""
        return fold(self.text)


def wishes(request: Request) -> tuple[Wish, ...]:
    """Return the wishes of a message, which is split at conjunctions and punctuation before an imperative verb.

    Quoted text is never split, nor is a dictated text after «комментарий:» or a similar word. A part that names several rows of the list
    shown last is one wish for each row.
    """
    return tuple(wish for part in _parts(request.text) if part for wish in _of_rows(Wish(part, request.lang, request)))


def _of_rows(wish: Wish) -> tuple[Wish, ...]:
    dictated = _DICTATED.search(wish.folded)
    rows = find_rows(wish.text, wish.lang, wish.request.rows, limit=dictated.end() if dictated else len(wish.text))
    return tuple(replace(wish, text=row.text, said=wish.text, inherited=row.reference, kind=row.kind) for row in rows) or (wish,)


def _parts(text: str) -> list[str]:
    if _WHENEVER.match(fold(text)):
        return [text.strip()]
    quoted = quotes(text)
    # After «комментарий: …» everything is the comment, whatever it says.
    folded, imperative = fold(text), _words("imperatives")
    dictated = _DICTATED.search(folded)
    limit = dictated.end() if dictated else len(text)
    cuts = [
        match
        for match in _CONJUNCTION.finditer(text)
        if match.start() < limit and not any(q.start < match.start() < q.end for q in quoted) and imperative.match(folded, match.end())
    ]
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def leftover(masked: str) -> str:
    """Return the longest run of words that are neither known to the rules nor masked: usually the name of a record. It may be empty."""
    shouting = masked.isupper()
    runs: list[str] = []
    begin = end = -1
    for index, match in enumerate(_TOKEN.finditer(masked)):
        # «Стройинвест: корпус 2»: a colon and a number may continue a name, but not begin one.
        goes_on = begin >= 0 and re.fullmatch(r":|№|\d+", match[0])
        if not goes_on and _is_stop(match[0], plain=shouting or index == 0):
            begin = -1
            continue
        begin = match.start() if begin < 0 else begin
        end = match.end()
        if runs and masked[begin:end].startswith(runs[-1]):
            runs[-1] = masked[begin:end]
        else:
            runs.append(masked[begin:end])
    return max(runs, key=len, default="").strip(" :№")


def _is_stop(token: str, *, plain: bool) -> bool:
    if token.startswith(HOLE) or not re.match(r"\w", token):
        return True
    folded = fold(token)
    if _words("always").fullmatch(folded) or re.fullmatch(r"\d[\d.,]*", folded):
        return True
    # «Новый Офис» keeps its words: inside a sentence a capital marks a name.
    named = token[0].isupper() and not plain
    return not named and bool(_words("usual").fullmatch(folded) or _words("imperatives").fullmatch(folded))


@cache
def _words(group: str) -> re.Pattern[str]:
    stems = load("words")["stop"][group].split()
    return re.compile(rf"(?:{'|'.join(stems)})(?!\w)")


def points_back(wish: Wish) -> bool:
    """Return whether the wish contains a pronoun that refers to an earlier record, such as «её», «этой» or "it"."""
    return any(_words("pronoun").fullmatch(word) for word in re.findall(r"\w+", wish.folded))


def target(wish: Wish, kind: str = "deal", *, taken: Iterable[Span | None] = ()) -> Target | None:
    """Return the record that the wish is about: an id, a reference such as `@deal:Ромашка`, or `@current`.

    `@current` is the record that the conversation is about. Return None if no record can be identified. The spans in `taken` are other
    values of the message and are ignored. For a `kind` other than "deal", a record of another kind is not inherited; see `kind_of_target`.
    """
    masked = mask(wish.text, taken)
    numbered = numbers(masked)
    if numbered:
        return int(numbered[0].text)
    quoted = quotes(masked)
    if quoted:
        return f"@{kind}:{quoted[0].text}"
    name = leftover(masked)
    if name:
        return f"@{kind}:{nominative_title(name)}"
    if wish.inherited is not None and kind in {"deal", wish.kind}:
        return wish.inherited
    if points_back(wish) or wish.request.current.get(kind):
        return "@current"
    return None


def kind_of_target(wish: Wish, record: Target) -> str:
    """Return the kind of a record that `target` has found for rules about deals: that of the inherited record, else `deal`."""
    return wish.kind if record == wish.inherited else "deal"


def spoken(record: Target, lang: Lang) -> str:
    """Return a record as a sentence names it: №481, «Ромашка», «строка 3 списка», or «этой записи» ("this record")."""
    if isinstance(record, int):
        return f"№{record}"
    if record.startswith(_SHOWN):
        return say("row", lang, number=record[len(_SHOWN) :])
    if record.startswith(CREATED):
        return say("new_record", lang)
    if record == "@current":
        return "этой записи" if lang == "ru" else "this record"
    return f"«{record.partition(':')[2]}»"

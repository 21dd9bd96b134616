"""Splits a message into wishes and finds the record that each one is about. A wish is one thing that the person asks for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from sandbox.model.lexicon import load
from sandbox.model.names import nominative_title
from sandbox.model.reading import Request
from sandbox.model.slots import numbers
from sandbox.model.text import HOLE, Lang, Span, fold, mask, quotes

Target = int | str

_TOKEN = re.compile(rf"{HOLE}+|[^\W_](?:[\w'’.&+-]*\w)?|[^\s]")
_DICTATED = re.compile(r"(?<!\w)(?:коммент\w*|заметк\w+|примечани\w+|задач\w+|дело|comment|note|task|todo)(?!\w)[^:]*:\s")
_CONJUNCTION = re.compile(r"(?:\s*,)?\s+(?:и|а также|а потом|затем|потом|and then|and also|and|then)\s+|\s*[;\n]\s*|[.!]\s+|,\s+")


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a person asks for: a part of a message, with its language and the whole request."""

    text: str
    lang: Lang
    request: Request
    inherited: Target | None = None
    """The record that an earlier wish of the same message was about."""

    @property
    def folded(self) -> str:
        """The text of the wish as `fold` spells it (lower case, ё as е), to compare it with patterns."""
        return fold(self.text)


def wishes(request: Request) -> tuple[Wish, ...]:
    """Return the wishes of a message, which is split at conjunctions and punctuation before an imperative verb.

    Quoted text is never split, nor is a dictated text after «комментарий:» or a similar word.
    """
    text = request.text
    return tuple(Wish(text=part, lang=request.lang, request=request) for part in _parts(text) if part)


def _parts(text: str) -> list[str]:
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
    values of the message and are ignored.
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
    if wish.inherited is not None:
        return wish.inherited
    if points_back(wish) or wish.request.current.get(kind):
        return "@current"
    return None


def spoken(record: Target, lang: Lang) -> str:
    """Return a record as a sentence names it: №481, «Ромашка», or «этой записи» ("this record")."""
    if isinstance(record, int):
        return f"№{record}"
    if record == "@current":
        return "этой записи" if lang == "ru" else "this record"
    return f"«{record.partition(':')[2]}»"


def inheriting(parts: Sequence[Wish], record: Target | None) -> tuple[Wish, ...]:
    """Return copies of the wishes that use the given record when they name none themselves."""
    return tuple(replace(part, inherited=record) for part in parts)

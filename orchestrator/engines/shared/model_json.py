"""Reads the JSON in an answer of a model, alike for all engines.

Code fences, words around and trailing commas do not matter, and line breaks in texts are taken, for each of these has one meaning. What was
cut off, is no JSON (NaN, single quotes), names one field twice with different values, or stands beside another answer is not read: nobody
knows what was meant. Integers that a float cannot hold are texts with all their digits. Pure.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from orchestrator.domain.finding import Path
from orchestrator.engines.runs import RunModelRequest
from orchestrator.expressions.paths import MISSING, Found, follow_path, parse_path
from state.canonical import FOREIGN_JSON, check_depth, to_storable

MAX_DEPTH: Final = 100
"""How deep JSON of a model is nested at most: deeper data is none, for neither journal nor API could hold it."""
ONLY_JSON: Final = "Answer again as a whole, with JSON and nothing else."
_MOST_BRACKETS: Final = 1000
_MOST_SCANNED: Final = 1_000_000
"""How many brackets of a text are looked at, and how many characters behind them in all: an answer may hold nothing but brackets."""
_QUOTED: Final = 60
"""How many characters of what cannot be read are quoted."""
_FENCED: Final = re.compile(r"\s*(?:```|~~~)[A-Za-z0-9]{0,20}[ \t]*\n(?P<inside>.*?)(?:```|~~~)\s*", re.DOTALL)
_BRACKET: Final = re.compile(r"[\[{]")
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)(?=\s*+[\]}])', re.DOTALL)
_BEGINS_DATA: Final = re.compile(r"""\{\s*(?:["'“«}]|[\w$-]+\s*:)|\[\s*[\[{"']""")
"""How JSON begins, or what was meant to be JSON; other brackets stand among words, such as those of «сделка [481]»."""


class JsonUnreadable(ValueError):
    """A text holds no JSON that can be taken. The message says why, in English, for the model and for operations staff."""

    def __init__(self, why: str, *, is_absent: bool = False) -> None:
        """Keep the reason; `is_absent` says that the text does not even look as if it held some."""
        super().__init__(why)
        self.is_absent = is_absent


def read_model_json(text: str, has_part: Callable[[object], bool] = lambda _data: True) -> Any:
    """Return the JSON data in the text of a model. Of several the one counts that alone `has_part`. Raises JsonUnreadable.

    Objects and lists of them are taken before other lists, which stand in texts as numbers of sources do.
    """
    whole = _take_out(text)
    if whole[:1] not in ("{", "["):
        with suppress(ValueError):
            return _decode(whole)
    pieces = _list_data(whole)
    distinct = [data for place, data in enumerate(pieces) if data not in pieces[:place]]
    structured = [data for data in distinct if isinstance(data, Mapping) or (isinstance(data, list) and _holds_object(data))]
    candidates = structured or distinct
    if not candidates:
        raise JsonUnreadable("there is no JSON in the answer", is_absent=True)
    fitting = [data for data in candidates if has_part(data)] if len(candidates) > 1 else candidates
    if len(fitting) > 1 or (len(candidates) > 1 and not fitting):
        raise JsonUnreadable(f"there are {len(candidates)} different pieces of JSON in the answer, and one is wanted")
    return fitting[0]


def find_part(data: object, path: str) -> Found:
    """Return the part of JSON data at a path that may begin with an index, all of it without a path."""
    parsed = parse_part_path(path)
    return follow_path({"all": data}, parsed) if parsed is not None else MISSING


def parse_part_path(path: str) -> Path | None:
    """Return the path of a part of JSON data, None if it is none."""
    return parse_path(f"all{path}" if path.startswith("[") or not path else f"all.{path}")


def check_required(data: object, paths: Sequence[str]) -> None:
    """Raise JsonUnreadable that names what is not there in the data, or null."""
    missing = [path for path in paths if find_part(data, path).value is None]
    if missing:
        raise JsonUnreadable(f"{', '.join(missing)} must be there and not null")


def decode_json(text: str) -> Any:
    """Return the data of a text that is JSON and nothing else. What no journal holds in it is text. Raises JsonUnreadable."""
    try:
        return _decode(text)
    except ValueError as error:
        raise JsonUnreadable(str(error)) from None


def is_alone(text: str) -> bool:
    """Return whether the JSON of a text stands without words around, at most in a code fence."""
    whole = _take_out(text)
    return whole.startswith(("{", "[")) and whole.endswith(("}", "]"))


def tell_mistake(request: RunModelRequest, why: str, wish: str = "Answer again as a whole.") -> RunModelRequest:
    """Return the request with what was wrong with the answer to it, and what is wanted instead."""
    return replace(request, messages=(*request.messages, {"role": "user", "content": build_complaint(why, wish)}))


def build_complaint(why: str, wish: str) -> str:
    """Return what a model is told of an answer that could not be taken."""
    return f"Your last answer could not be taken: {why}. {wish}"


def _take_out(text: str) -> str:
    """Return a text without blanks and without the code fence around all of it."""
    whole = text.strip().removeprefix("\ufeff")
    fence = _FENCED.fullmatch(whole)
    return fence["inside"].strip() if fence is not None else whole


def _holds_object(data: Sequence[object]) -> bool:
    return any(isinstance(one, Mapping) for one in data)


def _list_data(text: str) -> list[object]:
    """Return the JSON at the brackets of a text. Raises JsonUnreadable for what looks like JSON and is none, or has no end."""
    pieces: list[object] = []
    at = tried = scanned = 0
    while (bracket := _BRACKET.search(text, at)) is not None:
        start = bracket.start()
        begins_data = _BEGINS_DATA.match(text, start) is not None
        piece, end = _cut_piece(text, start)
        at, tried, scanned = start + 1, tried + 1, scanned + end - start
        if tried > _MOST_BRACKETS or scanned > _MOST_SCANNED:
            raise JsonUnreadable("there are too many brackets in the answer", is_absent=not pieces)
        if piece is None:
            if begins_data:
                raise JsonUnreadable(f"the JSON that begins with {_quote(text[start:])} is not closed, as if it had been cut off")
            continue
        try:
            pieces.append(_decode(piece))
            at = end
        except ValueError as error:
            if begins_data:
                raise JsonUnreadable(f"{_quote(piece)} is no JSON: {error}") from None
    return pieces


def _cut_piece(text: str, start: int) -> tuple[str | None, int]:
    """Return what the bracket at `start` encloses, without trailing commas, and where it ends; None if the bracket is not closed."""
    depth, kept, last = 0, [], start
    for token in _TOKEN.finditer(text, start):
        if token["open"]:
            depth += 1
        elif token["comma"]:
            kept.append(text[last : token.start()])
            last = token.end()
        elif token["close"]:
            depth -= 1
            if depth == 0:
                return "".join((*kept, text[last : token.end()])), token.end()
    return None, len(text)


def _decode(text: str) -> Any:
    """Return the data that a text is. Raises ValueError that says why it is none."""
    try:
        data = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    check_depth(data, MAX_DEPTH)
    return to_storable(data)


def _join_pairs(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return the object with these fields. Raises ValueError if one stands in it twice with different values."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next((name for name, field in pairs if field != fields[name]), None)
        if twice is not None:
            raise ValueError(f"{twice!r} stands in it twice, with different values")
    return fields


_DECODER: Final = json.JSONDecoder(
    parse_int=FOREIGN_JSON.parse_int,
    parse_float=FOREIGN_JSON.parse_float,
    parse_constant=FOREIGN_JSON.parse_constant,
    object_pairs_hook=_join_pairs,
    strict=False,
)


def _quote(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")

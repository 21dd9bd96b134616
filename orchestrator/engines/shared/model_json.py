"""Reads the JSON in a model's answer: never what was cut off or is ambiguous. Pure.

Integers that a float cannot hold become texts.
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
ONLY_JSON: Final = "Answer again as a whole, with JSON and nothing else."
_MOST_BRACKETS: Final = 1000
_MOST_SCANNED: Final = 1_000_000
_QUOTED: Final = 60
_FENCED: Final = re.compile(r"\s*(?:```|~~~)[A-Za-z0-9]{0,20}[ \t]*\n(?P<inside>.*?)(?:```|~~~)\s*", re.DOTALL)
_BRACKET: Final = re.compile(r"[\[{]")
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)(?=\s*+[\]}])', re.DOTALL)
_BEGINS_DATA: Final = re.compile(r"""\{\s*(?:["'“«}]|[\w$-]+\s*:)|\[\s*[\[{"']""")
"""What was meant to be JSON, unlike the brackets of «сделка [481]»."""


class JsonUnreadable(ValueError):
    """The message says why, for the model and operations staff."""

    def __init__(self, why: str, *, is_absent: bool = False) -> None:
        """`is_absent`: nothing even looks like JSON."""
        super().__init__(why)
        self.is_absent = is_absent


def read_model_json(text: str, has_part: Callable[[object], bool] = lambda _data: True) -> Any:
    """Of several pieces the one counts that alone `has_part`. Raises JsonUnreadable."""
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
    parsed = parse_part_path(path)
    return follow_path({"all": data}, parsed) if parsed is not None else MISSING


def parse_part_path(path: str) -> Path | None:
    return parse_path(f"all{path}" if path.startswith("[") or not path else f"all.{path}")


def check_required(data: object, paths: Sequence[str]) -> None:
    """Raise JsonUnreadable naming what is absent or null."""
    missing = [path for path in paths if find_part(data, path).value is None]
    if missing:
        raise JsonUnreadable(f"{', '.join(missing)} must be there and not null")


def decode_json(text: str) -> Any:
    """Raises JsonUnreadable for anything around the JSON."""
    try:
        return _decode(text)
    except ValueError as error:
        raise JsonUnreadable(str(error)) from None


def is_alone(text: str) -> bool:
    whole = _take_out(text)
    return whole.startswith(("{", "[")) and whole.endswith(("}", "]"))


def tell_mistake(request: RunModelRequest, why: str, wish: str = "Answer again as a whole.") -> RunModelRequest:
    return replace(request, messages=(*request.messages, {"role": "user", "content": build_complaint(why, wish)}))


def build_complaint(why: str, wish: str) -> str:
    return f"Your last answer could not be taken: {why}. {wish}"


def _take_out(text: str) -> str:
    whole = text.strip().removeprefix("\ufeff")
    fence = _FENCED.fullmatch(whole)
    return fence["inside"].strip() if fence is not None else whole


def _holds_object(data: Sequence[object]) -> bool:
    return any(isinstance(one, Mapping) for one in data)


def _list_data(text: str) -> list[object]:
    """Raises JsonUnreadable for what looks like JSON and is none."""
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
    """Return (what the bracket encloses, its end); None if it is not closed."""
    depth, pieces, last = 0, [], start
    for token in _TOKEN.finditer(text, start):
        if token["open"]:
            depth += 1
        elif token["comma"]:
            pieces.append(text[last : token.start()])
            last = token.end()
        elif token["close"]:
            depth -= 1
            if depth == 0:
                return "".join((*pieces, text[last : token.end()])), token.end()
    return None, len(text)


def _decode(text: str) -> Any:
    try:
        data = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    check_depth(data, MAX_DEPTH)
    return to_storable(data)


def _join_pairs(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Raises ValueError for one name with different values."""
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

"""JSON values of effects that are no portal calls: flags and moments in words, objects one field a line."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.kinds.mongo_queries import is_typed, parse_moment
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.lexicon import load_lexicon
from state.canonical import dumps

_WORDS: Final = load_lexicon("card_kinds")
_TITLES: Final = {name: _WORDS.read_titles(name) for name in ("empty", "yes", "no", "inside")}
Field = tuple[str, str]
"""Title and value of a field."""


def format_plain_value(value: Any, reader: Reader) -> str:
    """Hidden signs become visible; a typed value such as {"$date": …} is what it says. What has no words is shown as sent."""
    if value is None or value in ("", [], {}):
        return _TITLES["empty"][reader.locale]
    if isinstance(value, bool):
        return _TITLES["yes" if value else "no"][reader.locale]
    if is_typed(value):
        ((kind, text),) = value.items()
        return (_format_moment(str(text), reader) if kind == "$date" else "") or _escape(str(text), reader)
    if isinstance(value, list) and all(isinstance(one, str | int | float) or is_typed(one) for one in value):
        return ", ".join(format_plain_value(one, reader) for one in value)
    return _escape(value if isinstance(value, str) else dumps(value), reader)


def list_plain_fields(value: Any, titles: Mapping[str, str], reader: Reader) -> list[Field]:
    """Also those inside of others, by the titles of their paths or their own names."""
    return list(_list_fields(value, "", "", titles, reader))


def _list_fields(value: Any, name: str, path: str, titles: Mapping[str, str], reader: Reader) -> Iterator[Field]:
    if isinstance(value, Mapping) and value and not is_typed(value):
        for key, inner_value in value.items():
            inner = f"{path}.{key}" if path else key
            title = _escape(titles.get(inner) or key, reader)
            yield from _list_fields(
                inner_value, _TITLES["inside"][reader.locale].format(outer=name, inner=title) if name else title, inner, titles, reader
            )
    elif isinstance(value, list) and any(isinstance(inner_value, Mapping | list) for inner_value in value):
        for number, inner_value in enumerate(value, 1):
            yield from _list_fields(inner_value, f"{name} {number}".strip(), path, titles, reader)
    else:
        yield name, format_plain_value(value, reader)


def _format_moment(text: str, reader: Reader) -> str:
    try:
        here = parse_moment(text).astimezone(ZoneInfo(reader.zone))
    except (ValueError, OverflowError):
        return ""
    part = f".{here.microsecond:06d}".rstrip("0") if here.microsecond else ""
    seconds = f":{here:%S}{part}" if here.second or part else ""
    return f"{reader.format_day(here.date())}, {here:%H:%M}{seconds}"


def _escape(text: str, reader: Reader) -> str:
    return escape_text(text, locale=reader.locale)

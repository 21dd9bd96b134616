"""Cards of effects that are no portal calls; simple ones need only data/language/card_kinds.yaml."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.http_address import parse_address
from orchestrator.gate.call import run_schedules
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.reminders import MARK, PERSON
from orchestrator.gate.preview.file_chat_lines import build_file_lines, build_message_lines, name_file
from orchestrator.gate.preview.format_values import Reader
from orchestrator.gate.preview.mongo_lines import build_mongo_lines, find_mongo_title
from orchestrator.gate.preview.plain_values import format_plain_value, list_plain_fields
from orchestrator.gate.preview.schedule_lines import build_schedule_lines, name_definition
from orchestrator.language.lexicon import load_lexicon
from state.canonical import dumps

_WORDS: Final = load_lexicon("card_kinds")
_SYSTEM: Final = frozenset({MARK, PERSON})
_BODY: Final = "json"
"""Sent also if it is empty: an empty list may clear one at the other side."""
_TITLE: Final = 80


@dataclass(frozen=True, kw_only=True)
class KindView:
    find_title: Callable[[Call, Facts, Reader], str]
    build_lines: Callable[[Call, Facts, Reader], list[PreviewLine]]


def _name_host(call: Call, facts: Facts, _reader: Reader) -> str:
    return facts.titles.get("") or str(parse_address(call.params["url"]).site).partition("://")[2]


def _name_nothing(_call: Call, _facts: Facts, _reader: Reader) -> str:
    return ""


def build_param_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    """Objects one field a line, with the policy's titles."""
    lines: list[PreviewLine] = []
    for name, value in call.params.items():
        if name in _SYSTEM or value in (None, "") or (value in ([], {}) and name != _BODY):
            continue
        title = _WORDS.read_titles(f"{call.kind}_{name}")[reader.locale]
        is_bare = name == _BODY and (isinstance(value, bool) or value in ([], {}))
        after = dumps(value) if is_bare else _format(value, facts.titles, reader)  # “Data: no” would read as if there were none
        lines.append(PreviewLine(field=name, name=title, after=after))
    return lines


def _format(value: Any, titles: Mapping[str, str], reader: Reader) -> str:
    if not isinstance(value, Mapping | list):
        return format_plain_value(value, reader)
    return "\n".join(f"{field}: {text}" if field else text for field, text in list_plain_fields(value, titles, reader))


_VIEWS: Final[Mapping[str, KindView]] = {
    "file": KindView(find_title=name_file, build_lines=build_file_lines),
    "http": KindView(find_title=_name_host, build_lines=build_param_lines),
    "mongo": KindView(find_title=find_mongo_title, build_lines=build_mongo_lines),
    "telegram": KindView(find_title=_name_nothing, build_lines=build_message_lines),
}
_METHOD_VIEWS: Final[Mapping[str, KindView]] = {
    run_schedules.ADD: KindView(find_title=name_definition, build_lines=build_schedule_lines),
}


def has_view(call: Call) -> bool:
    """Whether its card is built here and not from the catalogue's words."""
    return call.kind in _VIEWS or (call.kind != "bitrix" and call.method in _METHOD_VIEWS)


def _find_view(call: Call) -> KindView:
    return _VIEWS[call.kind] if call.kind in _VIEWS else _METHOD_VIEWS[call.method]


def find_kind_title(call: Call, facts: Facts, reader: Reader) -> str:
    """What the heading names beside the deed, such as the host."""
    return escape_text(_find_view(call).find_title(call, facts, reader), locale=reader.locale, limit=_TITLE)


def build_kind_view_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    return _find_view(call).build_lines(call, facts, reader)

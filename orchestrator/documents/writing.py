"""Writes definitions that `read_document` reads back to equal data."""

import json
from typing import Any, Final

import yaml

from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.reports import JSON_NUMBER, MAX_DEPTH
from orchestrator.documents.yaml_reader import is_text_when_plain
from state.canonical import check, check_depth

_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WIDTH: Final = 140


def write_document(data: Any, format: DocumentFormat = "yaml") -> str:  # noqa: A002 - the word of the field
    """Raises NotCanonical, also for too deeply nested data."""
    check(data)
    check_depth(data, MAX_DEPTH)
    if format == "json":
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    return str(yaml.emit(_list_events(data), Dumper=_DUMPER, allow_unicode=True, width=_WIDTH))


def _list_events(data: Any) -> Any:
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    yield from _list_value_events(data)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _list_value_events(value: Any) -> Any:
    """At most MAX_DEPTH levels deep."""
    if isinstance(value, dict):
        yield yaml.MappingStartEvent(anchor=None, tag=None, implicit=True, flow_style=not value)
        for key, below in value.items():
            yield _make_text(key, is_key=True)
            yield from _list_value_events(below)
        yield yaml.MappingEndEvent()
    elif isinstance(value, list | tuple):
        yield yaml.SequenceStartEvent(anchor=None, tag=None, implicit=True, flow_style=not value)
        for below in value:
            yield from _list_value_events(below)
        yield yaml.SequenceEndEvent()
    elif isinstance(value, str):
        yield _make_text(value)
    else:
        yield _make_plain(_write_number(value) if isinstance(value, float) else json.dumps(value))


def _write_number(value: float) -> str:
    text = repr(value)
    return text if JSON_NUMBER.fullmatch(text) else format(value, "e")


def _make_plain(text: str) -> yaml.ScalarEvent:
    return yaml.ScalarEvent(anchor=None, tag=None, implicit=(True, True), value=text)


def _make_text(text: str, *, is_key: bool = False) -> yaml.ScalarEvent:
    """Plain where it reads back as a text, a block for lines, else in double quotes."""
    if text.isprintable() and text == text.strip() and is_text_when_plain(text, is_key=is_key):
        style = None
    elif not is_key and _is_block(text):
        style = "|"
    else:
        style = '"'
    return yaml.ScalarEvent(anchor=None, tag=None, implicit=(style is None, True), value=text, style=style)


def _is_block(text: str) -> bool:
    """It reads back from a block as it is."""
    lines = text.split("\n")
    return len(lines) > 1 and lines[0] == lines[0].lstrip() != "" and all(line.isprintable() and line == line.rstrip() for line in lines)

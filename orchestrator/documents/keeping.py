"""Writes changed data into an author's text so that the rest of the text stays: comments, order, quotes, blank lines.

The text is split along the marks of YAML's composer into an entry for each key and each item of a list. What did not change is copied sign
by sign, the rest is written anew. What comes out is read back, so a text never says anything but the data.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Final

import yaml

from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.reading import read_document
from orchestrator.documents.writing import write_document
from orchestrator.documents.yaml_reader import is_text_when_plain

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAMES: Final = ("id", "tuumId", "key", "name")
"""The first of these tells an item of a list from its neighbours."""
_WORD: Final = re.compile(r"\w+")
_BOM: Final = "\ufeff"
_FOLDED: Final = re.compile(r"[|>][-+0-9]*$")


def keep_text(text: str, data: Any, format: DocumentFormat = "yaml") -> str | None:  # noqa: A002 - the word of the field
    """`text` with the least changes after which it reads as `data`; None if it has mistakes or there is no such change.

    A comment above or behind what goes away goes with it; one of what moves moves along.
    """
    mark, ends = _BOM if text.startswith(_BOM) else "", "\r\n" if "\r\n" in text else "\n"
    plain = text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n")
    present = read_document(plain, format).document
    if present is None:
        return None
    try:
        root = yaml.compose(plain, Loader=_LOADER)
        body = _Keeper(plain).write(root, present.data, data) if root is not None else None
        if root is None or body is None:
            return None
        kept = plain[: root.start_mark.index] + body + plain[_Keeper(plain).find_end(root) :]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    found = read_document(kept, format).document
    if found is None or not is_same(found.data, data):
        return None
    return mark + kept.replace("\n", ends)


@dataclass(slots=True)
class _Entry:
    """`lead`: the lines above it and its indentation; `head`: its key, or its dash; `tail`: the rest of its last line."""

    lead: str
    head: str
    value: Any
    tail: str


class _Keeper:
    def __init__(self, text: str) -> None:
        self._text = text

    def find_end(self, node: Any) -> int:
        """Block collections end with the last line of their last entry; those of the composer, where the next sign stands."""
        if isinstance(node, yaml.ScalarNode):
            written = self._text[node.start_mark.index : node.end_mark.index]
            return int(node.start_mark.index + len(written.rstrip(" \n")) if node.style in {"|", ">"} else node.end_mark.index)
        if node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        end = max(self.find_end(last[1]), last[0].end_mark.index) if isinstance(last, tuple) else self.find_end(last)
        return self._find_entry_end(end, node.start_mark.column)

    def write(self, node: Any, present: Any, wanted: Any, *, in_flow: bool = False) -> str | None:
        """None if another kind of value is wanted, so that its key must be written anew, too."""
        if is_same(present, wanted):
            return self._text[node.start_mark.index : self.find_end(node)]
        in_flow = in_flow or bool(getattr(node, "flow_style", False))
        if wanted and node.value and isinstance(node, yaml.MappingNode) and isinstance(wanted, dict):
            return self._write_flow_mapping(node, present, wanted) if in_flow else self._write_mapping(node, present, wanted)
        if wanted and node.value and isinstance(node, yaml.SequenceNode) and isinstance(wanted, list):
            return self._write_flow_list(node, present, wanted) if in_flow else self._write_list(node, present, wanted)
        return self._write_scalar(node, wanted, in_flow=in_flow)

    def _write_scalar(self, node: Any, wanted: Any, *, in_flow: bool) -> str | None:
        """In the quotes of before."""
        quotes = node.style if isinstance(node, yaml.ScalarNode) else None
        if quotes == "'" and isinstance(wanted, str) and wanted.isprintable():
            return "'" + wanted.replace("'", "''") + "'"
        if in_flow or (quotes == '"' and isinstance(wanted, str)):
            return wanted if not quotes and isinstance(wanted, str) and _is_word(wanted) else _write_inline(wanted)
        if not isinstance(node, yaml.ScalarNode) or isinstance(wanted, dict | list) or quotes in {"|", ">"}:
            return None
        written = _write_block({"x": wanted}).removeprefix("x:").removeprefix(" ")
        return None if "\n" in written else written

    def _write_mapping(self, node: Any, present: Any, wanted: Any) -> str:
        column = node.start_mark.column
        entries = dict(zip(present, self._split_mapping(node), strict=True))
        pieces = []
        for name in _order_names(list(entries), list(wanted)):
            entry = entries.get(name)
            if entry is None:
                pieces.append(("", _indent(_write_block({name: wanted[name]}), column)))
                continue
            value = self.write(entry.value, present[name], wanted[name])
            anew = _indent(_write_block({name: wanted[name]}), column) if value is None else ""
            pieces.append((entry.lead, entry.head + value + entry.tail if value is not None else _add_tail(anew, entry.tail)))
        return _join(pieces, column)

    def _split_mapping(self, node: Any) -> list[_Entry]:
        entries, at = [], node.start_mark.index
        for key, value in node.value:
            begin, stop = key.start_mark.index, max(self.find_end(value), key.end_mark.index)
            line_end = self._find_entry_end(stop, node.start_mark.column)
            head = self._text[begin : max(value.start_mark.index, key.end_mark.index)]
            entries.append(_Entry(self._text[at:begin], head, value, self._text[stop:line_end]))
            at = line_end + 1
        return entries

    def _write_list(self, node: Any, present: Any, wanted: Any) -> str:
        column = node.start_mark.column
        entries = self._split_list(node)
        pieces = []
        for value, place in _align(present, wanted):
            if place is None:
                pieces.append(("", _indent(_write_block([value]), column)))
                continue
            entry = entries[place]
            kept = self.write(entry.value, present[place], value)
            anew = _indent(_write_block([value]), column) if kept is None else ""
            pieces.append((entry.lead, entry.head + kept + entry.tail if kept is not None else _add_tail(anew, entry.tail)))
        return _join(pieces, column)

    def _split_list(self, node: Any) -> list[_Entry]:
        dash_line = re.compile(rf"^ {{{node.start_mark.column}}}-(?=\s|$)", re.MULTILINE)
        entries, at = [], node.start_mark.index
        for number, value in enumerate(node.value):
            match = dash_line.search(self._text, at) if number else None
            dash = match.end() - 1 if match is not None else at
            stop = max(self.find_end(value), dash + 1)
            line_end = self._find_entry_end(stop, node.start_mark.column)
            head = self._text[dash : max(value.start_mark.index, dash + 1)]
            entries.append(_Entry(self._text[at:dash], head, value, self._text[stop:line_end]))
            at = line_end + 1
        return entries

    def _write_flow_mapping(self, node: Any, present: Any, wanted: Any) -> str:
        parts = dict(zip(present, node.value, strict=True))
        is_plain = not any(key.style for key, _ in node.value)
        pieces: list[tuple[int | None, str]] = []
        for name in _order_names(list(parts), list(wanted)):
            if name not in parts:
                key_text = name if is_plain and _is_word(name, is_key=True) else _write_inline(name)
                pieces.append((None, f"{key_text}: {_write_inline(wanted[name])}"))
                continue
            key, value = parts[name]
            head = self._text[key.start_mark.index : max(value.start_mark.index, key.end_mark.index)]
            written = self.write(value, present[name], wanted[name], in_flow=True) or ""
            pieces.append((list(parts).index(name), head + written))
        spans = [(key.start_mark.index, max(self.find_end(value), key.end_mark.index)) for key, value in node.value]
        return self._join_flow(node, spans, pieces)

    def _write_flow_list(self, node: Any, present: Any, wanted: Any) -> str:
        pieces: list[tuple[int | None, str]] = []
        for value, place in _align(present, wanted):
            written = _write_inline(value) if place is None else self.write(node.value[place], present[place], value, in_flow=True)
            pieces.append((place, written or ""))
        return self._join_flow(node, [(value.start_mark.index, self.find_end(value)) for value in node.value], pieces)

    def _join_flow(self, node: Any, spans: Sequence[tuple[int, int]], pieces: Sequence[tuple[int | None, str]]) -> str:
        """What stands between the brackets and entries (commas, lines, comments) stays where it was before each entry."""
        between = [self._text[end:begin] for (_, end), (begin, _) in pairwise(spans)]
        usual = between[0] if between else ", "
        out = self._text[node.start_mark.index : spans[0][0]]
        for number, (place, piece) in enumerate(pieces):
            if number:
                out += between[place - 1] if place else usual
            out += piece
        return out + self._text[spans[-1][1] : node.end_mark.index]

    def _find_entry_end(self, at: int, column: int) -> int:
        """The end of its line, or of the comments below that stand deeper than its collection."""
        end = self._text.find("\n", at)
        if end < 0:
            return len(self._text)
        below = re.compile(rf"(?:\n[ ]*)*\n[ ]{{{column + 1},}}#[^\n]*").match(self._text, end)
        while below is not None:
            end = below.end()
            below = below.re.match(self._text, end)
        return end


def is_same(one: Any, other: Any) -> bool:
    """Not 1 and true, nor 1 and 1.0."""
    return one is other or (type(one) is type(other) and _write_canonical(one) == _write_canonical(other))


def _write_canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _order_names(before: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Names of before in their order, each new one behind the one that it follows in `wanted`."""
    known = set(wanted)
    order = [name for name in before if name in known]
    placed = set(order)
    previous = None
    for name in wanted:
        if name not in placed:
            order.insert(order.index(previous) + 1 if previous is not None else 0, name)
            placed.add(name)
        previous = name
    return order


def _align(before: Sequence[Any], wanted: Sequence[Any]) -> list[tuple[Any, int | None]]:
    """Each wanted item with the place of before that it comes from: by its name, as equal, else as what stood between the same two."""
    places: dict[int, int] = {}
    free = {name: place for place, name in reversed(list(enumerate(map(find_name, before)))) if name}
    for number, name in enumerate(map(find_name, wanted)):
        if name in free:
            places[number] = free.pop(name)
    taken = set(places.values())
    matcher = SequenceMatcher(None, [_write_canonical(one) for one in before], [_write_canonical(one) for one in wanted], autojunk=False)
    for code, begin, end, first, last in matcher.get_opcodes():
        if code in {"equal", "replace"}:
            for place, number in zip(range(begin, end), range(first, last), strict=False):
                if number not in places and place not in taken and (code == "equal" or type(before[place]) is type(wanted[number])):
                    places[number] = place
                    taken.add(place)
    return [(one, places.get(number)) for number, one in enumerate(wanted)]


def find_name(item: Any) -> tuple[str, str] | None:
    """(the field, the name) by which it is told from others of its list."""
    if not isinstance(item, dict):
        return None
    return next(((key, item[key]) for key in _NAMES if isinstance(item.get(key), str) and item[key]), None)


def _write_block(value: Any) -> str:
    return write_document(value).removesuffix("\n")


def _write_inline(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_word(text: str, *, is_key: bool = False) -> bool:
    return _WORD.fullmatch(text) is not None and is_text_when_plain(text, is_key=is_key)


def _indent(text: str, column: int) -> str:
    first, *lines = text.split("\n")
    return "\n".join([first, *(" " * column + line if line else line for line in lines)])


def _add_tail(written: str, tail: str) -> str:
    """A comment of the line of before, where the new first line can have one."""
    first, *lines = written.split("\n")
    if not tail.strip() or (lines and not first.endswith((":", "-")) and not _FOLDED.search(first)):
        return written
    return "\n".join([first + tail, *lines])


def _join(pieces: Sequence[tuple[str, str]], column: int) -> str:
    """The first begins where the collection began, behind its indentation."""
    lines = []
    for number, (lead, piece) in enumerate(pieces):
        if number:
            lines.append((lead or " " * column) + piece)
        else:
            lines.append(lead.lstrip("\n").removeprefix(" " * column) + piece)
    return "\n".join(lines)

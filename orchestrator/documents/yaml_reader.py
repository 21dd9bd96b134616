"""Reads YAML as the same document in JSON would mean.

Dates, «no» and 012 stay texts. Tags, anchors, aliases and merge keys are refused: JSON has none, and a few lines of them can grow into
gigabytes.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

from orchestrator.documents.document import LineIndex, Spot
from orchestrator.documents.reports import JSON_NUMBER, MAX_DEPTH, MAX_VALUES, ReadingStopped, Reports, read_number
from orchestrator.domain.finding import Path

_ITEM: Final = re.compile(r"[ ]*(?:-[ ]+)*")
_COLON: Final = re.compile(r":(?:\s|$)")
_OPENED: Final = re.compile(r":[ ]*(?:#.*)?$")
_NO_KEY: Final = ("- ", "?", "{", "[")


def find_unfinished_key(error: yaml.MarkedYAMLError, at: int, text: str) -> tuple[int, int] | None:
    """(its begin, the end of what seems to belong to it); None if another thing is wrong. `at` is what the parser complains about."""
    start: int | None
    if "could not find expected ':'" in (error.problem or ""):
        start = error.context_mark.index if error.context_mark is not None else None
    else:
        start = _find_word(text, at)
    if start is None:
        return None
    begin = _find_line(text, start)
    line = text[begin:].split("\n", 1)[0]
    if not line[start - begin :].strip() or _COLON.search(line) or line.startswith(_NO_KEY, start - begin):
        return None
    return start, _find_end(text, start, begin + len(line))


def _find_word(text: str, at: int) -> int | None:
    """On this line, or above it in its column."""
    begin = _find_line(text, at)
    line = text[begin:].split("\n", 1)[0]
    column = len(line) - len(line.lstrip(" "))
    is_item = line.startswith("- ", column)
    if not _COLON.search(line) and not is_item:
        return begin + column if column == at - begin else None
    while begin > 0:
        end, begin = begin - 1, _find_line(text, begin - 1)
        line = text[begin:end]
        item = _ITEM.match(line)
        word = item.end() if item is not None else 0
        if line.strip() and (word <= column or is_item) and not line.startswith("#", word):
            return begin + word if word == column or is_item else None
    return None


def _find_end(text: str, start: int, end: int) -> int:
    """Of what stands below: deeper lines, and items of its list."""
    begin = _find_line(text, start)
    column = start - begin
    above = _find_above(text[:begin], column)
    if _OPENED.search(above):
        return end  # what stands below belongs to the key above, which would have no value
    is_item = above.startswith("- ", column)
    for line in text[end + 1 :].split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and indent <= column and (is_item or indent < column or not line.startswith("- ", indent)):
            break
        end += 1 + len(line)
    return min(end, len(text))


def _find_above(above: str, column: int) -> str:
    """Empty if one before begins further to the left."""
    for line in reversed(above.split("\n")):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and indent <= column:
            return line if indent == column else ""
    return ""


def _find_line(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TRUTHS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOTHING: Final = frozenset({"", "~", "null", "Null", "NULL"})
_DOUBTFUL: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_JSON_COMMENTS: Final = ("//", "/*")
_MOST_PASSES: Final = 20
"""Without the line of a mistake, to find the mistakes after it."""
_LONGEST_REPEATED: Final = 50_000
_UNREADABLE: Final = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""At three of these YAML begins a new line, so that a text could hold keys that nobody reads."""
Value = dict[str, Any] | list[Any] | str | int | float | bool | None


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is not closed yet."""

    items: Any
    spot: Spot
    key: str | None = None
    key_at: int = 0


class YamlReader:
    def __init__(self, text: str, lines: LineIndex) -> None:
        """Lines end with LF."""
        self.reports = Reports(lines)
        self._text, self._lines = text, lines

    def read(self) -> tuple[Any, Spot] | None:
        """None if there is no value; with mistakes, what could be made of the text."""
        last, events = 0, _Events("", self._lines)
        try:
            text = self._replace_unreadable()
            for _ in range(_MOST_PASSES):
                events = _Events(text, self._lines)
                try:
                    root = events.read()
                except yaml.MarkedYAMLError as error:
                    start, end = report_syntax(error, text, self.reports)
                    if end <= last or len(text) > _LONGEST_REPEATED:
                        break
                    text, last = _leave_out(text, start, end), end
                except (yaml.YAMLError, RecursionError, ValueError) as error:
                    self.reports.report("finding-yaml-syntax", getattr(error, "position", 0), problem=str(error).split("\n")[0])
                    break
                else:
                    self.reports.findings.extend(events.reports.findings.list_all())
                    if root is None and not self.reports.findings.has_errors:
                        self.reports.report("finding-document-empty", 0)
                    return root
        except ReadingStopped:
            pass
        self.reports.findings.extend(events.reports.findings.list_all())
        return events.root

    def _replace_unreadable(self) -> str:
        """Reports hidden signs and puts spaces in their place."""
        for match in _UNREADABLE.finditer(self._text):
            self.reports.report("finding-control-character", match.start(), sign=match[0])
        return _UNREADABLE.sub(" ", self._text)


def is_text_when_plain(text: str, *, is_key: bool) -> bool:
    """Without quotes it is read as this text, without a finding."""
    if text.startswith(_JSON_COMMENTS):
        return False  # at the beginning of a document it would be taken for JSON
    if is_key:
        return text not in {"", "<<"}
    is_other = text in _NOTHING or text in _TRUTHS or text.lower() in _DOUBTFUL
    return not (is_other or JSON_NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text))


def _leave_out(text: str, start: int, end: int) -> str:
    """With a comment in their place, so that offsets stay."""
    blank = "".join(sign if sign == "\n" else " " for sign in text[start:end])
    return f"{text[:start]}#{blank[1:]}{text[end:]}" if end > start else text


class _Events:
    def __init__(self, text: str, lines: LineIndex) -> None:
        self.reports = Reports(lines)
        self.root: tuple[Any, Spot] | None = None
        self._text = text
        self._open: list[_Open] = []
        self._skipped = 0
        self._values = 0
        self._documents = 0

    def read(self) -> tuple[Any, Spot] | None:
        """Raises a YAMLError at the first mistake of syntax."""
        try:
            for event in yaml.parse(self._text, Loader=_LOADER):
                if self._skipped:
                    self._skip(event)
                elif isinstance(event, yaml.ScalarEvent):
                    self._read_scalar(event)
                elif isinstance(event, yaml.CollectionStartEvent):
                    self._begin(event)
                elif isinstance(event, yaml.CollectionEndEvent):
                    self._open.pop()
                elif isinstance(event, yaml.AliasEvent):
                    self._refuse_alias(event)
                elif isinstance(event, yaml.DocumentStartEvent):
                    self._begin_document(event)
        except ReadingStopped:
            pass
        return self.root

    def _begin_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self.reports.stop("finding-yaml-documents", event.start_mark.index)

    def _skip(self, event: Any) -> None:
        """Everything of a list or mapping that stands where a key should."""
        at = event.start_mark.index
        if isinstance(event, yaml.CollectionStartEvent):
            self._skipped += 1
            if self._skipped > MAX_DEPTH:
                raise self.reports.stop("finding-document-deep", at, most=MAX_DEPTH)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._skipped -= 1

    @property
    def _is_at_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].items, dict) and self._open[-1].key is None

    def _begin(self, event: Any) -> None:
        at = event.start_mark.index
        self._check_properties(event, at)
        if self._is_at_key:
            self.reports.report("finding-yaml-key", at, self._find_path)
            self._skipped = 1
            self._set_key(f"\x00{at}", at)  # no key that an author can write
            return
        items: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        spot = self._keep(items, at)
        if len(self._open) >= MAX_DEPTH:
            raise self.reports.stop("finding-document-deep", at, most=MAX_DEPTH)
        self._open.append(_Open(items, spot))

    def _refuse_alias(self, event: Any) -> None:
        at = event.start_mark.index
        self.reports.report("finding-yaml-alias", at, self._find_path, sign=f"*{event.anchor}")
        if self._is_at_key:
            self._set_key(f"\x00{at}", at)
        else:
            self._keep(None, at)

    def _check_properties(self, event: Any, at: int) -> None:
        if event.anchor is not None:
            self.reports.report("finding-yaml-alias", at, self._find_path, sign=f"&{event.anchor}")
        if event.tag is not None:
            self.reports.report("finding-yaml-tag", at, self._find_path, sign=event.tag)

    def _read_scalar(self, event: Any) -> None:
        at, text = event.start_mark.index, event.value.replace("\x00", "")
        self._check_properties(event, at)
        if text != event.value:
            self.reports.report("finding-zero-character", at, self._find_path)
        if self._is_at_key:
            self._read_key(text, at, is_plain=not event.style)
            return
        self._keep(text if event.style else self._read_plain(text, at), at)

    def _read_key(self, text: str, at: int, *, is_plain: bool) -> None:
        top = self._open[-1]
        if is_plain and text == "<<":
            self.reports.report("finding-yaml-merge", at, self._find_path)
        elif text in top.spot.parts:
            first, _ = self.reports.lines.locate(top.spot.parts[text].key)
            self.reports.report("finding-duplicate-key", at, lambda: (*self._find_path(), text), key=text, first=first)
        self._set_key(text, at)

    def _set_key(self, key: str, at: int) -> None:
        self._open[-1].key, self._open[-1].key_at = key, at

    def _read_plain(self, text: str, at: int) -> Value:
        if text in _NOTHING:
            return None
        if text in _TRUTHS:
            return _TRUTHS[text]
        if JSON_NUMBER.fullmatch(text):
            return read_number(text, at, self._find_path, self.reports)
        if _NOT_FINITE.fullmatch(text):
            self.reports.report("finding-number-not-finite", at, self._find_path, number=text)
        elif meant := _DOUBTFUL.get(text.lower()):
            self.reports.report("finding-yaml-word", at, self._find_path, severity="warning", suggestion=meant, word=text, value=meant)
        return str(text)

    def _keep(self, value: Any, at: int) -> Spot:
        """Of two values with one key, the first is kept."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise self.reports.stop("finding-document-wide", at, most=MAX_VALUES)
        if not self._open:
            spot = Spot(at, at)
            self.root = value, spot
            return spot
        top = self._open[-1]
        if isinstance(top.items, list):
            spot = top.spot.parts[len(top.items)] = Spot(at, at)
            top.items.append(value)
            return spot
        key, top.key = top.key or "", None
        spot = Spot(top.key_at, at)
        if key not in top.spot.parts and not key.startswith("\x00"):
            top.items[key] = value
            top.spot.parts[key] = spot
        return spot

    def _find_path(self) -> Path:
        path: list[str | int] = []
        for number, container in enumerate(self._open):
            is_last = number == len(self._open) - 1
            if isinstance(container.items, list):
                path.append(len(container.items) - (0 if is_last else 1))
            elif is_last and container.key is None:
                break
            else:
                path.append(self._find_key(number))
        return tuple(path)

    def _find_key(self, number: int) -> str:
        """Of the next open one, or of the value that is read now."""
        container = self._open[number]
        if container.key is not None:
            return container.key
        below = self._open[number + 1].items
        return next((key for key, item in reversed(container.items.items()) if item is below), "")


_PROBLEMS: Final = (
    ("mapping values are not allowed", "finding-yaml-colon"),
    ("could not find expected ':'", "finding-yaml-colon-missing"),
    ("cannot start any token", "finding-yaml-character"),
    ("unexpected end of stream", "finding-yaml-quote"),
    ("unexpected document indicator", "finding-yaml-quote"),
    ("unknown escape", "finding-bad-escape"),
    ("did not find expected hexdecimal", "finding-bad-escape"),
    ("expected escape sequence", "finding-bad-escape"),
    ("invalid Unicode character", "finding-lone-surrogate"),
    ("',' or", "finding-yaml-flow"),
    ("did not find expected", "finding-yaml-indent"),
    ("block sequence entries are not allowed", "finding-yaml-indent"),
    ("block mapping keys are not allowed", "finding-yaml-indent"),
    ("but found", "finding-yaml-indent"),
    ("nesting", "finding-document-deep"),
)
"""A part of the parser's text → the finding."""
_IN_ESCAPE: Final = frozenset({"finding-bad-escape", "finding-lone-surrogate"})
_NEAR_UNFINISHED_KEY: Final = frozenset({"finding-yaml-colon-missing", "finding-yaml-colon", "finding-yaml-indent"})
_LAST: Final = frozenset({"finding-yaml-flow", "finding-yaml-indent", "finding-document-deep"})


def report_syntax(error: yaml.MarkedYAMLError, text: str, reports: Reports) -> tuple[int, int]:
    """Returns what to leave out so that the rest can be judged; (0, 0) if that may belong to what is not closed."""
    problem = error.problem or str(error)
    code = next((code for part, code in _PROBLEMS if part in problem), "finding-yaml-syntax")
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark is not None else 0
    if code in _NEAR_UNFINISHED_KEY and (unfinished := find_unfinished_key(error, at, text)) is not None:
        reports.report("finding-yaml-colon-missing", unfinished[0])
        return unfinished
    if code == "finding-yaml-quote" and error.context_mark is not None:
        at = error.context_mark.index
    sign = text[at : at + 1]
    if code == "finding-yaml-character" and sign == "\t":
        code = "finding-yaml-tab"
    if code in _IN_ESCAPE:
        at = max(text.rfind("\\", 0, at + 1), 0)
        sign = text[at : at + 2]
    reports.report(code, at, sign=sign, problem=problem, most=1000)
    if code in _LAST:
        return 0, 0
    start = reports.lines.find_start(reports.lines.locate(at)[0])
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end

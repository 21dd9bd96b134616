"""Cards of effects that are no portal calls; simple ones need only data/language/card_kinds.yaml."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.http_address import parse_address
from orchestrator.gate.call import reminders, run_schedules, standing_orders
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.kinds import file_methods
from orchestrator.gate.call.kinds.telegram import find_file_place
from orchestrator.gate.call.kinds.telegram_methods import FILE
from orchestrator.gate.call.reminders import MARK, PERSON
from orchestrator.gate.call.run_schedules import DEFINITION, TITLE
from orchestrator.gate.preview.format_values import Reader
from orchestrator.gate.preview.mongo_lines import build_mongo_lines, find_mongo_title, format_plain_value, list_plain_fields
from orchestrator.gate.preview.order_lines import build_order_lines, name_order
from orchestrator.language.date_format import When, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.schedule_terms import Terms, parse_terms
from orchestrator.language.text import Locale
from state.canonical import dumps
from state.clock import parse_iso
from state.stored import JsonObject

_SCHEDULE_TITLES: Final = {
    name: load_lexicon("card_kinds").read_titles(f"schedule_{name}") for name in ("at", "cron", "next", "note", "value")
}

_REMINDER_WHEN: Final = load_lexicon("card_fields").read_titles("reminder_when")


def name_definition(call: Call, facts: Facts, _reader: Reader) -> str:
    """The definition whose runs are started."""
    return str((facts.images.get(DEFINITION) or {}).get(TITLE) or call.params.get(DEFINITION, ""))


def _name_reminder(_call: Call, facts: Facts, _reader: Reader) -> str:
    return str((facts.images.get(reminders.WHICH) or {}).get(reminders.TEXT, ""))


def _build_reminder_lines(call: Call, _facts: Facts, reader: Reader) -> list[PreviewLine]:
    """The new moment of one that is moved; one that is removed has its title only."""
    if "at" not in call.params:
        return []
    at = parse_iso(str(call.params["at"])).astimezone(ZoneInfo(reader.zone))
    when = format_when(When(at.date(), at, has_time=True), now=reader.now or at, locale=reader.locale)
    return [PreviewLine(field="at", name=_REMINDER_WHEN[reader.locale], after=when)]


def build_schedule_lines(call: Call, _facts: Facts, reader: Reader) -> list[PreviewLine]:
    params = call.params
    terms = parse_terms(params.get("at"), params.get("cron"), params.get("zone") or reader.zone)
    lines = (
        [_build_schedule_line("at", _format_moments(terms, reader), reader)] if terms.at is not None else _build_repetition(terms, reader)
    )
    if params.get("note"):
        lines.append(_build_schedule_line("note", str(params["note"]), reader))
    for name, value in params.get("args", {}).items():
        text = value if isinstance(value, str) else dumps(value)
        lines.append(PreviewLine(field=name, name=_SCHEDULE_TITLES["value"][reader.locale].format(name=name), after=_escape(text, reader)))
    return lines


def _build_repetition(terms: Terms, reader: Reader) -> list[PreviewLine]:
    moments = [_build_schedule_line("next", _format_moments(terms, reader), reader)] if reader.now is not None else []
    return [*moments, _build_schedule_line("cron", f"{terms.cron} ({terms.zone})", reader)]


def _format_moments(terms: Terms, reader: Reader) -> str:
    after = reader.now or parse_iso("2000-01-01T00:00:00Z")
    moments = [terms.at] if terms.at is not None else terms.list_moments(after)
    here = [moment.astimezone(ZoneInfo(reader.zone)) for moment in moments]
    return "\n".join(format_when(When(one.date(), one, has_time=True), now=after, locale=reader.locale) for one in here)


def _build_schedule_line(name: str, text: str, reader: Reader) -> PreviewLine:
    return PreviewLine(field=name, name=_SCHEDULE_TITLES[name][reader.locale], after=_escape(text, reader))


def _escape(text: str, reader: Reader) -> str:
    return escape_text(text, locale=reader.locale)


_NAMES: Final = (
    *("to", "text", "caption", "file", "from", "size", "bytes", "kilobytes", "button", "message", "unnamed", "line_count", "line", "lines"),
    *("added", "added_first", "appended", "whole", "removed", "nothing", "ending", "yes", "no", "now", "unreadable"),
)
_LEXICON: Final = load_lexicon("card_files")
_TITLES: Final = {name: _LEXICON.read_titles(name) for name in _NAMES}
_SPACES: Final = str.maketrans({" ": "·", "\t": "⇥", "\u00a0": "⍽"})
_MOST_COMPARED: Final = 400
"""Of longer changes the whole new text is shown."""


def name_file(call: Call, _facts: Facts, _reader: Reader) -> str:
    return str(call.params.get("path") or (call.params.get(FILE) or {}).get("name") or "")


def build_message_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    return list(_build_message_lines(call, facts, reader))


def build_file_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    """None for a read."""
    if call.reads_only:
        return []
    return list(_build_file_lines(call, facts.images.get(str(call.params["path"])), _Words(reader.locale)))


def _build_message_lines(call: Call, facts: Facts, reader: Reader) -> Iterator[PreviewLine]:
    params, words = call.params, _Words(reader.locale)
    chat = facts.images.get(f"chat:{params['chat_id']}") or {}
    yield words.build_line("to", words.show(str(chat.get("name") or "")) or words.format_words("unnamed", number=params["chat_id"]))
    if "message_id" in params:
        yield words.build_line("message", str(params["message_id"]))
    if (place := find_file_place(call)) is not None:
        yield words.build_line("file", words.show(name_file(call, facts, reader)))
        if host := (params.get(FILE) or {}).get("host"):
            yield words.build_line("from", words.show(str(host)))
        if image := facts.images.get(place):
            yield words.build_line("size", words.format_size(image))
    for name in ("text", "caption"):
        if params.get(name):
            yield words.build_line(name, words.show(str(params[name])))
    for row in params.get("inline_keyboard", ()):
        for button in row:
            yield PreviewLine(name=words.format_words("button", text=words.show(button["text"])), after=words.show(button["url"]))


def _build_file_lines(call: Call, image: JsonObject | None, words: "_Words") -> Iterator[PreviewLine]:
    old = None if image is None else image.get("text")
    if call.method == file_methods.DELETE:
        yield words.build_line("size", words.format_size(image or {}))
        yield words.build_line("now", words.show_old(image))
        return
    text = str(call.params["text"])
    if call.method == file_methods.APPEND:
        yield words.build_line("size", words.format_size(image or {}))
        yield words.build_line("appended", words.show(text) or words.format_words("nothing"))
        return
    new = _split(text)
    if image is None:
        yield words.build_line("line_count", str(len(new)))
        yield words.build_line("text", words.show(text) or words.format_words("nothing"))
    elif isinstance(old, str):
        was = _split(old)
        if len(new) != len(was):
            yield words.build_line("line_count", str(len(new)), before=str(len(was)))
        yield from _build_changes(was, new, text, words)
        if old.endswith("\n") != text.endswith("\n"):
            yield words.build_line(
                "ending",
                words.format_words("yes" if text.endswith("\n") else "no"),
                before=words.format_words("yes" if old.endswith("\n") else "no"),
            )
    else:
        yield words.build_line("line_count", str(len(new)))
        yield words.build_line("now", words.show_old(image))
        yield words.build_line("whole", words.show(text) or words.format_words("nothing"))


def _split(text: str) -> list[str]:
    """Only a line feed ends a line: a change of other line ends is a change of the line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _build_changes(was: list[str], new: list[str], text: str, words: "_Words") -> Iterator[PreviewLine]:
    start = 0
    while start < min(len(was), len(new)) and was[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(was), len(new)) - start and was[-1 - end] == new[-1 - end]:
        end += 1
    old_part, new_part = was[start : len(was) - end], new[start : len(new) - end]
    if len(old_part) + len(new_part) > _MOST_COMPARED:
        yield words.build_line("whole", words.show(text))
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old_part, new_part, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if tag == "replace" and i2 - i1 == j2 - j1:  # line by line, as it is read
            for number, (was_line, line) in enumerate(zip(old_part[i1:i2], new_part[j1:j2], strict=True), start + i1 + 1):
                yield words.build_change(words.name_lines(number, number), [was_line], [line])
        else:
            yield words.build_change(words.name_lines(start + i1 + 1, start + i2), old_part[i1:i2], new_part[j1:j2])


class _Words:
    def __init__(self, locale: Locale) -> None:
        self._locale = locale

    def format_words(self, name: str, **args: object) -> str:
        return _TITLES[name][self._locale].format(**args)

    def build_line(self, title: str, after: str, before: str = "") -> PreviewLine:
        return PreviewLine(name=self.format_words(title), before=before, after=after)

    def build_change(self, name: str, old: Sequence[str], new: Sequence[str]) -> PreviewLine:
        """Differences in spaces alone are made visible."""
        before, after = (self._join_lines(part, self.show) for part in (old, new))
        if before == after:
            before, after = (self._join_lines(part, self.show_spaces) for part in (old, new))
        return PreviewLine(name=name, before=before, after=after if new else self.format_words("removed"))

    def _join_lines(self, lines: Sequence[str], show: Callable[[str], str]) -> str:
        return " ⏎ ".join(map(show, lines)) or self.format_words("nothing") * bool(lines)

    def show(self, text: str) -> str:
        return escape_text(text, locale=self._locale)

    def show_spaces(self, text: str) -> str:
        return self.show(text.translate(_SPACES))

    def name_lines(self, first: int, last: int) -> str:
        """Without lines of its own the place is after the line before `first`."""
        if last < first:
            return self.format_words("added", number=first - 1) if first > 1 else self.format_words("added_first")
        return self.format_words("line", number=first) if first == last else self.format_words("lines", first=first, last=last)

    def show_old(self, image: JsonObject | None) -> str:
        """Or its size if that is not known."""
        text = (image or {}).get("text")
        if isinstance(text, str):
            return self.show(text) or self.format_words("nothing")
        return self.format_words("unreadable", size=self.format_size(image or {}))

    def format_size(self, image: JsonObject) -> str:
        count = int(image.get("size", 0))
        return self.format_words("bytes", count=count) if count < 1024 else self.format_words("kilobytes", count=-(-count // 1024))  # noqa: PLR2004 - bytes of a KB


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
    **dict.fromkeys(standing_orders.STEPS, KindView(find_title=name_order, build_lines=build_order_lines)),
    run_schedules.ADD: KindView(find_title=name_definition, build_lines=build_schedule_lines),
    **dict.fromkeys(reminders.CHANGES, KindView(find_title=_name_reminder, build_lines=_build_reminder_lines)),
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

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Final, TypeVar, overload

from bitrix.masking import HIDDEN, mask, mask_value
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.reasons import REFUSALS
from orchestrator.language.text import RUSSIAN_LETTERS
from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent
from state.events.base import Event, type_names
from state.events.conversation import ModelFailed
from state.events.runs import NodeFailed
from state.journal.pages import iterate_scan
from state.journal.store import Store, StoredEvent
from state.stored import JsonObject

_ARGUMENT: Final = re.compile(r"\{(\w+)\}", re.ASCII)
RenderCode = Callable[[str, JsonObject], str]
"""(code, arguments) → sentence, from the text catalogue of a channel."""

_NAME_FIELDS = (
    ("requested_by", "requested_by_name"),
    ("approved_by", "approved_by_name"),
    ("denied_by", "denied_by_name"),
    ("person", "name"),
)
_PROGRAM_ACTORS = {"system": "the program itself", "portal": "the portal", "": "nobody named"}


class Narrator:
    """A name comes from the remembered events, otherwise from `name_of` (the access file)."""

    def __init__(self, say: RenderCode, name_of: Callable[[str], str] = str) -> None:
        """For an unknown person `name_of` returns "" or the key itself."""
        self._say = say
        self._name_of = name_of
        self._names: dict[str, str] = {}

    def remember_names(self, event: StoredEvent) -> None:
        for key, name in _NAME_FIELDS:
            if event.data.get(key) and event.data.get(name):
                self._names[event.data[key]] = event.data[name]

    def find_name(self, key: str) -> str:
        """Empty if it is not known."""
        name = self._names.get(key) or self._name_of(key)
        return "" if name == key else to_one_line(name, limit=80)

    def format_person(self, key: str, name: str = "", *, gone: bool = False) -> str:
        """Such as "Anna (tg:1007)"; the key if no name is known, "(erased) (tg:1007)" if it is `gone`."""
        if key in _PROGRAM_ACTORS:
            return _PROGRAM_ACTORS[key]
        key_text, known = to_one_line(key, limit=80), to_one_line(name, limit=80) or self.find_name(key)
        if gone and not name:
            return f"{ERASED} ({key_text})"
        return f"{known} ({key_text})" if known and known != key_text else key_text

    def render_sentence(self, code: str, args: JsonObject | None = None) -> str:
        return to_one_line(self._say(code, args or {}), limit=300)

    def describe_code(self, code: str) -> str:
        """The code in brackets follows its sentence; it stands alone if there is none."""
        sentence = self.render_sentence(code, dict.fromkeys(_ARGUMENT.findall(REFUSALS.get(code, "")), "…"))
        return sentence if sentence == code else f"{sentence} ({code})"

    def describe_reasons(self, reasons: Iterable[JsonObject] | None) -> list[str]:
        """Each once; `reasons` are the notices stored with the card."""
        notices = (Notice.model_validate(reason) for reason in reasons or ())
        return list(dict.fromkeys(self.render_sentence(notice.code, notice.args) for notice in notices))


C = TypeVar("C")
E = TypeVar("E", bound=Event)
R = TypeVar("R")
PAGE = 1000
ERASED = "(erased)"
MILLISECOND = 13
"""Length of the part of an id that encodes its creation, to the millisecond."""

_PLAIN = re.compile(f"[ -~{RUSSIAN_LETTERS}«»“”—–…№₽→·]*")
"""Such text needs no escaping; checking each character would take most of a report's time."""


class NotFound(LookupError):
    """`close` holds similar names."""

    def __init__(self, what: str, close: Sequence[str] = ()) -> None:
        """`what` is a sentence about the missing name."""
        self.close = tuple(close)
        hint = f"; did you mean {', '.join(self.close)}?" if self.close else ""
        super().__init__(f"{what}{hint}")


class AmbiguousName(LookupError):
    """`candidates` are all names that fit."""

    def __init__(self, text: str, candidates: Sequence[str]) -> None:
        self.candidates = tuple(candidates)
        super().__init__(f"{text!r} fits {len(candidates)}: {', '.join(candidates[:10])}{' …' if len(candidates) > 10 else ''}")  # noqa: PLR2004 - a line's worth


def read_stream(store: Store, stream: str, *, after: int = 0) -> Iterator[StoredEvent]:
    """In order, a page at a time."""
    while page := store.read_events(stream, after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


def scan_events(store: Store, types: Sequence[str] = ()) -> Iterator[StoredEvent]:
    """All types if empty. Nearly in order of time; within a millisecond stream by stream."""
    made_together = groupby(iterate_scan(store.scan, types), key=lambda event: event.id[:MILLISECOND])
    for _, events in made_together:
        yield from sorted(events, key=lambda event: (event.stream, event.seq))


def parse_event(event: StoredEvent) -> Event:
    """Of a damaged record some fields are missing (see `Event.from_data`)."""
    return type_names[event.type].from_data(event.data)


def bind_reader(kind: type[E], read: Callable[[C, E, StoredEvent], R]) -> dict[str, Callable[[C, StoredEvent], R]]:
    """{event class's name: reader}. `read` gets the context, the typed and the stored event."""
    return {kind.__name__: lambda context, event: read(context, kind.from_data(event.data), event)}


def to_session_name(stream: str) -> str:
    """Such as "tg:7" for "session:tg:7"."""
    return stream.removeprefix("session:")


def find_stream(store: Store, text: str) -> str:
    """By full name, session key or a unique part. Raises NotFound or AmbiguousName."""
    streams = store.list_streams()
    query = text.strip()
    for exact in (query, f"session:{query}"):
        if exact in streams:
            return exact
    parts = [stream for stream in streams if query and query.casefold() in stream.casefold()]
    if len(parts) == 1:
        return parts[0]
    if parts:
        raise AmbiguousName(text, [to_session_name(stream) for stream in parts])
    names = [to_session_name(stream) for stream in streams]
    raise NotFound(f"no session {text!r} in the journal", difflib.get_close_matches(query, names, n=3, cutoff=0.5))


def format_words(event: StoredEvent, value: object, *, limit: int = 200) -> str:
    """One line that is safe to show; "(erased)" if it was."""
    if not value and event.erased:
        return describe_gap(event)
    return to_one_line(value, limit=limit)


def format_text(event: StoredEvent, name: str, *, limit: int = 200) -> str:
    """One line that is safe to show; "(erased)" if it was erased."""
    return format_words(event, event.data.get(name), limit=limit)


def describe_gap(event: StoredEvent) -> str:
    """Such as "(erased)" or "(cannot be read …)"; "" if the event is complete."""
    return UNREADABLE_TEXT if isinstance(event, UnreadableEvent) else ERASED if event.erased else ""


def describe_fallback(provider: str, failed_before: Sequence[str]) -> str:
    """Empty if the first provider that was asked has answered."""
    if not failed_before:
        return ""
    return f" of {to_one_line(provider)} in place of {', '.join(map(to_one_line, failed_before))}"


def describe_failed_cost(failure: ModelFailed | NodeFailed) -> str:
    """Of an answer that could not be used, "" if there was none."""
    return (
        f" ({to_one_line(failure.model, limit=60)}, {failure.prompt_tokens}+{failure.completion_tokens} tokens paid)"
        if failure.model
        else ""
    )


def to_one_line(value: object, *, limit: int = 200) -> str:
    """At most `limit` characters, with secrets hidden and control characters visible."""
    text = mask(value if isinstance(value, str) else "" if value is None else str(mask_value(value)))
    if len(text) <= limit and _PLAIN.fullmatch(text):
        return text.strip()
    return escape_text(text, locale="en", limit=limit)


@overload
def hide_secrets(value: JsonObject) -> dict[str, object]: ...
@overload
def hide_secrets(value: object) -> object: ...
def hide_secrets(value: object) -> object:
    """A button's nonce is a secret, too: it is enough to decide a card."""
    return _hide_nonces(mask_value(value))


def _hide_nonces(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: HIDDEN if key == "nonce" and item else _hide_nonces(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hide_nonces(item) for item in value]
    return value


def as_record(event: StoredEvent) -> dict[str, object]:
    """With secrets hidden; `hash` is that of the stored record."""
    fields = {name: getattr(event, name) for name in ("stream", "seq", "id", "ts", "type", "v", "actor", "hash")}
    blank = {"unreadable": True} if isinstance(event, UnreadableEvent) else {"erased": True} if event.erased else {}
    return {**fields, "data": hide_secrets(dict(event.data)), **blank}


Moment = int | datetime
"""The number of a record in its stream, or a time in UTC."""

MOMENT_HELP = "a record number such as 42, or a time in UTC: 2026-11-21T14:05:00Z, '2026-11-21 14:05', 14:05 (today) or '2h ago'"
_AGO = re.compile(r"([0-9]{1,6})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)\s*ago", re.ASCII | re.IGNORECASE)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,12}", re.ASCII)


class InvalidMoment(ValueError):
    """Neither a record number nor a time."""


def parse_moment(text: str, now: datetime) -> Moment:
    """Raises InvalidMoment, whose message lists the accepted forms."""
    if _NUMBER.fullmatch(text.strip()):
        return int(text)
    return parse_time(text, now)


def parse_time(text: str, now: datetime) -> datetime:
    """UTC by default; a day means its beginning. Raises InvalidMoment, which lists the accepted forms."""
    words = text.strip()
    ago = _AGO.fullmatch(words)
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2][0].lower()]: int(ago[1])})
        if _CLOCK.fullmatch(words):
            return datetime.combine(now.astimezone(UTC).date(), time.fromisoformat(words.zfill(len(words) + words.index(":") % 2)), UTC)
        if len(words) == len("2026-11-21"):
            return datetime.combine(date.fromisoformat(words), time(), UTC)
        moment = datetime.fromisoformat(words)
    except (ValueError, OverflowError):
        raise InvalidMoment(f"{text!r} is no moment: give {MOMENT_HELP}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)

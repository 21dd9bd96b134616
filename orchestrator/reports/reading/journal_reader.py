"""Reads the journal page by page for the reports, finds the stream that a person means, and parses the times that operators write.

It changes nothing, and it refuses a text that is not clearly a time.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import TypeVar, overload

from bitrix.masking import HIDDEN, mask, mask_value
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.language.text import RUSSIAN_LETTERS
from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent
from state.events.base import Event, type_names
from state.events.conversation import ModelFailed
from state.events.runs import NodeFailed
from state.journal.pages import iterate_scan
from state.journal.store import Store, StoredEvent
from state.stored import JsonObject

C = TypeVar("C")
E = TypeVar("E", bound=Event)
R = TypeVar("R")
PAGE = 1000
ERASED = "(erased)"
MILLISECOND = 13
"""The length of the beginning of an id that encodes the time of its creation, precise to the millisecond."""

_PLAIN = re.compile(f"[ -~{RUSSIAN_LETTERS}«»“”—–…№₽→·]*")
"""Text of these characters needs no escaping. Nearly all text does not: checking each character would take most of a report's time."""


class NotFound(LookupError):
    """No stream or call has this name; `close` holds similar names."""

    def __init__(self, what: str, close: Sequence[str] = ()) -> None:
        """Build the message from `what`, a sentence about the missing name, and from the similar names."""
        self.close = tuple(close)
        hint = f"; did you mean {', '.join(self.close)}?" if self.close else ""
        super().__init__(f"{what}{hint}")


class AmbiguousName(LookupError):
    """The text fits several names; `candidates` are all of them."""

    def __init__(self, text: str, candidates: Sequence[str]) -> None:
        """Build the message from the candidates."""
        self.candidates = tuple(candidates)
        super().__init__(f"{text!r} fits {len(candidates)}: {', '.join(candidates[:10])}{' …' if len(candidates) > 10 else ''}")  # noqa: PLR2004 - a line's worth


def read_stream(store: Store, stream: str, *, after: int = 0) -> Iterator[StoredEvent]:
    """Yield the events of a stream after the sequence number `after`, in order, reading a page at a time."""
    while page := store.read_events(stream, after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


def scan_events(store: Store, types: Sequence[str] = ()) -> Iterator[StoredEvent]:
    """Yield the events of all streams that have one of `types` (empty: every type), nearly in order of time.

    Events of the same millisecond come stream by stream, each stream in its own order.
    """
    made_together = groupby(iterate_scan(store.scan, types), key=lambda event: event.id[:MILLISECOND])
    for _, events in made_together:
        yield from sorted(events, key=lambda event: (event.stream, event.seq))


def parse_event(event: StoredEvent) -> Event:
    """Return the stored record as an object of its event class; for a damaged record some fields are missing (see `Event.from_data`)."""
    return type_names[event.type].from_data(event.data)


def bind_reader(kind: type[E], read: Callable[[C, E, StoredEvent], R]) -> dict[str, Callable[[C, StoredEvent], R]]:
    """Return {name of an event class: function}, one entry of a table that tells which function reads events of which class.

    `kind` is the event class. The returned function takes a context and a stored event. It turns the stored event into an object of `kind`,
    and returns the result of `read`, which it calls with the context, that object and the stored event.
    """
    return {kind.__name__: lambda context, event: read(context, kind.from_data(event.data), event)}


def to_session_name(stream: str) -> str:
    """Return the name that reports show for a stream: "tg:7" for the stream "session:tg:7"."""
    return stream.removeprefix("session:")


def find_stream(store: Store, text: str) -> str:
    """Return the stream that a person means by `text`: its full name, a session's key, or a part of the name that no other stream has.

    Raises NotFound with similar names, or AmbiguousName with all streams that fit.
    """
    streams = store.list_streams()
    wanted = text.strip()
    for exact in (wanted, f"session:{wanted}"):
        if exact in streams:
            return exact
    parts = [stream for stream in streams if wanted and wanted.casefold() in stream.casefold()]
    if len(parts) == 1:
        return parts[0]
    if parts:
        raise AmbiguousName(text, [to_session_name(stream) for stream in parts])
    names = [to_session_name(stream) for stream in streams]
    raise NotFound(f"no session {text!r} in the journal", difflib.get_close_matches(wanted, names, n=3, cutoff=0.5))


def format_words(event: StoredEvent, value: object, *, limit: int = 200) -> str:
    """Return `value`, taken from a personal field of `event`, as one line that is safe to show; "(erased)" if it was erased."""
    if not value and event.erased:
        return describe_gap(event)
    return to_one_line(value, limit=limit)


def format_text(event: StoredEvent, name: str, *, limit: int = 200) -> str:
    """Return the text field called `name` of an event as one line that is safe to show; "(erased)" if it was erased."""
    return format_words(event, event.data.get(name), limit=limit)


def describe_gap(event: StoredEvent) -> str:
    """Return "(erased)" or "(cannot be read …)" to show in place of a blank field; "" if the event is complete."""
    return UNREADABLE_TEXT if isinstance(event, UnreadableEvent) else ERASED if event.erased else ""


def describe_fallback(provider: str, failed_before: Sequence[str]) -> str:
    """Return which provider answered in place of which others, "" if the first that was asked has answered."""
    if not failed_before:
        return ""
    return f" of {to_one_line(provider)} in place of {', '.join(map(to_one_line, failed_before))}"


def describe_failed_cost(said: ModelFailed | NodeFailed) -> str:
    """Return what an answer cost that could not be used, "" if there was none."""
    return f" ({to_one_line(said.model, limit=60)}, {said.prompt_tokens}+{said.completion_tokens} tokens paid)" if said.model else ""


def to_one_line(value: object, *, limit: int = 200) -> str:
    """Return any value as one line of at most `limit` characters, with secrets hidden.

    Line breaks, control characters and direction marks are shown as visible characters.
    """
    text = mask(value if isinstance(value, str) else "" if value is None else str(mask_value(value)))
    if len(text) <= limit and _PLAIN.fullmatch(text):
        return text.strip()
    return escape_text(text, locale="en", limit=limit)


@overload
def hide_secrets(value: JsonObject) -> dict[str, object]: ...
@overload
def hide_secrets(value: object) -> object: ...
def hide_secrets(value: object) -> object:
    """Return JSON-like data with secrets hidden. The one-time code (nonce) of a button is secret, too: it is enough to decide a card."""
    return _hide_nonces(mask_value(value))


def _hide_nonces(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: HIDDEN if key == "nonce" and item else _hide_nonces(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hide_nonces(item) for item in value]
    return value


def as_record(event: StoredEvent) -> dict[str, object]:
    """Return one event with all its data as a JSON object for programs, with secrets hidden.

    The field `hash` is the hash of the stored record, so if a secret was hidden, it is not the hash of the data shown.
    """
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
    """The text is neither a record number nor a time."""


def parse_moment(text: str, now: datetime) -> Moment:
    """Return the record number or the time that `text` gives. Raises InvalidMoment, whose message lists the accepted forms."""
    if _NUMBER.fullmatch(text.strip()):
        return int(text)
    return parse_time(text, now)


def parse_time(text: str, now: datetime) -> datetime:
    """Return the time that `text` gives; a time without a zone is taken as UTC, and a day alone means its beginning.

    Raises InvalidMoment, whose message lists the accepted forms.
    """
    asked = text.strip()
    ago = _AGO.fullmatch(asked)
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2][0].lower()]: int(ago[1])})
        if _CLOCK.fullmatch(asked):
            return datetime.combine(now.astimezone(UTC).date(), time.fromisoformat(asked.zfill(len(asked) + asked.index(":") % 2)), UTC)
        if len(asked) == len("2026-11-21"):
            return datetime.combine(date.fromisoformat(asked), time(), UTC)
        moment = datetime.fromisoformat(asked)
    except (ValueError, OverflowError):
        raise InvalidMoment(f"{text!r} is no moment: give {MOMENT_HELP}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)

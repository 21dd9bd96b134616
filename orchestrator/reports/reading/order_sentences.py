"""Sentences for operators about standing orders and changes of many records."""

from typing import Final

from orchestrator.reports.reading.journal_reader import Narrator, bind_reader, format_words, to_one_line
from state.events import bulk, orders
from state.journal.store import StoredEvent

_WORDS: Final = 120
_PAUSES: Final = {
    "restored": "a backup brought it back",
    "owner_left": "its person has no access any more",
    "unclear": "what it is about cannot be read any more",
    "closed": "the portal does not give these data any more",
    "often": "it came too often in one day",
    "failed": "it could not be carried out",
}
_ENDS: Final = {"done": "it has no further moment", "expired": "its time is over"}


def _describe_terms(given: orders.OrderAdded | orders.OrderChanged, event: StoredEvent) -> str:
    due = f", due at {to_one_line(given.due)}" if given.due else ""
    about = format_words(event, given.words.get("records") or given.words.get("report") or given.terms.get("text"), limit=_WORDS)
    return (f" about {about}" if about else "") + f"{due}, until {to_one_line(given.until)}"


def _describe_adding(voice: Narrator, addition: orders.OrderAdded, event: StoredEvent) -> str:
    return f"{voice.format_person(event.actor)} gave the order {to_one_line(addition.order)}{_describe_terms(addition, event)}"


def _describe_change(voice: Narrator, change: orders.OrderChanged, event: StoredEvent) -> str:
    return f"{voice.format_person(event.actor)} changed the order {to_one_line(change.order)}:{_describe_terms(change, event)}"


def _describe_firing(_voice: Narrator, fired: orders.OrderFired, _event: StoredEvent) -> str:
    following = f"; next at {to_one_line(fired.following)}" if fired.following else ""
    return f"the order {to_one_line(fired.order)} {'was carried out' if fired.has_told else 'found nothing to tell'}{following}"


def _describe_delay(_voice: Narrator, put_off: orders.OrderPutOff, _event: StoredEvent) -> str:
    return f"the order {to_one_line(put_off.order)} is put off to {to_one_line(put_off.following)}: nothing could be read"


def _describe_pause(voice: Narrator, pause: orders.OrderPaused, event: StoredEvent) -> str:
    if pause.why == "person":
        return f"{voice.format_person(pause.by)} paused the order {to_one_line(pause.order)}"
    detail = format_words(event, pause.detail, limit=_WORDS)
    why = _PAUSES.get(pause.why, to_one_line(pause.why)) + (f" ({detail})" if detail else "")
    return f"the order {to_one_line(pause.order)} is paused: {why}"


def _describe_resumption(voice: Narrator, resumed: orders.OrderResumed, _event: StoredEvent) -> str:
    due = f", due at {to_one_line(resumed.due)}" if resumed.due else ""
    return f"{voice.format_person(resumed.by)} resumed the order {to_one_line(resumed.order)}{due}"


def _describe_end(voice: Narrator, ended: orders.OrderEnded, _event: StoredEvent) -> str:
    how = f"{voice.format_person(ended.by)} removed it" if ended.why == "removed" else _ENDS[ended.why]
    return f"the order {to_one_line(ended.order)} is over: {how}"


def _describe_freezing(_voice: Narrator, frozen: bulk.BulkFrozen, _event: StoredEvent) -> str:
    return f"the records of call {to_one_line(frozen.effect_id)[:10]} were frozen in the file {to_one_line(frozen.file)[:12]}"


DESCRIPTIONS: Final = {
    **bind_reader(orders.OrderAdded, _describe_adding),
    **bind_reader(orders.OrderChanged, _describe_change),
    **bind_reader(orders.OrderFired, _describe_firing),
    **bind_reader(orders.OrderPutOff, _describe_delay),
    **bind_reader(orders.OrderPaused, _describe_pause),
    **bind_reader(orders.OrderResumed, _describe_resumption),
    **bind_reader(orders.OrderEnded, _describe_end),
    **bind_reader(bulk.BulkFrozen, _describe_freezing),
}

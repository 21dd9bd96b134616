"""A replayed state as a page that people read. Ring 3, pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.cli.journal.common import when
from orchestrator.reports.people import Voice
from orchestrator.reports.reading import one_line, session_of
from orchestrator.reports.replaying import Replayed
from orchestrator.reports.words import call_in_words, changes_in_words, short

_SHOWN = 10
_WIDTH = 16


def state_lines(then: Replayed, voice: Voice) -> Iterator[str]:
    """The state by its parts; the parts in which there is nothing are said to be empty."""
    agent = then.state["agent"]
    place = f"after record #{then.seq}, {when(then.ts)}" if then.seq else "before its first record"
    yield f"{session_of(then.stream)} {place}"
    yield from _block("goals", (one_line(goal) for goal in agent["goals"]))
    yield from _block("turn under way", _turn(then.state["turn"]))
    yield from _block("question asked", _question(then.state["question"]))
    waiting = [entry for entry in agent["confirmations"].values() if entry["status"] == "requested"]
    yield from _block("open cards", (_open(entry, voice) for entry in waiting))
    yield from _block("current records", (f"{key.removeprefix('current_').removesuffix('_id')} {value}" for key, value in _current(agent)))
    yield from _block(
        "in progress", (f"{item['method']} since {when(item['ts'])} [{short(item['effect_id'])}]" for item in agent["in_progress"])
    )
    doubtful = then.state["unknown"].items()
    yield from _block("unknown outcome", (f"{item['method']} at {when(item['ts'])} [{short(key)}]" for key, item in doubtful))
    decided = [entry for entry in agent["confirmations"].values() if entry["status"] != "requested"]
    yield from _block("decided cards", (_decided(entry, voice) for entry in decided[-_SHOWN:]))
    yield from _block("done", (f"{when(item['timestamp'])} {one_line(item['description'])}" for item in agent["done"][-_SHOWN:]))
    yield from _block("planned next", (call_in_words(item.get("method"), item.get("params")) for item in agent["next_planned_actions"]))
    yield from _block("subscriptions", (one_line(f"{item.get('event')} → {item.get('handler')}") for item in agent["event_bindings"]))
    yield from _block("last words", (f"{item['role']}: {one_line(item['text'])}" for item in then.state["history"][-_SHOWN:]))
    if then.state.get("portal"):
        due = then.state["portal"]["due"]
        yield from _block("portal", [f"{len(then.state['portal']['seen'])} records known, {len(due)} due to be looked at"])


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    head = title
    for line in lines:
        yield f"  {head:<{_WIDTH}} {line}"
        head = ""
    if head:
        yield f"  {head:<{_WIDTH}} —"


def _turn(turn: Mapping[str, Any] | None) -> list[str]:
    return [f"began {when(turn['started'])}"] if turn else []


def _question(question: Mapping[str, Any] | None) -> list[str]:
    if not question:
        return []
    options = ", ".join(one_line(option.get("label"), limit=60) for option in question["options"])
    return [f"which one “{one_line(question['reference'])}” is: {options}"]


def _current(agent: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((key, value) for key, value in agent["objects"].items() if key != "links" and value is not None)


def _open(entry: Mapping[str, Any], voice: Voice) -> str:
    who = voice.person(entry.get("requested_by", ""), entry.get("requested_by_name", ""))
    return f"{_call(entry)} — asked by {who}, until {when(entry.get('expires_at', ''))} [{short(entry['confirmation_id'])}]"


def _decided(entry: Mapping[str, Any], voice: Voice) -> str:
    by = entry.get("approved_by") or entry.get("denied_by")
    name = entry.get("approved_by_name") or entry.get("denied_by_name") or ""
    who = f" · {voice.person(by, name)}" if by else ""
    return f"{entry['status']}: {_call(entry)}{who} [{short(entry['confirmation_id'])}]"


def _call(entry: Mapping[str, Any]) -> str:
    changes = changes_in_words(entry.get("preview") or {})
    return f"{entry.get('method', '?')}: {changes}" if changes else call_in_words(entry.get("method"), entry.get("params"))

from collections.abc import Iterable, Iterator

from bot.cli.journal.common import format_moment
from orchestrator.domain.card_view import Preview
from orchestrator.engines.base import PlanStep
from orchestrator.reports.reading.journal_reader import Narrator, to_one_line, to_session_name
from orchestrator.reports.reading.sentences import describe_call, describe_changes, to_short_id
from orchestrator.reports.replay import ReplayedState
from state.model.card import Card
from state.model.session_state import AgentState, Question

_MAX_SHOWN = 10
_WIDTH = 16


def format_state(then: ReplayedState, voice: Narrator) -> Iterator[str]:
    """An empty part is "—"."""
    agent = then.state.agent
    place = f"after record #{then.seq}, {format_moment(then.ts)}" if then.seq else "before its first record"
    yield f"{to_session_name(then.stream)} {place}"
    yield from _format_block("goals", (to_one_line(goal) for goal in agent.goals))
    yield from _format_block("turn under way", [f"began {format_moment(then.state.turn.started)}"] if then.state.turn else [])
    yield from _format_block("question asked", _format_question(then.state.question))
    waiting = [entry for entry in agent.confirmations.values() if entry.status == "requested"]
    yield from _format_block("open cards", (_format_open_card(entry, voice) for entry in waiting))
    yield from _format_block(
        "current records", (f"{key.removeprefix('current_').removesuffix('_id')} {value}" for key, value in _iterate_current_records(agent))
    )
    yield from _format_block(
        "in progress",
        (f"{item.method} since {format_moment(item.ts)} [{to_short_id(item.effect_id)}]" for item in agent.in_progress),
    )
    doubtful = then.state.unknown.items()
    yield from _format_block(
        "unknown outcome", (f"{item.method} at {format_moment(item.ts)} [{to_short_id(key)}]" for key, item in doubtful)
    )
    decided = [entry for entry in agent.confirmations.values() if entry.status != "requested"]
    yield from _format_block("decided cards", (_format_decided_card(entry, voice) for entry in decided[-_MAX_SHOWN:]))
    yield from _format_block(
        "done", (f"{format_moment(item['timestamp'])} {to_one_line(item['description'])}" for item in agent.done[-_MAX_SHOWN:])
    )
    yield from _format_block(
        "planned next", (describe_call(item.method, item.params) for item in map(PlanStep.from_stored, agent.next_planned_actions))
    )
    yield from _format_block(
        "subscriptions", (to_one_line(f"{item.get('event')} → {item.get('handler')}") for item in agent.event_bindings)
    )
    yield from _format_block("last words", (f"{item.role}: {to_one_line(item.text)}" for item in then.state.history[-_MAX_SHOWN:]))
    if then.state.portal:
        due = then.state.portal.due
        yield from _format_block("portal", [f"{len(then.state.portal.seen)} records known, {len(due)} due to be looked at"])


def _format_block(title: str, lines: Iterable[str]) -> Iterator[str]:
    head = title
    for line in lines:
        yield f"  {head:<{_WIDTH}} {line}"
        head = ""
    if head:
        yield f"  {head:<{_WIDTH}} —"


def _format_question(question: Question | None) -> list[str]:
    if not question:
        return []
    options = ", ".join(to_one_line(option.get("label"), limit=60) for option in question.options)
    return [f"which one “{to_one_line(question.reference)}” is: {options}"]


def _iterate_current_records(agent: AgentState) -> Iterator[tuple[str, object]]:
    yield from ((key, value) for key, value in agent.objects.items() if key != "links" and value is not None)


def _format_open_card(entry: Card, voice: Narrator) -> str:
    who = voice.format_person(entry.requested_by, entry.requested_by_name)
    until = format_moment(entry.expires_at)
    return f"{_format_call(entry)} — asked by {who}, until {until} [{to_short_id(entry.confirmation_id)}]"


def _format_decided_card(entry: Card, voice: Narrator) -> str:
    by = entry.approved_by or entry.denied_by
    name = entry.approved_by_name or entry.denied_by_name or ""
    who = f" · {voice.format_person(by, name)}" if by else ""
    return f"{entry.status}: {_format_call(entry)}{who} [{to_short_id(entry.confirmation_id)}]"


def _format_call(entry: Card) -> str:
    changes = describe_changes(Preview.model_validate(entry.preview))
    return f"{entry.method}: {changes}" if changes else describe_call(entry.method, entry.params)
